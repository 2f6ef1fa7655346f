package nxos

import (
	"crypto/tls"

	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// Options describes the switch to simulate. The zero value is an N9K-C9332D-GX2B in factory
// state with both servers.
type Options struct {
	// Defaults: "switch", "N9K-C9332D-GX2B" and "10.4(3)". A hostname in Config takes precedence
	// over Hostname.
	Hostname, Model, Version string

	Username, Password string // for both servers; "admin" and "admin" if Username is ""
	Banner, MOTD       string // before and after the login

	TLS     *tls.Config // for the gNMI server; nil for a generated certificate
	HostKey ssh.Signer  // nil for a generated key
	Listen  sim.ListenFunc
	NoSSH   bool // no SSH server
	NoGNMI  bool // no gNMI server

	// FourQueue selects the 4-queue class model (c-nq1, c-out-q1) instead of the 8-queue model
	// (c-8q-nq1, c-out-8q-q1).
	FourQueue bool

	// UserClasses lets queuing policies have classes that the user defines, and class-default, and
	// accepts "pause no-drop", as Nexus 3000 and 5000 do.
	UserClasses bool

	// OldOrder prints the running configuration in the order of 7.0(3)I2, with network-qos after
	// the hostname, instead of the order of 6.0(2)U6.
	OldOrder bool

	NoDualStage    bool // "configure dual-stage" is an invalid command, as before 10.2
	DualStageNoQoS bool // dual-stage refuses QoS lines

	// DualStageRefuse holds regular expressions of lines that only dual-stage mode refuses, also
	// within policies; otherwise like Refuse.
	DualStageRefuse []string

	EmptyClassDefault bool // every qos policy without "class class-default" prints an empty one at its end
	NQLocked          bool // an attached network-qos policy cannot be edited
	ReplacePolicy     bool // a second qos or queuing policy replaces the attached one instead of being refused

	// NoWatchdogTimers refuses "priority-flow-control watch-dog ..." and "... auto-restore";
	// only "watch-dog-interval" is known.
	NoWatchdogTimers bool

	DecimalBitmap  bool // show interface priority-flow-control prints the bitmap in decimal instead of hexadecimal
	PolicyBitmap   bool // the bitmap shows the priorities of the network-qos policy even on a port that classifies nothing into their groups
	MaxCheckpoints int  // 0 for 10

	// TCAM requires the QoS region of the TCAM to be carved: attaching a qos policy fails until
	// a "hardware access-list tcam region" line for it is saved and the switch restarted.
	TCAM bool

	// Refuse holds regular expressions of configuration lines that this switch answers with "%
	// Invalid command at '^' marker.". They are matched against the line as sent, without
	// indentation.
	Refuse []string

	Config string // startup configuration; "" for the factory default
	// Running is a running configuration of another switch to start with, instead of Config.
	// Refused lines are left out; [Refuses] lists them.
	Running    []byte
	Interfaces []string // Ethernet ports if Config is ""; nil for Ethernet1/1 to Ethernet1/32
	Routed     bool     // those ports are configured with "no switchport"
	// Speeds holds the speeds of Ethernet ports in bits per second; default 400G.
	Speeds map[string]int64

	TimeScale float64 // seconds that a rollback or a commit takes; 0 for none

	// Shuffle seeds the choices that the switch may make either way, including OldOrder,
	// EmptyClassDefault, DecimalBitmap and PolicyBitmap, see [sim.Shuffler]; 0 turns it off.
	Shuffle uint64
}
