package nxos

import (
	"crypto/tls"

	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// Options says which switch is simulated. The zero value is an
// N9K-C9332D-GX2B in factory state with both servers.
type Options struct {
	// "switch", "N9K-C9332D-GX2B" and "10.4(3)" where empty. A hostname in
	// Config wins over Hostname.
	Hostname, Model, Version string

	Username, Password string // of both servers; "admin" and "admin" where Username is empty
	Banner, MOTD       string // before and after the login

	TLS     *tls.Config // of the gNMI server; nil: one of its own making
	HostKey ssh.Signer  // nil: a new one
	Listen  sim.ListenFunc
	NoSSH   bool // no SSH server
	NoGNMI  bool // no gNMI server

	// FourQueue is the 4-queue class model (c-nq1, c-out-q1) in place of the
	// 8-queue one (c-8q-nq1, c-out-8q-q1).
	FourQueue bool

	// OldOrder prints the running-config in the order of 7.0(3)I2, with
	// network-qos behind the hostname, and not in that of 6.0(2)U6.
	OldOrder bool

	NoDualStage    bool // "configure dual-stage" is an invalid command, as before 10.2
	DualStageNoQoS bool // dual-stage refuses QoS lines

	// DualStageRefuse holds regular expressions of lines that dual-stage alone
	// refuses, also within policies; as Refuse.
	DualStageRefuse []string

	EmptyClassDefault bool // a "class class-default" without actions ends every qos policy that has none
	NQLocked          bool // an attached network-qos policy cannot be edited
	ReplacePolicy     bool // a second qos or queuing policy takes the place of the attached one; else it is refused

	// NoWatchdogTimers refuses "priority-flow-control watch-dog ..." and
	// "... auto-restore": "watch-dog-interval" alone is known.
	NoWatchdogTimers bool

	DecimalBitmap  bool // show interface priority-flow-control prints the bitmap in decimal, not in hexadecimal
	PolicyBitmap   bool // the bitmap is what the network-qos policy pauses, also on a port that classifies nothing into its groups
	MaxCheckpoints int  // 0: 10

	// TCAM says that the QoS region of the TCAM needs to be carved: until a
	// "hardware access-list tcam region" for it is saved and the box restarted,
	// attaching a qos policy fails.
	TCAM bool

	// Refuse holds regular expressions of configuration lines that this box
	// answers with "% Invalid command at '^' marker.". They are matched
	// against the line as it was sent, without indentation.
	Refuse []string

	Config string // startup configuration; empty: the factory's
	// Running is a running configuration of another switch that the box starts with, in
	// place of Config: lines that it refuses are left out, and [Refuses] names them.
	Running    []byte
	Interfaces []string // Ethernet ports where Config is empty; nil: Ethernet1/1 to Ethernet1/32
	Routed     bool     // those ports are "no switchport"
	// Speeds are those of Ethernet ports, bits a second; 400G where none is given.
	Speeds map[string]int64

	TimeScale float64 // seconds that a rollback or a commit takes; 0: no time

	// Shuffle is the seed of what the box is free to do in one way or another:
	// OldOrder, EmptyClassDefault, DecimalBitmap and PolicyBitmap among it, see
	// [sim.Shuffler]; 0: nothing.
	Shuffle uint64
}
