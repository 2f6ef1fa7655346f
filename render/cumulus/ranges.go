package cumulus

import (
	"strconv"
	"strings"
)

// maxExpanded limits the total number of items that the ranges of one text may stand for.
const maxExpanded = 100_000

// maxRange limits the number of items of a single range.
const maxRange = 4096

// expandNumbers returns the numbers of a list such as "0-3,5"; nil if s is not such a list.
func expandNumbers(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		from, to, ok := span(part)
		if !ok || to-from >= maxRange {
			return nil
		}
		for n := from; n <= to && len(out) <= maxExpanded; n++ {
			out = append(out, strconv.Itoa(n))
		}
	}
	return out
}

// span parses "5" and "5-9".
func span(s string) (from, to int, ok bool) {
	a, b, two := strings.Cut(s, "-")
	from, ok = digits(a)
	if !two || !ok {
		return from, from, ok
	}
	to, ok = digits(b)
	return from, to, ok && to >= from
}

// digits parses a number consisting only of digits, as NVUE writes the IDs of ports, priorities
// and code points.
func digits(s string) (int, bool) {
	if s == "" || len(s) > 6 || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return int(n), err == nil
}

// expandPorts returns the interfaces of a list such as "swp1-4,6,swp7s0-3,bond1", or s itself if
// it is not a list. A number on its own replaces the last number of the name before it.
func expandPorts(s string) []string {
	if !strings.ContainsAny(s, ",-") {
		return []string{s}
	}
	var out []string
	stem := ""
	for part := range strings.SplitSeq(s, ",") {
		if part != "" && part[0] >= '0' && part[0] <= '9' {
			part = stem + part
		}
		names := expandPort(part)
		stem = strings.TrimRight(names[len(names)-1], "0123456789")
		if len(out)+len(names) > maxExpanded {
			return []string{s}
		}
		out = append(out, names...)
	}
	return out
}

// expandPort expands the ranges in one name: in its port number and in its breakout number.
// "swp1-swp4" means "swp1-4".
func expandPort(s string) []string {
	for _, kind := range []string{"swp", "bond"} {
		rest, ok := strings.CutPrefix(s, kind)
		if !ok {
			continue
		}
		rest = strings.ReplaceAll(rest, "-"+kind, "-")
		ports, parts, broken := strings.Cut(rest, "s")
		from, to, ok := span(ports)
		if !ok || to-from >= maxRange {
			return []string{s}
		}
		first, last := 0, 0
		if broken {
			if first, last, ok = span(parts); !ok || (to-from+1)*(last-first+1) > maxRange {
				return []string{s}
			}
		}
		var out []string
		for n := from; n <= to; n++ {
			if !broken {
				out = append(out, kind+strconv.Itoa(n))
				continue
			}
			for p := first; p <= last; p++ {
				out = append(out, kind+strconv.Itoa(n)+"s"+strconv.Itoa(p))
			}
		}
		return out
	}
	return []string{s}
}

// isPort reports whether a name is that of a front-panel port: "swp1", "swp1s0".
func isPort(name string) bool {
	rest, ok := strings.CutPrefix(name, "swp")
	port, part, broken := strings.Cut(rest, "s")
	_, is := digits(port)
	if broken {
		_, one := digits(part)
		is = is && one
	}
	return ok && is
}
