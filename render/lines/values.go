package lines

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Number reads a decimal number between 0 and max that consists only of digits.
func Number(s string, max int) (int, bool) {
	if s == "" || len(s) > 10 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, n <= max
}

// Numbers reads lists such as "1 2 3", "1,2,3", "1-3" and mixtures of these, and returns the
// numbers in ascending order. one reads a single number, at most 63.
func Numbers(s string, one func(string) (int, bool)) ([]int, bool) {
	var out []int
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		from, to, isRange := strings.Cut(part, "-")
		a, ok := one(from)
		b := a
		if isRange && ok {
			b, ok = one(to)
		}
		if !ok || b < a || len(out) > 64*64 {
			return nil, false
		}
		for n := a; n <= b; n++ {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), len(out) > 0
}

// CodePoint reads a DSCP by number or name (RFC 2474, 2597, 3246, 5865).
func CodePoint(s string) (int, bool) {
	if n, ok := Number(s, qos.NumDSCP-1); ok {
		return n, true
	}
	s = strings.ToLower(s)
	if n, ok := map[string]int{"default": 0, "ef": 46, "va": 44, "voice-admit": 44}[s]; ok {
		return n, true
	}
	if n, ok := strings.CutPrefix(s, "cs"); ok {
		c, ok := Number(n, 7)
		return c * 8, ok && len(n) == 1
	}
	if n, ok := strings.CutPrefix(s, "af"); ok && len(n) == 2 && n[0] >= '1' && n[0] <= '4' && n[1] >= '1' && n[1] <= '3' {
		return int(n[0]-'0')*8 + int(n[1]-'0')*2, true
	}
	return 0, false
}

// FreeName returns the first of base, base-2, base-3 ... that is not taken; base is shortened so
// that the name has at most most bytes.
func FreeName(base string, most int, taken func(string) bool) string {
	for n := 1; ; n++ {
		tail := ""
		if n > 1 {
			tail = "-" + strconv.Itoa(n)
		}
		if name := base[:min(len(base), most-len(tail))] + tail; !taken(name) {
			return name
		}
	}
}

// Fit unsets everything that line-configured systems do not support, and asymmetric PFC if it is
// off.
func Fit(d *qos.Device) {
	d.Pools, d.Profiles = nil, nil
	d.Restrict(qos.KindGlobalMap, qos.KindWatchdogPoll, qos.KindLAG, qos.KindMTU, qos.KindAdminUp, qos.KindTrust, qos.KindMap,
		qos.KindPFC, qos.KindPFCAsymmetric, qos.KindLinkPause, qos.KindECN, qos.KindScheduler, qos.KindWatchdog)
	for _, p := range d.Ports {
		if !p.PFCAsymmetric.V {
			p.PFCAsymmetric = qos.Opt[bool]{}
		}
	}
}
