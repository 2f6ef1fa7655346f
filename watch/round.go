package watch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

const (
	// spread is the part of an interval in which reads start, so that the last ones can end
	// before the round does.
	spread = 0.8
	// patience is the shortest time that a round waits for reads to end; firstRound is the same
	// for the first round, which starts all reads at once.
	patience   = 30 * time.Second
	firstRound = 3 * time.Minute
	// maxSkip and maxBackoff limit how long a failing device is not read.
	maxSkip    = 15 // rounds
	maxBackoff = 30 * time.Minute
	// leastSearch is the shortest time limit of a deadlock search, for short intervals.
	leastSearch = 5 * time.Second
)

// round is a round in progress.
type round struct {
	n        int
	start    time.Time
	deadline time.Time
	run      *validate.Run
	queue    []slot
	open     map[int]bool // devices without a result yet
	switches int          // the switches in open
	read     map[string]bool
	got      map[int]*fleet.Reading // the newest reading of each device read in its turn
	seen     *validate.Run          // the link ends reported by the readings so far
	counted  []int                  // devices with counter samples to compare
}

// slot is the time at which a device is read.
type slot struct {
	i  int
	at time.Time
}

// planRound plans a round. Devices in backoff keep their error; for a device that is still being
// read, the result of that read counts for this round.
func (w *Watcher) planRound(n int, start time.Time) *round {
	r := &round{n: n, start: start, deadline: start.Add(max(w.cfg.Interval, patience)), run: validate.NewRun(w.cfg.Fabric), open: map[int]bool{}, read: map[string]bool{}, got: map[int]*fleet.Reading{}, seen: validate.NewRun(w.cfg.Fabric)}
	if n == 1 {
		r.deadline = start.Add(max(w.cfg.Interval, firstRound))
	}
	for i := range w.devices {
		d := &w.devices[i]
		if d.skip > 0 {
			d.skip--
			r.run.Note(d.err)
			continue
		}
		r.open[i] = true
		if !d.Host {
			r.switches++
		}
		if !d.reading {
			r.queue = append(r.queue, slot{i, start})
		}
	}
	// Start with the devices that the last round did not reach, so that none is skipped forever.
	ordered.Sort(r.queue, func(a, b slot) int { return cmp.Compare(w.devices[b.i].left, w.devices[a.i].left) })
	if n > 1 && len(r.queue) > 0 {
		width := spread * float64(w.cfg.Interval) / float64(len(r.queue))
		for k := range r.queue {
			r.queue[k].at = start.Add(time.Duration((float64(k) + w.cfg.Rand()) * width))
		}
	}
	return r
}

// complete reports whether a round has all its results or has reached its deadline.
func (w *Watcher) complete(r *round) bool {
	return len(r.open) == 0 || !w.cfg.Clock.Now().Before(r.deadline)
}

// mayStart reports whether the first device in the queue may be read once its time has come. In
// the first round, hosts wait for the switches that they are compared with.
func (w *Watcher) mayStart(r *round) bool {
	return len(r.queue) > 0 && w.inFlight < w.cfg.Parallel &&
		(r.n > 1 || r.switches == 0 || !w.devices[r.queue[0].i].Host)
}

// due takes from the queue the devices to read now, followed by the changed devices.
func (w *Watcher) due(r *round) (out []int) {
	now := w.cfg.Clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.mayStart(r) && !r.queue[0].at.After(now) {
		i := r.queue[0].i
		r.queue = r.queue[1:]
		w.devices[i].left = 0
		if !w.devices[i].reading { // if an early read is in progress, its result counts
			out = append(out, w.markReading(i))
		}
	}
	for _, i := range w.mayBeEarly() {
		if w.inFlight < w.cfg.Parallel && !w.earlyReadTime(i).After(now) {
			out = append(out, w.markReading(i))
		}
	}
	return out
}

// markReading records that a read starts, which covers all changes notified so far. The caller
// holds mu.
func (w *Watcher) markReading(i int) int {
	d := &w.devices[i]
	d.reading, d.urgent = true, !w.subscriptions.changed[i].IsZero()
	if d.urgent {
		w.subscriptions.urgent++
	}
	delete(w.subscriptions.changed, i)
	w.inFlight++
	return i
}

// wait returns how long there is nothing to do unless a read ends.
func (w *Watcher) wait(r *round) time.Duration {
	until := r.deadline
	if w.mayStart(r) && r.queue[0].at.Before(until) {
		until = r.queue[0].at
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.nextDue(until).Sub(w.cfg.Clock.Now())
}

// addReading adds the result of a read to a round. An early read does not replace the read in the
// device's turn; if that one is done, the round uses the newer result.
func (w *Watcher) addReading(r *round, res result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := &w.devices[res.i]
	urgent := d.urgent
	if urgent {
		w.subscriptions.urgent--
	}
	d.reading, d.urgent, d.settled, d.took = false, false, w.cfg.Clock.Now(), res.took
	w.inFlight--
	inTurn := r.open[res.i] && !slices.ContainsFunc(r.queue, func(s slot) bool { return s.i == res.i })
	got := &res.reading
	if got.Err != nil {
		d.failed++
		if inTurn {
			w.close(r, res.i)
			d.failures++
			d.skip = backoff(d.failures, w.cfg.Interval)
			d.err = got.Unread()
			r.run.Note(d.err)
		}
		return
	}
	d.failures, d.err, d.read = 0, checks.Finding{}, d.settled
	if !d.Host {
		d.kept = got
	}
	if inTurn || r.got[res.i] != nil {
		r.got[res.i] = got
	}
	if got.Switch != nil {
		r.seen.Add(got.Switch)
		for _, e := range w.ends[d.Name] {
			w.seen[e] = r.seen.End(e)
		}
	}
	if urgent && w.last != nil {
		if len(w.subscriptions.fresh) == 0 {
			w.subscriptions.oldest = d.settled
		}
		w.subscriptions.fresh[d.Name] = true
	}
	if !inTurn {
		return
	}
	w.close(r, res.i)
	r.read[d.Name] = true
	d.gate, d.samples = got.Gate, addSample(d.samples, got.Sample)
	if len(d.samples) > 1 {
		r.counted = append(r.counted, res.i)
	}
}

func (w *Watcher) close(r *round, i int) {
	if r.open[i] && !w.devices[i].Host {
		r.switches--
	}
	delete(r.open, i)
}

// backoff returns for how many rounds a device is skipped after consecutive failures: 0, 1, 3,
// 7, 15, or fewer if that would exceed maxBackoff.
func backoff(failures int, interval time.Duration) int {
	return min(1<<min(failures-1, 10)-1, maxSkip, max(0, int(maxBackoff/interval)-1))
}

func (w *Watcher) finish(ctx context.Context, r *round) *Round {
	now := w.cfg.Clock.Now()
	w.overdue(r, now)
	var hosts []*nic.Host
	for _, i := range slices.Sorted(maps.Keys(r.got)) {
		got := r.got[i]
		if got.Switch != nil {
			r.run.Add(got.Switch)
		}
		r.run.Note(got.Findings...)
		if got.Host != nil {
			hosts = append(hosts, got.Host)
		}
	}
	r.run.Note(validate.Hosts(w.cfg.Fabric, hosts, nil)...)
	r.run.Note(w.deadlocks(ctx)...)
	w.judgeCounters(r)
	out := &Round{N: r.n, Fabric: w.cfg.Fabric.Name, Start: r.start, End: now, Took: now.Sub(r.start), Read: len(r.read), Devices: len(w.devices), Counted: r.run.Counted(), Pauses: r.run.Pauses()}
	all := len(r.read) == len(w.devices)
	out.Findings, out.Appeared, out.Cleared = w.known.update(r.run.Findings(now), bothEnds(func(device string) bool {
		return r.read[device] || device == "" && all
	}))
	out.Verdict = verdictOf(out.Findings)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last != nil {
		out.Previous = w.last.Verdict
	}
	out.updates, w.updates = w.updates, nil
	w.last = out
	if w.history = append(w.history, out.Record()); len(w.history) > keptRounds {
		w.history = slices.Clone(w.history[len(w.history)-keptRounds:])
	}
	return out
}

// deadlocks checks the whole fabric for deadlocks with the priorities that ports paused when
// they were last read, in this round or earlier. It gives up after a tenth of the interval, but
// not before leastSearch.
func (w *Watcher) deadlocks(ctx context.Context) []checks.Finding {
	run := validate.NewRun(w.cfg.Fabric)
	for i := range w.devices {
		if d := &w.devices[i]; d.kept != nil && d.kept.Switch != nil {
			run.Add(d.kept.Switch)
		}
	}
	bound := max(w.cfg.Interval/10, leastSearch)
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	found, err := run.Cycles(ctx)
	if err != nil {
		return []checks.Finding{{ID: "TOP-01", Severity: checks.Info, Unchecked: "deadlocks of what runs", Because: "the search took too long",
			What: fmt.Sprintf("the search for deadlocks did not end in %s", gate.Spell(bound)), Fix: "take a longer interval, or run validate"}}
	}
	return found
}

// overdue adds a finding for each device whose read has not ended for two rounds. A device that
// is less late keeps its state.
func (w *Watcher) overdue(r *round, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.devices {
		d := &w.devices[i]
		if r.open[i] && !d.reading {
			d.left++
		}
		if !r.open[i] || now.Sub(d.settled) <= 2*max(w.cfg.Interval, patience) {
			continue
		}
		d.err = checks.Finding{ID: fleet.Unread, Severity: checks.Error, Device: d.Name, Where: d.Where,
			What: fmt.Sprintf("it was not read in the %s of round %d", gate.Spell(now.Sub(r.start)), r.n),
			Fix:  "see whether it answers, or take a longer interval or more reads at the same time"}
		r.run.Note(d.err)
	}
}

// maxWindow limits the window of a device, whatever it reports about its counters.
const maxWindow = 10 * time.Minute

// addSample adds a sample to a device's samples and drops those no longer needed: the window
// reaches back two update periods of the slowest counter, or at least to the previous sample. It
// keeps a few samples in between, so that little is lost if counters are reset. A nil sample ends
// the window, because the device shows no counters.
func addSample(samples []gate.Sample, s *gate.Sample) []gate.Sample {
	if s == nil {
		return nil
	}
	var need time.Duration
	for _, every := range s.Poll {
		need = max(need, min(2*every, maxWindow))
	}
	// Use a new slice, because others may be reading the old one.
	var out []gate.Sample
	for i, old := range samples {
		last := i == len(samples)-1
		switch {
		case !last && s.Taken.Sub(samples[i+1].Taken) >= need: // the next sample is old enough
		case last && len(out) > 0 && old.Taken.Sub(out[len(out)-1].Taken) < need/4:
		default:
			out = append(out, old)
		}
	}
	return append(out, *s)
}

// judgeCounters lets the gate check the counters of the devices. It drops the finding that a window
// is too short, because the window still grows.
func (w *Watcher) judgeCounters(r *round) {
	if len(r.counted) == 0 {
		return
	}
	var devices []gate.Device
	var samples []gate.Sample
	hosts := 0
	for _, i := range r.counted {
		d := &w.devices[i]
		devices, samples = append(devices, d.gate), append(samples, d.samples...)
		if d.Host {
			hosts++
		}
	}
	res := gate.Judge(devices, samples, gate.Options{AllHosts: hosts == len(w.cfg.Fabric.Hosts), Tiers: w.tiers})
	res.Findings = slices.DeleteFunc(res.Findings, func(f gate.Finding) bool { return f.ID == gate.WindowTooShort })
	r.run.Gate(res)
}
