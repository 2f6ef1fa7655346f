package local_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// The first two and the last two connected queue pairs of each program are read, and no others.
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
	h.SetPairs(idle, opening, other, pair(10, 26, "python3"), pair(11, 26, "python3"), pair(12, 5, "python3"), pair(13, 0, "python3"), pair(14, 0, "python3"), pair(20, 26, "fio"), pair(21, 26, "fio"))
	use := func(program string, dscp, read, of int) nic.PairUse {
		return nic.PairUse{Program: program, DSCP: dscp, Source: "10.0.0.1", Read: read, Of: of}
	}
	want := []nic.PairUse{use("python3", 26, 2, 5), use("python3", 0, 2, 5), use("fio", 26, 2, 2)}
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
	unread := ""
	for _, u := range p.Pairs.V {
		n += u.Read
		unread = cmp.Or(unread, u.Unread)
	}
	if n != 16 || unread != "at most 16 queue pairs of a port are read" {
		t.Errorf("%d of 40 pairs are read, %q", n, unread)
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
	unreadFor := func(m *local.Machine, why string) {
		t.Helper()
		p := read(t, m).Ports[ens0]
		if len(p.Pairs.V) != 1 || p.Pairs.V[0] != (nic.PairUse{Program: "python3", Of: 1, Unread: p.Pairs.V[0].Unread}) || !strings.Contains(p.Pairs.V[0].Unread, why) {
			t.Errorf("%+v, want %q", p.Pairs, why)
		}
	}
	h.SetFaults(localtest.Faults{NotRoot: true})
	unreadFor(h.Machine(), "not permitted")
	h.SetFaults(localtest.Faults{})
	// If the output contains no context, nothing is read.
	for data, why := range map[string]string{"1,2,3": "format of its context is unknown", `"x"`: "cannot unmarshal"} {
		h.Programs["rdma"] = func(ctx context.Context, args []string) (runner.Result, error) {
			if slices.Contains(args, "-r") {
				return runner.Result{Stdout: []byte(`[{"ifname":"mlx5_0","data":[` + data + `]}]`)}, nil
			}
			return real(ctx, args)
		}
		unreadFor(h.Machine(), why)
	}
	// Other drivers list their queue pairs, and do not show how they are marked.
	b := newHost(t, bnxt(""))
	if p := read(t, b.Machine()).Ports[ens0]; !p.Pairs.Set || len(p.Pairs.V) > 0 {
		t.Errorf("bnxt without pairs: %+v", p.Pairs)
	}
	other = pair(10, 26, "python3")
	other.RDMA = read(t, b.Machine()).Ports[ens0].RDMA
	b.SetPairs(other)
	unreadFor(b.Machine(), nic.NotInDriver)
	delete(b.Programs, "rdma")
	if p := read(t, b.Machine()).Ports[ens0]; p.Pairs.Set || p.Missing[nic.FieldPairs] == "" {
		t.Errorf("without the tool: %+v", p.Pairs)
	}
}

// The address that a queue pair sends from, its tag and its UDP port are read from its context.
func TestPairPaths(t *testing.T) {
	h := newHost(t, mlx5(false))
	pair := func(local int, edit func(*localtest.Pair)) localtest.Pair {
		p := localtest.Pair{RDMA: "mlx5_0", Local: local, Remote: local + 1000, Type: "RC", State: "RTS", Program: "python3", DSCP: 26}
		edit(&p)
		return p
	}
	h.SetPairs(pair(1, func(p *localtest.Pair) { p.Slot, p.PCP = 2, 5 }), pair(2, func(p *localtest.Pair) { p.Slot = 1 }), pair(3, func(p *localtest.Pair) { p.Slot = 4 }))
	h.Put("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1", "ens1.100\n")
	want := []nic.PairUse{
		{Program: "python3", DSCP: 26, PCP: 5, Source: "10.0.0.1", V1: true, Read: 1, Of: 3},
		{Program: "python3", DSCP: 26, Source: "fe80::a94:efff:fe00:1", Over: "ens1.100", Read: 1, Of: 3},
		{Program: "python3", DSCP: 26, Read: 1, Of: 3}, // the slot is empty
	}
	if p := read(t, h.Machine()).Ports[ens0]; !slices.Equal(p.Pairs.V, want) || p.GIDs.V.Slot != qos.Of(3) {
		t.Errorf("%+v, %+v", p.Pairs, p.GIDs)
	}
	for name, tt := range map[string]struct {
		one, other func(*localtest.Pair)
		want       []nic.SharedPort
	}{
		"own ports":    {func(*localtest.Pair) {}, func(*localtest.Pair) {}, nil},
		"one port":     {func(p *localtest.Pair) { p.UDPPort = -1 }, func(p *localtest.Pair) { p.UDPPort = -1 }, []nic.SharedPort{{Program: "python3", Peer: "10.0.0.2", UDPPort: 0xc000, Read: 2}}},
		"two peers":    {func(p *localtest.Pair) { p.UDPPort = -1 }, func(p *localtest.Pair) { p.UDPPort, p.Peer = -1, "10.0.0.3" }, nil},
		"two programs": {func(p *localtest.Pair) { p.UDPPort = -1 }, func(p *localtest.Pair) { p.UDPPort, p.Program = -1, "fio" }, nil},
		"without UDP":  {func(p *localtest.Pair) { p.UDPPort, p.Slot = -1, 2 }, func(p *localtest.Pair) { p.UDPPort, p.Slot = -1, 2 }, nil},
	} {
		h.SetPairs(pair(10, tt.one), pair(11, tt.other))
		if p := read(t, h.Machine()).Ports[ens0]; !slices.Equal(p.SharedPorts, tt.want) {
			t.Errorf("%s: %+v", name, p.SharedPorts)
		}
	}
}
