package gnmi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

func TestMain(m *testing.M) { sharedtest.VerifyMain(m) }

func dial(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

var kinds = []error{ErrUnreachable, ErrTLS, ErrAuth, ErrTimeout, ErrNotFound, ErrTooLarge, ErrConfig, ErrAnswer}

// want fails unless err is of this kind and no other, contains the address, and does not contain
// the password.
func want(t *testing.T, err, kind error, addr string) *RPCError {
	t.Helper()
	var e *RPCError
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T) is no RPCError", err, err)
	}
	for _, k := range kinds {
		if errors.Is(err, k) != (k == kind) {
			t.Errorf("error %q: is %q: %v", err, k, errors.Is(err, k))
		}
	}
	if e.Addr != addr || !strings.Contains(err.Error(), addr) {
		t.Errorf("error %q does not name %s", err, addr)
	}
	for _, bad := range []string{testPass, "\x1b", "\n", "rpc error"} {
		if strings.Contains(err.Error(), bad) || strings.Contains(e.Hint(), testPass) {
			t.Errorf("error %q holds %q", err, bad)
		}
	}
	return e
}

func TestCapabilities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		c := dial(t, d.config())
		caps := c.Capabilities()
		if caps.Version != "0.7.0" || !caps.HasModel("sonic-db") || caps.HasModel("openconfig-qos") || strings.Join(caps.Encodings, " ") != "JSON JSON_IETF" {
			t.Errorf("capabilities %+v", caps)
		}
		if c.ServerKey() != pinOf(d.cert) {
			t.Errorf("server key %s", c.ServerKey())
		}
		for _, s := range []string{fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%+v", d.config())} {
			if strings.Contains(s, testPass) {
				t.Errorf("a print shows the password: %s", s)
			}
		}
	})
}

func TestTrust(t *testing.T) {
	good, noSAN, worst, mtls := deviceOptions{}, deviceOptions{noSAN: true}, deviceOptions{noSAN: true, expired: true}, deviceOptions{mtls: true}
	mtls12 := deviceOptions{mtls: true, tlsConfig: func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }}
	p256 := deviceOptions{tlsConfig: func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.CurveP256} }}
	old := deviceOptions{tlsConfig: func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }}
	wrongPin := "sha256:" + strings.Repeat("ab", 32)
	for _, c := range []struct {
		name string
		o    deviceOptions
		// In the following, KEY is the pin of the device's key, CA the file that verifies the
		// device, and OTHER one that verifies another.
		tls  TLS
		kind error
		hint string
		text string
	}{
		{"CA", good, TLS{CAFile: "CA"}, nil, "", ""},
		{"CA and name", good, TLS{CAFile: "CA", ServerName: "leaf1.example"}, nil, "", ""},
		{"CA and wrong name", good, TLS{CAFile: "CA", ServerName: "leaf2.example"}, ErrTLS, "set tls.serverName to a name in the certificate; or: the server's key is KEY", "leaf2.example"},
		{"untrusted: system roots", good, TLS{}, ErrTLS, "KEY", "unknown authority"},
		{"untrusted: other CA", good, TLS{CAFile: "OTHER"}, ErrTLS, "KEY", ""},
		{"no SAN", noSAN, TLS{CAFile: "CA"}, ErrTLS, "KEY", ""},
		{"right pin", good, TLS{Pin: "KEY"}, nil, "", ""},
		{"right pin in capitals", good, TLS{Pin: "sha256:CAPITALS"}, nil, "", ""},
		{"wrong pin", good, TLS{Pin: wrongPin}, ErrTLS, "change the pin", "KEY"},
		{"wrong pin beats right CA", good, TLS{Pin: wrongPin, CAFile: "CA"}, ErrTLS, "change the pin", wrongPin},
		{"expired, no SAN, pinned", worst, TLS{Pin: "KEY"}, nil, "", ""},
		{"expired, no SAN, CA", worst, TLS{CAFile: "CA"}, ErrTLS, "KEY", ""},
		{"insecure", noSAN, TLS{Insecure: true}, ErrAuth, "", ""}, // the device requires a login, but none is sent
		{"client certificate missing", mtls, TLS{CAFile: "CA"}, ErrAuth, "client certificate", ""},
		{"client certificate missing, TLS 1.2", mtls12, TLS{CAFile: "CA"}, ErrAuth, "", ""},
		{"client certificate", mtls, TLS{CAFile: "CA", CertFile: "own"}, nil, "", ""},
		{"client certificate, TLS 1.2", mtls12, TLS{CAFile: "CA", CertFile: "own"}, nil, "", ""},
		{"client certificate of another CA", mtls, TLS{CAFile: "CA", CertFile: "of the other"}, ErrAuth, "client certificate", ""},
		{"curve", p256, TLS{CAFile: "CA", Curves: []tls.CurveID{tls.CurveP256}}, nil, "", ""},
		{"no common curve", p256, TLS{CAFile: "CA", Curves: []tls.CurveID{tls.X25519}}, ErrTLS, "", ""},
		{"TLS 1.1 device", old, TLS{Insecure: true}, ErrTLS, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, other := newDevice(t, c.o), newDevice(t, deviceOptions{})
				key := pinOf(d.cert)
				fill := strings.NewReplacer("KEY", key, "CAPITALS", strings.ToUpper(strings.TrimPrefix(key, "sha256:")), "CA", d.ca, "OTHER", other.ca)
				cfg := d.config()
				cfg.TLS = c.tls
				cfg.TLS.Pin, cfg.TLS.CAFile = fill.Replace(c.tls.Pin), fill.Replace(c.tls.CAFile)
				switch c.tls.CertFile {
				case "own":
					d.clientFiles(&cfg)
				case "of the other":
					other.clientFiles(&cfg)
				}
				if c.tls.Insecure { // allows no password
					cfg.Password = ""
				}
				cl, err := Dial(t.Context(), cfg)
				if c.kind == nil {
					if err != nil {
						t.Fatal(err)
					}
					if err := cl.Close(); err != nil {
						t.Error(err)
					}
				} else if e := want(t, err, c.kind, d.addr); !strings.Contains(e.Hint(), fill.Replace(c.hint)) || !strings.Contains(err.Error(), fill.Replace(c.text)) {
					t.Errorf("error %q, hint %q", err, e.Hint())
				}
				d.mu.Lock()
				defer d.mu.Unlock()
				for _, md := range d.logins {
					if c.tls.Insecure && len(md.Get("username"))+len(md.Get("password")) > 0 {
						t.Errorf("a login for whoever answers: %v", md)
					}
					if !c.tls.Insecure && len(md.Get("password")) != 1 {
						t.Errorf("login without a password: %v", md)
					}
				}
			})
		})
	}
}

func TestWrongPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice(t, deviceOptions{})
		cfg := d.config()
		cfg.Password = "wrong"
		_, err := Dial(t.Context(), cfg)
		if e := want(t, err, ErrAuth, d.addr); e.Code != codes.Unauthenticated || e.Hint() == "" {
			t.Errorf("code %v, hint %q", e.Code, e.Hint())
		}
	})
}

func TestPlaintext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		d := newDevice(t, deviceOptions{network: network, plaintext: true, noAuth: true})
		cfg := d.config()
		cfg.TLS = TLS{Plaintext: true}
		_, err := Dial(t.Context(), cfg)
		want(t, err, ErrConfig, d.addr)
		if !errors.Is(err, errPlaintextPassword) {
			t.Errorf("error %v", err)
		}
		if n, _ := d.connections(); n != 0 {
			t.Errorf("%d connections made with a password and no TLS", n)
		}
		cfg.Password = ""
		if k := dial(t, cfg).ServerKey(); k != "" {
			t.Errorf("server key %q", k)
		}
		locked := newDevice(t, deviceOptions{network: network, plaintext: true})
		cfg.Address = locked.addr
		_, err = Dial(t.Context(), cfg)
		want(t, err, ErrAuth, locked.addr)
		for _, md := range locked.logins {
			if len(md.Get("username")) != 0 {
				t.Error("user name sent in clear")
			}
		}

		cfg = d.config()
		_, err = Dial(t.Context(), cfg)
		if want(t, err, ErrTLS, d.addr); !strings.Contains(err.Error(), "does not speak TLS") {
			t.Errorf("TLS to a plaintext device: %v", err)
		}
		secured := newDevice(t, deviceOptions{network: network})
		_, err = Dial(t.Context(), Config{Address: secured.addr, TLS: TLS{Plaintext: true}, Timeout: 5 * time.Second, Dial: cfg.Dial})
		if e := want(t, err, ErrUnreachable, secured.addr); !strings.Contains(e.Hint(), "TLS") {
			t.Errorf("plaintext to a TLS device: %v, hint %q", err, e.Hint())
		}
	})
}

func TestDeadAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const dead, unknown = "192.0.2.1:8080", "no-such-host.invalid:8080"
		_, err := Dial(t.Context(), Config{Address: dead, Dial: memnet.New(1).Client(nil).Dial})
		if want(t, err, ErrUnreachable, dead); !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("error %q", err)
		}
		_, err = Dial(t.Context(), Config{Address: unknown, Dial: func(_ context.Context, network, addr string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: addr, IsNotFound: true}}
		}})
		want(t, err, ErrUnreachable, unknown)
	})
}

func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		addr := listen(t, network, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		cfg := Config{Address: addr, Timeout: 10 * time.Second, Dial: network.Client(nil).Dial}
		// Two limits end at once, and either may end the attempt.
		for i := range 40 {
			cfg.TLS.Plaintext = i%2 == 1
			_, err := Dial(t.Context(), cfg)
			want(t, err, ErrTimeout, addr)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := Dial(ctx, cfg)
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrTimeout) {
			t.Errorf("cancelled dial: %v", err)
		}
	})
}

// A device that accepts a connection and hangs up, for example during a restart, is not reported
// as a certificate problem.
func TestHangsUpInTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		addr := listen(t, network, func(c net.Conn) { _, _ = c.Read(make([]byte, 64)) })
		_, err := Dial(t.Context(), Config{Address: addr, Timeout: 5 * time.Second, Dial: network.Client(nil).Dial})
		if !errors.Is(err, ErrUnreachable) || errors.Is(err, ErrTLS) {
			t.Errorf("got %v", err)
		}
	})
}

func TestSettingsRefused(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk.pem")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	const addr = "127.0.0.1:1"
	for name, cfg := range map[string]Config{
		"no port":           {Address: "leaf1"},
		"two addresses":     {Address: "127.0.0.1:1,127.0.0.1:2"},
		"unix socket":       {Address: "unix:///tmp/x:1"},
		"no host":           {Address: ":8080"},
		"port range":        {Address: "leaf1:70000"},
		"pin length":        {Address: addr, TLS: TLS{Pin: "sha256:abcd"}},
		"pin scheme":        {Address: addr, TLS: TLS{Pin: strings.Repeat("ab", 32)}},
		"insecure password": {Address: addr, Password: "p", TLS: TLS{Insecure: true}},
		"pin and insecure":  {Address: addr, TLS: TLS{Pin: "sha256:" + strings.Repeat("ab", 32), Insecure: true}},
		"plaintext and pin": {Address: addr, TLS: TLS{Pin: "sha256:" + strings.Repeat("ab", 32), Plaintext: true}},
		"no CA file":        {Address: addr, TLS: TLS{CAFile: filepath.Join(dir, "absent")}},
		"CA file of junk":   {Address: addr, TLS: TLS{CAFile: junk}},
		"certificate alone": {Address: addr, TLS: TLS{CertFile: junk}},
		"junk certificate":  {Address: addr, TLS: TLS{CertFile: junk, KeyFile: junk}},
		"password no ASCII": {Address: addr, Password: "pässword"},
		"negative timeout":  {Address: addr, Timeout: -1},
	} {
		if _, err := Dial(t.Context(), cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "ssword\xc3") || strings.Contains(err.Error(), "pässword") {
			t.Errorf("%s: error shows the password: %v", name, err)
		}
	}
}
