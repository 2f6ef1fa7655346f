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

// wrongTLS is what WrongCertificate presents; one for the process is enough.
var wrongTLS = sync.OnceValues(func() (*tls.Config, error) {
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
	if s.badTLS, err = wrongTLS(); err != nil {
		return fmt.Errorf("switch %s: %w", s.o.Name, err)
	}
	s.tlsConf = conf.Clone()
	s.tlsConf.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.faults.tlsConfig(), nil }
	return nil
}

func newHostKey() (ssh.Signer, error) {
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

// trackedListener knows its connections, so that they can be cut. A nil one
// is a server that is not there.
type trackedListener struct {
	net.Listener
	faults *Faults
	mu     sync.Mutex
	conns  map[*trackedConn]struct{}
}

func newTrackedListener(ln net.Listener, f *Faults) *trackedListener {
	return &trackedListener{Listener: ln, faults: f, conns: map[*trackedConn]struct{}{}}
}

func (l *trackedListener) addr() string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

func (l *trackedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.faults.on(&l.faults.refuse) {
			_ = c.Close()
			continue
		}
		t := &trackedConn{Conn: c, l: l}
		l.mu.Lock()
		l.conns[t] = struct{}{}
		l.mu.Unlock()
		return t, nil
	}
}

func (l *trackedListener) dropAll() {
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
	l *trackedListener
}

func (c *trackedConn) Close() error {
	c.l.mu.Lock()
	delete(c.l.conns, c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}
