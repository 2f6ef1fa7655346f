package intent

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rollout is the policy for applying an intent.
type Rollout struct {
	// PortGroup is the maximum number of ports of one switch that may be down at once.
	PortGroup Value[int]
	// Canary lists the devices to change before all others; if empty, the tool takes the first
	// device of each kind.
	Canary []string
	// Groups lists groups of devices, one per entry of the file. No two devices of a group are
	// changed at the same time.
	Groups [][]string
	// MaxUnavailable limits how many devices of one role are changed at the same time.
	MaxUnavailable Value[Share]
	// Together changes devices in parallel if the intermediate states are worse than the states
	// before and after. Other settings still limit this if the intent states them.
	Together bool
	// DeviceTimeout limits the work on one device; 0 leaves only the deadlines of the requests.
	DeviceTimeout Value[time.Duration]
	// TrustKeys lists public key files; plans and journals signed with these keys are trusted.
	TrustKeys []string
	// Windows lists the maintenance windows in which runs may write.
	Windows Windows
	// Approval must be obtained before a run; nil if none is required.
	Approval *Approval
	Reset    ResetPolicy
}

// ResetPolicy says how hosts are reset.
type ResetPolicy struct {
	// Drain is called before a host is reset, Undrain once it is back; nil calls nothing.
	Drain, Undrain *Hook
	// Back limits the wait for a host to come back.
	Back Value[time.Duration]
}

// Limits and default of [ResetPolicy.Back].
const (
	MinBack     = time.Second
	MaxBack     = 24 * time.Hour
	defaultBack = 20 * time.Minute
)

// Share is a number of devices, or a percentage of them.
type Share struct {
	Count   int // 0 if Percent is used
	Percent int // 1..100
}

// Of returns the number of devices out of n, at least one; a percentage is rounded down.
func (s Share) Of(n int) int {
	if s.Count > 0 {
		return s.Count
	}
	return max(1, n*s.Percent/100)
}

// defaultMaxUnavailable is the default of [Rollout.MaxUnavailable].
var defaultMaxUnavailable = Share{Percent: 25}

func (r *resolver) rollout() {
	out := &r.out.Rollout
	raw := cmp.Or(r.raw.Rollout, &rawRollout{})
	out.PortGroup = from(raw.PortGroup, defaultPortGroup)
	out.DeviceTimeout = from(raw.DeviceTimeout, 0)
	out.Together = raw.Together.V
	out.MaxUnavailable = Value[Share]{V: defaultMaxUnavailable, From: byDefault}
	if v := raw.MaxUnavailable; v.Set {
		text, part := strings.CutSuffix(v.V, "%")
		n, _ := strconv.Atoi(text) // the text rule of the key guarantees a number
		out.MaxUnavailable = Value[Share]{V: Share{Count: n}, From: Origin{Pos: v.Pos}}
		if part {
			out.MaxUnavailable.V = Share{Percent: n}
		}
	}
	r.windows(&raw.Windows)
	out.Approval = r.approval(raw.Approval)
	r.reset(cmp.Or(raw.Reset, &rawReset{}))
	out.TrustKeys = each(raw.TrustKeys.Items, opt[string].value)
	for _, o := range raw.Canary.Items {
		out.Canary = append(out.Canary, r.named(o)...)
	}
	for _, o := range raw.Groups.Items {
		if g := r.named(o); len(g) > 0 {
			out.Groups = append(out.Groups, g)
		}
	}
}

func (r *resolver) reset(raw *rawReset) {
	out := &r.out.Rollout.Reset
	out.Drain, out.Undrain, out.Back = r.hook("drain", raw.Drain), r.hook("undrain", raw.Undrain), from(raw.Back, defaultBack)
	if d := out.Back.V; d < MinBack || d > MaxBack {
		r.problems.addf(raw.Back.Pos, "", "back must be 1s to 24h, not %s", d)
	}
}

// named returns the names of the switches and hosts that a selection matches.
func (r *resolver) named(o opt[string]) []string {
	all := r.out.devices()
	if !o.Set || r.incomplete || !r.spendNames(len(all), o.Pos) {
		return nil
	}
	chosen, err := r.out.choose([]string{o.V}, all, "switch or host")
	if err != nil {
		r.selectionFault(o.Pos, err)
		return nil
	}
	return each(slices.DeleteFunc(all, func(c candidate) bool { return !chosen[c.name] }), nameOf)
}
