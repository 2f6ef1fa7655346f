package gnmi

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

const testUser, testPass = "admin", "YourPaSsWoRd-42"

// device is a gNMI server whose answers the test provides.
type device struct {
	gpb.UnimplementedGNMIServer
	network *memnet.Network // nil for the machine's network
	addr    string
	cert    *x509.Certificate
	ca      string // PEM file that verifies the device
	dir     string

	get  func(context.Context, *gpb.GetRequest) (*gpb.GetResponse, error)
	set  func(context.Context, *gpb.SetRequest) (*gpb.SetResponse, error)
	hold func(context.Context) // called by Capabilities

	subscribe func(gpb.GNMI_SubscribeServer) error

	encodings []gpb.Encoding // listed by Capabilities

	mu     sync.Mutex
	logins []metadata.MD
	open   int
	begun  int
	change chan struct{} // closed and replaced whenever open changes
}

type deviceOptions struct {
	network                                 *memnet.Network // nil creates one
	sockets                                 bool            // use the machine's network
	noSAN, expired, mtls, plaintext, noAuth bool
	idle                                    time.Duration
	maxRecv                                 int
	tlsConfig                               func(*tls.Config)
}

// issue creates a certificate, self-signed if parent is nil.
func issue(t testing.TB, tmpl, parent *x509.Certificate, signer *ecdsa.PrivateKey) (tls.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parent == nil {
		parent, signer = tmpl, key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, key
}

func template(name string, serial int64) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		BasicConstraintsValid: true,
	}
}

func pemFile(t testing.TB, dir, name, kind string, der []byte) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.WriteFile(p, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// newDevice starts a server on an in-memory network, or on loopback. It stops at the end of the
// test.
func newDevice(t testing.TB, o deviceOptions) *device {
	t.Helper()
	d := &device{dir: t.TempDir(), change: make(chan struct{}), encodings: []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_JSON_IETF}}
	caTmpl := template("test CA", 1)
	caTmpl.IsCA, caTmpl.KeyUsage = true, x509.KeyUsageCertSign
	ca, caKey := issue(t, caTmpl, nil, nil)
	d.ca = pemFile(t, d.dir, "ca.pem", "CERTIFICATE", ca.Certificate[0])

	leaf := template("leaf1", 2)
	if !o.noSAN {
		leaf.IPAddresses, leaf.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"leaf1.example"}
	}
	if o.expired {
		leaf.NotAfter = time.Now().Add(-24 * time.Hour)
	}
	pair, _ := issue(t, leaf, ca.Leaf, caKey)
	d.cert = pair.Leaf

	client, clientKey := issue(t, template("operator", 3), ca.Leaf, caKey)
	pemFile(t, d.dir, "client.pem", "CERTIFICATE", client.Certificate[0])
	der, err := x509.MarshalECPrivateKey(clientKey)
	if err != nil {
		t.Fatal(err)
	}
	pemFile(t, d.dir, "client.key", "EC PRIVATE KEY", der)

	opts := []grpc.ServerOption{grpc.StatsHandler(connCounter{d}), grpc.MaxSendMsgSize(1 << 30)}
	if !o.plaintext {
		tc := &tls.Config{Certificates: []tls.Certificate{pair}}
		if o.mtls {
			tc.ClientAuth, tc.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
			tc.ClientCAs.AddCert(ca.Leaf)
		}
		if o.tlsConfig != nil {
			o.tlsConfig(tc)
		}
		opts = append(opts, grpc.Creds(credentials.NewTLS(tc)))
	}
	if o.idle > 0 {
		opts = append(opts, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: o.idle}))
	}
	if o.maxRecv > 0 {
		opts = append(opts, grpc.MaxRecvMsgSize(o.maxRecv))
	}
	if !o.noAuth {
		opts = append(opts, grpc.UnaryInterceptor(d.login), grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			_, err := d.login(s.Context(), nil, nil, func(context.Context, any) (any, error) { return nil, next(srv, s) })
			return err
		}))
	}
	s := grpc.NewServer(opts...)
	gpb.RegisterGNMIServer(s, d)
	listen := func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	if !o.sockets {
		if d.network = o.network; d.network == nil {
			d.network = memnet.New(1)
		}
		listen = d.network.Listen
	}
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.addr = l.Addr().String()
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-served })
	return d
}

func (d *device) login(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	d.mu.Lock()
	d.logins = append(d.logins, md)
	d.mu.Unlock()
	if u, p := md.Get("username"), md.Get("password"); len(u) != 1 || len(p) != 1 || u[0] != testUser || p[0] != testPass {
		return nil, status.Error(codes.Unauthenticated, "PAM: Authentication\x1b[31m failure")
	}
	return next(ctx, req)
}

func (d *device) Capabilities(ctx context.Context, _ *gpb.CapabilityRequest) (*gpb.CapabilityResponse, error) {
	if d.hold != nil {
		d.hold(ctx)
		// The deadline may pass here slightly before it passes at the client, which would then
		// still receive an answer in time.
		if err := ctx.Err(); err != nil {
			return nil, status.FromContextError(err).Err()
		}
	}
	return &gpb.CapabilityResponse{
		GNMIVersion:        "0.7.0",
		SupportedModels:    []*gpb.ModelData{{Name: "sonic-db", Organization: "SONiC", Version: "0.1.0"}},
		SupportedEncodings: d.encodings,
	}, nil
}

func (d *device) Get(ctx context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
	return d.get(ctx, r)
}

func (d *device) Set(ctx context.Context, r *gpb.SetRequest) (*gpb.SetResponse, error) {
	return d.set(ctx, r)
}

func (d *device) Subscribe(s gpb.GNMI_SubscribeServer) error { return d.subscribe(s) }

// config returns a Config that connects to the device with correct credentials.
func (d *device) config() Config {
	cfg := Config{Address: d.addr, Username: testUser, Password: testPass, TLS: TLS{CAFile: d.ca}, Timeout: 10 * time.Second}
	if d.network != nil {
		cfg.Dial = d.network.Client(nil).Dial
	}
	return cfg
}

func (d *device) clientFiles(c *Config) {
	c.TLS.CertFile, c.TLS.KeyFile = filepath.Join(d.dir, "client.pem"), filepath.Join(d.dir, "client.key")
}

// connections returns how many connections were opened in total and how many are open now.
func (d *device) connections() (begun, open int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun, d.open
}

// waitOpen waits until n connections are open.
func (d *device) waitOpen(t testing.TB, n int) {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		d.mu.Lock()
		open, change := d.open, d.change
		d.mu.Unlock()
		if open == n {
			return
		}
		select {
		case <-change:
		case <-limit:
			t.Fatalf("%d connections open, want %d", open, n)
		}
	}
}

type connCounter struct{ d *device }

func (connCounter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (connCounter) HandleRPC(context.Context, stats.RPCStats)                         {}
func (connCounter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (c connCounter) HandleConn(_ context.Context, s stats.ConnStats) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	switch s.(type) {
	case *stats.ConnBegin:
		c.d.begun++
		c.d.open++
	case *stats.ConnEnd:
		c.d.open--
	}
	close(c.d.change)
	c.d.change = make(chan struct{})
}

func jsonVal(s string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(s)}}
}

// echo answers each path with the value of f for its last element, and omits paths whose value is
// "".
func echo(f func(last string) string) func(context.Context, *gpb.GetRequest) (*gpb.GetResponse, error) {
	return func(_ context.Context, r *gpb.GetRequest) (*gpb.GetResponse, error) {
		resp := &gpb.GetResponse{}
		for _, p := range r.Path {
			if v := f(p.Elem[len(p.Elem)-1].Name); v != "" {
				resp.Notification = append(resp.Notification, &gpb.Notification{Prefix: r.Prefix, Update: []*gpb.Update{{Path: p, Val: jsonVal(v)}}})
			}
		}
		return resp, nil
	}
}

// listen accepts connections on the network and serves each one in a goroutine of its own. It
// returns the address.
func listen(t testing.TB, network *memnet.Network, serve func(net.Conn)) string {
	t.Helper()
	l, err := network.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { serve(c); c.Close() })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

// forward relays each connection to the address in to at the time it is opened.
func forward(t testing.TB, network *memnet.Network, to *atomic.Pointer[string]) string {
	return listen(t, network, func(in net.Conn) {
		out, err := network.Client(nil).Dial(context.Background(), "tcp", *to.Load())
		if err != nil {
			return
		}
		var wg sync.WaitGroup
		for _, p := range [][2]net.Conn{{in, out}, {out, in}} {
			wg.Go(func() { _, _ = io.Copy(p[0], p[1]); p[0].Close(); p[1].Close() })
		}
		wg.Wait()
	})
}
