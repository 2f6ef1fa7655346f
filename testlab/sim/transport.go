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

// NewTLS makes a CA and a server certificate for loopback and returns a server
// configuration to share between many switches, and the CA as PEM.
func NewTLS() (*tls.Config, []byte, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("ca key: %w", err)
	}
	// They are valid in the virtual time of testing/synctest as well, which begins in 2000.
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

// NewHostKey makes an Ed25519 key for an SSH server.
func NewHostKey() (ssh.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	return ssh.NewSignerFromKey(key)
}

// ServeSSH serves one connection until it ends: the login, for which a client
// has 30 seconds, and then each session channel by a call of session, on a
// goroutine that wg counts. Other kinds of channel are refused.
func ServeSSH(c net.Conn, conf *ssh.ServerConfig, wg *sync.WaitGroup, session func(ssh.Channel, <-chan *ssh.Request)) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second)) // for the handshake
	own := *conf
	own.ServerVersion = "SSH-2.0-OpenSSH_9.2" // all systems of the lab run OpenSSH
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

// Listener knows its connections, so that they can be cut. A nil one is a
// server that is not there.
type Listener struct {
	net.Listener
	refuse func() bool
	mu     sync.Mutex
	conns  map[*trackedConn]struct{}
	most   int // connections at once
	log    []*Session
	closed bool
}

// Session is a connection that a client had.
type Session struct {
	From  string    // the client's end
	Begin time.Time // when it was accepted
	// Used is when a request was last begun, or answered before the connection ended: what
	// the client did on it lies between these two.
	Used  time.Time
	Wrote time.Time // when a request last came that writes; zero for none
	// End is when the server saw its end, which may be long after the client's; zero while
	// it lasts.
	End time.Time
}

// maxSessions bounds the log of a server: the newest are kept.
const maxSessions = 64

// ListenFunc opens a port at a host:port, whose host is an IP address; port 0 is a free one.
// A nil one uses the network of this machine.
type ListenFunc func(address string) (net.Listener, error)

// Open opens a port. Connections that come while refuse says so are closed at once.
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

// Sessions are the newest connections, in the order in which they began.
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

// Used notes that a request of the client with that end of a connection begins, or is
// answered.
func (l *Listener) Used(from string) {
	l.note(from, func(s *Session) {
		if s.End.IsZero() {
			s.Used = time.Now()
		}
	})
}

// Wrote notes that the request is one that writes.
func (l *Listener) Wrote(from string) { l.note(from, func(s *Session) { s.Wrote = time.Now() }) }

func (l *Listener) note(from string, what func(*Session)) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range slices.Backward(l.log) {
		if s.From == from { // the newest: a port is used again
			what(s)
			return
		}
	}
}

// Accept passes over the connections that are refused.
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
	l       *Listener
	session *Session
}

// Close ends the connection and forgets it.
func (c *trackedConn) Close() error {
	c.l.mu.Lock()
	delete(c.l.conns, c)
	if c.session.End.IsZero() {
		c.session.End = time.Now()
	}
	c.l.mu.Unlock()
	return c.Conn.Close()
}
