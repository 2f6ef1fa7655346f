package host

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/nic/perftest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// wired returns a host on a wire with one NIC of 400 Gb/s in a slot of 504.
func wired(t *testing.T, w *Wire, name string) *Host {
	t.Helper()
	h, err := New(Options{Name: name, Dir: t.TempDir(), Username: "admin", Password: "secret", NICs: []NIC{{Name: "eth2", RDMA: "mlx5_0"}}, Wire: w, Address: name})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *Host) perftest(ctx context.Context, o perftest.Options) (runner.Result, error) {
	return h.timeout(ctx, append([]string{"--kill-after=5", "60", "env", "X=y", string(o.Test)}, o.Args()...))
}

// Programs at the same time divide the link of a receiver and of a sender, and the classes by weight.
func TestWire(t *testing.T) {
	type flow struct {
		from, to string
		tclass   int
	}
	const full = 400 * payload
	tests := map[string]struct {
		flows []flow
		want  []float64
	}{
		"pair":      {[]flow{{"a", "b", 106}}, []float64{full}},
		"both ways": {[]flow{{"a", "b", 106}, {"b", "a", 106}}, []float64{full, full}},
		"incast":    {[]flow{{"a", "c", 106}, {"b", "c", 106}}, []float64{full / 2, full / 2}},
		"outcast":   {[]flow{{"a", "b", 106}, {"a", "c", 106}}, []float64{full / 2, full / 2}},
		"classes":   {[]flow{{"a", "b", 106}, {"a", "b", 2}}, []float64{full * 0.75, full * 0.25}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWire()
				w.Weight = func(tclass int) float64 { return map[int]float64{106: 75, 2: 25}[tclass] }
				hosts := map[string]*Host{}
				for _, n := range []string{"a", "b", "c"} {
					hosts[n] = wired(t, w, n)
				}
				var all sync.WaitGroup
				for i, f := range tt.flows {
					o := perftest.Options{Test: perftest.WriteBW, Device: "mlx5_0", GID: 3, TClass: f.tclass, Size: 65536, QPs: 1, Seconds: 10, Port: perftest.FirstPort + i}
					all.Go(func() {
						if res, err := hosts[f.to].perftest(t.Context(), o); err != nil || res.Code != 0 {
							t.Errorf("server: %+v, %v", res, err)
						}
					})
					synctest.Wait() // the server listens
					o.Server = f.to
					all.Go(func() {
						res, err := hosts[f.from].perftest(t.Context(), o)
						if err != nil || res.Code != 0 {
							t.Errorf("client: %+v, %v", res, err)
						}
						r, err := perftest.Parse(o.Test, string(res.Stdout))
						if err != nil || r.Gbps < tt.want[i]-0.01 || r.Gbps > tt.want[i]+0.01 {
							t.Errorf("flow %d: %+v, %v; want %.2f", i, r, err, tt.want[i])
						}
					})
				}
				all.Wait()
			})
		})
	}
}

// A client without a server fails, and so does what the real program refuses.
func TestWireErrors(t *testing.T) {
	w := NewWire()
	h := wired(t, w, "a")
	good := "ib_write_bw -d mlx5_0 -x 3 --tclass=106 -s 65536 -p 18515 -F -q 1 -D 10 --report_gbits b"
	for args, want := range map[string]string{
		good: "Couldn't connect to b:18515", strings.Replace(good, "mlx5_0", "mlx5_9", 1): "Unable to find the Infiniband/RoCE device",
		strings.Replace(good, "-F", "--fast", 1): "unrecognized option '--fast'", strings.Replace(good, "ib_write_bw", "ib_write_lat", 1): "unrecognized option '-q'",
		strings.Replace(good, "-D 10", "-D ten", 1): `Invalid value "ten"`, strings.Replace(good, "ib_write_bw", "ib_read_bw", 1): "No such file or directory", "ib_write_bw -d": "requires an argument",
	} {
		res, err := h.timeout(t.Context(), append([]string{"--kill-after=5", "60", "env", "X=y"}, strings.Fields(args)...))
		if err != nil || res.Code == 0 || !strings.Contains(string(res.Stderr), want) {
			t.Errorf("%s: %+v, %v; want %q", args, res, err, want)
		}
	}
}
