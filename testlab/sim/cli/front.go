package cli

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// loopback is the address on which the servers listen.
const loopback = "127.0.0.1:0"

// Config configures a Front.
type Config struct {
	Name               string // name of the switch for errors
	Username, Password string // for both servers
	Banner             string // shown before the login; "" for none

	TLS     *tls.Config // for the gNMI server; nil creates one
	HostKey ssh.Signer  // nil creates one
	Listen  sim.ListenFunc
	NoSSH   bool // no SSH server
	NoGNMI  bool // no gNMI server

	Faults   *Faults
	Shuffler *sim.Shuffler  // nil changes nothing
	Shell    func(*Channel) // serves one channel until it ends
	Register func(*grpc.Server)
}

// Front is the SSH and the gNMI server of a switch. NewFront creates it; Start and Close start and
// stop it.
type Front struct {
	c Config

	caPEM           []byte
	tlsConf, badTLS *tls.Config
	hostKey, badKey ssh.Signer

	sshLn, gnmiLn *sim.Listener // nil if the server does not exist
	grpcSrv       *grpc.Server

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// NewFront prepares the servers. It fails if a key cannot be created.
func NewFront(c Config) (*Front, error) {
	f := &Front{c: c}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if err := f.prepareKeys(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", c.Name, err)
	}
	c.Faults.attach(f)
	return f, nil
}

// wrongKey creates the host key for WrongCertificate. One is enough for the whole process.
var wrongKey = sync.OnceValues(sim.NewHostKey)

func (f *Front) prepareKeys() error {
	var err error
	if !f.c.NoSSH {
		if f.hostKey = f.c.HostKey; f.hostKey == nil {
			if f.hostKey, err = sim.NewHostKey(); err != nil {
				return err
			}
		}
		if f.badKey, err = wrongKey(); err != nil {
			return err
		}
	}
	if f.c.NoGNMI {
		return nil
	}
	conf := f.c.TLS
	if conf == nil {
		if conf, f.caPEM, err = sim.NewTLS(); err != nil {
			return err
		}
	} else if len(conf.Certificates) > 0 && len(conf.Certificates[0].Certificate) > 0 {
		chain := conf.Certificates[0].Certificate
		f.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain[len(chain)-1]})
	}
	if f.badTLS, err = sim.WrongTLS(); err != nil {
		return err
	}
	f.tlsConf = conf.Clone()
	f.tlsConf.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if f.c.Faults.On(&f.c.Faults.badCert) {
			return f.badTLS, nil
		}
		return nil, nil
	}
	return nil
}

// Start opens the servers. It fails if loopback has no free port. The caller must call it only
// once.
func (f *Front) Start() error {
	refuse := func() bool { return f.c.Faults.On(&f.c.Faults.refuse) }
	var err error
	if !f.c.NoSSH {
		if f.sshLn, err = f.c.Listen.Open(loopback, refuse); err != nil {
			return fmt.Errorf("switch %s: ssh: %w", f.c.Name, err)
		}
	}
	if !f.c.NoGNMI {
		if f.gnmiLn, err = f.c.Listen.Open(loopback, refuse); err != nil {
			return errors.Join(fmt.Errorf("switch %s: gnmi: %w", f.c.Name, err), f.sshLn.Close())
		}
		f.grpcSrv = grpc.NewServer(grpc.Creds(credentials.NewTLS(f.tlsConf)), grpc.WaitForHandlers(true))
		f.c.Register(f.grpcSrv)
		f.wg.Go(func() { _ = f.grpcSrv.Serve(f.gnmiLn) }) // returns when the listener closes
	}
	if f.sshLn != nil {
		f.wg.Go(f.serveSSH)
	}
	return nil
}

// Close stops both servers and waits for everything they started, including writes that outlived
// their requests.
func (f *Front) Close() {
	f.cancel()
	_ = f.sshLn.Close()
	f.sshLn.DropAll()
	if f.grpcSrv != nil {
		f.grpcSrv.Stop()
		f.gnmiLn.DropAll()
	}
	f.wg.Wait()
}

// Go runs a function that Close waits for. The function must return when Context ends.
func (f *Front) Go(fn func()) { f.wg.Go(fn) }

// Context returns a context that ends when the switch is closed.
func (f *Front) Context() context.Context { return f.ctx }

// DropConnections cuts every connection of both servers.
func (f *Front) DropConnections() {
	f.sshLn.DropAll()
	f.gnmiLn.DropAll()
}

// SSHAddr returns the host:port of the SSH server, or "" before Start or without an SSH server.
func (f *Front) SSHAddr() string { return f.sshLn.Address() }

// GNMIAddr returns the host:port of the gNMI server, or "" before Start or without a gNMI server.
func (f *Front) GNMIAddr() string { return f.gnmiLn.Address() }

// MostSessions returns the largest number of simultaneous connections to each server so far.
func (f *Front) MostSessions() (gnmi, ssh int) { return f.gnmiLn.Most(), f.sshLn.Most() }

// CAPEM returns the CA certificate for the gNMI server as PEM, or nil without a gNMI server.
func (f *Front) CAPEM() []byte { return slices.Clone(f.caPEM) }

// HostKeyLine returns the known_hosts line of the SSH server, or "" before Start or without an SSH
// server.
func (f *Front) HostKeyLine() string {
	if f.hostKey == nil || f.sshLn == nil {
		return ""
	}
	return knownhosts.Line([]string{knownhosts.Normalize(f.sshLn.Address())}, f.hostKey.PublicKey())
}

// Same compares secrets in constant time.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Enter admits a gNMI call: it waits for the delay of answers and checks the credentials, which
// each call carries as metadata. The error is a gRPC status.
func (f *Front) Enter(ctx context.Context) error {
	if err := f.c.Faults.Hold(ctx); err != nil {
		return status.FromContextError(err).Err()
	}
	if err := f.c.Shuffler.Answer().Pause(ctx); err != nil {
		return status.FromContextError(err).Err()
	}
	md, _ := metadata.FromIncomingContext(ctx)
	u, p := md.Get("username"), md.Get("password")
	if len(u) != 1 || len(p) != 1 || !Same(u[0], f.c.Username) || !Same(p[0], f.c.Password) {
		return status.Error(codes.Unauthenticated, "authentication failed")
	}
	return nil
}
