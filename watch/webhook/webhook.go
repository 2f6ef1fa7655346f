// Package webhook notifies an HTTP server when the verdict of a watched fabric changes: it POSTs
// a small JSON document and retries for a bounded time.
//
// A message that cannot be delivered is dropped and reported; it never blocks the sender. If a
// new message arrives while another one waits, only the newer one is sent, with the older
// message's previous verdict. Redirects are not followed, so that neither the message nor the
// token reaches a server that the user did not name. The URL may contain a secret, so errors
// show only its host.
package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/netx"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/watch"
)

const (
	// attempts is the number of tries per message; the waits between them start at firstWait and
	// double.
	attempts  = 5
	firstWait = time.Second
	// attemptTime is the timeout of one attempt.
	attemptTime = 10 * time.Second
	// maxAnswer is how much of a response is read, in bytes, so that the connection can be
	// reused.
	maxAnswer = 64 << 10
	// maxCauses limits the causes in a message, maxPlaces the places of each cause.
	maxCauses = 20
	maxPlaces = 20
)

// Message is the JSON document that is posted. Within one Format, fields are only added.
type Message struct {
	Format   int           `json:"format"`
	Text     string        `json:"text"` // one line for people; chat systems show this key
	Fabric   string        `json:"fabric"`
	Time     time.Time     `json:"time"`
	Round    int           `json:"round"`
	Verdict  watch.Verdict `json:"verdict"`
	Previous watch.Verdict `json:"previous,omitempty"` // "" in the first message
	Counts   checks.Counts `json:"counts"`
	Unread   int           `json:"unread"` // number of devices that could not be read
	// Causes are the worst causes, at most 20; More is the number of others.
	Causes []Cause `json:"causes"`
	More   int     `json:"more_causes,omitempty"`
}

// Cause is one thing that is wrong in the fabric.
type Cause struct {
	ID       string          `json:"id"`
	Severity checks.Severity `json:"severity"`
	What     string          `json:"what"`
	Places   []string        `json:"places"` // at most 20
}

// Of builds the message for a round.
func Of(r *watch.Round) Message {
	n := r.Counts()
	m := Message{Format: watch.Format, Fabric: r.Fabric, Time: r.End.UTC().Truncate(time.Second), Round: r.N,
		Verdict: r.Verdict, Previous: r.Previous, Counts: n, Unread: len(r.Unread()), Causes: []Cause{}}
	m.setText()
	for _, c := range checks.Causes(r.Findings) {
		switch {
		case c.Suppressed != nil:
		case len(m.Causes) == maxCauses:
			m.More++
		default:
			places := c.Places()
			m.Causes = append(m.Causes, Cause{c.ID, c.Severity, c.What, append([]string{}, places[:min(len(places), maxPlaces)]...)})
		}
	}
	return m
}

func (m *Message) setText() {
	from := ""
	if m.Previous != "" {
		from = string(m.Previous) + " -> "
	}
	open := ""
	if m.Counts.Inconclusive > 0 {
		open = fmt.Sprintf("%d inconclusive, ", m.Counts.Inconclusive)
	}
	m.Text = fmt.Sprintf("roce-fabric: %s: %s%s (%s, %s, %s%s not read)", m.Fabric, from, m.Verdict,
		words.Count(m.Counts.Error, "error"), words.Count(m.Counts.Warning, "warning"), open, words.Count(m.Unread, "device"))
}

// Config configures a [Sender].
type Config struct {
	URL   string
	Token secret.Secret // sent as a bearer token; "" sends none
	Agent string        // value of the User-Agent header
	// Done is called after each message, with nil if it was delivered and an error if it was
	// dropped. It runs on the goroutine of [Sender.Run]; it may be nil.
	Done  func(error)
	Clock watch.Clock // nil means [watch.System]
	Dial  netx.Dialer // connects to the server; nil uses the machine's network
}

// Sender delivers messages, one at a time.
type Sender struct {
	cfg    Config
	host   string
	client *http.Client

	mu      sync.Mutex
	pending *Message
	closed  bool
	wake    chan struct{} // capacity 1
}

// New returns a Sender. The URL must use https, or http on loopback, and contain no user or
// password.
func New(cfg Config) (*Sender, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil || u.Host == "":
		return nil, errors.New("the webhook is not an address such as https://hooks.example.org/roce (it is not shown: it may be a secret)")
	case u.User != nil:
		return nil, fmt.Errorf("the webhook at %s has a user in its address", u.Hostname())
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("the webhook at %s is http, which is allowed only for loopback", u.Hostname())
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("the webhook at %s is not https", u.Hostname())
	}
	if cfg.Clock == nil {
		cfg.Clock = watch.System
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxAnswer
	if cfg.Dial != nil {
		t.DialContext = cfg.Dial
	}
	return &Sender{cfg: cfg, host: u.Host, wake: make(chan struct{}, 1), client: &http.Client{
		Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Send queues a message and returns at once.
func (s *Sender) Send(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending != nil {
		if m.Previous = s.pending.Previous; m.Previous == m.Verdict { // the receiver never saw the other verdict
			s.pending = nil
			return
		}
		m.setText()
	}
	s.pending = &m
	s.poke()
}

// Close makes [Sender.Run] return once the queued message is delivered or dropped.
func (s *Sender) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.poke()
}

// poke wakes Run. The caller holds mu.
func (s *Sender) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run delivers messages until [Sender.Close] is called or ctx ends; if ctx ends, it drops the
// message being sent.
func (s *Sender) Run(ctx context.Context) {
	defer s.client.CloseIdleConnections()
	for {
		s.mu.Lock()
		m, closed := s.pending, s.closed
		s.pending = nil
		s.mu.Unlock()
		switch {
		case m != nil:
			if err := s.deliver(ctx, m); s.cfg.Done != nil {
				s.cfg.Done(err)
			}
		case closed || ctx.Err() != nil:
			return
		default:
			select {
			case <-s.wake:
			case <-ctx.Done():
			}
		}
	}
}

// deliver sends a message until it is accepted, rejected permanently, or dropped.
func (s *Sender) deliver(ctx context.Context, m *Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	wait := firstWait
	for n := 1; ; n++ {
		again, err := s.post(ctx, body)
		if err == nil {
			return nil
		}
		err = fmt.Errorf("verdict %s was not delivered to the webhook at %s: %w", m.Verdict, s.host, err)
		if !again || n == attempts {
			return err
		}
		tick, stop := s.cfg.Clock.Timer(wait)
		select {
		case <-tick:
		case <-ctx.Done():
			stop()
			return err
		}
		stop()
		wait *= 2
	}
}

// post makes one attempt; again reports whether a retry may help.
func (s *Sender) post(ctx context.Context, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the URL cannot be parsed")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", s.cfg.Agent)
	if s.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.cfg.Token.Reveal())
	}
	resp, err := s.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // the text of a url.Error contains the URL
			err = u.Err
		}
		return true, err
	}
	defer func() { _ = resp.Body.Close() }()
	// The content of the response is not used.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	switch c := resp.StatusCode; {
	case c >= 200 && c < 300:
		return false, nil
	case c >= 300 && c < 400:
		return false, fmt.Errorf("it redirects to another address (status %d); redirects are not followed", c)
	default:
		return c >= 500 || c == http.StatusTooManyRequests || c == http.StatusRequestTimeout, fmt.Errorf("it answers %s", strings.TrimSpace(fmt.Sprintf("%d %s", c, http.StatusText(c))))
	}
}
