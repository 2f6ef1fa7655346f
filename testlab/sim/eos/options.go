package eos

import (
	"crypto/tls"

	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// Options configures the simulated switch. The zero value is a DCS-7060DX5-64S in factory state
// with both servers.
type Options struct {
	// The defaults for "" are "localhost", "DCS-7060DX5-64S" and "4.34.2F". A hostname in Config
	// overrides Hostname.
	Hostname, Model, Version string

	Username, Password string // for both servers; "admin" and "admin" if Username is ""
	EnablePassword     string // requested by enable; "" if enable requests none
	Unprivileged       bool   // a login starts at "host>" and needs enable
	Banner, MOTD       string // shown before and after the login

	TLS     *tls.Config // for the gNMI server; nil creates one
	HostKey ssh.Signer  // nil creates one
	Listen  sim.ListenFunc
	NoSSH   bool // no SSH server
	NoGNMI  bool // no gNMI server

	// QueueKeyword is the keyword for unicast queues, "uc-tx-queue" or "tx-queue"; "" selects it
	// by model (uc-tx-queue on Strata, tx-queue on Sand).
	QueueKeyword string

	// PrintDefaults keeps configured lines that equal the default in the plain running-config. EOS
	// does this for some lines, but it is not documented which, so tests run both ways.
	PrintDefaults bool

	// PFCFirst prints the PFC lines of a qos profile before its queues, as some releases do,
	// instead of last.
	PFCFirst bool

	// QueueRemoval accepts "no tx-queue N", which removes a whole queue. No public source shows
	// it, so it is rejected by default.
	QueueRemoval bool

	Persist        bool // "operation set persistence": saves after a gNMI Set
	MaxSessions    int  // maximum number of pending configuration sessions; 0 means 5
	OldSessionJSON bool // as in EOS 4.32 and earlier: a running commit timer is shown in its session

	// Refuse lists regular expressions for configuration lines that this box rejects with "%
	// Unavailable command (not supported on this hardware platform)". They are matched against the
	// line as sent, without indentation.
	Refuse []string

	// Running is a running configuration from another box. The box starts with it as its startup
	// configuration, without the lines that it rejects; Refused lists those. It replaces Config.
	Running []byte

	Config     string   // startup configuration; "" means factory state
	Interfaces []string // Ethernet ports if Config is ""; nil means Ethernet1/1 to Ethernet32/1
	Routed     bool     // these ports are "no switchport"
	// Speeds holds the speeds of Ethernet ports in bits per second; the default is 400G.
	Speeds map[string]int64

	TimeScale float64 // duration of a commit in seconds; 0 means no delay

	// Shuffle seeds the choices that the box may make either way, including PrintDefaults and
	// PFCFirst; see [sim.Shuffler]. 0 turns it off.
	Shuffle uint64
}
