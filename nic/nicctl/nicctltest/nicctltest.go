// Package nicctltest simulates a host with AMD Pensando cards behind nicctl: a runner program that
// stores the values that are set, prints them as nicctl does, and rejects what nicctl and the
// cards' firmware are known to reject, with the same messages (amd/node-scraper, ROCm/mori
// tools/env_setup.sh). Where their behaviour is not known, [Faults] selects it.
//
// Only tests and simulators use it.
package nicctltest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/nicctl"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Card is a card with its ports. A card with one port has one RDMA device.
type Card struct {
	ID, PCI string
	// Devices are the RDMA devices; Ports are the ports.
	Devices []*Device
	Ports   []*Port
}

// Port is a port of a card.
type Port struct {
	ID, MAC   string
	Pause     nicctl.Pause // with the type in upper case, as printed
	DSCP      [qos.NumDSCP]int8
	PFC       qos.PrioritySet
	Schedule  nicctl.Scheduling
	PFCListed string // printed instead of the no-drop priorities
}

// Device is an RDMA device with one DCQCN profile.
type Device struct {
	Name    string
	Enabled bool
	CNPDSCP int
}

// Faults selects what goes wrong, and behaviour that is not known.
type Faults struct {
	// NoCards: the tool finds no card, says so and exits with 0.
	NoCards bool
	// Ignore: a set reports success and changes nothing.
	Ignore bool
	// StaysOff: setting a disabled profile does not turn it on.
	StaysOff bool
	// Refuse is a verb ("scheduling", "pfc") that the firmware rejects.
	Refuse string
	// Garble rewrites the output of "show" for a subject.
	Garble func(subject, text string) string
}

// Host is the simulated host. Its methods may be called from several
// goroutines.
type Host struct {
	mu     sync.Mutex
	cards  []*Card
	trust  qos.Trust
	faults Faults
	writes []string
}

// New returns a host with cards in their factory state: DSCP classification with all DSCPs in
// priority 0, nothing paused, DCQCN off. Card n has the n-th RDMA device, and its port has the n-th
// address.
func New(devices ...string) *Host {
	h := &Host{trust: qos.TrustDSCP}
	for i, name := range devices {
		mac := MAC(i)
		h.cards = append(h.cards, &Card{
			ID: fmt.Sprintf("42424650-4c32-3531-3530-3143430000%02x", i), PCI: fmt.Sprintf("0000:%02x:00.0", 0x06+i*0x10),
			Devices: []*Device{{Name: name}}, Ports: []*Port{NewPort(i, mac)},
		})
	}
	return h
}

// MAC returns the address of the port of card n made by [New].
func MAC(n int) string { return fmt.Sprintf("04:90:81:32:5d:%02x", n) }

// NewPort returns a port in its factory state.
func NewPort(n int, mac string) *Port {
	hex := strings.ReplaceAll(mac, ":", "")
	p := &Port{ID: fmt.Sprintf("%s-%s-4242-4242-0000110100%02x", hex[:8], hex[8:], n), MAC: mac, Pause: nicctl.Pause{Type: "NONE"}}
	p.Schedule[0] = nicctl.Share{Shown: true}
	return p
}

// SetFaults replaces the faults.
func (h *Host) SetFaults(f Faults) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = f
}

// Edit changes the state of the host without the tool. The classification applies to all cards.
func (h *Host) Edit(f func(cards []*Card, trust *qos.Trust)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h.cards, &h.trust)
}

// Keep returns a function that restores the current state of the cards.
func (h *Host) Keep() (back func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	cards, trust := copies(h.cards), h.trust
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.cards, h.trust = copies(cards), trust
	}
}

func copies(cards []*Card) (out []*Card) {
	for _, c := range cards {
		one := *c
		one.Devices, one.Ports = nil, nil
		for _, d := range c.Devices {
			d := *d
			one.Devices = append(one.Devices, &d)
		}
		for _, p := range c.Ports {
			p := *p
			one.Ports = append(one.Ports, &p)
		}
		out = append(out, &one)
	}
	return out
}

// Writes returns the command lines so far that changed something, and clears the list.
func (h *Host) Writes() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.writes
	h.writes = nil
	return w
}

func says(format string, args ...any) (runner.Result, error) {
	return runner.Result{Stdout: fmt.Appendf(nil, format+"\n", args...)}, nil
}

func refuses(format string, args ...any) (runner.Result, error) {
	return runner.Result{Stdout: fmt.Appendf(nil, "ERROR - "+format+"\n", args...), Code: 1}, nil
}

// Run simulates the program, for runnertest.Fake.
func (h *Host) Run(ctx context.Context, args []string) (runner.Result, error) {
	if err := ctx.Err(); err != nil {
		return runner.Result{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.faults.NoCards {
		return says("No AMD NICs found")
	}
	verbs, flags, bad := split(args)
	if bad != "" {
		return refuses("%s", bad)
	}
	command := strings.Join(verbs, " ")
	if subject, ok := strings.CutPrefix(command, "show "); ok {
		return h.show(subject, flags)
	}
	update, ok := map[string]func(map[string]string) string{
		"update port": h.updatePort, "update qos": h.updateClass, "update qos dscp-to-priority": h.updateMap,
		"update qos pfc": h.updatePFC, "update qos scheduling": h.updateSchedule, "update dcqcn": h.updateDCQCN,
	}[command]
	if !ok {
		return refuses("unknown command %q", command)
	}
	if h.faults.Refuse == verbs[len(verbs)-1] {
		return refuses("Invalid input")
	}
	if fault := update(flags); fault != "" {
		return refuses("%s", fault)
	}
	h.writes = append(h.writes, strings.Join(args, " "))
	return runner.Result{}, nil
}

// split separates verbs from flags. Only --disable has no value.
func split(args []string) (verbs []string, flags map[string]string, bad string) {
	flags = map[string]string{}
	for i := 0; i < len(args); i++ {
		switch {
		case !strings.HasPrefix(args[i], "-"):
			verbs = append(verbs, args[i])
		case args[i] == "--disable":
			flags["--disable"] = ""
		case i+1 == len(args):
			return nil, nil, "flag needs an argument: " + args[i]
		default:
			flags[args[i]] = args[i+1]
			i++
		}
	}
	return verbs, flags, ""
}

// wrongFlag names a flag that is unknown or missing; "" if the flags are exactly the known ones.
func wrongFlag(flags map[string]string, known ...string) string {
	for _, f := range slices.Sorted(maps.Keys(flags)) {
		if !slices.Contains(known, f) {
			return "unknown flag: " + f
		}
	}
	for _, f := range known {
		if _, ok := flags[f]; !ok {
			return "required flag not set: " + f
		}
	}
	return ""
}

func (h *Host) port(id string) *Port {
	for _, c := range h.cards {
		for _, p := range c.Ports {
			if p.ID == id {
				return p
			}
		}
	}
	return nil
}

func (h *Host) updatePort(f map[string]string) string {
	if bad := wrongFlag(f, "-p", "--pause-type", "--rx-pause", "--tx-pause"); bad != "" {
		return bad
	}
	p := h.port(f["-p"])
	on := map[string]bool{"enable": true, "disable": false}
	rx, ok := on[f["--rx-pause"]]
	tx, ok2 := on[f["--tx-pause"]]
	switch {
	case p == nil:
		return "Invalid UUID"
	case !slices.Contains([]string{"pfc", "link", "none"}, f["--pause-type"]) || !ok || !ok2:
		return "Invalid input"
	case !h.faults.Ignore:
		p.Pause = nicctl.Pause{Type: strings.ToUpper(f["--pause-type"]), RX: rx, TX: tx}
	}
	return ""
}

func (h *Host) updateClass(f map[string]string) string {
	if bad := wrongFlag(f, "--classification-type"); bad != "" {
		return bad
	}
	t := qos.Trust(strings.ToLower(f["--classification-type"]))
	switch {
	case t != qos.TrustDSCP && t != qos.TrustPCP:
		return "Invalid input"
	case !h.faults.Ignore:
		h.trust = t
	}
	return ""
}

func number(s string, most int) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n <= most
}

func (h *Host) updateMap(f map[string]string) string {
	if bad := wrongFlag(f, "-p", "--dscp", "--priority"); bad != "" {
		return bad
	}
	p := h.port(f["-p"])
	prio, ok := number(f["--priority"], 7)
	switch {
	case p == nil:
		return "Invalid UUID"
	case !ok:
		return "Invalid input"
	}
	for item := range strings.SplitSeq(f["--dscp"], ",") {
		low, high, span := strings.Cut(item, "-")
		if !span {
			high = low
		}
		from, ok := number(low, 63)
		to, ok2 := number(high, 63)
		if !ok || !ok2 || from > to {
			return "Invalid input"
		}
		for d := from; d <= to && !h.faults.Ignore; d++ {
			p.DSCP[d] = int8(prio)
		}
	}
	return ""
}

func (h *Host) updatePFC(f map[string]string) string {
	if bad := wrongFlag(f, "-p", "--priority", "--no-drop"); bad != "" {
		return bad
	}
	p := h.port(f["-p"])
	prio, ok := number(f["--priority"], 7)
	switch {
	case p == nil:
		return "Invalid UUID"
	case !ok, f["--no-drop"] != "enable" && f["--no-drop"] != "disable":
		return "Invalid input"
	case h.faults.Ignore:
	case f["--no-drop"] == "enable":
		p.PFC |= qos.Priorities(prio)
	default:
		p.PFC &^= qos.Priorities(prio)
	}
	return ""
}

// updateSchedule rejects priorities without a DSCP, and strict ones without a rate limit.
func (h *Host) updateSchedule(f map[string]string) string {
	if bad := wrongFlag(f, "-p", "--priority", "--dwrr", "--rate-limit"); bad != "" {
		return bad
	}
	p := h.port(f["-p"])
	if p == nil {
		return "Invalid UUID"
	}
	prios, shares, rates := strings.Split(f["--priority"], ","), strings.Split(f["--dwrr"], ","), strings.Split(f["--rate-limit"], ",")
	if len(prios) != len(shares) || len(prios) != len(rates) {
		return "Invalid input"
	}
	next, sum := nicctl.Scheduling{}, 0
	for i := range prios {
		prio, ok := number(prios[i], 7)
		share, ok2 := number(shares[i], 100)
		rate, ok3 := number(rates[i], 400)
		if !ok || !ok2 || !ok3 || next[prio].Shown || !slices.Contains(p.DSCP[:], int8(prio)) || share == 0 && rate == 0 {
			return "Invalid input for priority " + prios[i]
		}
		sum += share
		next[prio] = nicctl.Share{Shown: true, Strict: share == 0, Percent: share, Gbps: rate}
	}
	if sum > 100 {
		return "Invalid input"
	}
	if !h.faults.Ignore {
		p.Schedule = next
	}
	return ""
}

func (h *Host) updateDCQCN(f map[string]string) string {
	third := "--cnp-dscp"
	if _, off := f["--disable"]; off {
		third = "--disable"
	}
	if bad := wrongFlag(f, "-r", "-i", third); bad != "" {
		return bad
	}
	for _, c := range h.cards {
		for _, d := range c.Devices {
			if d.Name != f["-r"] {
				continue
			}
			dscp, ok := number(f["--cnp-dscp"], 63)
			switch {
			case f["-i"] != "1", third == "--cnp-dscp" && !ok:
				return "Invalid input"
			case h.faults.Ignore:
			case third == "--disable":
				d.Enabled = false
			default:
				d.Enabled, d.CNPDSCP = d.Enabled || !h.faults.StaysOff, dscp
			}
			return ""
		}
	}
	return "Invalid RoCE device"
}
