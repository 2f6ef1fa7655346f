package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/proxy"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cumulus"
	"github.com/roce-fabric/roce-fabric/testlab/sim/eos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// limitFiles has SIGUSR1 bound the size of every file of this process to the
// number in the file that FILE_LIMIT names: to write more fails from then on, as on
// a disk that is full.
func limitFiles() {
	signal.Ignore(syscall.SIGXFSZ)
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	go func() {
		<-c
		b, err := os.ReadFile(os.Getenv("FILE_LIMIT"))
		n, err2 := strconv.ParseUint(string(b), 10, 64)
		var l syscall.Rlimit
		err = errors.Join(err, err2, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l))
		l.Cur = n
		if err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, diskIsFull)
	}()
}

const diskIsFull = "the disk is full now"

// box is a simulated device as the matrix needs it.
type box interface {
	mark()         // another user's configuration, saved
	state() string // all of its running configuration, and whether ports are up
	unsaved() bool
	restart() error
	arm(f fault, odd bool) // faults of the device itself
	clear()
	// expire ends what a device does by itself after a while.
	expire()
}

type eosBox struct{ *eos.EOS }

func (b eosBox) mark() {
	must(b.Configure("interface Ethernet3/1\ndescription not ours\nexit\nclass-map type qos match-any THEIRS\nmatch dscp 10\nexit"))
	b.Save()
}
func (b eosBox) state() string         { return unstamped(b.Running()) }
func (b eosBox) unsaved() bool         { return b.state() != unstamped(b.Startup()) }
func (b eosBox) restart() error        { return b.Restart() }
func (b eosBox) clear()                { b.Faults().Clear() }
func (b eosBox) expire()               { b.ExpireTimer() }
func (b eosBox) arm(f fault, odd bool) { armLines(&b.Faults().Faults, f, odd) }

type nxosBox struct{ *nxos.NXOS }

func (b nxosBox) mark() {
	must(b.Configure("interface Ethernet1/3\ndescription not ours\nexit\nclass-map type qos match-any THEIRS\nmatch dscp 10\nexit"))
	b.Save()
}
func (b nxosBox) state() string         { return unstamped(b.Running()) }
func (b nxosBox) unsaved() bool         { return b.state() != unstamped(b.Startup()) }
func (b nxosBox) restart() error        { return b.Restart() }
func (b nxosBox) clear()                { b.Faults().Clear() }
func (b nxosBox) expire()               { b.ExpireTimer() }
func (b nxosBox) arm(f fault, odd bool) { armLines(&b.Faults().Faults, f, odd) }

// armLines is arm of what is configured by lines.
func armLines(b *cli.Faults, f fault, odd bool) {
	switch {
	case f == refusal && odd:
		b.RejectNext()
	case f == refusal:
		b.RefuseLine(anyLine)
	case f == falseFailure:
		b.FailAfterCommit()
	case odd:
		b.PretendSave()
	default:
		b.PretendNext()
	}
}

// anyLine is one of the settings that all of them need.
var anyLine = regexp.MustCompile(`^(no )?(mtu|service-policy|service-profile)`)

type sonicBox struct{ *sonic.Switch }

func (b sonicBox) mark() {
	b.SetRow("SCHEDULER", "theirs", map[string]string{"type": "DWRR", "weight": "7"})
	b.SetRow("DSCP_TO_TC_MAP", "THEIRS", map[string]string{"10": "1"})
	b.Save()
}

func (b sonicBox) state() string {
	c := b.Config()
	for _, rows := range c {
		for _, r := range rows {
			delete(r, "NULL")
		}
	}
	for _, lost := range b.Unbound() {
		c["nothing is bound to "+lost] = nil
	}
	return asJSON(c)
}
func (b sonicBox) unsaved() bool  { return len(unsavedTables(b.Switch)) > 0 }
func (b sonicBox) restart() error { return b.Restart() }
func (b sonicBox) clear()         { b.Faults().Clear() }
func (b sonicBox) expire()        {}
func (b sonicBox) arm(f fault, odd bool) {
	switch {
	case f == refusal && odd:
		b.Faults().FailAt(3) // some of it was written
	case f == refusal:
		b.Faults().FailAt(0)
	case f == falseFailure:
		b.Faults().FailAfterApply()
	default:
		b.Faults().PretendNext()
	}
}

type cumulusBox struct{ *cumulus.Switch }

func (b cumulusBox) mark() {
	must(b.Configure("nv set interface swp3 description theirs\nnv set qos pfc THEIRS switch-priority 5"))
	b.Save()
}
func (b cumulusBox) state() string  { return b.Running() }
func (b cumulusBox) unsaved() bool  { return b.Running() != b.Startup() }
func (b cumulusBox) restart() error { return b.Restart() }
func (b cumulusBox) clear()         { b.Faults().Clear() }
func (b cumulusBox) expire()        { b.Expire() }
func (b cumulusBox) arm(f fault, odd bool) {
	switch {
	case f == refusal && odd:
		b.Faults().RejectNext()
	case f == refusal:
		b.Faults().RefusePatch(true)
	case f == falseFailure:
		b.Faults().FailAfterApply()
	case odd:
		b.Faults().PretendSave()
	default:
		b.Faults().PretendNext()
	}
}

type hostBox struct{ *host.Host }

const theirNIC = "ens9f0np0"

func (b hostBox) mark() {
	b.Kernel().Add(localtest.Port{Name: theirNIC})
	b.SetPFC(theirNIC, qos.Priorities(5))
}

func (b hostBox) state() string {
	running, err := b.Kernel().Machine().Read(context.Background(), nil)
	must(err)
	running.Boot = "" // which tells one start of the machine from another
	for _, p := range running.Ports {
		p.CarrierChanges = qos.Opt[uint64]{}
	}
	return asJSON(running)
}
func (b hostBox) unsaved() bool { return false } // nothing of a host is
func (b hostBox) restart() error {
	err := b.Reboot()
	b.SetPFC(theirNIC, qos.Priorities(5))
	return err
}

func (b hostBox) clear()  { b.Faults().Clear() }
func (b hostBox) expire() {}
func (b hostBox) arm(f fault, odd bool) {
	switch {
	case f == refusal && odd:
		b.Kernel().SetFaults(localtest.Faults{NotRoot: true})
	case f == refusal:
		b.Faults().NoRoot(true)
	case f == falseFailure:
		b.Faults().DropAfter("apply")
	default:
		b.Faults().Ignore(true)
	}
}

func asJSON(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	must(err)
	return string(b)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// rig is a lab of two devices behind proxies, and one run of the program on them,
// which meets a fault.
type rig struct {
	t     *testing.T
	cell  cell
	names [2]string
	boxes [2]box
	args  []string
	state string // folder
	limit string // the file of limitFiles

	before [2]string
	after  [2]string // from a run without a fault; "" in that

	mu        sync.Mutex
	idle      bool      // nothing is counted, nothing happens
	cut       time.Time // the device is not reached before
	answered  bool      // the answer to the commit has passed
	reverting bool
	fired     bool
	count     map[moment]int
	cmd       *exec.Cmd
	stderr    syncBuffer
	done      chan struct{}
}

func newRig(t *testing.T, c cell, after [2]string) *rig {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "fabric.yaml")
	must(os.WriteFile(file, []byte(matrixFabric+c.kind.devices), 0o600))
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(f, dir, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, cell: c, names: c.kind.names, state: filepath.Join(dir, "state"), limit: filepath.Join(dir, "limit"),
		after: after, idle: true, count: map[moment]int{}}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	r.args = []string{"-f", file, "--lab", lab.Path(dir), "--only", strings.Join(r.names[:], ","), "--state", r.state, "--parallel", "1"}
	for i, name := range r.names {
		r.boxes[i] = boxOfLab(l, name)
		r.boxes[i].mark()
		r.before[i] = r.boxes[i].state()
		r.redirect(l, i)
	}
	b, err := json.Marshal(l.File)
	must(errors.Join(err, os.WriteFile(lab.Path(dir), b, 0o600)))
	return r
}

func boxOfLab(l *lab.Lab, name string) box {
	switch b := l.Switches[name].(type) {
	case *eos.EOS:
		return eosBox{b}
	case *nxos.NXOS:
		return nxosBox{b}
	case *sonic.Switch:
		return sonicBox{b}
	case *cumulus.Switch:
		return cumulusBox{b}
	}
	return hostBox{l.Servers[name]}
}

// redirect puts a proxy before a device.
func (r *rig) redirect(l *lab.Lab, i int) {
	at := func(to string) string {
		if to == "" {
			return ""
		}
		p, err := proxy.Open(to, func(c proxy.Chunk) (int, bool) { return r.chunk(i, c) })
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() {
			if err := p.Close(); err != nil {
				r.t.Error(err)
			}
		})
		known, err := os.ReadFile(l.KnownHosts)
		_, old, _ := strings.Cut(to, ":")
		_, now, _ := strings.Cut(p.Addr(), ":")
		must(errors.Join(err, os.WriteFile(l.KnownHosts, bytes.ReplaceAll(known, []byte("]:"+old+" "), []byte("]:"+now+" ")), 0o600)))
		return p.Addr()
	}
	name := r.names[i]
	if d, ok := l.Devices[name]; ok {
		if r.cell.kind.gnmi {
			d.SSH = ""
		}
		d.GNMI, d.SSH = at(d.GNMI), at(d.SSH)
		l.Devices[name] = d
		return
	}
	h := l.Hosts[name]
	h.SSH = at(h.SSH)
	l.Hosts[name] = h
}

// chunk is the hook of the proxies.
func (r *rig) chunk(i int, c proxy.Chunk) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(c.Data)
	if r.idle || i != r.cell.target {
		return n, false
	}
	if time.Now().Before(r.cut) {
		return 0, true
	}
	m := r.moment(i, c.Up)
	r.count[m]++
	if m == beforeConfirm && r.cell.moment == inRevert && !r.reverting {
		r.reverting = true
		r.signal(os.Interrupt, "interrupted")
		return n, false
	}
	if m == r.cell.moment && r.count[m] == r.cell.at && !r.fired {
		r.fired = true
		return r.fire(i, c)
	}
	return n, false
}

// moment says how far the run is on a device when something is about to pass.
func (r *rig) moment(i int, up bool) moment {
	begun, ended := r.journal()
	switch {
	case ended[r.names[i]]:
		return over
	case !begun[r.names[i]] && len(ended) > 0:
		return between
	case !begun[r.names[i]]:
		return beforeStage
	case r.reverting:
		return inRevert
	case strings.Count(r.stderr.String(), "gate: links") > i: // one a wave
		return inGate
	case r.boxes[i].state() != r.after[i]:
		return inStage
	case !up && !r.answered:
		r.answered = true
		return beforeAnswer
	case r.answered:
		return beforeConfirm
	}
	return inStage
}

// journal says which devices the run has begun to change, and which are over.
func (r *rig) journal() (begun, ended map[string]bool) {
	begun, ended = map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob(filepath.Join(r.state, "*.journal"))
	must(err)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			panic(err)
		}
		for line := range bytes.Lines(b) {
			var e struct{ Device, Event string }
			if json.Unmarshal(line, &e) != nil || e.Device == "" {
				continue
			}
			switch e.Event {
			case "start":
				begun[e.Device] = true
			case "undo", "down", "up":
			default:
				ended[e.Device] = true
			}
		}
	}
	return begun, ended
}

// signal sends a signal to the program and waits for what it says to it.
func (r *rig) signal(s os.Signal, says string) {
	before := strings.Count(r.stderr.String(), says)
	if err := r.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for says != "" && strings.Count(r.stderr.String(), says) == before {
		select {
		case <-tick.C:
		case <-r.done:
			return
		case <-late:
			panic(fmt.Sprintf("%s: nothing is said of %v:\n%s", r.t.Name(), s, r.stderr.String()))
		}
	}
}

// insist presses Ctrl-C until the program ends, at the third that it notices.
func (r *rig) insist() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		r.signal(os.Interrupt, "")
		select {
		case <-tick.C:
		case <-r.done:
			return
		}
	}
}

// fire is the fault.
func (r *rig) fire(i int, c proxy.Chunk) (int, bool) {
	whole, odd := len(c.Data), r.cell.point%2 == 1
	part := []int{0, whole / 2, whole}[r.cell.point%3]
	says := "interrupted"
	if r.reverting {
		says = "" // it was said before
	}
	switch r.cell.fault {
	case connectionReset:
		if odd {
			r.cut = time.Now().Add(2 * time.Second)
		}
		return part, true
	case hang:
		if r.reverting {
			r.insist()
		} else {
			r.signal(os.Interrupt, says)
		}
		return part, odd || part < whole
	case restart:
		must(r.boxes[i].restart())
		return part, true
	case sigkill:
		must(r.cmd.Process.Kill())
		<-r.done
		return part, true
	case sighup:
		r.signal(syscall.SIGHUP, says)
	case diskFull:
		limit := 0
		if files, err := filepath.Glob(filepath.Join(r.state, "*.journal")); odd && err == nil && len(files) > 0 {
			st, err := os.Stat(files[0])
			must(err)
			limit = int(st.Size()) + 20
		}
		must(os.WriteFile(r.limit, []byte(strconv.Itoa(limit)), 0o600))
		r.signal(syscall.SIGUSR1, diskIsFull)
	default:
		r.boxes[i].arm(r.cell.fault, odd)
	}
	return whole, false
}

// runReport is what a run says of itself.
type runReport struct {
	status  int
	devices map[string]string // states
	text    string
}

// stateLine is the line of a device, or of both where they ended alike.
var stateLine = regexp.MustCompile(`(?m)^((?:leaf|gpu)\d(?:, (?:leaf|gpu)\d)?)  +([a-z-]+)`)

// apply runs the program with all that happens to it.
func (r *rig) apply() runReport {
	r.t.Helper()
	var out bytes.Buffer
	gate := "off"
	if r.cell.moment == inGate {
		gate = "quick"
	}
	cmd := exec.Command("roce-fabric-limited", slices.Concat(applyNow, []string{"--gate", gate}, r.args)...)
	cmd.Stdout, cmd.Stderr = &out, &r.stderr
	cmd.Env = append(os.Environ(), "FILE_LIMIT="+r.limit)
	r.mu.Lock()
	r.idle, r.cmd, r.done = false, cmd, make(chan struct{})
	must(cmd.Start())
	r.mu.Unlock()
	_ = cmd.Wait() // its status is below
	close(r.done)
	r.mu.Lock()
	r.idle = true
	r.mu.Unlock()
	rep := runReport{cmd.ProcessState.ExitCode(), map[string]string{}, out.String() + r.stderr.String()}
	for _, m := range stateLine.FindAllStringSubmatch(out.String(), -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			rep.devices[name] = m[2]
		}
	}
	return rep
}

// settle ends the faults.
func (r *rig) settle() {
	for _, b := range r.boxes {
		b.clear()
	}
}
