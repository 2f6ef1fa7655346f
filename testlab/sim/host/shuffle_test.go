package host

import (
	"fmt"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
)

// The APP table has no order: a host that shuffles returns the same entries in different orders.
func TestShuffledAppTable(t *testing.T) {
	h, err := New(Options{Name: "gpu1", Dir: t.TempDir(), NICs: []NIC{{Name: "ens1", RDMA: "mlx5_0"}}, Username: "admin", Tools: NoTools})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	m := h.local(true)
	want := [qos.NumDSCP]int8{}
	want[26], want[48] = 3, 6
	if _, err := m.DCB.MapDSCP(t.Context(), "ens1", want); err != nil {
		t.Fatal(err)
	}
	read := func() []dcb.App {
		s, err := m.DCB.Get(t.Context(), "ens1")
		if err != nil {
			t.Fatal(err)
		}
		return s.Apps
	}
	plain := read()
	if !slices.Equal(plain, read()) {
		t.Error("without a seed the order changes")
	}
	count := func(apps []dcb.App) map[dcb.App]int {
		n := map[dcb.App]int{}
		for _, a := range apps {
			n[a]++
		}
		return n
	}
	h.Shuffle(1)
	now := read()
	if slices.Equal(now, plain) || slices.Equal(now, read()) || fmt.Sprint(count(now)) != fmt.Sprint(count(plain)) {
		t.Errorf("%d entries, and before %d", len(now), len(plain))
	}
}
