package nxos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// outputs writes output policies and returns the policy name of each port. Ports that keep their
// policy are not in the result.
func (p *planner) outputs() map[string]string {
	shapes, groups := grouped(p, partQueues, p.resolveQueues)
	names, fresh := p.choose(typeQueuing, keyOutput, prefix+"OUT", groups, func(name string, i int) bool {
		have := p.v.readOutput(name)
		for q, h := range have {
			w := shapes[i].queues[q]
			if h.Scheduler != w.Scheduler || !h.ECN.V.Same(w.ECN.V) {
				return false
			}
		}
		return true
	}, func(string, int) bool { return true })
	for i, o := range shapes {
		if fresh[i] {
			p.writeOutput(names[i], o)
		}
	}
	return byPort(groups, names)
}

// output describes a desired output policy, queue by queue.
type output struct {
	queues queues
	// from is the policy from which unmanaged queues (left) copy their lines.
	from string
	left qos.PrioritySet
}

// resolveQueues combines the queues that a port wants with the ones it has. Queues that desired
// does not manage keep their lines if strict queues stay adjacent and the shares stay within 100
// percent.
func (p *planner) resolveQueues(port string) (output, bool) {
	want := p.want.Ports[port].Queues
	name := p.v.attached(port, keyOutput)
	have := p.v.readOutput(name)
	for q := range want {
		// Keep values that differ only in form, such as shares in another scale.
		if h := have[q]; p.need.ports[port]&partScheduler == 0 && h.Scheduler.Set && want[q].Scheduler.Set {
			want[q].Scheduler = h.Scheduler
		}
		if p.need.ports[port]&partECN == 0 && want[q].ECN.Set {
			want[q].ECN = have[q].ECN
		}
	}
	o := output{from: name}
	lowest, sum := qos.NumPriorities, 0
	for q := range want {
		switch s := want[q].Scheduler; {
		case s.Set && s.V.Strict:
			lowest = min(lowest, q)
		case s.Set:
			sum += s.V.Weight
		}
	}
	adjacent := true
	for q := range slices.Backward(want[:]) {
		w, h := &want[q], have[q]
		s := w.Scheduler
		if !s.Set {
			switch {
			case q > lowest || adjacent && (h.Scheduler.V.Strict || !h.Scheduler.Set && q == p.v.m.top()):
				s = qos.Of(qos.Scheduler{Strict: true, MaxRate: h.Scheduler.V.MaxRate, MinRate: h.Scheduler.V.MinRate, Other: h.Scheduler.V.Other})
			default:
				s = h.Scheduler
				s.Set, s.V.Strict = true, false
				s.V.Weight = min(s.V.Weight, 100-sum)
				sum += s.V.Weight
			}
		}
		adjacent = adjacent && s.V.Strict
		e := w.ECN
		if !e.Set {
			e = h.ECN
		}
		o.queues[q] = qos.Queue{Scheduler: s, ECN: e}
		if s == h.Scheduler && e == h.ECN && p.hasMore(name, q) {
			o.left |= qos.Priorities(q)
		}
	}
	if o.left == 0 && !slices.ContainsFunc(o.queues[:], func(q qos.Queue) bool { return q.ECN.V.Other != "" }) {
		o.from = ""
	}
	return o, true
}

// hasMore reports whether a policy says more about a queue than the model represents.
func (p *planner) hasMore(policy string, q int) bool {
	l := p.v.policies[typeQueuing][policy]
	if l == nil || q > p.v.m.top() {
		return false
	}
	class := classIn(l, classHeader(typeQueuing, p.v.class(typeQueuing, q)))
	if class == nil {
		return false
	}
	keys, _ := linesOf(inClassQueuing, class)
	return slices.ContainsFunc(keys, func(k string) bool {
		return !slices.Contains([]string{keyBandwidth, keyPriority, keyShape, keyWRED}, k)
	})
}

// writeOutput writes an output policy, with its queues from the highest down.
func (p *planner) writeOutput(name string, o output) {
	section := head{at: inPolicy, typ: typeQueuing, name: name}.text()
	old := p.v.policies[typeQueuing][name]
	if old != nil {
		section = old.Text
	}
	p.set(section, "", "", lines.Present)
	source := p.v.policies[typeQueuing][o.from]
	top := p.v.m.top()
	var have queues
	inPlace := old != nil && !strings.HasPrefix(name, prefix)
	if inPlace {
		have = *p.v.readOutput(name)
	}
	for q := top; q >= 0; q-- {
		header := classHeader(typeQueuing, p.v.class(typeQueuing, q))
		sameShare, sameCurve := inPlace && o.queues[q].Scheduler == have[q].Scheduler, inPlace && o.queues[q].ECN.V.Same(have[q].ECN.V)
		if sameShare && sameCurve {
			continue
		}
		p.set(section, header, "", lines.Present)
		line := func(key, line string) { p.set(section, header, key, line) }
		var theirs *Line
		if source != nil {
			theirs = classIn(source, header)
		}
		if o.left.Has(q) && theirs != nil {
			keys, text := linesOf(inClassQueuing, theirs)
			for _, key := range keys {
				if repeatable(inClassQueuing, text[key]) {
					line(key, text[key])
				}
			}
			continue
		}
		s, e := o.queues[q].Scheduler.V, o.queues[q].ECN.V
		if s.Strict && !sameShare {
			line(keyBandwidth, "")
			line(keyPriority, fmt.Sprintf("priority level %d", top-q+1))
		} else if !sameShare {
			line(keyPriority, "")
			line(keyBandwidth, fmt.Sprintf("%s %d", shareForm(old), s.Weight))
		}
		switch {
		case sameShare:
		case s.Other != "":
			line(keyShape, s.Other)
		case s.MaxRate == 0 && s.MinRate == 0:
			line(keyShape, "")
		default:
			line(keyShape, "shape min "+rateText(s.MinRate)+" max "+rateText(s.MaxRate))
		}
		if !sameCurve {
			p.writeECN(section, header, e, theirs)
		}
	}
}

// shareForm returns the syntax in which a policy states bandwidth shares: of the link, or of
// what strict queues leave.
func shareForm(policy *Line) string {
	for _, c := range classes(policy) {
		if rest, _, _ := last(c, keyBandwidth); strings.HasPrefix(rest, "percent ") {
			return keyBandwidth + " percent"
		}
	}
	return keyBandwidth + " remaining percent"
}

func (p *planner) writeECN(section, header string, e qos.ECN, theirs *Line) {
	_, _, afd := last(theirs, "afd")
	switch {
	case e.Enabled && e.Other == "":
		lower, upper := e.Unit.Split()
		lo, _ := unitWord(lower)
		hi, _ := unitWord(upper)
		p.set(section, header, "afd", "")
		p.set(section, header, keyWRED, fmt.Sprintf("random-detect minimum-threshold %d %s maximum-threshold %d %s drop-probability %d weight %d ecn",
			e.Min, lo, e.Max, hi, e.Probability, e.Weight))
	case e == (qos.ECN{}):
		p.set(section, header, "afd", "")
		p.set(section, header, keyWRED, "")
	case theirs != nil:
		// Copy the marking line verbatim, as the model cannot express it.
		key := keyWRED
		if afd {
			key = "afd"
		}
		if _, text := linesOf(inClassQueuing, theirs); text[key] != "" && repeatable(inClassQueuing, text[key]) {
			p.set(section, header, key, text[key])
		}
	}
}
