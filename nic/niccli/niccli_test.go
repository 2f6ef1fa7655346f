package niccli_test

import (
	"context"
	"errors"
	"testing"

	"github.com/roce-fabric/roce-fabric/nic/niccli"
	"github.com/roce-fabric/roce-fabric/nic/niccli/nicclitest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// tools is a runner that has only niccli.
type tools struct{ *nicclitest.Host }

func (h tools) Run(ctx context.Context, name string, args ...string) (runner.Result, error) {
	if h.Host == nil || name != "niccli" {
		return runner.Result{}, runner.ErrNotFound
	}
	return h.Host.Run(ctx, args)
}

// An option of the card at an address is read, set and read back, in both spellings of the
// commands.
func TestOption(t *testing.T) {
	t.Parallel()
	const first, second = "0000:06:00.0", "0000:16:00.0"
	for _, old := range []bool{false, true} {
		cards := nicclitest.New(first, second)
		cards.SetFaults(nicclitest.Faults{Old: old})
		cards.Set(first, true)
		tool, err := niccli.Find(t.Context(), tools{cards})
		if err != nil {
			t.Fatal(err)
		}
		for pci, want := range map[string]bool{first: true, second: false} {
			if on, err := tool.Get(t.Context(), pci, niccli.SupportRDMA); err != nil || on != want {
				t.Errorf("old %v: %s is %v, %v", old, pci, on, err)
			}
		}
		if err := tool.Set(t.Context(), second, niccli.SupportRDMA, true); err != nil || !cards.On(second) {
			t.Errorf("old %v: %v", old, err)
		}
		cards.SetFaults(nicclitest.Faults{Old: old, Ignore: true})
		if err := tool.Set(t.Context(), second, niccli.SupportRDMA, false); !errors.Is(err, niccli.ErrIgnored) {
			t.Errorf("old %v: %v", old, err)
		}
		if _, err := tool.Get(t.Context(), "0000:26:00.0", niccli.SupportRDMA); !errors.Is(err, niccli.ErrNoCard) {
			t.Errorf("old %v: %v", old, err)
		}
		for _, answer := range []string{"support_rdma = perhaps\n", "other = True\n", "\n"} {
			cards.SetFaults(nicclitest.Faults{Old: old, Answer: answer})
			if _, err := tool.Get(t.Context(), first, niccli.SupportRDMA); !errors.Is(err, niccli.ErrOutput) {
				t.Errorf("old %v: %q: %v", old, answer, err)
			}
		}
		before := cards.Calls()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := tool.Set(ctx, first, niccli.SupportRDMA, true); !errors.Is(err, context.Canceled) || cards.Calls() != before {
			t.Errorf("old %v: cancelled: %v", old, err)
		}
	}
	if _, err := niccli.Find(t.Context(), tools{}); !errors.Is(err, niccli.ErrNoTool) {
		t.Error(err)
	}
}
