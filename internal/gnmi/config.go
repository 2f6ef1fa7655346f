// Package gnmi is a small client for the gNMI calls that configuration needs: Capabilities, Get
// and Set. It reads values by exact path (Get) and subtrees by paths with wildcards (GetTree), and
// uses the device's own command language for both reading and writing on devices that carry it
// over gNMI (GetCLI, SetCLI). It uses Subscribe only to learn that something changed (OnChange).
//
// Its rules: every call has a deadline, except an established subscription; TLS is always
// configured here and verified unless the operator says otherwise; a password is never sent in
// clear text; errors distinguish an unreachable device, a rejected certificate and a rejected
// password; and no call is ever repeated, because a Set whose answer is lost may have taken
// effect.
//
// One Client is one connection to one device. Open it, use it, close it: SONiC closes idle
// connections after five seconds (sonic-gnmi telemetry/telemetry.go, idle_conn_duration), and the
// next call then reconnects by itself. Do not keep Clients in a pool, and do not use Subscribe
// ONCE for reading: SONiC never answers it (sonic-net/sonic-gnmi#688).
package gnmi

import (
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/netx"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/trace"
)

// Defaults and limits.
const (
	// DefaultTimeout limits a call if [Config.Timeout] is 0.
	DefaultTimeout = 30 * time.Second
	// defaultMaxMessage is the maximum message size in bytes if [Config.MaxMessage] is 0. The
	// complete CONFIG_DB of a large switch exceeds gRPC's default limit of 4 MiB.
	defaultMaxMessage = 64 << 20
	// MaxServerMessage is the largest request in bytes that a server with gRPC's default limit
	// accepts. See [SetRequest.Size].
	MaxServerMessage = 4 << 20
)

// Config says how to reach a device.
type Config struct {
	Address  string // host:port
	Username string
	Password secret.Secret
	TLS      TLS
	// Timeout limits each call, and the whole of Dial, unless the context has an earlier deadline.
	// 0 means DefaultTimeout.
	Timeout time.Duration
	// SetTimeout limits Set instead of Timeout; 0 means Timeout. SONiC works on a Set for up to
	// 600 s before it answers (sonic-gnmi sonic_service_client), and continues if the client
	// leaves earlier.
	SetTimeout time.Duration
	// Silence ends a Set if the device answers no other request either for that long; 0 means
	// DefaultSilence.
	Silence time.Duration
	// MaxMessage is the maximum message size in either direction, in bytes; 0 means
	// defaultMaxMessage.
	MaxMessage int
	// Log records requests and answers; nil disables it.
	Log *trace.Log
	// Dial connects to the device; nil uses the machine's network.
	Dial netx.Dialer
}

// TLS says how to secure the connection. The zero value verifies the server against the system's
// certificates.
type TLS struct {
	CAFile            string // PEM certificates to trust instead of the system's
	CertFile, KeyFile string // PEM client certificate and key, both or neither
	// Pin is "sha256:<hex>" of the server's public key (of the DER form of its
	// SubjectPublicKeyInfo). With a pin, only the key is verified: the names, dates and issuer of
	// the certificate do not matter.
	Pin string
	// ServerName is the name that the certificate must contain; "" means the host in the address.
	ServerName string
	// Insecure accepts any certificate. Dial then rejects a password, and no user name is sent.
	Insecure bool
	// Plaintext disables TLS. Dial then rejects a password, and no user name is sent.
	Plaintext bool
	// Curves lists the key exchanges to offer; nil uses Go's defaults, whose large post-quantum
	// hello message some old TLS stacks reject.
	Curves []tls.CurveID
}

// check rejects invalid settings before anything is sent, and fills in the defaults.
func (c *Config) check() error {
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil || host == "" {
		return fmt.Errorf("address %q is not host:port", c.Address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("address %q has no valid port", c.Address)
	}
	// The library splits an address at commas and dials all parts.
	if strings.ContainsAny(c.Address, ", /") {
		return fmt.Errorf("address %q is not host:port", c.Address)
	}
	if c.Timeout < 0 || c.SetTimeout < 0 || c.Silence < 0 || c.MaxMessage < 0 {
		return fmt.Errorf("negative timeout or message size")
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.SetTimeout == 0 {
		c.SetTimeout = c.Timeout
	}
	if c.Silence == 0 {
		c.Silence = DefaultSilence
	}
	if c.MaxMessage == 0 {
		c.MaxMessage = defaultMaxMessage
	}
	if c.TLS.ServerName == "" {
		c.TLS.ServerName = host
	}
	for _, s := range []struct{ what, value string }{{"user name", c.Username}, {"password", c.Password.Reveal()}} {
		for _, b := range []byte(s.value) {
			if b < 0x20 || b > 0x7e {
				return fmt.Errorf("%s has a character that gRPC metadata cannot carry (only printable ASCII can)", s.what)
			}
		}
	}
	return c.TLS.check(c.Password.Reveal() != "")
}

func (t *TLS) check(password bool) error {
	switch {
	case t.Plaintext && password:
		return fmt.Errorf("%w: refusing to send a password without TLS", errPlaintextPassword)
	case t.Insecure && password:
		return fmt.Errorf("%w: pin the key of the server instead of accepting any certificate", errUnverifiedPassword)
	case t.Plaintext && (t.Pin != "" || t.Insecure || t.CAFile != "" || t.CertFile != "" || t.KeyFile != ""):
		return fmt.Errorf("plaintext and TLS settings exclude each other")
	case t.Insecure && t.Pin != "":
		return fmt.Errorf("insecure and a pinned key exclude each other")
	case (t.CertFile == "") != (t.KeyFile == ""):
		return fmt.Errorf("client certificate and key go together")
	}
	return nil
}
