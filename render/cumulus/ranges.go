package cumulus

import (
	"strconv"
	"strings"
)

// maxExpanded bounds what the ranges of one text may stand for, all together.
const maxExpanded = 100_000

// maxRange bounds what one of them may stand for.
const maxRange = 4096

// expandNumbers returns the numbers of a list such as "0-3,5"; nil where it is none.
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

// span reads "5" and "5-9".
func span(s string) (from, to int, ok bool) {
	a, b, two := strings.Cut(s, "-")
	from, ok = digits(a)
	if !two || !ok {
		return from, from, ok
	}
	to, ok = digits(b)
	return from, to, ok && to >= from
}

// digits reads a number that has nothing but digits, as NVUE writes the ids of ports,
// priorities and code points.
func digits(s string) (int, bool) {
	if s == "" || len(s) > 6 || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return int(n), err == nil
}

// expandPorts returns the interfaces of a list such as "swp1-4,6,swp7s0-3,bond1"; the text
// itself where it is none. A number alone takes the place of the last one before it.
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

// expandPort expands the ranges of one name: of its port and of its part of a breakout.
// "swp1-swp4" is taken as "swp1-4".
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
