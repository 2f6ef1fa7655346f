// Package nicclitest simulates a host with Broadcom cards behind niccli: a runner program that
// stores the RDMA option, prints it as niccli does and rejects what it does not know
// (amd/node-scraper, AMD's ROCm documentation on RoCE clusters).
//
// Only tests and simulators use it.
package nicclitest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/nic/niccli"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Faults selects what goes wrong, and the generation of the tool.
type Faults struct {
	// Old makes options begin with a single dash, and gives the list of cards another name.
	Old bool
	// Ignore: a set reports success and changes nothing.
	Ignore bool
	// Answer is what the tool prints for an option; "" stands for a regular answer.
	Answer string
}

// Host is the simulated host. Its methods may be called from several goroutines.
type Host struct {
	mu     sync.Mutex
	cards  []string // their PCI addresses
	on     map[string]bool
	faults Faults
	calls  int
}

// New returns a host with cards at the given PCI addresses, without RDMA in their NVM.
func New(pci ...string) *Host { return &Host{cards: pci, on: map[string]bool{}} }

// SetFaults replaces the faults.
func (h *Host) SetFaults(f Faults) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = f
}

// Set stores the RDMA option of a card without the tool.
func (h *Host) Set(pci string, on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on[pci] = on
}

// On returns the RDMA option of a card.
func (h *Host) On(pci string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.on[pci]
}

// Keep returns a function that restores the current state of the cards.
func (h *Host) Keep() (back func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	on := maps.Clone(h.on)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.on = maps.Clone(on)
	}
}

// Calls returns how often the tool ran.
func (h *Host) Calls() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls
}

// Run simulates niccli; it is a runnertest.Program.
func (h *Host) Run(_ context.Context, args []string) (runner.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	fails := runner.Result{Stdout: []byte("ERROR: Invalid command\n"), Code: 1}
	dash, list := "--", "--list_devices"
	if h.faults.Old {
		dash, list = "-", "--listdev"
	}
	if slices.Equal(args, []string{list}) {
		var b strings.Builder
		for i, pci := range h.cards {
			fmt.Fprintf(&b, "\n%d ) Broadcom BCM57608 1x400G QSFP-DD PCIe Ethernet NIC (Adp#%[1]d Port#1)\n", i+1)
			fmt.Fprintf(&b, "     MAC Address               : 8C:84:74:37:C3:%02X\n     PCI Address               : %s\n", 0x70+i, pci)
		}
		return runner.Result{Stdout: []byte(b.String())}, nil
	}
	if len(args) < 7 || args[0] != dash+"dev" || args[2] != "nvm" || args[4] != niccli.SupportRDMA || args[5] != dash+"scope" || args[6] != "0" {
		return fails, nil
	}
	at := slices.IndexFunc(h.cards, func(pci string) bool { return args[1] == fmt.Sprint(slices.Index(h.cards, pci)+1) })
	if at < 0 {
		return fails, nil
	}
	switch {
	case args[3] == dash+"getoption" && len(args) == 7:
		out := h.faults.Answer
		if out == "" {
			out = fmt.Sprintf("\n%s = %s\n", niccli.SupportRDMA, map[bool]string{true: "True", false: "False"}[h.on[h.cards[at]]])
		}
		return runner.Result{Stdout: []byte(out)}, nil
	case args[3] == dash+"setoption" && len(args) == 9 && args[7] == dash+"value" && (args[8] == "0" || args[8] == "1"):
		if !h.faults.Ignore {
			h.on[h.cards[at]] = args[8] == "1"
		}
		return runner.Result{Stdout: []byte(niccli.SupportRDMA + " is set successfully\n")}, nil
	}
	return fails, nil
}
