package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

// world holds the simulated devices of a story, its intents and its state folder.
type world struct {
	t         *testing.T
	way       kind
	story     story
	dir       string
	file      string
	state     string
	leased    *leased // store used instead of the folder; nil for none
	network   *memnet.Network
	lab       *lab.Lab
	addresses map[string]int // devices of the story
	zombies   []chan int     // of killed commands
	boxes     [2]box
	factory   [2]string
	before    [2]string // before the intent of the story is applied
	after     [2][]view // states after a complete apply, which may differ
	// tainted marks hosts that restarted during a command, because no report can know what a
	// restart undid.
	tainted [2]bool
	// complete is set once an apply has completed, separate once another run has started after
	// that, because a rollback undoes one of them at a time.
	complete, separate bool
	killed             bool
	halfDone           [2]bool // devices that a rollback left in part
	args               []string

	mu    sync.Mutex // guards what both operators record
	told  []string
	wrong []string
	tally tally
	ends  []outcome
}

// outcome is the result of a command: its text, the virtual times of its faults and of its end,
// and a digest of the times at which it exchanged data.
type outcome struct {
	text   string
	times  []time.Duration
	pieces string
}

// tally counts what the stories did.
type tally struct {
	stories, commands int
	struck            map[fault]int
	states            map[uint64]bool // distinct combinations of devices, reports and runs
	longest           map[string]time.Duration
	wrong             int
}

func newTally() tally {
	return tally{struck: map[fault]int{}, states: map[uint64]bool{}, longest: map[string]time.Duration{}}
}

func (w *world) fail(format string, a ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, a...))
}

// tell records what a session did.
func (w *world) tell(s *session, format string, a ...any) {
	s.mu.Lock()
	trace := strings.Join(s.trace, "\n")
	pieces := fmt.Sprintf("%d and %d pieces with digests %x and %x", s.count[0], s.count[1], s.digest[0].Sum(nil), s.digest[1].Sum(nil))
	s.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, fmt.Sprintf("%s%s: %s\n%s", s.operator, s.deed, fmt.Sprintf(format, a...), trace))
	w.ends = append(w.ends, outcome{fmt.Sprintf("%s%s: %s", s.operator, s.deed, s.summary), append(s.struck, s.took), pieces})
}

func newWorld(t *testing.T, s story) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "sweep")
	must(err)
	// A killed run may still hold files open.
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{t: t, way: s.way(), story: s, dir: dir, file: filepath.Join(dir, "fabric.yaml"), state: filepath.Join(dir, "state"),
		addresses: map[string]int{}, tally: newTally()}
	if s.Leases {
		w.leased = &leased{journals: map[string][][]byte{}}
	}
	w.args = []string{"-f", w.file, "--parallel", "1"}
	if s.Together {
		w.args[len(w.args)-1] = "2"
	}
	_, text := w.way.intents(s.Pair)
	f := w.intend(text)
	w.network = memnet.New(1)
	if w.lab, err = lab.Start(f, dir, lab.Options{Listen: w.network.Listen, TimeScale: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.lab.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, name := range w.way.names {
		at, ok := w.lab.Devices[name]
		if w.way.gnmi && ok {
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
	for i, name := range w.way.names {
		w.boxes[i] = boxOfLab(w.lab, name)
		if c, ok := w.boxes[i].(cumulusBox); ok && s.Pair%2 == 1 { // else each apply saves
			must(c.Configure("nv set system config auto-save state disabled"))
		}
		w.boxes[i].mark()
		w.factory[i] = w.boxes[i].state()
	}
	w.before = w.factory
	return w
}

// intend writes the intent.
func (w *world) intend(text string) *intent.Fabric {
	w.t.Helper()
	if w.story.Together {
		// The canary must not be a device of the story.
		canary := "canary: [gpu2]"
		if w.way.names[0] != leaves[0] {
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
		w.t.Fatal(err)
	}
	return f
}

// begin applies the intent that precedes the story, and writes the intent that the story
// applies. It reports whether that worked.
func (w *world) begin() bool {
	first, text := w.way.intents(w.story.Pair)
	if first == "" {
		return true
	}
	w.intend(first)
	ran := w.do(deed{Command: "apply"})
	if got := ran[0].rep; got.status != exitOK && !(w.way.cannotSave() && got.status == exitPartial) {
		return false
	}
	w.told = nil
	for i, b := range w.boxes {
		w.before[i] = b.state()
	}
	w.complete = true
	w.intend(text)
	return true
}

// view is the state of a device at one moment.
type view struct {
	state, meaning string
	unsaved        bool
}

func (w *world) look(i int) view {
	b := w.boxes[i]
	v := view{state: b.state(), unsaved: b.unsaved()}
	if v.meaning = v.state; v.state != w.factory[i] {
		v.meaning = meaning(b)
	}
	return v
}

func (w *world) lookAtAll() [2]view { return [2]view{w.look(0), w.look(1)} }

// fits reports whether a device has a named state: "before" the intent of the story, "after" a
// complete apply, or as the "factory" left it.
func (w *world) fits(i int, v view, name string) bool {
	switch name {
	case "before":
		return v.state == w.before[i]
	case "after":
		return slices.ContainsFunc(w.after[i], func(a view) bool { return a.meaning == v.meaning })
	case "factory":
		return v.state == w.factory[i]
	}
	return false
}

// name returns the names of a device's state; "neither" if it is unknown.
func (w *world) name(i int, v view) string {
	var out []string
	for _, name := range []string{"before", "after", "factory"} {
		if w.fits(i, v, name) {
			out = append(out, name)
		}
	}
	return cmp.Or(strings.Join(out, " and "), "neither")
}

// session runs one command with its own network client. A kill closes the client, so that the
// rest of the run cannot reach a device.
type session struct {
	*world
	deed
	operator string // "" for the first operator, "rival: " for the second
	cancel   context.CancelFunc
	begun    time.Time
	took     time.Duration
	start    [2]view // before the command, or when it took the lock
	end      [2]view // after the command, or when it released the lock
	rep      *runReport
	summary  string // status and device states

	mu      sync.Mutex
	count   [2]int
	asked   int // number of requests to the store
	fired   []bool
	trace   []string
	struck  []time.Duration
	digest  [2]hash.Hash64 // of the times of data exchanges
	latest  [2]time.Time
	cut     [2]time.Time // until when the device does not answer
	silent  [2]bool      // the device no longer answers
	slow    map[int]bool // connections limited to one byte per second
	crawl   [2]bool      // all connections to the device are limited
	last    [2]int       // the data exchange at which the device restarted
	apart   time.Time    // until when the store cannot be reached
	lost    bool         // the next store request succeeds, but its answer is lost
	full    int          // number of store requests that fail
	dead    chan struct{}
	left    string // copy of the state folder at the moment of the kill
	locked  time.Time
	freed   bool
	started bool
}

// fate applies the faults that the story has for this data exchange.
func (s *session) fate(p memnet.Piece) memnet.Fate {
	whole := memnet.Fate{Pass: len(p.Data)}
	i, ok := s.addresses[p.To]
	if !ok {
		return whole
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone() != nil:
		return memnet.Fate{Cut: true}
	case s.silent[i]:
		return memnet.Fate{Silent: true}
	case time.Now().Before(s.cut[i]):
		return memnet.Fate{Cut: true}
	case p.Dial:
		return whole
	}
	s.note(i)
	out := whole
	for n, k := range s.Strikes {
		if k.Device == i && !s.fired[n] && s.count[i] >= k.At {
			s.strikes(n, fmt.Sprintf("%s, connection %d, piece %d, up %t, %d B", s.way.names[i], p.Conn, p.N, p.Up, len(p.Data)))
			out = s.strike(k, p)
			break
		}
	}
	if s.crawl[i] || s.slow[p.Conn] {
		out.Pace = time.Second
	}
	return out
}

// note counts a data exchange and adds it to the digest of its device. Exchanges at the same
// moment count as one, because the order of goroutines determines into how many pieces a message
// is split.
func (s *session) note(i int) {
	now := time.Now()
	if now.Equal(s.latest[i]) {
		return
	}
	s.latest[i] = now
	s.count[i]++
	_, _ = s.digest[i].Write(binary.LittleEndian.AppendUint64(nil, uint64(time.Since(s.begun)))) // writing to a hash cannot fail
}

// strikes records that a fault strikes. The caller holds mu.
func (s *session) strikes(n int, at string) {
	s.fired[n] = true
	f := s.Strikes[n].Fault
	s.world.mu.Lock()
	s.tally.struck[f]++
	s.world.mu.Unlock()
	s.struck = append(s.struck, time.Since(s.begun))
	s.trace = append(s.trace, fmt.Sprintf("%s strikes after %s: %s", f, time.Since(s.begun), at))
}

// strike applies a fault to a data exchange. The caller holds mu.
func (s *session) strike(k strike, p memnet.Piece) memnet.Fate {
	i, odd := k.Device, k.Variant%2 == 1
	part := []int{0, len(p.Data) / 2, len(p.Data)}[k.Variant%3]
	whole := memnet.Fate{Pass: len(p.Data)}
	switch k.Fault {
	case sigkill:
		s.kill()
		return memnet.Fate{Pass: part, Cut: true}
	case connectionReset:
		if odd {
			s.cut[i] = time.Now().Add([]time.Duration{time.Second, 20 * time.Second, 4 * time.Minute}[k.Variant/2%3])
		}
		return memnet.Fate{Pass: part, Cut: true}
	case halfOpen:
		s.silent[i] = odd
		return memnet.Fate{Pass: part, Silent: true}
	case slowBytes:
		s.slow[p.Conn], s.crawl[i] = true, odd
	case ctrlC:
		s.cancel()
	case restart, savedRestart:
		_, s.tainted[i] = s.boxes[i].(hostBox)
		if k.Fault == savedRestart {
			s.boxes[i].save()
		}
		must(s.boxes[i].restart())
		s.last[i] = s.count[i]
		s.start[i] = s.look(i) // unsaved configuration is lost
		return memnet.Fate{Pass: part, Cut: true}
	case diskFull:
		s.full = 1 + k.Variant%2*1000
	case partition:
		s.apart = time.Now().Add([]time.Duration{3 * time.Second, 12 * time.Second, 40 * time.Second, 2 * time.Minute}[k.Variant%4])
		s.lost = k.Variant%3 == 0
	default:
		s.boxes[i].arm(k.Fault, odd)
	}
	return whole
}

// kill ends the session like SIGKILL. The caller holds mu.
func (s *session) kill() {
	s.left = filepath.Join(s.dir, fmt.Sprintf("state%d", len(s.told)+1))
	must(copyState(s.left, s.state))
	close(s.dead)
}

// copyState copies a state folder. The killed run does not hold the lock of the copy.
func copyState(to, from string) error {
	files, err := os.ReadDir(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	err = errors.Join(err, os.Mkdir(to, 0o700))
	for _, f := range files {
		b, ferr := os.ReadFile(filepath.Join(from, f.Name()))
		if errors.Is(ferr, os.ErrNotExist) {
			continue // a temporary file that has been renamed since
		}
		err = errors.Join(err, ferr, os.WriteFile(filepath.Join(to, f.Name()), b, 0o600))
	}
	return err
}

// locks records the devices' state when the session takes the lock.
func (s *session) locks() {
	s.locked = time.Now()
	if s.Rival != "" {
		s.start = s.lookAtAll()
	}
}

// writes is called before the first record of a device is written. Since the session took the
// lock, only a device's own timer, which restores earlier configuration, may have changed a
// device; otherwise two sessions write at once.
func (s *session) writes() {
	if s.started || s.Rival == "" || s.killed || s.has(restart, savedRestart, connectionReset, halfOpen, slowBytes) {
		return
	}
	s.started = true
	for i, v := range s.lookAtAll() {
		if v.state != s.start[i].state && s.name(i, v) == "neither" {
			s.fail("%s%s: %s was changed by another run after this one had taken the lock\n%s", s.operator, s.deed, s.way.names[i], diffOf(s.start[i].state, v.state))
		}
	}
}

// unlocks records the devices' state when the session releases the lock.
func (s *session) unlocks() {
	if !s.freed {
		s.freed, s.end = true, s.lookAtAll()
	}
}

// runReport is what a run reports about itself.
type runReport struct {
	status  int
	devices map[string]string // maps each device to its state
	text    string
}

// held reports whether the run was rejected because another run holds the lock.
func (r *runReport) held() bool { return strings.Contains(r.text, store.ErrHeld.Error()) }

// do runs a command with its faults and its rival. It returns the sessions in the order in which
// they held the lock.
func (w *world) do(d deed) []*session {
	done := make(chan *session)
	go func() { done <- w.run(d, "") }()
	if d.Rival == "" {
		return []*session{<-done}
	}
	wait(d.Later)
	other := deed{Command: d.Rival, Rival: d.Command}
	var out []*session
	for range 60 {
		s := w.run(other, "rival: ")
		if out = append(out, s); !s.rep.held() {
			break
		}
		wait(5 * time.Second)
	}
	out = append(out, <-done)
	slices.SortStableFunc(out, func(a, b *session) int { return a.locked.Compare(b.locked) })
	return out
}

// wait lets virtual time pass.
func wait(d time.Duration) { <-time.NewTimer(d).C }

// run runs a command as one operator. A killed session has no report.
func (w *world) run(d deed, operator string) *session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{world: w, deed: d, operator: operator, cancel: cancel, begun: time.Now(), dead: make(chan struct{}), start: w.lookAtAll(),
		fired: make([]bool, len(d.Strikes)), digest: [2]hash.Hash64{fnv.New64a(), fnv.New64a()}, slow: map[int]bool{}}
	client := w.network.Client(s.fate)
	var out, errOut lockedBuffer
	a := &app{Console: report.Console{In: strings.NewReader(""), Out: &out, Err: &errOut, Getenv: func(string) string { return "" }}, dial: client.Dial}
	a.wrap = func(of store.Store) store.Store {
		if w.leased != nil {
			of = &leasedSession{w.leased, s, of.Fabric(), of.String()}
		}
		return &shownStore{of, s}
	}
	args := slices.Concat(d.line(w.way), w.args, []string{"--lab", w.lab.Path(), "-o", "json"})
	if d.Command != "watch" {
		args = append(args, "--state", w.state)
	}
	done := make(chan int, 1)
	go func() { done <- a.run(ctx, args) }()
	select {
	case <-s.dead:
		client.Kill()
		cancel()
		w.zombies = append(w.zombies, done)
		w.state = s.left
		w.tell(s, "killed")
		if w.leased != nil {
			wait(store.TTL + time.Second)
		}
		return s
	case status := <-done:
		cancel()
		s.took = time.Since(s.begun)
		if !s.freed {
			s.end = w.lookAtAll()
		}
		s.rep = &runReport{status: status, devices: map[string]string{}, text: out.String() + errOut.String()}
		var states []string
		if !d.reads() {
			var doc struct {
				Devices []struct{ Device, State string }
			}
			if err := json.Unmarshal([]byte(out.String()), &doc); err != nil && out.String() != "" {
				w.fail("%s: not JSON: %v\n%s", d, err, s.rep.text)
			}
			for _, o := range doc.Devices {
				s.rep.devices[o.Device] = o.State
				states = append(states, o.Device+" "+o.State)
			}
		}
		s.summary = fmt.Sprintf("status %d, %s", status, strings.Join(states, ", "))
		w.tell(s, "%s; in truth %s, %s, after %s\n%s", s.summary, w.name(0, s.end[0]), w.name(1, s.end[1]), s.took, s.rep.text)
		return s
	}
}
