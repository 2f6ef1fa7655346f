package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
	"github.com/roce-fabric/roce-fabric/watch"
)

func TestMain(m *testing.M) { sharedtest.VerifyMain(m) }

// watcher returns a watcher that has not started. It signals its first read on in, finishes the
// read when read receives, and signals the end of the round on over.
func watcher(t *testing.T, in, read, over chan struct{}) *watch.Watcher {
	t.Helper()
	text, err := examples.Intent("quickstart")
	if err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(string(text))})
	if err != nil {
		t.Fatal(err)
	}
	return watch.New(watch.Config{Fabric: f, Interval: time.Hour, Parallel: 1, Devices: []watch.Device{{Name: "leaf1"}},
		Read: func(ctx context.Context, d watch.Device, _ fleet.Ends) fleet.Reading {
			close(in)
			select {
			case <-read:
			case <-ctx.Done():
			}
			return fleet.Reading{Device: d.Name, Err: fleet.NewError(d.Name, fleet.OpRead, ctx.Err())}
		},
		Round: func(*watch.Round) { close(over) },
	})
}

func get(h http.Handler, method, path string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(method, path, nil))
	return rec
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, read, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
		w := watcher(t, in, read, over)
		written := 0
		h := Handler(Source{Watcher: w, Metrics: http.NotFoundHandler(), Report: func(out io.Writer, r *watch.Round, form string) error {
			written++
			_, err := fmt.Fprintf(out, "%s of round %d", form, r.N)
			return err
		}})
		want := func(path string, status int, body string) {
			t.Helper()
			rec := get(h, "GET", path)
			if rec.Code != status || !strings.Contains(rec.Body.String(), body) {
				t.Errorf("%s: %d %q, want %d %q", path, rec.Code, rec.Body, status, body)
			}
		}
		want("/healthz", 503, "the watch is stuck")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		defer func() { cancel(); wg.Wait(); want("/healthz", 503, "") }()
		<-in
		want("/healthz", 200, "ok")
		want("/readyz", 503, "first round")
		want("/report.html", 503, "first round")
		want("/history.json", 200, "[]")
		close(read)
		<-over
		want("/readyz", 200, "ok")
		want("/report.html", 200, "html of round 1")
		want("/report.json", 200, "json of round 1")
		want("/report.html", 200, "html of round 1")
		if written != 2 {
			t.Errorf("the reports of a round were written %d times", written)
		}
		var history []watch.Record
		if err := json.Unmarshal(get(h, "GET", "/history.json").Body.Bytes(), &history); err != nil || len(history) != 1 || history[0].Verdict != watch.OK {
			t.Errorf("the history is %v, %v", history, err)
		}
		want("/", 200, "/metrics")
		want("/etc/passwd", 404, "")
		if rec := get(h, "POST", "/report.json"); rec.Code != 405 {
			t.Errorf("POST: %d", rec.Code)
		}
		if rec := get(h, "HEAD", "/readyz"); rec.Code != 200 {
			t.Errorf("HEAD: %d", rec.Code)
		}
		if got := get(h, "GET", "/report.json").Header(); got.Get("X-Content-Type-Options") != "nosniff" || got.Get("Content-Type") != "application/json" {
			t.Errorf("headers: %v", got)
		}
	})
}

// Requests above the limits, in total and per client, are rejected and not queued; health
// requests are always answered.
func TestRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := make(chan struct{}), make(chan struct{})
		mux := http.NewServeMux()
		mux.HandleFunc("GET /slow", func(http.ResponseWriter, *http.Request) { in <- struct{}{}; <-out })
		well := func() bool { return true }
		Probes(mux, well, "", well, "")
		h := Bounded(mux)
		ask := func(client int, path string) int {
			rec, r := httptest.NewRecorder(), httptest.NewRequest("GET", path, nil)
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:4711", client)
			h.ServeHTTP(rec, r)
			return rec.Code
		}
		var wg sync.WaitGroup
		for n := range maxRequests {
			wg.Go(func() { ask(n/maxClientRequests, "/slow") })
			<-in
			if n+1 == maxClientRequests {
				if code := ask(0, "/slow"); code != 503 {
					t.Errorf("one more of a client: %d", code)
				}
			}
		}
		if code := ask(9, "/slow"); code != 503 {
			t.Errorf("one more: %d", code)
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			if code := ask(0, path); code != 200 {
				t.Errorf("%s: %d", path, code)
			}
		}
		close(out)
		wg.Wait()
	})
}

// serving runs a server until the test ends and returns its address.
func serving(t *testing.T, network *memnet.Network, h http.Handler) (addr string) {
	t.Helper()
	l, err := network.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, l, h) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// A client that holds hundreds of connections, silent or with unfinished requests, does not keep
// others from being answered.
func TestIdleConnectionsStarveNobody(t *testing.T) {
	for name, sent := range map[string]string{"silent": "", "unfinished request": "GET /report.html HTTP/1.1\r\nHost: a\r\nX-Slow: "} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mux := http.NewServeMux()
				well := func() bool { return true }
				Probes(mux, well, "", well, "")
				network := memnet.New(1)
				addr := serving(t, network, Bounded(mux))
				for range 300 {
					c, err := network.Client(nil).Dial(t.Context(), "tcp", addr)
					if err != nil {
						t.Fatal(err)
					}
					defer c.Close()
					_, _ = io.WriteString(c, sent) // the server may have closed the connection
				}
				client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: network.Client(nil).Dial}, Timeout: 3 * time.Second}
				resp, err := client.Get("http://" + addr + "/healthz")
				if err != nil {
					t.Fatal(err)
				}
				if _ = resp.Body.Close(); resp.StatusCode != 200 {
					t.Errorf("status %d", resp.StatusCode)
				}
			})
		})
	}
}

// endpoint is a client's connection.
type endpoint struct {
	net.Conn
	client string
	closed bool
}

func (e *endpoint) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(e.client), Port: 4711} }

func (e *endpoint) Close() error { e.closed = true; return nil }

// A connection above a limit replaces the one that has been idle longest, but never one with a
// request in progress.
func TestConnectionsAreBounded(t *testing.T) {
	l := newConnections()
	l.all, l.ofClient = 4, 2
	var held []*connection
	open := func(client string) *endpoint {
		e := &endpoint{client: client}
		held = append(held, l.take(t.Context(), e).Value(connectionKey{}).(*connection))
		return e
	}
	a1, a2 := open("192.0.2.1"), open("192.0.2.1")
	l.set(held[0], true)
	a3 := open("192.0.2.1")
	if a1.closed || !a2.closed || a3.closed {
		t.Errorf("third of a client: closed %v %v %v, want the idle one", a1.closed, a2.closed, a3.closed)
	}
	b, c := open("192.0.2.2"), open("192.0.2.3")
	l.set(held[0], false)
	d := open("192.0.2.4")
	if a1.closed || !a3.closed || b.closed || c.closed || d.closed {
		t.Errorf("fifth of all: closed %v %v %v %v %v, want the one that is idle for longest", a1.closed, a3.closed, b.closed, c.closed, d.closed)
	}
	l.state(a1, http.StateClosed)
	if e := open("192.0.2.1"); b.closed || e.closed || len(l.open) != 4 {
		t.Errorf("after one ended: %d open", len(l.open))
	}
}

// The server finishes a response in progress and then stops. It does not wait for long.
func TestStop(t *testing.T) {
	for name, ends := range map[string]bool{"response that ends": true, "response without end": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := memnet.New(1)
				l, err := network.Listen("127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				in, out := make(chan struct{}), make(chan struct{})
				ended := make(chan error)
				go func() {
					ended <- Run(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						close(in)
						<-out
						_, _ = io.WriteString(w, "whole")
					}))
				}()
				pool := &http.Transport{DialContext: network.Client(nil).Dial}
				defer pool.CloseIdleConnections()
				got := make(chan string, 1)
				go func() {
					resp, err := (&http.Client{Transport: pool}).Get("http://" + l.Addr().String())
					if err != nil {
						got <- err.Error()
						return
					}
					b, _ := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					got <- string(b)
				}()
				<-in
				begun := time.Now()
				cancel()
				if ends {
					close(out)
				} else {
					defer close(out)
				}
				if err := <-ended; (err == nil) != ends {
					t.Error(err)
				}
				if s := <-got; (s == "whole") != ends {
					t.Errorf("the answer is %q", s)
				}
				if took := time.Since(begun); ends && took > time.Second || took > stopTime+time.Second {
					t.Errorf("it took %s", took)
				}
				if c, err := network.Client(nil).Dial(t.Context(), "tcp", l.Addr().String()); err == nil {
					_ = c.Close()
					t.Error("someone still answers")
				}
			})
		})
	}
}
