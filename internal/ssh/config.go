// Package ssh connects to devices over SSH. On one connection it offers commands with an exit
// status, shells for devices that can only be used through prompts, and a transport for
// scrapligo's drivers.
//
// Its rules: host keys are verified strictly, also through jump hosts; one deadline covers
// everything from the TCP connection to the accepted login, so a device that accepts a connection
// and then says nothing cannot block the caller; every command ends with its context; output is
// limited; Close leaves nothing behind.
//
// Do not add a way to skip the host key check, and do not parse the output of commands here: that
// belongs to the drivers.
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
	// defaultMaxChannels is less than half of the ten sessions that OpenSSH allows per connection
	// (sshd_config MaxSessions). The server may still count a channel that the client has closed
	// when the next one is requested, and it counts commands that outlive their channel.
	defaultMaxChannels = 4
)

// Config says how to reach a device. It needs at least one of Password, KeyFile and Agent.
type Config struct {
	Address  string // host:port
	User     string
	Password secret.Secret // also answers keyboard-interactive questions
	KeyFile  string        // private key without a passphrase; "~/" is expanded
	// Agent uses the keys of the ssh-agent at AgentSocket or, if that is empty, at SSH_AUTH_SOCK.
	Agent       bool
	AgentSocket string
	// KnownHosts is the path of a known_hosts file; "" means ~/.ssh/known_hosts. Hosts is the
	// content of such a file, loaded once for many connections.
	KnownHosts string
	Hosts      *KnownHosts
	// Jump is the user@host:port of a jump host. It uses the same login methods and known hosts as
	// the device.
	Jump string
	// Timeout limits all of Dial, including the jump host; 0 means DefaultTimeout.
	Timeout time.Duration
	// CommandTimeout limits a Run or a shell line whose context has no deadline; 0 means
	// DefaultCommandTimeout.
	CommandTimeout time.Duration
	// Silence is how long the device may send nothing before the connection ends with ErrTimeout,
	// whatever the deadlines of its commands; 0 means DefaultSilence.
	Silence time.Duration
	// MaxOutput limits the output of one Run or shell line, in bytes; 0 means defaultMaxOutput.
	MaxOutput int64
	// MaxChannels limits the concurrent commands and shells; others wait. 0 means
	// defaultMaxChannels.
	MaxChannels int
	// Log records commands and their output; nil disables it.
	Log *trace.Log
	// Dial connects to the first host; nil uses the machine's network.
	Dial netx.Dialer
}

// hop is one host on the path to the device.
type hop struct{ addr, user string }

// hops returns the hosts in the order in which they are connected.
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

// check fills in the defaults and rejects invalid settings.
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
