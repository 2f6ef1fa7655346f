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

// loopback is where servers listen.
const loopback = "127.0.0.1:0"

// Config says what a Front is.
type Config struct {
	Name               string // of the switch, in errors
	Username, Password string // of both servers
	Banner             string // before the login, "" for none

	TLS     *tls.Config // of the gNMI server; nil: one of its own making
	HostKey ssh.Signer  // nil: a new one
	Listen  sim.ListenFunc
	NoSSH   bool // no SSH server
	NoGNMI  bool // no gNMI server

	Faults   *Faults
	Shuffler *sim.Shuffler  // nil changes nothing
	Shell    func(*Channel) // serves one channel until it is over
	Register func(*grpc.Server)
}

// Front is what clients reach of a switch: its SSH and its gNMI server.
// NewFront makes one, Start and Close start and close it.
type Front struct {
	c Config

	caPEM           []byte
	tlsConf, badTLS *tls.Config
	hostKey, badKey ssh.Signer

	sshLn, gnmiLn *sim.Listener // nil where there is no such server
	grpcSrv       *grpc.Server

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// NewFront prepares the servers. It fails where a key cannot be made.
func NewFront(c Config) (*Front, error) {
	f := &Front{c: c}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if err := f.prepareKeys(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", c.Name, err)
	}
	c.Faults.attach(f)
	return f, nil
}

// wrongKey is the host key of WrongCertificate; one for the process is enough.
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

// Start opens the servers. It fails when loopback has no port left. The caller
// sees to it that it is called once.
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

// Close stops both servers and waits for everything they started, including
// writes that outlived their requests.
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

// Go runs a function that Close waits for; it ends when Context does.
func (f *Front) Go(fn func()) { f.wg.Go(fn) }

// Context ends when the switch closes.
func (f *Front) Context() context.Context { return f.ctx }

// DropConnections cuts every connection of both servers.
func (f *Front) DropConnections() {
	f.sshLn.DropAll()
	f.gnmiLn.DropAll()
}

// SSHAddr is the host:port of the SSH server, "" before Start and where there
// is none.
func (f *Front) SSHAddr() string { return f.sshLn.Address() }

// GNMIAddr is the host:port of the gNMI server, "" before Start and where
// there is none.
func (f *Front) GNMIAddr() string { return f.gnmiLn.Address() }

// MostSessions are the largest numbers of connections to each of the two
// servers that there were at once.
func (f *Front) MostSessions() (gnmi, ssh int) { return f.gnmiLn.Most(), f.sshLn.Most() }

// CAPEM is the certificate that a client trusts to reach the gNMI server, as
// PEM; nil where there is no such server.
func (f *Front) CAPEM() []byte { return slices.Clone(f.caPEM) }

// HostKeyLine is the known_hosts line of the SSH server, "" before Start and
// where there is none.
func (f *Front) HostKeyLine() string {
	if f.hostKey == nil || f.sshLn == nil {
		return ""
	}
	return knownhosts.Line([]string{knownhosts.Normalize(f.sshLn.Address())}, f.hostKey.PublicKey())
}

// Same compares secrets in a time that does not depend on where they differ.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Enter lets a gNMI call in: it waits the delay of answers out and checks the
// account, which comes with each call as metadata. The error is a gRPC status.
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
