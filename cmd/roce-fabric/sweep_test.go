package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

var (
	sweepSeed = flag.Uint64("sweep.seed", 0, "the first story of TestFaultSweep; 0 is by chance")
	sweepRuns = flag.Int("sweep.stories", sharedtest.Sized(2, 1800), "how many stories TestFaultSweep tells, each with one to five faults")
	sweepWay  = flag.String("sweep.way", "", "only this way in, such as \"sonic gnmi\"")
)

// wide returns switches with three ports, each in a group of its own, so that a run has many
// steps.
func wide(line, port string) string {
	return "rollout: {portGroup: 1}\nswitches:\n  leaf[1-2]: {role: leaf, address: \"192.0.2.[11-12]:8080\", " + line + "}\n" +
		"  spine1: {role: spine, address: \"192.0.2.21:8080\", " + line + "}\n" +
		"links:\n  - {a: \"leaf[1-2]/" + port + "\", b: \"gpu[1-2]/ens1f0np0\", cable: 5m, speed: 400G}\n" +
		"  - {a: \"leaf1/Ethernet[32,40]\", b: \"spine1/Ethernet[0,8]\", cable: 40m, speed: 400G}\n" +
		"  - {a: \"leaf2/Ethernet[32,40]\", b: \"spine1/Ethernet[16,24]\", cable: 40m, speed: 400G}\n"
}

// ways lists the nine ways in which the tool reaches and writes devices.
var ways = []kind{
	{"eos ssh", leaves, false, eosLeaf},
	{"eos gnmi", leaves, true, eosLeaf},
	{"nxos 9.3", leaves, false, switches("os: nxos, model: N9K-C93600CD-GX, release: 9.3(9)", "Ethernet1/1")},
	{"nxos 10", leaves, false, switches("os: nxos, model: N9K-C9332D-GX2B, release: 10.4(3)", "Ethernet1/1")},
	{"sonic gnmi", leaves, true, wide("os: sonic, model: ACS-MSN4700, release: 202511", "Ethernet0")},
	{"sonic gnmi and ssh", leaves, false, wide("os: sonic, write: gnmi, model: ACS-MSN4700, release: 202511", "Ethernet0")},
	{"sonic direct", leaves, false, wide("os: sonic, write: direct, model: ACS-MSN4700, release: 202511", "Ethernet0")},
	{"cumulus", leaves, true, switches("os: cumulus, model: SN5600, release: 5.15.0", "swp1")},
	{"host", [2]string{"gpu1", "gpu2"}, false, eosLeaf},
}

// cannotSave reports whether a device has no transport that saves.
func (k kind) cannotSave() bool { return k.name == "eos gnmi" }

// deed is one command of a story. The fault strikes when the command exchanges the at[i]-th
// piece of data with device i; where at[i] is 0, nothing happens to that device.
type deed struct {
	command string
	fault   fault
	at      [2]int
}

func (d deed) String() string {
	if d.at == [2]int{} {
		return d.command
	}
	return fmt.Sprintf("%s (%s at %v)", d.command, d.fault, d.at)
}

// commands holds the command lines of a story. A rollback undoes the newest run whose
// writes stand.
var commands = map[string][]string{
	"apply":    {"apply", "--only", "leaf1,leaf2", "--yes", "--allow", "traffic-loss", "--gate", "off"},
	"resume":   {"apply", "--resume", "--yes", "--allow", "traffic-loss", "--gate", "off"},
	"rollback": {"rollback", "--yes", "--allow", "traffic-loss", "--gate", "off"},
}

// sweepFaults lists the faults of stories, the likelier ones more than once. A kill works
// without a process of its own: from that moment on, nothing that the run does reaches the
// devices or the state folder of the story.
var sweepFaults = []fault{sigkill, sigkill, sigkill, connectionReset, hang, restart, refusal, falseFailure, falseSuccess}

// story is a sequence of commands and faults.
type story struct {
	way      kind
	deeds    []deed
	together bool // both devices at once
	last     string
}

// tell makes up a story. talk holds how many pieces of data each command exchanges with a
// device when no fault strikes.
func tell(rnd *rand.Rand, way kind, talk map[string]int) story {
	s := story{way: way, together: rnd.IntN(3) == 0, last: []string{"apply", "rollback"}[rnd.IntN(2)]}
	commandOf := func(first bool) string {
		if first {
			return "apply"
		}
		return []string{"apply", "resume", "rollback", "rollback"}[rnd.IntN(4)]
	}
	if rnd.IntN(3) == 0 { // a whole apply comes first
		s.deeds = append(s.deeds, deed{command: "apply"})
	}
	for n := range 1 + rnd.IntN(3) {
		d := deed{command: commandOf(n == 0 && len(s.deeds) == 0), fault: sweepFaults[rnd.IntN(len(sweepFaults))]}
		if n == 0 || rnd.IntN(3) > 0 {
			i := rnd.IntN(2)
			d.at[i] = 1 + rnd.IntN(talk[d.command])
			if s.together && rnd.IntN(2) == 0 {
				d.at[1-i] = 1 + rnd.IntN(talk[d.command])
			}
		}
		s.deeds = append(s.deeds, d)
	}
	return s
}

// world holds the simulated devices of a story, its intent and its state folder.
type world struct {
	t         *testing.T
	way       kind
	dir       string
	file      string
	state     string
	network   *memnet.Network
	lab       *lab.Lab
	addresses map[string]int // of the devices of the story
	zombies   []chan int     // of killed commands
	boxes     [2]box
	before    [2]string
	after     [2]string
	// tainted marks hosts that restarted during a command: no report can know what that undid.
	tainted [2]bool
	// complete is set once an apply has reached its end, separate once another run has begun
	// after that: a rollback undoes one of them at a time.
	complete, separate bool
	told               []string
	fired              int
	args               []string
}

func newWorld(t *testing.T, way kind, together bool) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "sweep")
	must(err)
	// A run that was killed may still hold files.
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{t: t, way: way, dir: dir, file: filepath.Join(dir, "fabric.yaml"), state: filepath.Join(dir, "state"), addresses: map[string]int{}}
	text := matrixFabric + way.devices
	if strings.HasPrefix(way.name, "sonic") && !way.gnmi {
		text = strings.Replace(text, "pfc: {watchdog: off}", "pfc: {watchdog: {detect: 400ms, restore: 400ms, action: drop}}", 1)
	}
	w.args = []string{"-f", w.file, "--parallel", "1"}
	if together {
		w.args[len(w.args)-1] = "2"
		// The canary is not among the devices of the story.
		canary := "canary: [gpu2]"
		if way.names[0] != leaves[0] {
			canary = "canary: [leaf1]"
		}
		if strings.Contains(text, "rollout: {") {
			text = strings.Replace(text, "rollout: {", "rollout: {"+canary+", ", 1)
		} else {
			text += "rollout: {" + canary + "}\n"
		}
	}
	must(os.WriteFile(w.file, []byte(text), 0o600))
	f, err := intent.Load(w.file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.network = memnet.New(1)
	if w.lab, err = lab.Start(f, dir, lab.Options{Listen: w.network.Listen}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.lab.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, name := range way.names {
		at, ok := w.lab.Devices[name]
		if way.gnmi && ok {
			at.SSH = ""
			w.lab.Devices[name] = at
		}
		if !ok {
			at = w.lab.Hosts[name]
		}
		w.addresses[at.GNMI], w.addresses[at.SSH] = i, i
	}
	delete(w.addresses, "")
	file, err := json.Marshal(w.lab.File)
	must(errors.Join(err, os.WriteFile(w.lab.Path(), file, 0o600)))
	for i, name := range way.names {
		w.boxes[i] = boxOfLab(w.lab, name)
		switch b := w.boxes[i].(type) {
		case sonicBox:
			w.boxes[i] = asicBox{b}
		case nxosBox:
			w.boxes[i] = namedBox{b}
		}
		w.boxes[i].mark()
		w.before[i] = w.boxes[i].state()
	}
	return w
}

// asicBox compares a SONiC switch by ASIC_DB as well as by CONFIG_DB: a rollback has to
// restore what the daemons put in force, and not rows alone.
type asicBox struct{ sonicBox }

func (b asicBox) state() string { return asJSON(b.all()) }

// meaning replaces the names of WRED profiles by their curves. While some ports still use
// the old curve, a plan cannot edit the profile that all share, and makes a second one.
func (b asicBox) meaning() string {
	c := b.all()
	for _, q := range c["QUEUE"] {
		if p := q["wred_profile"]; p != "" {
			q["wred_profile"] = asJSON(c["WRED_PROFILE"][p])
		}
	}
	delete(c, "WRED_PROFILE")
	asic := b.DB("ASIC_DB")["ASIC_STATE"]
	for _, q := range c["in force"] {
		if p := q["SAI_QUEUE_ATTR_WRED_PROFILE_ID"]; p != "" {
			q["SAI_QUEUE_ATTR_WRED_PROFILE_ID"] = asJSON(asic["SAI_OBJECT_TYPE_WRED:"+p])
		}
	}
	return asJSON(c)
}

// all returns CONFIG_DB, with the objects of ASIC_DB that belong to ports as a table.
func (b asicBox) all() map[string]map[string]map[string]string {
	c := b.Config()
	// Up to 202605 orchagent crashes when the row is removed. So a rollback keeps the row,
	// with the interval that orchagent uses without it.
	if c["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"] == "100" {
		if delete(c["PFC_WD"], "GLOBAL"); len(c["PFC_WD"]) == 0 {
			delete(c, "PFC_WD")
		}
	}
	for _, rows := range c {
		for _, r := range rows {
			delete(r, "NULL")
		}
	}
	for _, lost := range b.Unbound() {
		c["nothing is bound to "+lost] = nil
	}
	force := map[string]map[string]string{}
	for key, row := range b.DB("ASIC_DB")["ASIC_STATE"] {
		kind, _, _ := strings.Cut(strings.TrimPrefix(key, "SAI_OBJECT_TYPE_"), ":")
		if slices.Contains([]string{"PORT", "QUEUE", "INGRESS_PRIORITY_GROUP"}, kind) {
			force[key] = row
		}
	}
	c["in force"] = force
	return c
}

// namedBox compares an NX-OS switch without the numbers in the names of policies: after a
// run that was cut off between two lines, the next run makes policies of its own beside those
// that are half written.
type namedBox struct{ nxosBox }

var secondName = regexp.MustCompile(`(ROCE-FABRIC-[A-Z]+)-[0-9]+\b`)

func (b namedBox) meaning() string { return secondName.ReplaceAllString(b.state(), "$1") }

// meaning returns the state of a device without the names that a plan chose.
func meaning(b box) string {
	if m, ok := b.(interface{ meaning() string }); ok {
		return m.meaning()
	}
	return b.state()
}

// session runs one command with a network client of its own. A kill ends that, so that the
// rest of the run reaches no device.
type session struct {
	*world
	deed
	cancel context.CancelFunc
	start  [2]string // the states of the devices before the command

	mu    sync.Mutex
	count [2]int
	fired [2]bool
	cut   [2]time.Time // the device does not answer until then
	dead  chan struct{}
	left  string // a copy of the state folder at the moment of the kill
}

// fate lets the fault strike at the piece of a device that the story names.
func (s *session) fate(p memnet.Piece) memnet.Fate {
	i, ok := s.addresses[p.To]
	if !ok {
		return memnet.Fate{Pass: len(p.Data)}
	}
	pass, cut := s.chunk(i, p.Data)
	return memnet.Fate{Pass: pass, Cut: cut}
}

// chunk decides how much of a piece of data arrives, and whether the connection ends there.
func (s *session) chunk(i int, data []byte) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.dead:
		return 0, true
	default:
	}
	if time.Now().Before(s.cut[i]) {
		return 0, true
	}
	s.count[i]++
	if s.at[i] == 0 || s.fired[i] || s.count[i] < s.at[i] {
		return len(data), false
	}
	s.fired[i] = true
	whole, odd := len(data), s.at[i]%2 == 1
	part := []int{0, whole / 2, whole}[s.at[i]%3]
	switch s.fault {
	case sigkill:
		s.left = filepath.Join(s.dir, fmt.Sprintf("state%d", len(s.told)+1))
		must(copyState(s.left, s.state))
		close(s.dead)
		return part, true
	case connectionReset:
		if odd {
			s.cut[i] = time.Now().Add(time.Second)
		}
		return part, true
	case hang:
		s.cancel()
	case restart:
		_, s.tainted[i] = s.boxes[i].(hostBox)
		must(s.boxes[i].restart())
		s.start[i] = s.boxes[i].state() // what was not saved is gone
		return part, true
	default:
		s.boxes[i].arm(s.fault, odd)
	}
	return whole, false
}

// copyState copies a state folder. The run that is killed holds no lock on the copy.
func copyState(to, from string) error {
	files, err := os.ReadDir(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	err = errors.Join(err, os.Mkdir(to, 0o700))
	for _, f := range files {
		b, ferr := os.ReadFile(filepath.Join(from, f.Name()))
		if errors.Is(ferr, os.ErrNotExist) {
			continue // a temporary file, which has been renamed since
		}
		err = errors.Join(err, ferr, os.WriteFile(filepath.Join(to, f.Name()), b, 0o600))
	}
	return err
}

// do runs a command with its fault. It returns no report if the run was killed.
func (w *world) do(d deed) (*runReport, *session) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{world: w, deed: d, cancel: cancel, dead: make(chan struct{}), start: [2]string{w.boxes[0].state(), w.boxes[1].state()}}
	client := w.network.Client(s.fate)
	var out, errOut lockedBuffer
	a := &app{Console: report.Console{In: strings.NewReader(""), Out: &out, Err: &errOut, Getenv: func(string) string { return "" }}, dial: client.Dial}
	done := make(chan int, 1)
	args := slices.Clone(commands[d.command])
	if i := slices.Index(args, "leaf1,leaf2"); i > 0 {
		args[i] = strings.Join(w.way.names[:], ",")
	}
	go func() {
		done <- a.run(ctx, slices.Concat(args, w.args, []string{"--lab", w.lab.Path(), "--state", w.state, "-o", "json"}))
	}()
	select {
	case <-s.dead:
		client.Kill()
		cancel()
		w.zombies = append(w.zombies, done)
		w.state = s.left
		w.told = append(w.told, fmt.Sprintf("%s: killed", d))
		w.fired++
		return nil, s
	case status := <-done:
		cancel()
		rep := &runReport{status: status, devices: map[string]string{}, text: out.String() + errOut.String()}
		var doc struct {
			Devices []struct{ Device, State string }
		}
		if err := json.Unmarshal([]byte(out.String()), &doc); err != nil && out.String() != "" {
			w.t.Errorf("%s: not JSON: %v\n%s", d, err, rep.text)
		}
		var states []string
		for _, o := range doc.Devices {
			rep.devices[o.Device] = o.State
			states = append(states, o.Device+" "+o.State)
		}
		for i := range s.fired {
			if s.fired[i] {
				w.fired++
			}
		}
		w.told = append(w.told, fmt.Sprintf("%s: status %d, %s; in truth %s, %s\n%s", d, status, strings.Join(states, ", "), w.is(0), w.is(1), rep.text))
		return rep, s
	}
}

// is names the state of a device: "before" the first apply, "after" a complete one, or
// "neither".
func (w *world) is(i int) string {
	switch {
	case w.boxes[i].state() == w.before[i]:
		return "before"
	case meaning(w.boxes[i]) == w.after[i]:
		return "after"
	}
	return "neither"
}

// judge compares a report with the devices, and returns each claim that is not true. killed
// reports whether an earlier run was killed: a device may then still have carried out what
// that run had sent, after the command began.
func (s *session) judge(rep *runReport, killed bool) (wrong []string) {
	fail := func(format string, a ...any) { wrong = append(wrong, fmt.Sprintf(format, a...)) }
	whole := map[string]string{"apply": "after", "resume": "after", "rollback": "before"}[s.command]
	done, failed, part := false, false, false
	for i, name := range s.way.names {
		state, is := rep.devices[name], s.is(i)
		same := s.boxes[i].state() == s.start[i] || killed && is != "neither"
		switch state {
		case "applied", "unchanged", "restored":
			done = done || state != "unchanged"
			want := "after"
			if state == "restored" {
				want = "before"
			}
			if is != want && !s.tainted[i] {
				fail("%s is said to be %s, and is %s", name, state, is)
			}
			if s.boxes[i].unsaved() && !s.tainted[i] {
				fail("%s is said to be %s, and is not saved", name, state)
			}
		case "unsaved":
			part, failed = true, true
			// A restart behind the last piece that the run exchanged is one that it cannot see.
			unseen := s.fault == restart && s.fired[i] && s.count[i] == s.at[i]
			if is != "after" && !unseen {
				fail("%s is said to be unsaved, and is %s", name, is)
			}
		case "reverted":
			failed = true
			if is != "before" && !same && !s.tainted[i] {
				fail("%s is said to be reverted, and is %s", name, is)
			}
		case "partial":
			part, failed = true, true
		case "blocked", "refused", "failed", "skipped", "left-out", "":
			part, failed = part || state == "left-out", failed || state != ""
			if !same && !s.tainted[i] {
				fail("%s is said to be %q, and was changed: it is %s", name, state, is)
			}
		default:
			fail("%s: unknown state %q", name, state)
		}
	}
	want := exitOK
	switch {
	case part, failed && done:
		want = exitPartial
	case failed:
		want = exitFailed
	}
	if interrupted := s.fault == hang && (s.fired[0] || s.fired[1]) && rep.status == exitInterrupted; len(rep.devices) > 0 && rep.status != want && !interrupted {
		fail("the status is %d, want %d", rep.status, want)
	}
	for i, name := range s.way.names {
		rest := s.command == "rollback" && s.separate
		if is := s.is(i); rep.status == exitOK && is != whole && !s.tainted[i] && !rest {
			fail("status 0, and %s is %s", name, is)
		}
	}
	return wrong
}

// play carries a story out. It returns what was wrong, and how many faults struck.
func (s story) play(t *testing.T, ref reference) (wrong []string, fired int) {
	w := newWorld(t, s.way, s.together)
	w.after = ref.after
	killed := false
	one := func(d deed) *runReport {
		rep, in := w.do(d)
		for _, b := range w.boxes {
			b.clear()
		}
		changed := rep == nil
		if rep != nil {
			changed = slices.ContainsFunc(w.way.names[:], func(name string) bool { return rep.devices[name] != "unchanged" })
		}
		if d.command != "rollback" {
			w.separate = w.separate || w.complete && changed
			w.complete = w.complete || rep != nil && rep.status == exitOK
		}
		if rep == nil {
			killed = true
			return nil
		}
		for _, p := range in.judge(rep, killed) {
			wrong = append(wrong, d.String()+": "+p)
		}
		return rep
	}
	for _, d := range s.deeds {
		one(d)
	}
	for range 4 {
		rep := one(deed{command: s.last})
		if rep.status == exitOK && !(s.last == "rollback" && w.separate) || s.last == "rollback" && strings.Contains(rep.text, "no run to roll back") {
			break
		}
		for _, b := range w.boxes {
			b.expire()
		}
	}
	for i, name := range s.way.names {
		want, have := w.before[i], w.boxes[i].state()
		if s.last == "apply" {
			want, have = w.after[i], meaning(w.boxes[i])
		}
		if have != want && !w.tainted[i] {
			wrong = append(wrong, fmt.Sprintf("in the end, after %s, %s is %s\n%s", s.last, name, w.is(i), diffOf(want, have)))
		}
		if w.boxes[i].unsaved() && !(s.way.cannotSave() && s.last == "apply") {
			wrong = append(wrong, fmt.Sprintf("in the end, after %s, %s is not saved", s.last, name))
		}
	}
	for _, ended := range w.zombies {
		<-ended
	}
	if len(wrong) > 0 {
		wrong = append(wrong, strings.Join(w.told, "\n"))
	}
	return wrong, w.fired
}

// acquaintance keeps what meet has found out about a way.
type acquaintance struct {
	way  kind
	once sync.Once
	ref  reference
	talk map[string]int
}

func (a *acquaintance) meet(t *testing.T) (reference, map[string]int) {
	a.once.Do(func() { a.ref, a.talk = meet(t, a.way) })
	return a.ref, a.talk
}

// meet applies and rolls back without a fault. It returns the states of the devices after
// the apply, and how many pieces of data each command exchanges with a device.
func meet(t *testing.T, way kind) (ref reference, talk map[string]int) {
	t.Helper()
	w, talk := newWorld(t, way, false), map[string]int{}
	for _, command := range []string{"apply", "rollback"} {
		rep, s := w.do(deed{command: command})
		want := exitOK
		if way.cannotSave() && command == "apply" {
			want = exitPartial // unsaved
		}
		if rep == nil || rep.status != want {
			t.Fatalf("%s without a fault: %s", command, strings.Join(w.told, "\n"))
		}
		talk[command] = max(s.count[0], s.count[1])
		if command == "apply" {
			ref.after = [2]string{meaning(w.boxes[0]), meaning(w.boxes[1])}
		}
	}
	talk["resume"] = talk["apply"]
	return ref, talk
}

// TestFaultSweep runs sequences of apply, apply --resume and rollback with faults in each of
// them. Every report has to be true, and after a last command without a fault every device
// has to be as before the first apply, or as intended. -sweep.seed repeats a story.
func TestFaultSweep(t *testing.T) {
	t.Parallel()
	// The first Notify of a process starts a goroutine that never ends; no bubble may have it.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	signal.Stop(signals)
	seed := *sweepSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	var mu sync.Mutex
	stories, faults, bad := 0, 0, 0
	known := map[string]*acquaintance{}
	of := slices.DeleteFunc(slices.Clone(ways), func(k kind) bool { return *sweepWay != "" && k.name != *sweepWay })
	for _, way := range of {
		known[way.name] = &acquaintance{way: way}
	}
	t.Run("stories", func(t *testing.T) {
		for n := range *sweepRuns {
			seed := seed + uint64(n)
			rnd := rand.New(rand.NewPCG(seed, 0))
			way := of[rnd.IntN(len(of))]
			t.Run(fmt.Sprintf("%d/%s", seed, way.name), func(t *testing.T) {
				t.Parallel()
				var wrong []string
				var fired int
				var s story
				synctest.Test(t, func(t *testing.T) {
					ref, talk := known[way.name].meet(t)
					s = tell(rnd, way, talk)
					wrong, fired = s.play(t, ref)
				})
				mu.Lock()
				defer mu.Unlock()
				stories, faults = stories+1, faults+fired
				if len(wrong) > 0 {
					bad++
					t.Errorf("go test ./cmd/roce-fabric -run TestFaultSweep -sweep.seed %d -sweep.stories 1 -sweep.way %q: %v, together %v, then %s\n%s", seed, *sweepWay, s.deeds, s.together, s.last, strings.Join(wrong, "\n"))
				}
			})
		}
	})
	t.Logf("seed %d: %d stories with %d faults, %d wrong", seed, stories, faults, bad)
}
