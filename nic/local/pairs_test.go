package local_test

import (
	"context"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// The first and the last connected queue pair of each program are read, and no others.
func TestPairs(t *testing.T) {
	pair := func(local, dscp int, program string) localtest.Pair {
		return localtest.Pair{RDMA: "mlx5_0", Local: local, Remote: local + 1000, Type: "RC", State: "RTS", Program: program, DSCP: dscp}
	}
	idle := pair(1, 0, "ib_core")
	idle.Remote, idle.Type = 0, "UD"
	opening := pair(2, 0, "python3")
	opening.State = "INIT"
	other := pair(3, 0, "fio")
	other.RDMA = "mlx5_7"
	h := newHost(t, mlx5(false))
	h.SetPairs(idle, opening, other, pair(10, 26, "python3"), pair(11, 5, "python3"), pair(12, 0, "python3"), pair(20, 26, "fio"), pair(21, 26, "fio"))
	want := []nic.PairUse{{Program: "python3", DSCP: 26, Read: 1, Of: 3}, {Program: "python3", DSCP: 0, Read: 1, Of: 3}, {Program: "fio", DSCP: 26, Read: 2, Of: 2}}
	if p := read(t, h.Machine()).Ports[ens0]; !p.Pairs.Set || !slices.Equal(p.Pairs.V, want) {
		t.Errorf("%+v, %q", p.Pairs, p.Missing[nic.FieldPairs])
	}

	var many []localtest.Pair
	for i := range 40 {
		many = append(many, pair(100+i, 26, string(rune('a'+i%26))))
	}
	h.SetPairs(many...)
	p := read(t, h.Machine()).Ports[ens0]
	n := 0
	for _, u := range p.Pairs.V {
		n += u.Read
	}
	if n != 16 {
		t.Errorf("%d of 40 pairs are read", n)
	}

	h.SetPairs()
	if p := read(t, h.Machine()).Ports[ens0]; !p.Pairs.Set || len(p.Pairs.V) > 0 {
		t.Errorf("of none %+v, %q", p.Pairs, p.Missing[nic.FieldPairs])
	}
	// A pair that is closed meanwhile is left out.
	real := h.Programs["rdma"]
	h.SetPairs(pair(10, 26, "python3"), pair(12, 0, "python3"))
	h.Programs["rdma"] = func(ctx context.Context, args []string) (runner.Result, error) {
		if slices.Contains(args, "10") {
			return runner.Result{Stderr: []byte("error: No such file or directory\n"), Code: 1}, nil
		}
		return real(ctx, args)
	}
	if p := read(t, h.Machine()).Ports[ens0]; len(p.Pairs.V) != 1 || p.Pairs.V[0].DSCP != 0 {
		t.Errorf("with one that is gone %+v", p.Pairs)
	}
	h.Programs["rdma"] = real
	h.SetPairs(pair(10, 26, "python3"))
	h.SetFaults(localtest.Faults{NotRoot: true})
	if p := read(t, h.Machine()).Ports[ens0]; p.Pairs.Set || p.Missing[nic.FieldPairs] == "" {
		t.Errorf("without root %+v", p.Pairs)
	}
	h.SetFaults(localtest.Faults{})
	// If the output contains no context, no DSCP is read.
	for name, data := range map[string]string{"no context": "1,2,3", "words": `"x"`} {
		h.Programs["rdma"] = func(ctx context.Context, args []string) (runner.Result, error) {
			if slices.Contains(args, "-r") {
				return runner.Result{Stdout: []byte(`[{"ifname":"mlx5_0","data":[` + data + `]}]`)}, nil
			}
			return real(ctx, args)
		}
		if p := read(t, h.Machine()).Ports[ens0]; p.Pairs.Set || p.Missing[nic.FieldPairs] == "" {
			t.Errorf("%s: %+v", name, p.Pairs)
		}
	}
	if p := read(t, newHost(t, bnxt("")).Machine()).Ports[ens0]; p.Pairs.Set {
		t.Errorf("bnxt: %+v", p.Pairs)
	}
}
