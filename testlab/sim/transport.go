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
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// NewTLS creates a CA and a server certificate for loopback. It returns a server configuration
// that many switches can share, and the CA as PEM.
func NewTLS() (*tls.Config, []byte, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("ca key: %w", err)
	}
	// The certificates are also valid in the virtual time of testing/synctest, which begins in
	// 2000.
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sim CA"}, NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC),
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

// WrongTLS returns a server configuration that no switch's CA signed, for servers that present a
// wrong certificate. One is enough for the whole process.
var WrongTLS = sync.OnceValues(func() (*tls.Config, error) {
	c, _, err := NewTLS()
	if err == nil {
		c.NextProtos = []string{"h2"}
	}
	return c, err
})

// NewHostKey creates an Ed25519 key for an SSH server.
func NewHostKey() (ssh.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	return ssh.NewSignerFromKey(key)
}

// ServeSSH serves one connection until it ends. The client has 30 seconds to log in. Each session
// channel is then served by a call of session, on a goroutine counted by wg. Other kinds of
// channels are rejected.
func ServeSSH(c net.Conn, conf *ssh.ServerConfig, wg *sync.WaitGroup, session func(ssh.Channel, <-chan *ssh.Request)) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second)) // for the handshake
	own := *conf
	own.ServerVersion = "SSH-2.0-OpenSSH_9.2" // all systems in the lab run OpenSSH
	conn, chans, reqs, err := ssh.NewServerConn(c, &own)
	if err != nil {
		return
	}
	_ = c.SetDeadline(time.Time{})
	wg.Go(func() { ssh.DiscardRequests(reqs) })
	for nc := range chans {
		if nc.ChannelType() != "session" {
			_ = nc.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		ch, requests, err := nc.Accept()
		if err != nil {
			break
		}
		wg.Go(func() { session(ch, requests) })
	}
	_ = conn.Close()
}

// Listener tracks its connections so that they can be cut. A nil Listener stands for a server that
// does not exist.
type Listener struct {
	net.Listener
	refuse func() bool
	mu     sync.Mutex
	conns  map[*trackedConn]struct{}
	most   int // largest number of simultaneous connections
	log    []*Session
	closed bool
}

// Session is one connection of a client.
type Session struct {
	From  string    // address of the client
	Begin time.Time // when it was accepted
	// Used is when the last request began, or was answered before the connection ended. Everything
	// the client did on the connection lies between Begin and Used.
	Used  time.Time
	Wrote time.Time // when the last write request arrived; zero if none did
	// End is when the server noticed the end of the connection, which may be long after the client
	// ended it; zero while the connection is open.
	End time.Time
}

// maxSessions is the number of sessions in a server's log; older ones are dropped.
const maxSessions = 64

// ListenFunc listens on a host:port whose host is an IP address; port 0 picks a free port. A nil
// ListenFunc uses the machine's network.
type ListenFunc func(address string) (net.Listener, error)

// Open listens on an address. Connections that arrive while refuse returns true are closed at
// once.
func (f ListenFunc) Open(address string, refuse func() bool) (*Listener, error) {
	if f == nil {
		f = func(address string) (net.Listener, error) { return net.Listen("tcp", address) }
	}
	ln, err := f(address)
	if err != nil {
		return nil, err
	}
	return &Listener{Listener: ln, refuse: refuse, conns: map[*trackedConn]struct{}{}}, nil
}

// Address returns the host:port, or "" if there is no server.
func (l *Listener) Address() string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Most returns the largest number of simultaneous connections so far.
func (l *Listener) Most() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most
}

// Sessions returns the most recent connections in the order in which they began.
func (l *Listener) Sessions() (out []Session) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.log {
		out = append(out, *s)
	}
	return out
}

// Used records that a request begins or is answered on the connection from the given client
// address.
func (l *Listener) Used(from string) {
	l.note(from, func(s *Session) {
		if s.End.IsZero() {
			s.Used = time.Now()
		}
	})
}

// Wrote records that the current request on the connection is a write.
func (l *Listener) Wrote(from string) { l.note(from, func(s *Session) { s.Wrote = time.Now() }) }

func (l *Listener) note(from string, what func(*Session)) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range slices.Backward(l.log) {
		if s.From == from { // the most recent one, because ports are reused
			what(s)
			return
		}
	}
}

// Accept skips connections that are refused.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		now := time.Now()
		t := &trackedConn{Conn: c, l: l, session: &Session{From: c.RemoteAddr().String(), Begin: now, Used: now}}
		l.mu.Lock()
		closed := l.closed
		l.conns[t] = struct{}{}
		l.most = max(l.most, len(l.conns))
		l.log = append(l.log[max(0, len(l.log)-maxSessions+1):], t.session)
		l.mu.Unlock()
		if closed {
			return nil, errors.Join(net.ErrClosed, t.Close())
		}
		// Check after the connection is tracked, so that a refusal that starts now cuts it.
		if l.refuse() {
			_ = t.Close()
			continue
		}
		return t, nil
	}
}

// Close stops listening. It also ends a connection that is being accepted; the others stay open
// until DropAll.
func (l *Listener) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	return l.Listener.Close()
}

// DropAll cuts all open connections.
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
	l       *Listener
	session *Session
}

// Close closes the connection and stops tracking it.
func (c *trackedConn) Close() error {
	c.l.mu.Lock()
	delete(c.l.conns, c)
	if c.session.End.IsZero() {
		c.session.End = time.Now()
	}
	c.l.mu.Unlock()
	return c.Conn.Close()
}
