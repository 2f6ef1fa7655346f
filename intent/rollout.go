package intent

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rollout is the policy of an apply.
type Rollout struct {
	// PortGroup is how many ports of one switch may be down at once.
	PortGroup Value[int]
	// Canary are the devices that are changed before all others; none where the tool
	// takes the first of each kind.
	Canary []string
	// Groups are devices of which no two are changed side by side, each of one entry
	// of the file.
	Groups [][]string
	// MaxUnavailable bounds how many devices of one role are changed side by side.
	MaxUnavailable Value[Share]
	// Together has devices changed side by side where the states in between are worse than
	// before and after, as far as the other settings allow that where they are stated.
	Together bool
	// DeviceTimeout bounds the work on one device; 0 leaves it to the requests' own
	// deadlines.
	DeviceTimeout Value[time.Duration]
	// TrustKeys are files of public keys whose plans and journals are believed.
	TrustKeys []string
	// Windows are when runs may write.
	Windows Windows
	// Approval says who approves of a run; nil for nobody.
	Approval *Approval
	Reset    ResetPolicy
}

// ResetPolicy is how hosts are reset.
type ResetPolicy struct {
	// Drain is called before a host is reset, Undrain once it is back; nil for nothing.
	Drain, Undrain *Hook
	// Back bounds the wait for a host.
	Back Value[time.Duration]
}

// The bounds of [ResetPolicy.Back].
const (
	MinBack     = time.Second
	MaxBack     = 24 * time.Hour
	defaultBack = 20 * time.Minute
)

// Share is a number of devices, or a part of them.
type Share struct {
	Count   int // 0 for a part
	Percent int // 1..100
}

// Of returns how many of n devices it is, at least one: a part is rounded down.
func (s Share) Of(n int) int {
	if s.Count > 0 {
		return s.Count
	}
	return max(1, n*s.Percent/100)
}

// defaultMaxUnavailable is the part of a role that a wave may have.
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
		n, _ := strconv.Atoi(text) // the rule of the key says that it is a number
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

// named returns the switches and hosts that a selection names.
func (r *resolver) named(o opt[string]) []string {
	all := r.out.devices()
	if !o.Set || r.incomplete || !r.spend(len(all), o.Pos) {
		return nil
	}
	chosen, err := r.out.choose([]string{o.V}, all, "switch or host")
	if err != nil {
		r.selectionFault(o.Pos, err)
		return nil
	}
	return each(slices.DeleteFunc(all, func(c candidate) bool { return !chosen[c.name] }), nameOf)
}
