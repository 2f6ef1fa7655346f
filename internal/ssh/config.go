// Package ssh connects to devices over SSH: one connection, and on it commands
// with an exit status, shells for the places where only prompts help, and a
// transport for scrapligo's drivers.
//
// Its rules: host keys are verified strictly, through jump hosts too; one
// deadline covers the whole way from the TCP connection to the accepted login,
// so a device that accepts and then says nothing cannot hold the caller; every
// command ends with its context; output is bounded; Close leaves nothing
// behind.
//
// Do not add a way to skip the host key check here, and do not parse what
// commands print: that belongs to the drivers.
package ssh

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/netx"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/trace"
)

// Defaults of a Config.
const (
	DefaultTimeout        = 15 * time.Second
	DefaultCommandTimeout = 2 * time.Minute
	defaultMaxOutput      = 64 << 20 // bytes
	// defaultMaxChannels is below half of the ten sessions that OpenSSH grants a
	// connection (sshd_config MaxSessions): it may still count a channel that the client
	// has closed when it is asked for the next one, and it counts a command that outlives
	// its channel.
	defaultMaxChannels = 4
)

// Config says how a device is reached. At least one of Password, KeyFile and
// Agent is needed.
type Config struct {
	Address  string // host:port
	User     string
	Password secret.Secret // also answers keyboard-interactive questions
	KeyFile  string        // private key without a passphrase; "~/" is expanded
	// Agent uses the keys of the ssh-agent at AgentSocket, or, where that is
	// empty, at SSH_AUTH_SOCK.
	Agent       bool
	AgentSocket string
	// KnownHosts is a known_hosts file; "" is ~/.ssh/known_hosts. Hosts is the
	// same, already loaded, for many connections.
	KnownHosts string
	Hosts      *KnownHosts
	// Jump is user@host:port of a host to go through, with the same login
	// methods and the same known hosts.
	Jump string
	// Timeout bounds the whole of Dial, jump host included; 0 is
	// DefaultTimeout.
	Timeout time.Duration
	// CommandTimeout bounds a Run or a line of a shell whose context has no deadline; 0 is
	// DefaultCommandTimeout.
	CommandTimeout time.Duration
	// Silence is how long the device may send nothing before the connection ends with
	// ErrTimeout, whatever deadlines its commands have; 0 is DefaultSilence.
	Silence time.Duration
	// MaxOutput bounds what one Run or line of a shell may print, in bytes; 0 is
	// defaultMaxOutput.
	MaxOutput int64
	// MaxChannels bounds the commands and shells at once; more wait. 0 is
	// defaultMaxChannels.
	MaxChannels int
	// Log records commands and what they print; nil records none.
	Log *trace.Log
	// Dial connects to the first host; nil is the network of this machine.
	Dial netx.Dialer
}

// hop is one host on the way.
type hop struct{ addr, user string }

// hops returns the hosts in the order of connection.
func (c *Config) hops() ([]hop, error) {
	var hs []hop
	if c.Jump != "" {
		i := strings.LastIndexByte(c.Jump, '@')
		if i <= 0 {
			return nil, fmt.Errorf("jump host %q is not user@host:port", c.Jump)
		}
		hs = append(hs, hop{c.Jump[i+1:], c.Jump[:i]})
	}
	hs = append(hs, hop{c.Address, c.User})
	for _, h := range hs {
		host, port, err := net.SplitHostPort(h.addr)
		if err != nil || host == "" {
			return nil, fmt.Errorf("address %q is not host:port", h.addr)
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("address %q has no valid port", h.addr)
		}
		if h.user == "" {
			return nil, fmt.Errorf("no user name for %s", h.addr)
		}
	}
	return hs, nil
}

// check fills in the defaults and refuses what cannot work.
func (c *Config) check() error {
	if c.Timeout < 0 || c.CommandTimeout < 0 || c.Silence < 0 || c.MaxOutput < 0 || c.MaxChannels < 0 {
		return fmt.Errorf("negative timeout or limit")
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.CommandTimeout == 0 {
		c.CommandTimeout = DefaultCommandTimeout
	}
	if c.Silence == 0 {
		c.Silence = DefaultSilence
	}
	if c.MaxOutput == 0 {
		c.MaxOutput = defaultMaxOutput
	}
	if c.MaxChannels == 0 {
		c.MaxChannels = defaultMaxChannels
	}
	if c.Password == "" && c.KeyFile == "" && !c.Agent {
		return fmt.Errorf("no way to log in: neither password nor key nor agent")
	}
	if c.Agent && c.AgentSocket == "" {
		if c.AgentSocket = os.Getenv("SSH_AUTH_SOCK"); c.AgentSocket == "" {
			return fmt.Errorf("no ssh-agent: SSH_AUTH_SOCK is not set")
		}
	}
	if c.Hosts == nil {
		hosts, err := LoadKnownHosts(c.KnownHosts)
		if err != nil {
			return err
		}
		c.Hosts = hosts
	}
	return nil
}
