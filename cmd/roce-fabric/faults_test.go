package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// moment is where a run stands on a device.
type moment string

const (
	beforeStage   moment = "before stage"
	inStage       moment = "in stage"
	beforeAnswer  moment = "after commit, before answer"
	beforeConfirm moment = "before confirm"
	inRevert      moment = "during revert"
	between       moment = "between waves"
	inGate        moment = "in the gate"
	over          moment = "over" // none of the matrix
)

var moments = []moment{beforeStage, inStage, beforeAnswer, beforeConfirm, inRevert, between, inGate}

// fault is what goes wrong.
type fault string

const (
	connectionReset fault = "reset"
	hang            fault = "hang"
	restart         fault = "restart"
	refusal         fault = "refused line"
	falseFailure    fault = "false failure"
	falseSuccess    fault = "false success"
	sigkill         fault = "SIGKILL"
	sighup          fault = "SIGHUP"
	diskFull        fault = "disk full"
)

var faults = []fault{connectionReset, hang, restart, refusal, falseFailure, falseSuccess, sigkill, sighup, diskFull}

// kind is a kind of device.
type kind struct {
	name    string
	names   [2]string
	gnmi    bool // alone, without SSH
	devices string
}

const matrixFabric = `apiVersion: roce-fabric/v1
kind: Fabric
name: faults
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
pfc: {watchdog: off}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
credentials:
  switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD, ssh: {}}
hosts:
  gpu[1-2]: {address: "192.0.2.[101-102]", nics: {ens1f0np0: {rdma: mlx5_0}}}
`

func switches(line, port string) string {
	return "switches:\n  leaf[1-2]: {role: leaf, address: \"192.0.2.[11-12]:8080\", " + line + "}\n" +
		"links:\n  - {a: \"leaf[1-2]/" + port + "\", b: \"gpu[1-2]/ens1f0np0\", cable: 5m, speed: 400G}\n"
}

var (
	leaves    = [2]string{"leaf1", "leaf2"}
	eosLeaf   = switches("os: eos, model: DCS-7060DX5-64S, release: 4.34.2F", "Ethernet1/1")
	allOfThem = []kind{
		{"eos ssh", leaves, false, eosLeaf},
		{"host", [2]string{"gpu1", "gpu2"}, false, eosLeaf},
		{"sonic gnmi", leaves, true, switches("os: sonic, model: ACS-MSN4700, release: 202511", "Ethernet0")},
		{"sonic direct", leaves, false, switches("os: sonic, write: direct, model: ACS-MSN4700, release: 202511", "Ethernet0")},
		{"nxos 9.3", leaves, false, switches("os: nxos, model: N9K-C93600CD-GX, release: 9.3(9)", "Ethernet1/1")},
		{"nxos 10", leaves, false, switches("os: nxos, model: N9K-C9332D-GX2B, release: 10.4(3)", "Ethernet1/1")},
		{"cumulus", leaves, true, switches("os: cumulus, model: SN5600, release: 5.15.0", "swp1")},
	}
)

// cell is one run of the matrix.
type cell struct {
	kind   kind
	moment moment
	fault  fault
	point  int // which of the points in that moment
	target int // the device
	at     int // the piece of its talk in that moment, from 1
}

// result is what came of it.
type result struct {
	fired   bool
	said    string // status and states of the run
	again   bool   // the next command was refused, and the one after it was not
	problem []string
}

// reference is a run without a fault, and with a revert.
type reference struct {
	after [2]string
	count [2]map[moment]int
}

func refer(t *testing.T, k kind) reference {
	t.Helper()
	var ref reference
	for _, m := range []moment{over, inRevert, inGate} {
		for target := range 2 {
			r := newRig(t, cell{kind: k, moment: m, target: target}, ref.after)
			rep := r.apply()
			if m == over {
				if rep.status != exitOK {
					t.Fatalf("without a fault: %s", rep.text)
				}
				ref.after = [2]string{r.boxes[0].state(), r.boxes[1].state()}
				continue
			}
			if m == inRevert {
				ref.count[target] = r.count
			} else {
				ref.count[target][inGate] = r.count[inGate]
			}
		}
	}
	for target := range 2 {
		r := newRig(t, cell{kind: k, moment: over, target: target}, ref.after)
		r.apply()
		maps.DeleteFunc(r.count, func(m moment, _ int) bool { return m == inRevert || m == inGate })
		for m, n := range r.count {
			ref.count[target][m] = n
		}
	}
	return ref
}

// cells are those of a kind: all at night, else a sample in which each fault and
// each moment comes up.
func (ref reference) cells(t *testing.T, n int, k kind) []cell {
	t.Helper()
	points := sharedtest.Sized(1, 2)
	var out []cell
	for mi, m := range moments {
		for fi, f := range faults {
			for p := range points {
				if points == 1 {
					if (mi+fi+n)%len(moments) != 0 || f == restart { // that waits for timers
						continue
					}
					p = fi + n
				}
				target := p / 2 % 2
				switch m {
				case beforeStage:
					target = 0
				case between:
					target = 1
				}
				count := ref.count[target][m]
				if count == 0 {
					t.Errorf("%s: nothing is said %s", k.name, m)
					continue
				}
				q := p % points
				out = append(out, cell{k, m, f, p, target, min(count, 1+(2*q+1)*count/(2*points))})
			}
		}
	}
	return out
}

// A run that meets a fault, wherever it stands, reports what is true, and after the
// next command every device is as it was or as intended, with all that is other
// users', and saved.
func TestFaultMatrix(t *testing.T) {
	t.Parallel()
	// A process that has SIGHUP ignored, under nohup say, hands that on.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	var mu sync.Mutex
	results := map[string][]result{}
	t.Run("cells", func(t *testing.T) {
		for n, k := range allOfThem[:sharedtest.Sized(2, len(allOfThem))] {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				ref := refer(t, k)
				for _, c := range ref.cells(t, n, k) {
					t.Run(fmt.Sprintf("%s/%s/%d", c.moment, c.fault, c.point), func(t *testing.T) {
						t.Parallel()
						res := c.run(t, ref)
						for _, p := range res.problem {
							t.Error(p)
						}
						mu.Lock()
						defer mu.Unlock()
						at := c.key()
						results[at] = append(results[at], res)
					})
				}
			})
		}
	})
	text := table(results)
	t.Log(text)
	if dir := os.Getenv("ROCE_FABRIC_ARTIFACTS"); dir != "" {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "faults.txt"), []byte(text), 0o644)); err != nil {
			t.Error(err)
		}
	}
}

func (c cell) key() string { return c.kind.name + "|" + string(c.moment) + "|" + string(c.fault) }

// run is one cell.
func (c cell) run(t *testing.T, ref reference) result {
	r := newRig(t, c, ref.after)
	rep := r.apply()
	res := result{fired: r.fired, said: said(rep)}
	if c.fault == refusal {
		r.settle() // a host that refuses to be read has no state
	}
	if r.fired && c.fault != sigkill {
		res.problem = append(res.problem, r.lies(rep)...)
	}
	r.settle()
	res.problem = append(res.problem, r.next(&res)...)
	if len(res.problem) > 0 {
		res.problem = append(res.problem, fmt.Sprintf("target %s, at %d; the run said: %s", r.names[c.target], c.at, rep.text))
	}
	return res
}

func said(rep runReport) string {
	var states []string
	for _, d := range slices.Sorted(maps.Keys(rep.devices)) {
		states = append(states, rep.devices[d])
	}
	return fmt.Sprintf("%d %s", rep.status, strings.Join(states, ","))
}

// is says what a device is like.
func (r *rig) is(i int) string {
	switch r.boxes[i].state() {
	case r.before[i]:
		return "before"
	case r.after[i]:
		return "after"
	}
	return "neither"
}

// claims is what a state of a report says of the device; "" for nothing.
var claims = map[string]string{
	"applied": "after", "unchanged": "after", "unsaved": "after",
	"blocked": "before", "refused": "before", "failed": "before", "reverted": "before", "skipped": "before", "left-out": "before",
	"partial": "",
}

// lies says what of a report is not true.
func (r *rig) lies(rep runReport) []string {
	var out []string
	done, partial := 0, 0
	for i, name := range r.names {
		state, ok := rep.devices[name]
		want, known := claims[state]
		switch {
		case ok && !known:
			out = append(out, fmt.Sprintf("%s: unknown state %q", name, state))
		case !ok:
			want = "before"
		}
		if is := r.is(i); want != "" && is != want && !r.excused(i, state) {
			out = append(out, fmt.Sprintf("%s is said to be %q, and is %s", name, state, is))
		}
		if want == "after" {
			done++
			if r.boxes[i].unsaved() && state != "unsaved" {
				out = append(out, name+" is said to be "+state+", and is not saved")
			}
		}
		if state == "partial" || state == "unsaved" || state == "left-out" {
			partial++
		}
	}
	want := exitFailed
	switch {
	case done == len(r.names) && partial == 0:
		want = exitOK
	case done+partial > 0:
		want = exitPartial
	}
	interrupted := rep.status == exitInterrupted && (r.reverting || r.cell.fault == hang || r.cell.fault == sighup)
	// A run that could not be recorded ends as one that went wrong.
	unrecorded := r.cell.fault == diskFull && want == exitOK && rep.status == exitPartial
	if rep.status != want && !interrupted && !unrecorded {
		out = append(out, fmt.Sprintf("the status is %d, want %d", rep.status, want))
	}
	return out
}

// excused is what no report can know: it ended at once, on a third Ctrl-C, and says
// nothing; or a host, which has nothing to confirm, restarts after it was read back.
func (r *rig) excused(i int, state string) bool {
	_, ofHost := r.boxes[i].(hostBox)
	return state == "" && r.cell.fault == hang && r.reverting || ofHost && r.cell.fault == restart && r.cell.moment == beforeConfirm
}

// next runs the next commands, after which every device must be as it was or as
// intended.
func (r *rig) next(res *result) []string {
	var out []string
	fail := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	if status, _, errOut := runHere(r.t, append([]string{"plan", "--exit-code"}, r.args...)...); status != exitOK && status != exitDiffers {
		fail("plan: status %d\n%s", status, errOut)
	}
	command := applyNow
	want := r.after
	if r.cell.point%2 == 1 {
		command, want = []string{"rollback", "--yes", "--allow", "traffic-loss"}, r.before
	}
	run := func() (int, string) {
		status, o, e := runHere(r.t, slices.Concat(command, []string{"--gate", "off"}, r.args)...)
		if strings.Contains(e, "no run to roll back") {
			status = exitOK
		}
		return status, o + e
	}
	status, text := run()
	for i, name := range r.names {
		if is := r.is(i); is == "neither" {
			fail("after %s %s is neither as before nor as intended (status %d)\n%s", command[0], name, status, text)
		}
	}
	if status != exitOK {
		res.again = true
		for _, b := range r.boxes {
			b.expire()
		}
		if status, text = run(); status != exitOK {
			fail("%s: status %d\n%s", command[0], status, text)
		}
	}
	for i, name := range r.names {
		if r.boxes[i].state() != want[i] {
			fail("in the end %s is %s\n%s\n%s", name, r.is(i), diffOf(want[i], r.boxes[i].state()), text)
		}
		if r.boxes[i].unsaved() {
			fail("in the end %s is not saved\n%s", name, text)
		}
	}
	return out
}

// diffOf are the lines that are only in one of two texts.
func diffOf(want, have string) string {
	var b strings.Builder
	w, h := strings.Split(want, "\n"), strings.Split(have, "\n")
	for _, l := range w {
		if !slices.Contains(h, l) {
			fmt.Fprintln(&b, "-", l)
		}
	}
	for _, l := range h {
		if !slices.Contains(w, l) {
			fmt.Fprintln(&b, "+", l)
		}
	}
	return b.String()
}

// table shows how many runs there were of each cell, of which "r" were refused by the
// next command and carried out by the one after it, and "!" were wrong.
func table(results map[string][]result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nDRIVER\tMOMENT")
	for _, f := range faults {
		fmt.Fprintf(w, "\t%s", f)
	}
	fmt.Fprintln(w)
	sum, states := count{}, map[string]int{}
	for _, k := range allOfThem {
		for _, m := range moments {
			fmt.Fprintf(w, "%s\t%s", k.name, m)
			for _, f := range faults {
				n := countOf(results[cell{kind: k, moment: m, fault: f}.key()], states)
				sum.add(n)
				fmt.Fprintf(w, "\t%s", n)
			}
			fmt.Fprintln(w)
		}
	}
	_ = w.Flush() // into memory
	fmt.Fprintf(&b, "all: %s (runs; r: of which the next command was refused, the one after it not; -: of which ended before the fault; !: of which were wrong)\n", sum)
	for _, s := range slices.Sorted(maps.Keys(states)) {
		fmt.Fprintf(&b, "%5d runs ended with %s\n", states[s], s)
	}
	return b.String()
}

// count is what became of the runs of a cell.
type count struct{ runs, again, missed, wrong int }

func countOf(results []result, states map[string]int) count {
	var n count
	for _, r := range results {
		n.runs++
		states[r.said]++
		if r.again {
			n.again++
		}
		if !r.fired {
			n.missed++
		}
		if len(r.problem) > 0 {
			n.wrong++
		}
	}
	return n
}

func (n *count) add(o count) {
	n.runs += o.runs
	n.again += o.again
	n.missed += o.missed
	n.wrong += o.wrong
}

// String implements fmt.Stringer.
func (n count) String() string {
	s := fmt.Sprint(n.runs)
	for _, p := range []struct {
		n    int
		mark string
	}{{n.again, "r"}, {n.missed, "-"}, {n.wrong, "!"}} {
		if p.n > 0 {
			s += fmt.Sprintf(" %d%s", p.n, p.mark)
		}
	}
	return s
}
