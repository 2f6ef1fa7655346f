package niccli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// listed is what the tool prints of two cards (amd/node-scraper, its tests).
const listed = `
1 ) Broadcom BCM57608 1x400G QSFP-DD PCIe Ethernet NIC (Adp#1 Port#1)
     Device Interface Name     : benic1p1
     MAC Address               : 8C:84:74:37:C3:70
     PCI Address               : 0000:06:00.0

2 ) Broadcom BCM57608 1x400G QSFP-DD PCIe Ethernet NIC (Adp#2 Port#1)
     Device Interface Name     : benic2p1
     MAC Address               : 8C:84:74:37:DB:D0
     PCI Address               : 0000:16:00.0
`

// cli is niccli of one generation.
type cli struct {
	old, ignores bool
	on           map[string]bool
	answer       string // of getoption; "" is a regular one
	calls        []string
}

func (c *cli) Run(_ context.Context, name string, args ...string) (runner.Result, error) {
	if name != "niccli" {
		return runner.Result{}, runner.ErrNotFound
	}
	c.calls = append(c.calls, strings.Join(args, " "))
	fails := runner.Result{Stdout: []byte("ERROR: Invalid command\n"), Code: 1}
	dash, list := "--", "--list_devices"
	if c.old {
		dash, list = "-", "--listdev"
	}
	if slices.Equal(args, []string{list}) {
		return runner.Result{Stdout: []byte(listed)}, nil
	}
	if len(args) < 7 || args[0] != dash+"dev" || args[2] != "nvm" || args[4] != SupportRDMA || args[5] != dash+"scope" || args[6] != "0" {
		return fails, nil
	}
	switch {
	case args[3] == dash+"getoption" && c.answer != "":
		return runner.Result{Stdout: []byte(c.answer)}, nil
	case args[3] == dash+"getoption":
		text := "False"
		if c.on[args[1]] {
			text = "True"
		}
		return runner.Result{Stdout: fmt.Appendf(nil, "\n%s = %s\n", SupportRDMA, text)}, nil
	case args[3] == dash+"setoption" && len(args) == 9 && args[7] == dash+"value":
		if !c.ignores {
			c.on[args[1]] = args[8] == "1"
		}
		return runner.Result{Stdout: []byte("support_rdma is set successfully\n")}, nil
	}
	return fails, nil
}

// The option of the card at an address is read and set, and read back, in both spellings.
func TestOption(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		c := &cli{old: old, on: map[string]bool{"1": true}}
		tool, err := Find(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for pci, want := range map[string]bool{"0000:06:00.0": true, "0000:16:00.0": false} {
			if on, err := tool.Get(t.Context(), pci, SupportRDMA); err != nil || on != want {
				t.Errorf("old %v: %s is %v, %v", old, pci, on, err)
			}
		}
		if err := tool.Set(t.Context(), "0000:16:00.0", SupportRDMA, true); err != nil || !c.on["2"] {
			t.Errorf("old %v: %v, %v", old, c.on, err)
		}
		c.ignores = true
		if err := tool.Set(t.Context(), "0000:16:00.0", SupportRDMA, false); !errors.Is(err, ErrIgnored) {
			t.Errorf("old %v: %v", old, err)
		}
		if _, err := tool.Get(t.Context(), "0000:26:00.0", SupportRDMA); !errors.Is(err, ErrNoCard) {
			t.Errorf("old %v: %v", old, err)
		}
		for _, answer := range []string{"support_rdma = perhaps\n", "other = True\n", "\n"} {
			c.answer = answer
			if _, err := tool.Get(t.Context(), "0000:06:00.0", SupportRDMA); !errors.Is(err, ErrOutput) {
				t.Errorf("old %v: %q: %v", old, answer, err)
			}
		}
		before := len(c.calls)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := tool.Set(ctx, "0000:06:00.0", SupportRDMA, true); !errors.Is(err, context.Canceled) || len(c.calls) != before {
			t.Errorf("old %v: cancelled: %v", old, err)
		}
	}
	if _, err := Find(t.Context(), none{}); !errors.Is(err, ErrNoTool) {
		t.Error(err)
	}
}

type none struct{}

func (none) Run(context.Context, string, ...string) (runner.Result, error) {
	return runner.Result{}, runner.ErrNotFound
}
