// Package serve is the HTTP server of a watched fabric. It serves metrics, health, the last
// report and the history to everyone who can reach it. The server only reads, and serves no
// secrets; but it names the devices and their faults, so it is meant for loopback or a
// management network. Handlers that change something do not belong in this package.
package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/watch"
)

const (
	// maxRequests and maxClientRequests limit the requests in progress, of all clients and of
	// one client. maxConnections and maxClientConnections limit the open connections likewise.
	maxRequests          = 16
	maxClientRequests    = 8
	maxConnections       = 128
	maxClientConnections = 32
	// headTime limits the reading of a request, answerTime the whole request, and stopTime the
	// wait for running requests when the server stops.
	headTime   = 5 * time.Second
	answerTime = 30 * time.Second
	idleTime   = time.Minute
	stopTime   = 5 * time.Second
)

// The health paths.
const health, ready = "/healthz", "/readyz"

// Source holds what the server serves.
type Source struct {
	Watcher *watch.Watcher
	Metrics http.Handler
	// Report writes the report of a round; form is "html" or "json".
	Report func(w io.Writer, r *watch.Round, form string) error
}

// index is the text of the start page.
const index = `roce-fabric watch

/metrics       Prometheus metrics
/healthz       200 while the watch is running
/readyz        200 once the first round is over
/report.html   the last round
/report.json   the same for programs
/history.json  the verdicts of the last rounds
`

// Handler returns the handler for all paths.
func Handler(s Source) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", Index(index))
	mux.Handle("GET /metrics", s.Metrics)
	Probes(mux, s.Watcher.Alive, "the watch is stuck\n", func() bool { return s.Watcher.Last() != nil }, "the first round has not ended\n")
	for form, kind := range map[string]string{"html": "text/html; charset=utf-8", "json": "application/json"} {
		mux.Handle("GET /report."+form, &reports{source: &s, form: form, kind: kind})
	}
	mux.Handle("GET /history.json", JSON(func() any { return s.Watcher.History() }))
	return Bounded(mux)
}

// Index returns a handler that answers with a text.
func Index(s string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, s) })
}

// Probes adds the health paths to a handler. The texts stuck and notReady are the answers of
// failing probes.
func Probes(mux *http.ServeMux, alive func() bool, stuck string, isReady func() bool, notReady string) {
	mux.Handle("GET "+health, probe(alive, stuck))
	mux.Handle("GET "+ready, probe(isReady, notReady))
}

// probe answers 200, or 503 with the fault.
func probe(ok func() bool, fault string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !ok() {
			text(w, http.StatusServiceUnavailable, fault)
			return
		}
		text(w, http.StatusOK, "ok\n")
	})
}

// JSON returns a handler that answers with a JSON document.
func JSON(of func() any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b, err := json.Marshal(of())
		if err != nil {
			text(w, http.StatusInternalServerError, err.Error()+"\n")
			return
		}
		answer(w, http.StatusOK, "application/json", append(b, '\n'))
	})
}

// Bounded rejects requests above maxRequests in total, or above maxClientRequests per client. It
// always answers health requests, because they take no time.
func Bounded(h http.Handler) http.Handler {
	var mu sync.Mutex
	all, of := 0, map[string]int{}
	take := func(client string, n int) bool {
		mu.Lock()
		defer mu.Unlock()
		if n > 0 && (all >= maxRequests || of[client] >= maxClientRequests) {
			return false
		}
		all += n
		if of[client] += n; of[client] == 0 {
			delete(of, client)
		}
		return true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != health && r.URL.Path != ready {
			client := host(r.RemoteAddr)
			if !take(client, 1) {
				text(w, http.StatusServiceUnavailable, "too many requests at the same time\n")
				return
			}
			defer take(client, -1)
		}
		h.ServeHTTP(w, r)
	})
}

func text(w http.ResponseWriter, status int, s string) {
	answer(w, status, "text/plain; charset=utf-8", []byte(s))
}

func answer(w http.ResponseWriter, status int, kind string, b []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may be gone
}

// reports serves the last report in one form, generated once per round.
type reports struct {
	source     *Source
	form, kind string

	mu   sync.Mutex
	of   *watch.Round
	text []byte
}

func (p *reports) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	last := p.source.Watcher.Last()
	if last == nil {
		text(w, http.StatusServiceUnavailable, "the first round has not ended\n")
		return
	}
	b, err := p.write(last)
	if err != nil {
		text(w, http.StatusInternalServerError, "the report cannot be written\n")
		return
	}
	answer(w, http.StatusOK, p.kind, b)
}

func (p *reports) write(r *watch.Round) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of != r {
		var b bytes.Buffer
		if err := p.source.Report(&b, r, p.form); err != nil {
			return nil, err
		}
		p.of, p.text = r, b.Bytes()
	}
	return p.text, nil
}

// Listen opens the listener for --listen.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fleet.Wrong("", "take --listen 127.0.0.1:9600", "--listen: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	return l, nil
}

// Announce prints the server's address, and warns if it is reachable from other machines.
func Announce(out *report.Console, l net.Listener, addr string) {
	if at, ok := l.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		out.Warn("--listen %s: metrics and reports are served without a password to everybody who reaches it", addr)
	}
	out.Talk("serving http://%s/", l.Addr())
}

// Run serves until ctx ends, then waits a few seconds for running requests.
func Run(ctx context.Context, l net.Listener, h http.Handler) error {
	held := newConnections()
	srv := &http.Server{Handler: held.handler(h), ReadHeaderTimeout: headTime, ReadTimeout: headTime, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: 16 << 10,
		ConnContext: held.take, ConnState: held.state}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := srv.Shutdown(stop)
	if err != nil {
		err = errors.Join(err, srv.Close())
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
