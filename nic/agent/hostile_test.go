package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// says returns a client whose agent answers every request with the same text and exits.
func says(text string) *agent.Client {
	return &agent.Client{Name: "gpu1", Dial: talk(func(in io.Reader, out io.Writer) error {
		go func() { _, _ = io.Copy(io.Discard, in) }()
		_, _ = io.WriteString(out, text)
		return nil
	})}
}

const greeting = `{"roce_fabric_agent":1}` + "\n"

func TestHostileAnswers(t *testing.T) {
	host := `{"response":{"host":{"name":"gpu1","ports":{}}}}` + "\n"
	for _, c := range []struct {
		name, text string
		kind       error
	}{
		{"nothing", "", agent.ErrStart},
		{"no hello", host, agent.ErrStart},
		{"noise without end", strings.Repeat("noise\n", 20000), agent.ErrAnswer},
		{"a line without end", strings.Repeat("x", 100000), agent.ErrAnswer},
		{"another version", `{"roce_fabric_agent":2,"more":1}` + "\n" + host, agent.ErrVersion},
		{"no answer", greeting, agent.ErrEnded},
		{"half an answer", greeting + host[:20], agent.ErrEnded},
		{"not JSON", greeting + "sudo: sorry\n", agent.ErrAnswer},
		{"neither", greeting + "{}\n", agent.ErrAnswer},
		{"both", greeting + `{"progress":{"step":0,"steps":1},"response":{}}` + "\n", agent.ErrAnswer},
		{"unknown member", greeting + `{"response":{"host":{"name":"a","ports":{}},"x":1}}` + "\n", agent.ErrAnswer},
		{"no host", greeting + `{"response":{}}` + "\n", agent.ErrAnswer},
		{"null port", greeting + `{"response":{"host":{"name":"a","ports":{"x":null}}}}` + "\n", agent.ErrAnswer},
		{"progress of a read", greeting + `{"progress":{"step":0,"steps":1}}` + "\n" + host, agent.ErrAnswer},
		{"too large", greeting + `{"response":{"host":{"name":"` + strings.Repeat("x", agent.MaxAnswer) + `"}}}` + "\n", agent.ErrAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := says(c.text).Read(t.Context(), nil)
				if !errors.Is(err, c.kind) || h != nil || !strings.HasPrefix(err.Error(), "gpu1: ") || len(err.Error()) > 1000 {
					t.Errorf("%v, %v", h, err)
				}
			})
		})
	}
	if _, err := says("Welcome!\n"+greeting+host).Read(t.Context(), nil); err != nil {
		t.Errorf("a login shell that prints on its own: %v", err)
	}
}

func TestHostileText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := says(greeting+`{"response":{"host":{"name":"\u001b[2Jgpu1\nx","ports":{"e\u0007ns":{"name":"ens","counters":{"priority":[],"named":{"n":18446744073709551615}}}}}}}`+"\n").Read(t.Context(), nil)
		if err != nil || h.Name != "gpu1 x" || h.Ports["ens"] == nil || h.Ports["ens"].Counters.Named["n"] != 1<<64-1 {
			t.Errorf("%+v %v", h, err)
		}
		_, err = says(greeting+`{"response":{"error":{"kinds":["carrier","nonsense"],"text":"\u001b]0;x\u0007bad\r\nnews","hint":"a\u202eb"}}}`+"\n").Read(t.Context(), nil)
		var e *agent.Error
		if !errors.As(err, &e) || e.Error() != "gpu1: bad news" || e.Hint() != "ab" || !errors.Is(err, local.ErrCarrier) {
			t.Errorf("%v", err)
		}
	})
}

func TestHostileProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := []local.Step{{Port: "a"}, {Port: "b", Blocked: "no"}, {Port: "c"}}
		undo := `{"response":{"undo":{"steps":[]}}}` + "\n"
		var told []string
		tell := func(_, _ int, s local.Step) { told = append(told, s.Port) }
		if _, err := says(greeting+`{"progress":{"step":0,"steps":2}}`+"\n"+`{"progress":{"step":1,"steps":2}}`+"\n"+undo).Apply(t.Context(), steps, tell); err != nil || strings.Join(told, "") != "ac" {
			t.Errorf("told of %v, %v", told, err)
		}
		for _, p := range []string{`{"step":2,"steps":2}`, `{"step":-1,"steps":2}`, `{"step":0,"steps":3}`} {
			if _, err := says(greeting+`{"progress":`+p+"}\n"+undo).Apply(t.Context(), steps, tell); !errors.Is(err, agent.ErrAnswer) {
				t.Errorf("%s: %v", p, err)
			}
		}
		again := `{"progress":{"step":0,"steps":2}}` + "\n"
		if _, err := says(greeting+again+again+undo).Apply(t.Context(), steps, nil); !errors.Is(err, agent.ErrAnswer) {
			t.Errorf("the same step again: %v", err)
		}
		if _, err := says(greeting+`{"response":{}}`+"\n").Apply(t.Context(), steps, nil); !errors.Is(err, agent.ErrAnswer) {
			t.Errorf("no undo: %v", err)
		}
	})
}

// TestSilence tests agents that stop responding.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// asked is called when the request has arrived.
		silent := func(text string, asked func()) *agent.Client {
			return &agent.Client{Dial: talk(func(in io.Reader, out io.Writer) error {
				_, _ = io.WriteString(out, text)
				r := bufio.NewReader(in)
				if _, err := r.ReadString('\n'); err == nil {
					asked()
				}
				// Like a process, the agent outlives the end of its input.
				_, _ = io.Copy(io.Discard, r)
				var b [1]byte
				_, _ = out.(io.Reader).Read(b[:])
				return nil
			})}
		}
		c := silent("noise\n", func() { t.Error("a request came before the hello") })
		c.Start = 20 * time.Millisecond
		if _, err := c.Read(t.Context(), nil); !errors.Is(err, agent.ErrStart) || !strings.Contains(err.Error(), "within 20ms") {
			t.Errorf("no hello: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c = silent(greeting, cancel)
		c.Grace = 20 * time.Millisecond
		if _, err := c.Apply(ctx, nil, nil); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "not known") {
			t.Errorf("no answer after the end: %v", err)
		}
		c.Dial = func(context.Context) (agent.Conn, error) { return nil, io.ErrClosedPipe }
		if err := c.Revert(t.Context(), local.Undo{}); !errors.Is(err, io.ErrClosedPipe) || !errors.Is(err, agent.ErrStart) {
			t.Errorf("no connection: %v", err)
		}
	})
}

func FuzzServe(f *testing.F) {
	for _, s := range []string{
		`{"version":1,"verb":"read","names":null}`,
		`{"version":1,"verb":"counters","running":{"name":"a","ports":{"ens1f0np0":{"name":"ens1f0np0","rdma":"mlx5_0","rdma_port":1}}}}`,
		`{"version":1,"verb":"plan","running":{"name":"a","ports":{"x":{"name":"x"}}},"desired":{"name":"a","ports":{"x":{"name":"x","pfc":{"V":8,"Set":true}}}},"options":{"Peer":"::1"}}`,
		`{"version":1,"verb":"apply","steps":[{"port":"ens1f0np0","field":"pfc","impact":"none","want":{"pfc":8}}]}`,
		`{"version":1,"verb":"revert","undo":{"steps":[{"port":"ens1f0np0","field":"mtu","old":{"number":1500}}]}}`,
		`{"version":1,"verb":"before","steps":[{"port":"ens1f0np0","field":"tos","impact":"none","want":{"number":106}}]}`,
		`{"version":1,"verb":"install-unit","desired":{"name":"a","ports":{"x":{"name":"x"}}},"program":"/usr/bin/x"}`,
		`{"version":1,"verb":"remove-unit"}`,
		`{"version":1,"verb":"hold","mark":{"run":"r1","by":"ann@ci1","since":"2026-11-24T22:00:05Z","life":1}}`,
	} {
		f.Add([]byte(s + "\n"))
	}
	m := agent.Local(newHost(f).Machine())
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		err := agent.Serve(t.Context(), bytes.NewReader(in), &out, m)
		n := bytes.Count(out.Bytes(), []byte(`{"response":`))
		if !bytes.HasPrefix(out.Bytes(), []byte(greeting)) || n > 1 && !bytes.Contains(in, []byte("response")) || err == nil && n == 0 {
			t.Errorf("answered %q, %v", out.Bytes(), err)
		}
	})
}

func FuzzClient(f *testing.F) {
	f.Add([]byte(`{"response":{"host":{"name":"a","ports":{"ens1f0np0":{"name":"b","ets":{"V":{"tsa":["ets"],"priority_to_tc":[9,-3]},"Set":true}}}}}}` + "\n"))
	f.Add([]byte(`{"progress":{"step":0,"steps":1}}` + "\n" + `{"response":{"undo":{"steps":[]},"error":{"text":"\u001bx","kinds":["partial"]}}}` + "\n"))
	f.Add([]byte(`{"response":{"steps":[{"port":"a","impact":"reload"}]}}` + "\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		c := says(greeting + string(answer))
		check := func(err error) {
			if err != nil && err.Error() != term.CleanLine(err.Error()) {
				t.Errorf("unsafe error %q", err)
			}
		}
		h, err := c.Read(t.Context(), nil)
		check(err)
		if h != nil {
			nic.Diff(h, desired())
		}
		steps, err := c.Plan(t.Context(), &nic.Host{}, desired(), local.Options{})
		check(err)
		for _, s := range steps {
			if strings.ContainsAny(s.What, "\n\x1b") {
				t.Errorf("unsafe text %q", s.What)
			}
		}
		_, err = c.Apply(t.Context(), []local.Step{{}}, nil)
		check(err)
	})
}
