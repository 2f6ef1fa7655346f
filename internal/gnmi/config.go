// Package gnmi is a small client for the gNMI calls that configuration needs:
// Capabilities, Get and Set. It reads values by exact paths (Get), subtrees by
// paths with wildcards (GetTree), and both ways the device's own command language
// where gNMI carries it (GetCLI, SetCLI). With Subscribe it is only told that
// something changed (OnChange).
//
// Its rules: every call has a deadline, but for a
// subscription once it holds; TLS is always configured here and
// verified unless the operator says otherwise; a password never travels in
// clear; errors tell an unreachable device from a refused certificate and a
// refused password; and no call is ever repeated, since a Set whose answer is
// lost may have been carried out.
//
// One Client is one connection to one device. Open it, do the work, close it:
// SONiC closes idle connections after five seconds
// (sonic-gnmi telemetry/telemetry.go, idle_conn_duration), and a call after
// that connects anew by itself. Do not keep Clients in a pool, and do not use
// Subscribe ONCE for reading: SONiC never answers it (sonic-net/sonic-gnmi#688).
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
	// DefaultTimeout bounds a call where [Config.Timeout] is 0.
	DefaultTimeout = 30 * time.Second
	// defaultMaxMessage is the largest message, in bytes, where
	// [Config.MaxMessage] is 0. The whole CONFIG_DB of a large switch passes
	// the 4 MiB that gRPC would accept by itself.
	defaultMaxMessage = 64 << 20
	// MaxServerMessage is the largest request, in bytes, that a server with
	// gRPC's default limit accepts. See [SetRequest.Size].
	MaxServerMessage = 4 << 20
)

// Config says how a device is reached.
type Config struct {
	Address  string // host:port
	Username string
	Password secret.Secret
	TLS      TLS
	// Timeout bounds each call, and the whole of Dial; a nearer deadline of
	// the context wins. 0 is DefaultTimeout.
	Timeout time.Duration
	// SetTimeout bounds Set instead of Timeout; 0 is Timeout. SONiC works on
	// a Set for up to 600 s before it answers (sonic-gnmi
	// sonic_service_client), and goes on if the client leaves earlier.
	SetTimeout time.Duration
	// Silence ends a Set whose device answers nothing else either for that long; 0 is
	// DefaultSilence.
	Silence time.Duration
	// MaxMessage is the largest message in either direction, in bytes; 0 is
	// defaultMaxMessage.
	MaxMessage int
	// Log records requests and answers; nil records none.
	Log *trace.Log
	// Dial connects to the device; nil is the network of this machine.
	Dial netx.Dialer
}

// TLS says how the connection is secured. The zero value verifies the server
// against the system's certificates.
type TLS struct {
	CAFile            string // PEM certificates to trust instead of the system's
	CertFile, KeyFile string // PEM client certificate and key, both or neither
	// Pin is "sha256:<hex>" of the server's public key (the DER of its
	// SubjectPublicKeyInfo). With a pin the key alone is verified: neither
	// names nor dates nor issuers of the certificate matter.
	Pin string
	// ServerName is the name that the certificate must have; "" is the host
	// of the address.
	ServerName string
	// Insecure accepts any certificate. Dial then refuses a password, and no user name is
	// sent.
	Insecure bool
	// Plaintext uses no TLS at all. Dial then refuses a password, and no user
	// name is sent.
	Plaintext bool
	// Curves are the key exchanges to offer; nil is Go's choice, whose large
	// post-quantum hello old TLS stacks refuse.
	Curves []tls.CurveID
}

// check refuses what cannot work before anything is sent, and fills in the
// defaults.
func (c *Config) check() error {
	host, port, err := net.SplitHostPort(c.Address)
	if err != nil || host == "" {
		return fmt.Errorf("address %q is not host:port", c.Address)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("address %q has no valid port", c.Address)
	}
	// The library splits an address at commas and calls all parts.
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
