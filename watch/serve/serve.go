// Package serve is the HTTP server of a watched fabric: metrics, health, the
// last report and the history, for everybody who reaches it. It only reads, and
// what it serves holds no secret; but it names the devices and what is wrong
// with them, so that it is meant for loopback or a management network. Do not
// add anything here that changes something.
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
	// maxRequests is how many requests are answered at the same time, and
	// maxConnections how many connections are held, of all clients and of one.
	maxRequests          = 16
	maxClientRequests    = 8
	maxConnections       = 128
	maxClientConnections = 32
	// headTime bounds the reading of a request, answerTime the whole of it, and
	// stopTime what is under way when the server stops.
	headTime   = 5 * time.Second
	answerTime = 30 * time.Second
	idleTime   = time.Minute
	stopTime   = 5 * time.Second
)

// The paths of health.
const health, ready = "/healthz", "/readyz"

// Source is what is served.
type Source struct {
	Watcher *watch.Watcher
	Metrics http.Handler
	// Report writes the report of a round: form is "html" or "json".
	Report func(w io.Writer, r *watch.Round, form string) error
}

// index names what there is.
const index = `roce-fabric watch

/metrics       Prometheus metrics
/healthz       200 while the loop turns
/readyz        200 once the first round is over
/report.html   the last round
/report.json   the same for programs
/history.json  the verdicts of the last rounds
`

// Handler returns the handler of all addresses.
func Handler(s Source) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", Index(index))
	mux.Handle("GET /metrics", s.Metrics)
	Probes(mux, s.Watcher.Alive, "the loop does not turn\n", func() bool { return s.Watcher.Last() != nil }, "the first round is not over\n")
	for form, kind := range map[string]string{"html": "text/html; charset=utf-8", "json": "application/json"} {
		mux.Handle("GET /report."+form, &reports{source: &s, form: form, kind: kind})
	}
	mux.Handle("GET /history.json", JSON(func() any { return s.Watcher.History() }))
	return Bounded(mux)
}

// Index answers with a text.
func Index(s string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, s) })
}

// Probes adds the paths of health to a handler, each with the fault where it is not well.
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

// JSON answers with a document.
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

// Bounded refuses requests above maxRequests, and above maxClientRequests of one client.
// Those for health are always answered: they take no time.
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
	_, _ = w.Write(b) // who asked may have gone
}

// reports serves one form of the last report, which is written once a round.
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
		text(w, http.StatusServiceUnavailable, "the first round is not over\n")
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

// Listen opens the address of --listen.
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

// Announce says where the server is, and who may read it.
func Announce(out *report.Console, l net.Listener, addr string) {
	if at, ok := l.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		out.Warn("--listen %s: metrics and reports are served without a password to everybody who reaches it", addr)
	}
	out.Talk("serving http://%s/", l.Addr())
}

// Run serves until ctx ends, and then lets what is under way end for a few
// seconds.
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
