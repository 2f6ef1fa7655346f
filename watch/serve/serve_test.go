package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/netutil"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/watch"
)

func TestMain(m *testing.M) { sharedtest.VerifyMain(m) }

// watcher is one that has not begun. It tells of its first read, which waits for a
// word, and of the round.
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
	want("/healthz", 503, "does not turn")
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
}

// Requests above the bound are refused, not queued.
func TestRequestsAreBounded(t *testing.T) {
	in, out := make(chan struct{}), make(chan struct{})
	h := Bounded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { in <- struct{}{}; <-out }))
	var wg sync.WaitGroup
	for range maxRequests {
		wg.Go(func() { get(h, "GET", "/") })
		<-in
	}
	if rec := get(h, "GET", "/"); rec.Code != 503 {
		t.Errorf("one more: %d", rec.Code)
	}
	close(out)
	wg.Wait()
}

// A connection above the bound is served once another is closed.
func TestConnectionsAreBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lim := netutil.LimitListener(l, 1)
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	dial()
	first, err := lim.Accept()
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error)
	go func() {
		c, err := lim.Accept()
		if err == nil {
			err = c.Close()
		}
		accepted <- err
	}()
	select {
	case <-accepted:
		t.Error("a second connection is accepted while the first is open")
	default:
	}
	if err := errors.Join(first.Close(), first.Close()); err == nil {
		t.Error("closed twice without an error")
	}
	if err := <-accepted; err != nil {
		t.Error(err)
	}
	if err := lim.Close(); err != nil {
		t.Error(err)
	}
	if _, err := lim.Accept(); err == nil {
		t.Error("a closed listener accepts")
	}
}

// The server lets an answer that is under way end, and then it is gone.
func TestStop(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
	got := make(chan string)
	go func() {
		resp, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			got <- err.Error()
			return
		}
		b, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		got <- string(b)
	}()
	<-in
	cancel()
	close(out)
	if s := <-got; s != "whole" {
		t.Errorf("the answer is %q", s)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("someone still answers")
	}
	http.DefaultClient.CloseIdleConnections()
}
