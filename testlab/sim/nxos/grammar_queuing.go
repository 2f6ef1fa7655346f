package nxos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Ranks in a class of a queuing policy.
const (
	rankPriority  = 10
	rankBandwidth = 20
	rankShape     = 30
	rankWRED      = 40
	rankNonECN    = 41
	rankAFD       = 42
	rankLimit     = 50
	rankPause     = 60
)

// Rates and units (YangModels/yang, Cisco-NX-OS-device.yang 9.3(2)), and the thresholds of the
// 9.3 command reference.
const (
	rate       = "<%=0-9999999999> <%unit=bps|kbps|mbps|gbps|pps|percent>"
	threshold  = "<%=0-52428800> <%unit=packets|bytes|kbytes|mbytes>"
	thresholds = "minimum-threshold <min=0-52428800> <minunit=packets|bytes|kbytes|mbytes> maximum-threshold <max=0-52428800> <maxunit=packets|bytes|kbytes|mbytes> drop-probability <p=0-100>"
)

// queuing adds the actions of classes in queuing policies.
func (g grammar) queuing() {
	in := []string{modeActionQue}
	for _, kind := range []string{"percent", "remaining percent"} {
		key := "bandwidth " + kind
		g.Set(in, key+" <p=0-100>", func(x *exec) string {
			if out := x.share(key); out != "" {
				return out
			}
			return setLine(key, rankBandwidth)(x)
		})
		g.Neg(in, key+" [<p=0-100>]", cli.ClearKey[*exec](key))
	}
	g.Set(in, "priority level <l=1-8>", func(x *exec) string {
		if out := x.excluded("bandwidth percent", "bandwidth remaining percent", "pause"); out != "" {
			return out
		}
		return setLine("priority", rankPriority)(x)
	})
	g.Neg(in, "priority [level [<l=1-8>]]", cli.ClearKey[*exec]("priority"))
	g.Set(in, "shape min "+strings.ReplaceAll(rate, "%", "min")+" max "+strings.ReplaceAll(rate, "%", "max"), setLine("shape", rankShape))
	g.Neg(in, "shape [<rest=text>]", cli.ClearKey[*exec]("shape"))
	g.Set(in, "queue-limit <n=0-12582912> [<unit=packets|bytes|kbytes|mbytes|gbytes|ms|us|percent>]", setLine("queue-limit", rankLimit))
	g.Set(in, "queue-limit dynamic <n=0-10>", setLine("queue-limit", rankLimit, "queue-limit dynamic 9"))
	g.Neg(in, "queue-limit [<rest=text>]", cli.ClearKey[*exec]("queue-limit"))

	// All parameters are on one line; "random-detect ecn" alone is invalid.
	wred := func(x *exec) string {
		if out := x.excluded("afd"); out != "" {
			return out
		}
		if out := x.thresholds(); out != "" {
			return out
		}
		return setLine("random-detect", rankWRED)(x)
	}
	g.Set(in, "random-detect", wred)
	g.Set(in, "random-detect "+thresholds+" weight <w=0-15> [cap-average] [ecn]", wred)
	g.Set(in, "random-detect threshold <preset=burst-optimized|mesh-optimized> [ecn]", wred)
	g.Set(in, "random-detect non-ecn "+thresholds, func(x *exec) string {
		if out := x.thresholds(); out != "" {
			return out
		}
		return setLine("random-detect non-ecn", rankNonECN)(x)
	})
	g.Neg(in, "random-detect", cli.ClearKey[*exec]("random-detect"))
	g.Neg(in, "random-detect <what=minimum-threshold|threshold> [<rest=text>]", cli.ClearKey[*exec]("random-detect"))
	g.Neg(in, "random-detect non-ecn [<rest=text>]", cli.ClearKey[*exec]("random-detect non-ecn"))
	g.Set(in, "afd queue-desired <n=0-52428800> <unit=bytes|kbytes|mbytes> [ecn]", func(x *exec) string {
		if out := x.excluded("random-detect"); out != "" {
			return out
		}
		return setLine("afd", rankAFD)(x)
	})
	g.Neg(in, "afd [<rest=text>]", cli.ClearKey[*exec]("afd"))

	g.Set(in, "pause buffer-size <b=0-268435456> pause-threshold <x=0-268435456> resume-threshold <r=0-268435456>", (*exec).pauseBuffer)
	g.Neg(in, "pause [<rest=text>]", cli.ClearKey[*exec]("pause"))
}

// pauseBuffer accepts the ingress buffer of a lossless class. A policy with such a buffer cannot
// have bandwidth shares (Nexus 9000 QoS Configuration Guide 10.5(x), Configuring Priority Flow
// Control).
func (x *exec) pauseBuffer() string {
	class := strings.TrimPrefix(x.Stack[len(x.Stack)-1].Places[0].Head, "class type queuing ")
	if x.n.groupOf(typeQueuing, "input", class) < 0 {
		return x.invalid(0)
	}
	// Minimum values of a 93180YC-EX.
	if strings.HasSuffix(x.n.o.Model, "-EX") && (below(x.Vals["b"], 27456) || below(x.Vals["x"], 12480) || below(x.Vals["r"], 12480)) {
		if out := x.deny("buffer size below 27456 or threshold below 12480 bytes"); out != "" {
			return out
		}
	}
	for _, p := range x.policies() {
		for _, s := range p.Subs {
			if s.Says("bandwidth") || s.Says("priority") {
				if out := x.deny("pause buffer-size together with bandwidth or priority in policy-map %s", p.Name()); out != "" {
					return out
				}
			}
		}
	}
	return setLine("pause", rankPause)(x)
}

func below(s string, lowest int) bool {
	n, ok := cli.Natural(s)
	return ok && n < lowest
}

// policies returns the policy-maps that contain the classes of the command.
func (x *exec) policies() []*cli.Block {
	up := cli.Exec{Root: x.Root, Stack: x.Stack[:len(x.Stack)-1]}
	return up.Blocks()
}

// excluded refuses a line if the same class has a line that excludes it.
func (x *exec) excluded(keys ...string) string {
	for _, b := range x.Blocks() {
		for _, key := range keys {
			if l := b.Get(key); l != "" {
				if out := x.deny("'%s' cannot be configured together with '%s'", x.Line, l); out != "" {
					return out
				}
			}
		}
	}
	return ""
}

// share checks a bandwidth share: one kind per class, no priority in the same class, and at most
// 100 percent per policy.
func (x *exec) share(key string) string {
	other := "bandwidth remaining percent"
	if key == other {
		other = "bandwidth percent"
	}
	if out := x.excluded(other, "priority", "pause"); out != "" {
		return out
	}
	here := x.Stack[len(x.Stack)-1].Places[0].Key
	for _, p := range x.policies() {
		sum, _ := cli.Natural(x.Vals["p"])
		for k, s := range p.Subs {
			if s.Get("pause") != "" {
				if out := x.deny("bandwidth together with pause buffer-size in policy-map %s", p.Name()); out != "" {
					return out
				}
			}
			if k != here {
				n, _ := cli.Natural(strings.TrimPrefix(s.Get(key), key+" "))
				sum += n
			}
		}
		if sum > 100 {
			if out := x.deny("sum of %s in policy-map %s is %d, above 100", key, p.Name(), sum); out != "" {
				return out
			}
		}
	}
	return ""
}

// thresholds checks a WRED line: both thresholds in the same unit, the lower one first.
func (x *exec) thresholds() string {
	if x.Vals["minunit"] != x.Vals["maxunit"] {
		return x.deny("thresholds in different units")
	}
	lo, _ := cli.Natural(x.Vals["min"])
	hi, _ := cli.Natural(x.Vals["max"])
	if lo > hi {
		return x.deny("minimum-threshold is above maximum-threshold")
	}
	return ""
}

// mixed refuses a class of the other direction in a queuing policy: it must match the present
// classes and the attachment of the policy.
func (x *exec) mixed(name string) string {
	in := x.n.groupOf(typeQueuing, "input", name) >= 0
	other := "input"
	if in {
		other = "output"
	}
	for _, b := range x.Blocks() {
		if where := attachedTo(x.Root, typeQueuing, other, b.Name()); where != "" {
			return x.deny("policy-map %s is in use for %s by %s", b.Name(), other, where)
		}
		for _, s := range b.Subs {
			if (x.n.groupOf(typeQueuing, "input", s.Name()) >= 0) != in {
				return x.deny("policy-map %s has classes of the other direction", b.Name())
			}
		}
	}
	return ""
}
