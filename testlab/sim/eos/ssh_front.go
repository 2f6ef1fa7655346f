package eos

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"google.golang.org/grpc"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// front is what clients reach of a switch: the SSH and the gNMI server, the
// faults of both, and the world around the box. New makes one, Start and Close
// start and close it.
type front struct {
	e      *EOS
	o      Options
	faults *Faults
	world  *world

	caPEM           []byte
	tlsConf, badTLS *tls.Config
	hostKey, badKey ssh.Signer

	sshLn, gnmiLn *listener // nil where there is no such server
	grpcSrv       *grpc.Server

	setLock chan struct{} // a box carries out one Set at a time
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

func newFront(e *EOS, o Options) (*front, error) {
	f := &front{e: e, o: o, world: newWorld(), setLock: make(chan struct{}, 1)}
	f.faults = newFaults(f)
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if err := f.prepareKeys(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", o.Hostname, err)
	}
	return f, nil
}

// wrongTLS and wrongKey are what WrongCertificate presents; one for the
// process is enough.
var (
	wrongTLS = sync.OnceValues(func() (*tls.Config, error) {
		c, _, err := sim.NewTLS()
		if err == nil {
			c.NextProtos = []string{"h2"}
		}
		return c, err
	})
	wrongKey = sync.OnceValues(sim.NewHostKey)
)

func (f *front) prepareKeys() error {
	var err error
	if !f.o.NoSSH {
		if f.hostKey = f.o.HostKey; f.hostKey == nil {
			if f.hostKey, err = sim.NewHostKey(); err != nil {
				return err
			}
		}
		if f.badKey, err = wrongKey(); err != nil {
			return err
		}
	}
	if f.o.NoGNMI {
		return nil
	}
	conf := f.o.TLS
	if conf == nil {
		if conf, f.caPEM, err = sim.NewTLS(); err != nil {
			return err
		}
	} else if len(conf.Certificates) > 0 && len(conf.Certificates[0].Certificate) > 0 {
		chain := conf.Certificates[0].Certificate
		f.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain[len(chain)-1]})
	}
	if f.badTLS, err = wrongTLS(); err != nil {
		return err
	}
	f.tlsConf = conf.Clone()
	f.tlsConf.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.faults.tlsConfig(), nil }
	return nil
}

// start opens the servers. It fails when loopback has no port left.
func (f *front) start() error {
	if !f.o.NoSSH {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("switch %s: ssh: %w", f.o.Hostname, err)
		}
		f.sshLn = newListener(ln, f.faults)
	}
	if !f.o.NoGNMI {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			err = fmt.Errorf("switch %s: gnmi: %w", f.o.Hostname, err)
			if f.sshLn != nil {
				err = errors.Join(err, f.sshLn.Close())
			}
			return err
		}
		f.gnmiLn = newListener(ln, f.faults)
		f.grpcSrv = f.newGRPCServer()
		f.wg.Go(func() { _ = f.grpcSrv.Serve(f.gnmiLn) }) // returns when the listener closes
	}
	if f.sshLn != nil {
		f.wg.Go(f.serveSSH)
	}
	return nil
}

// close stops both servers and waits for everything they started, including
// writes that outlived their requests.
func (f *front) close() {
	f.cancel()
	if f.sshLn != nil {
		_ = f.sshLn.Close()
		f.sshLn.dropAll()
	}
	if f.gnmiLn != nil {
		f.grpcSrv.Stop()
		f.gnmiLn.dropAll()
	}
	f.wg.Wait()
}

func (f *front) dropConnections() {
	f.sshLn.dropAll()
	f.gnmiLn.dropAll()
}

// CAPEM is the certificate that a client trusts to reach the gNMI server, as
// PEM; nil where there is no such server.
func (e *EOS) CAPEM() []byte { return slices.Clone(e.front.caPEM) }

// hostKeyLine is the known_hosts line of the SSH server, "" where there is none.
func (f *front) hostKeyLine() string {
	if f.hostKey == nil || f.sshLn == nil {
		return ""
	}
	return knownhosts.Line([]string{knownhosts.Normalize(f.sshLn.addr())}, f.hostKey.PublicKey())
}

// listener knows its connections, so that they can be cut. A nil one is a
// server that is not there.
type listener struct {
	net.Listener
	faults *Faults
	mu     sync.Mutex
	conns  map[*conn]struct{}
	closed bool
}

func newListener(ln net.Listener, f *Faults) *listener {
	return &listener{Listener: ln, faults: f, conns: map[*conn]struct{}{}}
}

func (l *listener) addr() string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Accept passes over the connections that RefuseConnections refuses.
func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: nc, l: l}
		l.mu.Lock()
		closed := l.closed
		l.conns[c] = struct{}{}
		l.mu.Unlock()
		if closed {
			return nil, errors.Join(net.ErrClosed, c.Close())
		}
		// After it is known: a RefuseConnections that comes now cuts it.
		if l.faults.on(&l.faults.refuse) {
			_ = c.Close()
			continue
		}
		return c, nil
	}
}

// Close stops listening. A connection that is being accepted ends as well;
// the others stay until dropAll.
func (l *listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	return l.Listener.Close()
}

func (l *listener) dropAll() {
	if l == nil {
		return
	}
	l.mu.Lock()
	conns := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		conns = append(conns, c)
	}
	l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

type conn struct {
	net.Conn
	l *listener
}

// Close ends the connection and forgets it.
func (c *conn) Close() error {
	c.l.mu.Lock()
	delete(c.l.conns, c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}
