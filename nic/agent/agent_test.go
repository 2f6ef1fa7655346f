package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// same ignores differences that JSON does not keep and that a revert cannot undo.
var same = []cmp.Option{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(nic.Port{}, "CarrierChanges")}

const ens = "ens1f0np0"

func newHost(t testing.TB) *localtest.Host {
	t.Helper()
	h := localtest.New(t.TempDir())
	h.Add(localtest.Port{Name: ens, RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5, OFED: true})
	return h
}

// desired returns a host on which priority 3 is lossless.
func desired() *nic.Host {
	p := &nic.Port{Name: ens, DCBX: qos.Of(nic.OwnerHost), PFC: qos.Of(qos.Priorities(3)), ToS: qos.Of(106), MTU: qos.Of(9000)}
	return &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{ens: p}}
}

// pipe is a connection over two pipes to an agent in the same process.
type pipe struct {
	net.Conn // the agent's output
	in       *io.PipeWriter
	end      chan error
}

func (p *pipe) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p *pipe) CloseWrite() error           { return p.in.Close() }
func (p *pipe) Close() error                { p.in.Close(); return p.Conn.Close() }
func (p *pipe) Wait(ctx context.Context, _ bool) error {
	select {
	case err := <-p.end:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// talk returns a Dial function whose agent is played by serve.
func talk(serve func(in io.Reader, out io.Writer) error) func(context.Context) (agent.Conn, error) {
	return func(context.Context) (agent.Conn, error) {
		ours, theirs := net.Pipe()
		in, w := io.Pipe()
		p := &pipe{ours, w, make(chan error, 1)}
		go func() {
			err := serve(in, theirs)
			theirs.Close()
			in.Close()
			p.end <- err
		}()
		return p, nil
	}
}

func clientOf(m agent.Machine) *agent.Client {
	return &agent.Client{Name: "gpu1", Dial: talk(func(in io.Reader, out io.Writer) error {
		return agent.Serve(context.Background(), in, out, m)
	})}
}

// TestLocalAndRemote runs every operation on the machine directly and through a client: the results must
// be the same.
func TestLocalAndRemote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type outcome struct {
			Before, After, Reverted *nic.Host
			Steps                   []local.Step
			Told                    []string
			Writes                  []string
		}
		run := func(t *testing.T, h *localtest.Host, m agent.Machine) (o outcome) {
			ctx := t.Context()
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			var err error
			o.Before, err = m.Read(ctx, nil)
			must(err)
			o.Steps, err = m.Plan(ctx, o.Before, desired(), local.Options{})
			must(err)
			u, err := m.Apply(ctx, o.Steps, func(i, n int, s local.Step) { o.Told = append(o.Told, fmt.Sprint(i, n, s.What)) })
			must(err)
			o.Writes = h.Writes()
			o.After, err = m.Read(ctx, []string{ens})
			must(err)
			must(m.Counters(ctx, o.After))
			must(m.Revert(ctx, u))
			o.Reverted, err = m.Read(ctx, nil)
			must(err)
			return o
		}
		h, g := newHost(t), newHost(t)
		here := run(t, h, agent.Local(h.Machine()))
		there := run(t, g, clientOf(agent.Local(g.Machine())))
		if d := cmp.Diff(here, there, same...); d != "" {
			t.Errorf("on the machine (-), through a client (+):\n%s", d)
		}
		if len(there.Steps) < 3 || len(there.Told) != len(there.Steps) || len(there.Writes) < len(there.Steps) {
			t.Errorf("%d steps, told of %v, wrote %v", len(there.Steps), there.Told, there.Writes)
		}
		if p := there.After.Ports[ens]; p.PFC.V != qos.Priorities(3) || p.MTU.V != 9000 || p.Counters == nil || p.Counters.Priority[3].RxBytes != 4096 {
			t.Errorf("after: %+v", p)
		}
		if d := cmp.Diff(there.Before, there.Reverted, same...); d != "" {
			t.Errorf("before (-), reverted (+):\n%s", d)
		}
	})
}

func TestErrorsSurviveTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		c := clientOf(agent.Local(h.Machine()))
		ctx := t.Context()
		running, err := c.Read(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := c.Plan(ctx, running, desired(), local.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h.SetFaults(localtest.Faults{NotRoot: true})
		u, err := c.Apply(ctx, steps, nil)
		var hint interface{ Hint() string }
		if !errors.Is(err, local.ErrPermission) || errors.Is(err, local.ErrPartial) || !errors.As(err, &hint) || hint.Hint() == "" ||
			!strings.HasPrefix(err.Error(), "gpu1: ") || len(u.Steps) != 0 {
			t.Errorf("not root: %v, undo %v", err, u)
		}
		h.SetFaults(localtest.Faults{LinkDead: true})
		u, err = c.Apply(ctx, steps, nil)
		if !errors.Is(err, local.ErrCarrier) || !errors.Is(err, local.ErrPartial) || len(u.Steps) == 0 {
			t.Errorf("dead link: %v, undo %v", err, u)
		}
		if err := c.Revert(ctx, local.Undo{Steps: []local.UndoStep{{Port: "eth99", Field: nic.FieldPFC}}}); !errors.Is(err, local.ErrNoPort) {
			t.Errorf("revert of a port that is not there: %v", err)
		}
	})
}

// TestCancelledApply cancels an apply: it ends between two steps, and its undo record is not lost.
func TestCancelledApply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		c := clientOf(agent.Local(h.Machine()))
		before, err := c.Read(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := c.Plan(t.Context(), before, desired(), local.Options{})
		if err != nil || len(steps) < 3 {
			t.Fatalf("%d steps, %v", len(steps), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c = clientOf(gated{agent.Local(h.Machine())})
		u, err := c.Apply(ctx, steps, func(i, _ int, _ local.Step) {
			if i == 1 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, local.ErrPartial) || len(u.Steps) == 0 || len(u.Steps) == len(steps) {
			t.Fatalf("undo of %d steps of %d, %v", len(u.Steps), len(steps), err)
		}
		if err := c.Revert(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		after, err := c.Read(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, after, same...); d != "" {
			t.Errorf("before (-), after (+):\n%s", d)
		}
	})
}

// gated blocks an apply at its second step until ctx has ended, as a slow device would.
type gated struct{ agent.Machine }

func (g gated) Apply(ctx context.Context, steps []local.Step, tell func(int, int, local.Step)) (local.Undo, error) {
	return g.Machine.Apply(ctx, steps, func(i, n int, s local.Step) {
		tell(i, n, s)
		if i == 1 {
			<-ctx.Done()
		}
	})
}

// stuck reports that Read was called and blocks until its context ends.
type stuck struct {
	agent.Machine
	asked func()
}

func (s stuck) Read(ctx context.Context, _ []string) (*nic.Host, error) {
	s.asked()
	<-ctx.Done()
	return nil, fmt.Errorf("read: %w", context.Cause(ctx))
}

func TestReadEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := clientOf(stuck{asked: cancel})
		if _, err := c.Read(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// raw serves a request given as text and returns the answer. If hold is set, the input stays open.
func raw(t *testing.T, m agent.Machine, request string, hold bool) (response agent.Response, lines []string, err error) {
	t.Helper()
	in, w := io.Pipe()
	defer w.Close()
	var out bytes.Buffer
	go func() {
		_, _ = io.WriteString(w, request)
		if !hold {
			w.Close()
		}
	}()
	err = agent.Serve(t.Context(), in, &out, m)
	for sc := bufio.NewScanner(&out); sc.Scan(); {
		lines = append(lines, sc.Text())
	}
	if len(lines) > 1 {
		var a struct{ Response agent.Response }
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &a); err != nil {
			t.Fatal(err)
		}
		response = a.Response
	}
	return response, lines, err
}

func TestServeRefuses(t *testing.T) {
	m := agent.Local(newHost(t).Machine())
	for _, c := range []struct{ name, request, kind, text string }{
		{"version", `{"version":2,"verb":"read","new":1}`, "version", "asked in version 2, this agent speaks 1"},
		{"no version", `{}`, "version", "version 0"},
		{"verb", `{"version":1,"verb":"reboot"}`, "request", `no verb "reboot"`},
		{"not JSON", `hello`, "request", "unusable request"},
		{"unknown member", `{"version":1,"verb":"read","names":null,"shell":"id"}`, "request", "shell"},
		{"two values", `{"version":1,"verb":"read"} {}`, "request", "unusable request"},
		{"plan without hosts", `{"version":1,"verb":"plan","running":{"name":"a","ports":{}}}`, "request", "plan without desired"},
		{"null device", `{"version":1,"verb":"counters","running":{"name":"a","ports":{},"uppers":{"bond0":null}}}`, "request", `device "bond0" is null`},
		{"null port", `{"version":1,"verb":"counters","running":{"name":"a","ports":{"x":null}}}`, "request", `port "x" is null`},
		{"timeout", `{"version":1,"verb":"read","timeout_ms":-1}`, "request", "timeout_ms"},
		{"revert of nothing", `{"version":1,"verb":"revert"}`, "request", "revert without undo"},
		{"too large", `{"version":1,"verb":"read","names":["` + strings.Repeat("x", agent.MaxRequest) + `"]}`, "request", "more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, lines, err := raw(t, m, c.request+"\n", true)
			if err != nil || len(lines) != 2 || r.Error == nil || !slices.Contains(r.Error.Kinds, c.kind) || !strings.Contains(r.Error.Text, c.text) {
				t.Errorf("%v %+v %v", lines, r.Error, err)
			}
		})
	}
	if _, lines, err := raw(t, m, `{"version":1,"verb":"read"}`, false); !errors.Is(err, io.ErrUnexpectedEOF) || len(lines) != 1 {
		t.Errorf("a request that was cut off: %v, %v", lines, err)
	}
}

func TestServeEndsItsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, err := raw(t, stuck{asked: func() {}}, `{"version":1,"verb":"read","timeout_ms":5}`+"\n", true)
		if err != nil || r.Error == nil || !slices.Equal(r.Error.Kinds, []string{"timeout"}) {
			t.Errorf("deadline: %+v %v", r.Error, err)
		}
		r, _, err = raw(t, stuck{asked: func() {}}, `{"version":1,"verb":"read"}`+"\n", false)
		if err != nil || r.Error == nil || !slices.Equal(r.Error.Kinds, []string{"cancelled"}) || !strings.Contains(r.Error.Text, "gone") {
			t.Errorf("end of the input: %+v %v", r.Error, err)
		}
	})
}

// asked records the options of a plan and the names of a read.
type asked struct {
	agent.Machine
	options *local.Options
	names   *[]string
}

func (a asked) Plan(_ context.Context, _, _ *nic.Host, o local.Options) ([]local.Step, error) {
	*a.options = o
	return nil, nil
}

func (a asked) Read(_ context.Context, names []string) (*nic.Host, error) {
	*a.names = names
	return &nic.Host{}, nil
}

func TestArgumentsArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o local.Options
		var names []string
		c := clientOf(asked{nil, &o, &names})
		c.Peer = netip.MustParseAddr("192.0.2.1")
		h := &nic.Host{}
		own := netip.MustParseAddr("2001:db8::1")
		for _, k := range []struct{ give, want local.Options }{
			{local.Options{CutOff: true}, local.Options{CutOff: true, Peer: c.Peer}},
			{local.Options{Peer: own}, local.Options{Peer: own}},
		} {
			if _, err := c.Plan(t.Context(), h, h, k.give); err != nil || o != k.want {
				t.Errorf("%+v became %+v, %v", k.give, o, err)
			}
		}
		for _, want := range [][]string{nil, {}, {ens}} {
			if _, err := c.Read(t.Context(), want); err != nil || !slices.Equal(names, want) || (names == nil) != (want == nil) {
				t.Errorf("%#v became %#v, %v", want, names, err)
			}
		}
		c.NoFirmware = true
		if _, err := c.Read(t.Context(), nil); !errors.Is(err, agent.ErrRequest) {
			t.Errorf("a machine that cannot leave the firmware out: %v", err)
		}
		if _, err := c.Read(t.Context(), []string{strings.Repeat("x", agent.MaxRequest)}); !errors.Is(err, agent.ErrRequest) {
			t.Errorf("a request that is too large: %v", err)
		}
	})
}

func TestNoFirmware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		for _, skip := range []bool{false, true} {
			c := clientOf(agent.Local(h.Machine()))
			c.NoFirmware = skip
			got, err := c.Read(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			m := h.Machine()
			m.NoFirmware = skip
			want, err := m.Read(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got, same...); d != "" {
				t.Errorf("without firmware %t: on the machine (-), through a client (+):\n%s", skip, d)
			}
		}
	})
}
