package eos

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// params holds the parameter types that are specific to EOS.
var params = map[string]cli.Param{
	"dscps":      list(63),
	"dscpNames":  codePoints,
	"eights":     list(7),
	"interfaces": interfacesParam,
	"fraction":   cli.One(lazyre.New(`^(1/64|1/32|1/16|1/8|1/4|1/2|1|2|4|8)$`).MatchString),
	// Watchdog times, in seconds.
	"timeout": decimal(10, 60000, 2),
	"polling": decimal(5, 30000, 3),
}

// list parses numbers up to highest, separated by spaces and commas, with ranges. The canonical
// form is ascending and separated by spaces.
func list(highest int) cli.Param {
	return func(w cli.Words, i int) (int, string, bool) {
		have := make([]bool, highest+1)
		used := 0
		for ; i+used < len(w.Word); used++ {
			word := w.Word[i+used]
			if strings.Trim(word, "0123456789,-") != "" {
				break
			}
			some, ok := cli.Numbers(word, highest)
			if !ok {
				return 0, "", false
			}
			for n, in := range some {
				have[n] = have[n] || in
			}
		}
		return used, cli.JoinNumbers(have, " "), used > 0
	}
}

// codePoints parses DSCPs like list, and also by their names (EOS User Manual, QoS: match dscp).
// The canonical form is the same as for list.
func codePoints(w cli.Words, i int) (int, string, bool) {
	words := slices.Clone(w.Word)
	for j := i; j < len(words); j++ {
		n, name := -1, strings.ToLower(words[j])
		digit := func(at int) int { return int(name[at] - '0') }
		switch {
		case name == "ef":
			n = 46
		case csName.MatchString(name):
			n = 8 * digit(2)
		case afName.MatchString(name):
			n = 8*digit(2) + 2*digit(3)
		}
		if n >= 0 {
			words[j] = strconv.Itoa(n)
		}
	}
	w.Word = words
	return list(63)(w, i)
}

var (
	csName = lazyre.New(`^cs[0-7]$`)
	afName = lazyre.New(`^af[1-4][1-3]$`)
)

// splitList returns the numbers of a canonical list.
func splitList(s string) []int {
	var out []int
	for _, f := range strings.Fields(s) {
		n, _ := strconv.Atoi(f) // cannot fail: the list is canonical
		out = append(out, n)
	}
	return out
}

// decimal parses seconds between lo and hi milliseconds, with at most the given number of decimal
// places. The canonical form is the shortest one.
func decimal(lo, hi, places int) cli.Param {
	return func(w cli.Words, i int) (int, string, bool) {
		ms, ok := millis(w.Word[i])
		whole, frac, _ := strings.Cut(w.Word[i], ".")
		if !ok || whole == "" || len(frac) > places || ms < lo || ms > hi {
			return 0, "", false
		}
		return 1, strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64), true
	}
}

// millis parses seconds with at most three decimal places, and returns milliseconds.
func millis(s string) (int, bool) {
	whole, frac, point := strings.Cut(s, ".")
	if len(frac) > 3 || point && frac == "" {
		return 0, false
	}
	n, ok := cli.Natural(whole + (frac + "000")[:3])
	return n, ok && whole != ""
}

// interfaceTypes lists the interface types in EOS's order, with their modes.
var interfaceTypes = []struct{ name, mode string }{
	{"Port-Channel", modePortChannel},
	{"Ethernet", modeEthernet},
	{"Loopback", modeLogical},
	{"Management", modeLogical},
	{"Vlan", modeLogical},
	{"Vxlan", modeLogical},
	{"Tunnel", modeLogical},
	{"Recirc-Channel", modeLogical},
}

var (
	interfaceHead = lazyre.New(`^([A-Za-z-]+)(\d.*)$`)
	interfacePart = lazyre.New(`^(\d{1,4}(?:/\d{1,3}){0,2}(?:\.\d{1,4})?)(?:-(\d{1,4}(?:/\d{1,3}){0,2}))?$`)
)

func interfacesParam(w cli.Words, i int) (int, string, bool) {
	word, used := w.Word[i], 1
	if i+1 < len(w.Word) && !strings.ContainsAny(word, "0123456789") {
		word, used = word+w.Word[i+1], 2
	}
	for strings.HasSuffix(word, ",") && i+used < len(w.Word) { // "Ethernet 1, 5, Et7"
		word += w.Word[i+used]
		used++
	}
	names, ok := parseInterfaces(word)
	return used, strings.Join(names, ","), ok
}

// parseInterfaces parses "Ethernet1/1", "et1/1-4/1" or "Ethernet1,3-5" into full names.
func parseInterfaces(s string) ([]string, bool) {
	m := interfaceHead.FindStringSubmatch(s)
	if m == nil {
		return nil, false
	}
	kind, ok := interfaceType(m[1])
	if !ok {
		return nil, false
	}
	var out []string
	for _, part := range strings.Split(m[2], ",") {
		if own := interfaceHead.FindStringSubmatch(part); own != nil {
			if k, ok := interfaceType(own[1]); !ok || k != kind {
				return nil, false
			}
			part = own[2]
		}
		p := interfacePart.FindStringSubmatch(part)
		if p == nil {
			return nil, false
		}
		if p[2] == "" {
			out = append(out, kind+p[1])
			continue
		}
		ids, ok := cli.InterfaceRange(p[1], p[2])
		if !ok || len(out)+len(ids) > cli.MaxInterfaces {
			return nil, false
		}
		for _, id := range ids {
			out = append(out, kind+id)
		}
	}
	return out, len(out) <= cli.MaxInterfaces
}

// interfaceType completes the abbreviation of a type: "et" and "Eth" are Ethernet, "po" is
// Port-Channel.
func interfaceType(s string) (string, bool) {
	found := ""
	for _, t := range interfaceTypes {
		if len(s) >= 2 && strings.HasPrefix(strings.ToLower(t.name), strings.ToLower(s)) {
			if found != "" {
				return "", false
			}
			found = t.name
		}
	}
	return found, found != ""
}

// shortName returns the name used in prompts and tables: Et1/1, Po3, Ma1.
func shortName(name string) string {
	i := strings.IndexAny(name, "0123456789")
	if i < 2 {
		return name
	}
	return name[:2] + name[i:]
}

// interfaceMode returns the mode for an interface name.
func interfaceMode(name string) string {
	for _, t := range interfaceTypes {
		if strings.HasPrefix(name, t.name) {
			return t.mode
		}
	}
	return modeLogical
}
