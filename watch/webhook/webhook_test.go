package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/watch"
	"github.com/roce-fabric/roce-fabric/watch/webhook"
)

func TestMain(m *testing.M) { sharedtest.VerifyMain(m) }

func round(v, previous watch.Verdict, fs ...checks.Finding) *watch.Round {
	return &watch.Round{N: 7, Fabric: "pod1", End: time.Unix(1_800_000_000, 5).UTC(), Verdict: v, Previous: previous, Findings: fs, Devices: 3, Read: 3}
}

// serve starts an HTTP server on a network and returns its URL.
func serve(t *testing.T, network *memnet.Network, h http.HandlerFunc) string {
	t.Helper()
	l, err := network.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// server starts an HTTP server and returns the configuration that sends to it.
func server(t *testing.T, h http.HandlerFunc) webhook.Config {
	t.Helper()
	network := memnet.New(1)
	return webhook.Config{URL: serve(t, network, h), Dial: network.Client(nil).Dial}
}

// deliver sends one message and returns the result of its delivery.
func deliver(t *testing.T, cfg webhook.Config, m webhook.Message) error {
	t.Helper()
	result := errors.New("nothing was delivered or given up")
	cfg.Done = func(err error) { result = err }
	s, err := webhook.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Send(m)
	s.Close()
	s.Run(t.Context())
	return result
}

func TestMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got webhook.Message
		var head http.Header
		cfg := server(t, func(w http.ResponseWriter, r *http.Request) {
			head = r.Header
			if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.Method != http.MethodPost {
				t.Errorf("%s: %v", r.Method, err)
			}
		})
		cfg.Token, cfg.Agent = "s3cret", "roce-fabric/v1"
		var fs []checks.Finding
		for i := range 25 {
			fs = append(fs, checks.Finding{ID: "PFC-01", Severity: checks.Error, Device: "leaf1", Ports: []string{"Ethernet0"}, What: fmt.Sprintf("cause %d", i)})
		}
		fs = append(fs, checks.Finding{ID: "READ", Severity: checks.Error, Device: "leaf2", What: "unreachable"},
			checks.Finding{ID: "WD-02", Severity: checks.Warning, Device: "leaf1", What: "accepted", Suppressed: &checks.Suppressed{}})
		if err := deliver(t, cfg, webhook.Of(round(watch.Errors, watch.OK, fs...))); err != nil {
			t.Fatal(err)
		}
		if head.Get("Authorization") != "Bearer s3cret" || head.Get("Content-Type") != "application/json" || head.Get("User-Agent") != "roce-fabric/v1" {
			t.Errorf("the request has %v", head)
		}
		if got.Text != "roce-fabric: pod1: ok -> errors (26 errors, 0 warnings, 1 device not read)" || got.Format != 1 || got.Round != 7 || got.Unread != 1 || got.Counts.Suppressed != 1 {
			t.Errorf("the message is %+v", got)
		}
		if len(got.Causes) != 20 || got.More != 6 || got.Causes[0].Places[0] != "leaf1 Ethernet0" {
			t.Errorf("%d causes and %d more, the first %+v", len(got.Causes), got.More, got.Causes[0])
		}
	})
}

// A failing server is retried a few times, with increasing waits. A server that does not answer is
// given ten seconds each time.
func TestTriesAgain(t *testing.T) {
	for _, c := range []struct {
		statuses []int // 0 never answers
		tries    int
		took     time.Duration
		says     string // expected error text; "" if delivered
	}{
		{[]int{503, 429, 204}, 3, 3 * time.Second, ""},
		{[]int{500, 500, 500, 500, 500, 200}, 5, 15 * time.Second, "500 Internal Server Error"},
		{[]int{403, 200}, 1, 0, "403 Forbidden"},
		{[]int{0, 0, 0, 0, 0, 200}, 5, 65 * time.Second, "deadline exceeded"},
		{[]int{0, 200}, 2, 11 * time.Second, ""},
	} {
		t.Run(fmt.Sprint(c.statuses), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				cfg := server(t, func(w http.ResponseWriter, r *http.Request) {
					status := c.statuses[n]
					n++
					if status != 0 {
						w.WriteHeader(status)
						return
					}
					_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only after reading the body
					<-r.Context().Done()
				})
				begun := time.Now()
				err := deliver(t, cfg, webhook.Of(round(watch.OK, "")))
				if n != c.tries || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%d tries, %v", n, err)
				}
				if took := time.Since(begun).Truncate(time.Second); took != c.took {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// Redirects are not followed, so the token reaches only the configured server.
func TestNoRedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		other := serve(t, network, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the other server got %v", r.Header) })
		url := serve(t, network, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other, http.StatusTemporaryRedirect)
		})
		if err := deliver(t, webhook.Config{URL: url, Token: "s3cret", Dial: network.Client(nil).Dial}, webhook.Of(round(watch.OK, ""))); err == nil || !strings.Contains(err.Error(), "redirects") {
			t.Errorf("a redirect gives %v", err)
		}
	})
}

// An endless response is not read to its end.
func TestAnswerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		cfg := server(t, func(w http.ResponseWriter, r *http.Request) {
			defer close(done)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 4096)); err != nil {
					return
				}
				time.Sleep(time.Millisecond) // the network accepts any amount at once
			}
		})
		if err := deliver(t, cfg, webhook.Of(round(watch.OK, ""))); err != nil {
			t.Error(err)
		}
		<-done
	})
}

// The URL may be a secret, so errors name only its host.
func TestSecretAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nobody := webhook.Config{URL: "http://127.0.0.1:1/services/T0/s3cret", Dial: memnet.New(1).Client(nil).Dial}
		err := deliver(t, nobody, webhook.Of(round(watch.OK, "")))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestAddress(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://hooks.example.org/x": true, "http://127.0.0.1:80/x": true, "http://localhost/x": true, "http://[::1]:9/": true,
		"http://hooks.example.org/s3cret": false, "https://me:s3cret@hooks.example.org/": false, "ftp://hooks.example.org/": false,
		"hooks.example.org/s3cret": false, "https://": false, "http://127.0.0.1.example.org/": false, "https://a b/s3cret": false,
	} {
		_, err := webhook.New(webhook.Config{URL: url})
		if (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error repeats it: %v", url, err)
		}
	}
}

// Messages that arrive while another one is being sent are merged.
func TestLatestMessageIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := told(t, watch.Warnings, watch.Unreadable, watch.Errors); got != ">ok ok>errors" {
			t.Errorf("told was %q", got)
		}
	})
}

// A verdict that came and went during a delivery is not sent.
func TestNoMessageWithoutAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := told(t, watch.Warnings, watch.OK); got != ">ok" {
			t.Errorf("told was %q", got)
		}
	})
}

// told returns the messages that a server receives for the first verdict, ok, and for the
// verdicts that follow before it has answered.
func told(t *testing.T, later ...watch.Verdict) string {
	t.Helper()
	arrived, release := make(chan struct{}, 9), make(chan struct{})
	var mu sync.Mutex
	var texts []string
	cfg := server(t, func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var m webhook.Message
		_ = json.Unmarshal(b, &m)
		mu.Lock()
		texts = append(texts, fmt.Sprintf("%s>%s", m.Previous, m.Verdict))
		mu.Unlock()
		arrived <- struct{}{}
		<-release
	})
	s, err := webhook.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(t.Context()) })
	s.Send(webhook.Of(round(watch.OK, "")))
	<-arrived
	previous := watch.OK
	for _, v := range later {
		s.Send(webhook.Of(round(v, previous)))
		previous = v
	}
	s.Close()
	close(release)
	wg.Wait()
	return strings.Join(texts, " ")
}

// Ctrl-C does not wait for a server that does not respond.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		cfg := server(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only after reading the body
			close(arrived)
			<-r.Context().Done()
		})
		var result error
		cfg.Done = func(err error) { result = err }
		s, err := webhook.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s.Send(webhook.Of(round(watch.OK, "")))
		var wg sync.WaitGroup
		wg.Go(func() { s.Run(ctx) })
		<-arrived
		cancel()
		wg.Wait()
		if !errors.Is(result, context.Canceled) {
			t.Errorf("the message ended with %v", result)
		}
	})
}
