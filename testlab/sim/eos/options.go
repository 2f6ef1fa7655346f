package eos

import (
	"crypto/tls"

	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// Options says which switch is simulated. The zero value is a DCS-7060DX5-64S
// in factory state with both servers.
type Options struct {
	// "localhost", "DCS-7060DX5-64S" and "4.34.2F" where empty. A hostname in
	// Config wins over Hostname.
	Hostname, Model, Version string

	Username, Password string // of both servers; "admin" and "admin" where Username is empty
	EnablePassword     string // asked for by enable; empty: enable asks for none
	Unprivileged       bool   // a login lands at "host>" and needs enable
	Banner, MOTD       string // before and after the login

	TLS     *tls.Config // of the gNMI server; nil: one of its own making
	HostKey ssh.Signer  // nil: a new one
	Listen  sim.ListenFunc
	NoSSH   bool // no SSH server
	NoGNMI  bool // no gNMI server

	// QueueKeyword is what the unicast queues are called, "uc-tx-queue" or
	// "tx-queue"; empty: by the model (Strata has uc-tx-queue, Sand tx-queue).
	QueueKeyword string

	// Configuration lines that equal the default are kept in the plain
	// running-config. EOS does so for some lines; for which ones is not
	// documented, so tests run both ways.
	PrintDefaults bool

	// PFCFirst prints the PFC lines of a qos profile before its queues, as
	// some releases do, and not last.
	PFCFirst bool

	// QueueRemoval accepts "no tx-queue N", which removes all of a queue. No
	// public source shows it, so it is refused unless told otherwise.
	QueueRemoval bool

	Persist        bool // "operation set persistence": a gNMI Set is saved
	MaxSessions    int  // pending configuration sessions, 0: 5
	OldSessionJSON bool // as EOS 4.32 and before: a running commit timer is shown in its session

	// Refuse holds regular expressions of configuration lines that this box
	// refuses as "% Unavailable command (not supported on this hardware
	// platform)". They are matched against the line as it was sent, without
	// indentation.
	Refuse []string

	// Running is a running configuration from elsewhere. The box starts with it as its
	// startup configuration and leaves out the lines that it refuses, which Refused
	// lists. It counts in place of Config.
	Running []byte

	Config     string   // startup configuration; empty: the factory's
	Interfaces []string // Ethernet ports where Config is empty; nil: Ethernet1/1 to Ethernet32/1
	Routed     bool     // those ports are "no switchport"
	// Speeds are those of Ethernet ports, bits a second; 400G where none is given.
	Speeds map[string]int64

	TimeScale float64 // seconds that a commit takes; 0: no time

	// Shuffle is the seed of what the box is free to do in one way or another:
	// PrintDefaults and PFCFirst among it, see [sim.Shuffler]; 0: nothing.
	Shuffle uint64
}
