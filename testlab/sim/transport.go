package sim

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// NewTLS makes a CA and a server certificate for loopback and returns a server
// configuration to share between many switches, and the CA as PEM.
func NewTLS() (*tls.Config, []byte, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("ca key: %w", err)
	}
	now := time.Now()
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sim CA"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(10 * 365 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, nil, fmt.Errorf("ca certificate: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("server key: %w", err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, nil, fmt.Errorf("server certificate: %w", err)
	}
	conf := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der, caDER}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	return conf, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}), nil
}

// WrongTLS is a server configuration that no CA of a switch signed, for
// servers that are to present a wrong certificate; one for the process is
// enough.
var WrongTLS = sync.OnceValues(func() (*tls.Config, error) {
	c, _, err := NewTLS()
	if err == nil {
		c.NextProtos = []string{"h2"}
	}
	return c, err
})

func (s *SONiC) prepareTLS() error {
	if s.o.Plaintext {
		return nil
	}
	conf := s.o.TLS
	var err error
	if conf == nil {
		if conf, s.caPEM, err = NewTLS(); err != nil {
			return fmt.Errorf("switch %s: %w", s.o.Name, err)
		}
	} else if len(conf.Certificates) > 0 {
		chain := conf.Certificates[0].Certificate
		s.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain[len(chain)-1]})
	}
	if s.badTLS, err = WrongTLS(); err != nil {
		return fmt.Errorf("switch %s: %w", s.o.Name, err)
	}
	s.tlsConf = conf.Clone()
	s.tlsConf.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.faults.tlsConfig(), nil }
	return nil
}

// NewHostKey makes an Ed25519 key for an SSH server.
func NewHostKey() (ssh.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	return ssh.NewSignerFromKey(key)
}

// HostKeyLine is the known_hosts line of the SSH server, "" where there is none.
func (s *SONiC) HostKeyLine() string {
	if s.hostKey == nil || s.sshLn == nil {
		return ""
	}
	return knownhosts.Line([]string{knownhosts.Normalize(s.SSHAddr())}, s.hostKey.PublicKey())
}

// Listener knows its connections, so that they can be cut. A nil one is a
// server that is not there. It is for the simulators of other systems as well.
type Listener struct {
	net.Listener
	refuse func() bool
	mu     sync.Mutex
	conns  map[*trackedConn]struct{}
	most   int // connections at once
	closed bool
}

// Listen opens a port at a host:port; port 0 is a free one. Connections that
// come while refuse says so are closed at once.
func Listen(address string, refuse func() bool) (*Listener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &Listener{Listener: ln, refuse: refuse, conns: map[*trackedConn]struct{}{}}, nil
}

// Address is host:port, "" where there is no server.
func (l *Listener) Address() string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Most is the largest number of connections that there were at once.
func (l *Listener) Most() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most
}

// Accept passes over the connections that are refused.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		t := &trackedConn{Conn: c, l: l}
		l.mu.Lock()
		closed := l.closed
		l.conns[t] = struct{}{}
		l.most = max(l.most, len(l.conns))
		l.mu.Unlock()
		if closed {
			return nil, errors.Join(net.ErrClosed, t.Close())
		}
		// After it is known: a refusal that begins now cuts it.
		if l.refuse() {
			_ = t.Close()
			continue
		}
		return t, nil
	}
}

// Close stops listening. A connection that is being accepted ends as well;
// the others stay until DropAll.
func (l *Listener) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	return l.Listener.Close()
}

// DropAll cuts the connections that there are.
func (l *Listener) DropAll() {
	if l == nil {
		return
	}
	l.mu.Lock()
	conns := make([]*trackedConn, 0, len(l.conns))
	for c := range l.conns {
		conns = append(conns, c)
	}
	l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

type trackedConn struct {
	net.Conn
	l *Listener
}

// Close ends the connection and forgets it.
func (c *trackedConn) Close() error {
	c.l.mu.Lock()
	delete(c.l.conns, c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}
