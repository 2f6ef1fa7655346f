package class

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// highShare is the share, in percent, from which a weighted queue is fast enough for congestion
// notifications.
const highShare = 10

func notificationsServed(r *checks.Switch, p *intent.Port, q *qos.Port) {
	if r.Source != checks.Intended {
		notificationsElsewhere("CLS-09")(r, p, q)
	}
	k, known := notificationsOf(p.Settings)
	if k == nil {
		return
	}
	s := q.Queues[k.Queue.V].Scheduler
	if !s.Set || s.V.Strict {
		return
	}
	if k.Rest {
		r.Found(checks.Finding{Severity: checks.Warning, Where: k.Pos.String(), What: fmt.Sprintf("congestion notifications, DSCP %d by default, are in class %s with the rest, and are not served first", nic.DefaultCNPDSCP, k.Name),
			Fix: fmt.Sprintf("add a class cnp: {priority: 6, dscp: [%d], strict: true}", nic.DefaultCNPDSCP)}, p.Name)
		return
	}
	field := qos.KindScheduler.At(k.Queue.V)
	_, drifted := r.Differs(p.Name, field)
	if drifted && !known {
		return // a drifted queue is an error, even though the class is a guess
	}
	share, of := shareOf(p.Settings, q, k), "the link"
	if o := unlimitedBefore(r, p, q, k); o != nil {
		of = "what strict class " + o.Name + " leaves of the link"
	}
	f := checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("class %s of congestion notifications has %d %% of %s and is not strict", k.Name, share, of)}
	switch {
	case !known:
		f.What = fmt.Sprintf("congestion notifications, DSCP %d by default, are in class %s, which has %d %% of %s and is not strict", nic.DefaultCNPDSCP, k.Name, share, of)
	case share < highShare:
		f.Severity = checks.Error
	}
	if drifted {
		f.Fix = "apply the intent"
	}
	r.Found(f, p.Name, field)
}

// notificationsOf returns the class of congestion notifications. known is set if the intent
// names the class; otherwise it is the class of NVIDIA's default DSCP. That is a guess: other
// NICs and operators use other DSCPs, and 48 is also CS6, used by routing protocols (RFC 4594).
// The class is nil if no class marks, or if the guessed class is lossless, which CLS-10
// reports.
func notificationsOf(s *intent.Settings) (class *intent.Class, known bool) {
	if k, _, ok := nic.CNPClass(s); ok {
		return k, true
	}
	marked := slices.ContainsFunc(s.Classes, func(k *intent.Class) bool { return k.ECN.Mode.V != intent.ECNOff })
	if k := classOf(s, nic.DefaultCNPDSCP); marked && k != nil && !k.Lossless.V {
		return k, false
	}
	return nil, false
}

// shareOf returns the share of the link that a weighted class gets when all classes are busy,
// in percent, rounded down.
func shareOf(s *intent.Settings, q *qos.Port, k *intent.Class) int {
	mine, all := 0, 0
	done := map[int]bool{}
	for _, o := range s.Classes {
		n := o.Queue.V
		if sch := q.Queues[n].Scheduler; sch.Set && !sch.V.Strict && !done[n] {
			done[n] = true
			all += sch.V.Weight
			if n == k.Queue.V {
				mine = sch.V.Weight
			}
		}
	}
	if all == 0 {
		return 0
	}
	return mine * 100 / all
}

// notificationsPaused finds congestion notifications in a lossless class, by the intent or by
// the running DSCP map.
func notificationsPaused(r *checks.Switch) {
	if r.Source == checks.Intended {
		checks.EachLossless(pausedByIntent)(r)
		return
	}
	for p := range r.Ports() {
		m := DSCPDriftOf(r, p)
		for _, d := range m.paused {
			k, _ := notificationsOf(p.Settings)
			r.Found(checks.Finding{Severity: checks.Error, Roots: DSCPRoots([]int{d}), Where: k.DSCP.From.String(), Fix: checks.ApplyIntent,
				What: fmt.Sprintf("DSCP %d of congestion notifications, class %s, is in traffic class %d, which is lossless", d, k.Name, m.tc[d])}, p.Name, m.fields()...)
		}
		if len(m.paused) > 0 && !m.others {
			r.Outcome.MarkReported("", globalDSCP)
		}
	}
}

// notificationsElsewhere finds DSCPs of congestion notifications that the map of a port puts into
// another class than the intent. CLS-08 names the class, CLS-09 a queue that is not served first.
func notificationsElsewhere(id string) func(*checks.Switch, *intent.Port, *qos.Port) {
	return func(r *checks.Switch, p *intent.Port, q *qos.Port) {
		m := r.Config.ClassifiedBy(p.Name)
		k, known := notificationsOf(p.Settings)
		if m == nil || k == nil || k.Rest || !known || trustOf(p, q) != qos.TrustDSCP {
			return
		}
		for _, d := range k.DSCP.V {
			tc := m.DSCPToTC[d]
			if int(tc) == k.Priority.V || tc == qos.Unmanaged {
				continue
			}
			what := fmt.Sprintf("DSCP %d of congestion notifications, class %s, is in %s", d, k.Name, className(tc))
			if id == "CLS-09" {
				n := queueOr(m, max(int(tc), 0))
				if s := q.Queues[n].Scheduler; !s.Set || s.V.Strict {
					continue
				}
				what += fmt.Sprintf(", whose queue %d is not served first", n)
			}
			r.Found(checks.Finding{Severity: checks.Error, Roots: DSCPRoots([]int{d}), Where: k.DSCP.From.String(), Fix: checks.ApplyIntent, What: what}, p.Name)
		}
	}
}

// className names a traffic class of a map.
func className(tc int8) string {
	if tc < 0 {
		return "no class"
	}
	return "traffic class " + strconv.Itoa(int(tc))
}

// queueOr returns the queue of a traffic class; without a map it has the number of the class.
func queueOr(m *qos.Maps, tc int) int {
	if n := int(m.TCToQueue[tc]); n >= 0 && n < qos.NumPriorities {
		return n
	}
	return tc
}

func pausedByIntent(r *checks.Switch, p *intent.Port, _ *qos.Port, k *intent.Class) {
	_, _, known := nic.CNPClass(p.Settings)
	if strings.EqualFold(k.Name, "cnp") || !known && !k.Rest && slices.Contains(k.DSCP.V, nic.DefaultCNPDSCP) {
		r.Found(checks.Finding{Severity: checks.Warning, Where: k.Lossless.From.String(), What: fmt.Sprintf("class %s carries congestion notifications and is lossless", k.Name)}, p.Name)
	}
}
