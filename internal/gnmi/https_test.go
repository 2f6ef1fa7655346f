package gnmi

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

// overHTTPS starts a server on an in-memory network and returns it with a Config that connects to
// it.
func overHTTPS(t *testing.T, handler http.HandlerFunc) (*httptest.Server, Config) {
	t.Helper()
	network := memnet.New(1)
	s := webServer(t, network, handler)
	s.StartTLS()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, Config{Address: s.Listener.Addr().String(), Username: "admin", Password: "secret", Timeout: 10 * time.Second,
		TLS: TLS{CAFile: ca, ServerName: "example.com"}, Dial: network.Client(nil).Dial}
}

// webServer returns a server that is not started yet.
func webServer(t *testing.T, network *memnet.Network, handler http.Handler) *httptest.Server {
	t.Helper()
	l, err := network.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
	t.Cleanup(s.Close)
	return s
}

func ask(t *testing.T, cfg Config) (int, string, error) {
	t.Helper()
	h, err := NewHTTP(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	status, answer, err := h.Do(t.Context(), "PATCH", "/x?y=1", []byte(`{"a":1}`))
	return status, string(answer), err
}

func TestHTTPAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, cfg := overHTTPS(t, func(w http.ResponseWriter, r *http.Request) {
			user, pass, _ := r.BasicAuth()
			body, _ := io.ReadAll(r.Body)
			if user != "admin" || pass != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, r.Method+" "+r.URL.String()+" "+string(body))
		})
		if status, answer, err := ask(t, cfg); err != nil || status != http.StatusTeapot || answer != `PATCH /x?y=1 {"a":1}` {
			t.Errorf("%d %q %v", status, answer, err)
		}
		cfg.Password = "wrong"
		if _, _, err := ask(t, cfg); !errors.Is(err, ErrAuth) || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%v", err)
		}
		cfg.Password, cfg.MaxMessage = "secret", 5
		if _, _, err := ask(t, cfg); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v", err)
		}
	})
}

func TestHTTPVerifiesTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := false
		s, cfg := overHTTPS(t, func(http.ResponseWriter, *http.Request) { asked = true })
		key := pinOf(s.Certificate())
		for name, tls := range map[string]TLS{
			"another CA": {}, "another name": {CAFile: cfg.TLS.CAFile, ServerName: "other.example"}, "another key": {Pin: "sha256:" + strings.Repeat("0", 64)},
		} {
			cfg := cfg
			cfg.TLS = tls
			_, _, err := ask(t, cfg)
			rpc, ok := errors.AsType[*RPCError](err)
			if !ok || !errors.Is(err, ErrTLS) || rpc.Hint() == "" || asked {
				t.Errorf("%s: %v, asked %v", name, err, asked)
			}
			if name == "another CA" && !strings.Contains(rpc.Hint(), key) {
				t.Errorf("the hint %q does not have the key", rpc.Hint())
			}
		}
		pinned := cfg
		pinned.TLS = TLS{Pin: key}
		if _, _, err := ask(t, pinned); err != nil || !asked {
			t.Errorf("pinned: %v, asked %v", err, asked)
		}
		if _, err := NewHTTP(Config{Address: cfg.Address, Username: "u", Password: "secret", TLS: TLS{Insecure: true}}); !errors.Is(err, ErrConfig) || !errors.Is(err, errUnverifiedPassword) {
			t.Errorf("a password to whoever answers: %v", err)
		}
		if _, err := NewHTTP(Config{Address: cfg.Address, Password: "secret", TLS: TLS{Plaintext: true}}); !errors.Is(err, ErrConfig) {
			t.Errorf("a password in clear: %v", err)
		}
	})
}

func TestHTTPWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		_, cfg := overHTTPS(t, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-release:
			}
		})
		begun := time.Now()
		if _, _, err := ask(t, cfg); !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > cfg.Timeout+time.Second {
			t.Errorf("silent: %v after %s", err, time.Since(begun))
		}
		network := memnet.New(1)
		cfg.Address, cfg.Dial = "192.0.2.1:443", network.Client(nil).Dial
		if _, _, err := ask(t, cfg); !errors.Is(err, ErrUnreachable) || strings.Count(err.Error(), cfg.Address) > 2 {
			t.Errorf("nobody: %v", err)
		}
		plain := webServer(t, network, http.NotFoundHandler())
		plain.Start()
		cfg.Address = plain.Listener.Addr().String()
		if _, _, err := ask(t, cfg); !errors.Is(err, ErrTLS) {
			t.Errorf("no TLS: %v", err)
		}
		redirects := 0
		_, cfg = overHTTPS(t, func(w http.ResponseWriter, r *http.Request) {
			redirects++
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		})
		if status, _, err := ask(t, cfg); err != nil || status != http.StatusFound || redirects != 1 {
			t.Errorf("redirected: %d %v, %d requests", status, err, redirects)
		}
	})
}
