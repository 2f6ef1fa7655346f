package eos

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// param reads a parameter at word i: how many words it takes and what it is in
// canonical form.
type param func(w words, i int) (used int, canon string, ok bool)

// params are the types that patterns may name, beside ranges of whole numbers
// ("0-7") and choices ("kbps|percent").
var params = map[string]param{
	"word": one(regexp.MustCompile(`^[^\s|]+$`).MatchString),
	"name": one(regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/@+-]{0,99}$`).MatchString),
	"ipv4": one(regexp.MustCompile(`^\d{1,3}(\.\d{1,3}){3}(/\d{1,2})?$`).MatchString),
	"text": func(w words, i int) (int, string, bool) {
		return len(w.word) - i, strings.TrimRight(w.line[w.at[i]:], " \t"), true
	},
	"dscps":      list(63),
	"eights":     list(7),
	"interfaces": interfacesParam,
	"fraction":   one(regexp.MustCompile(`^(1/64|1/32|1/16|1/8|1/4|1/2|1|2|4|8)$`).MatchString),
	// Watchdog times, in seconds.
	"timeout": decimal(10, 60000, 2),
	"polling": decimal(5, 30000, 3),
}

func paramOf(typ string) param {
	if p := params[typ]; p != nil {
		return p
	}
	if lo, hi, ok := strings.Cut(typ, "-"); ok {
		a, err := strconv.Atoi(lo)
		b, err2 := strconv.Atoi(hi)
		if err == nil && err2 == nil {
			return number(a, b)
		}
	}
	return choice(strings.Split(typ, "|"))
}

func one(ok func(string) bool) param {
	return func(w words, i int) (int, string, bool) { return 1, w.word[i], ok(w.word[i]) }
}

func number(lo, hi int) param {
	return func(w words, i int) (int, string, bool) {
		n, ok := natural10(w.word[i])
		return 1, strconv.Itoa(n), ok && lo <= n && n <= hi
	}
}

// natural10 reads a whole number of at most ten digits, without a sign.
func natural10(s string) (int, bool) {
	if s == "" || len(s) > 10 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

func choice(of []string) param {
	return func(w words, i int) (int, string, bool) {
		word, found := strings.ToLower(w.word[i]), ""
		for _, c := range of {
			if c == word {
				return 1, c, true
			}
			if strings.HasPrefix(c, word) {
				if found != "" {
					return 0, "", false
				}
				found = c
			}
		}
		return 1, found, found != ""
	}
}

// list reads numbers up to highest, separated by spaces and commas, with
// ranges. The canonical form is ascending, separated by spaces.
func list(highest int) param {
	return func(w words, i int) (int, string, bool) {
		have := make([]bool, highest+1)
		used := 0
		for ; i+used < len(w.word); used++ {
			word := w.word[i+used]
			if strings.Trim(word, "0123456789,-") != "" {
				break
			}
			for _, part := range strings.Split(strings.Trim(word, ","), ",") {
				lo, hi, isRange := strings.Cut(part, "-")
				if !isRange {
					hi = lo
				}
				a, ok := natural10(lo)
				b, ok2 := natural10(hi)
				if !ok || !ok2 || a > b || b > highest {
					return 0, "", false
				}
				for n := a; n <= b; n++ {
					have[n] = true
				}
			}
		}
		return used, joinList(have), used > 0
	}
}

func joinList(have []bool) string {
	var out []string
	for n, in := range have {
		if in {
			out = append(out, strconv.Itoa(n))
		}
	}
	return strings.Join(out, " ")
}

// splitList is the numbers of a canonical list.
func splitList(s string) []int {
	var out []int
	for _, f := range strings.Fields(s) {
		n, _ := strconv.Atoi(f) // canonical
		out = append(out, n)
	}
	return out
}

// decimal reads seconds from lo to hi milliseconds with at most so many
// decimals. The canonical form is the shortest.
func decimal(lo, hi, places int) param {
	return func(w words, i int) (int, string, bool) {
		ms, ok := millis(w.word[i])
		whole, frac, _ := strings.Cut(w.word[i], ".")
		if !ok || whole == "" || len(frac) > places || ms < lo || ms > hi {
			return 0, "", false
		}
		return 1, strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64), true
	}
}

// millis reads seconds with at most three decimals as milliseconds.
func millis(s string) (int, bool) {
	whole, frac, point := strings.Cut(s, ".")
	if len(frac) > 3 || point && frac == "" {
		return 0, false
	}
	n, ok := natural10(whole + (frac + "000")[:3])
	return n, ok && whole != ""
}

// Interface types by the lower case letters that name them, in EOS's order.
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
	interfaceHead = regexp.MustCompile(`^([A-Za-z-]+)(\d.*)$`)
	interfacePart = regexp.MustCompile(`^(\d{1,4}(?:/\d{1,3}){0,2}(?:\.\d{1,4})?)(?:-(\d{1,4}(?:/\d{1,3}){0,2}))?$`)
)

// maxInterfaces bounds the ports that one range may name.
const maxInterfaces = 1024

func interfacesParam(w words, i int) (int, string, bool) {
	word, used := w.word[i], 1
	if i+1 < len(w.word) && !strings.ContainsAny(word, "0123456789") {
		word, used = word+w.word[i+1], 2
	}
	names, ok := parseInterfaces(word)
	return used, strings.Join(names, ","), ok
}

// parseInterfaces reads "Ethernet1/1", "et1/1-4/1" or "Ethernet1,3-5" as full
// names.
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
		p := interfacePart.FindStringSubmatch(part)
		if p == nil {
			return nil, false
		}
		if p[2] == "" {
			out = append(out, kind+p[1])
			continue
		}
		ids, ok := interfaceRange(p[1], p[2])
		if !ok || len(out)+len(ids) > maxInterfaces {
			return nil, false
		}
		for _, id := range ids {
			out = append(out, kind+id)
		}
	}
	return out, len(out) <= maxInterfaces
}

// interfaceRange lists "1/1" to "4/1" or "1/1" to "4" (1/1 to 1/4): ids that
// differ in one number.
func interfaceRange(from, to string) ([]string, bool) {
	a, b := strings.Split(from, "/"), strings.Split(to, "/")
	if len(b) < len(a) {
		b = append(slices.Clone(a[:len(a)-len(b)]), b...)
	}
	if len(a) != len(b) {
		return nil, false
	}
	vary := -1
	for i := range a {
		if a[i] != b[i] {
			if vary >= 0 {
				return nil, false
			}
			vary = i
		}
	}
	if vary < 0 {
		return []string{from}, true
	}
	lo, ok := natural10(a[vary])
	hi, ok2 := natural10(b[vary])
	if !ok || !ok2 || lo > hi || hi-lo >= maxInterfaces {
		return nil, false
	}
	var out []string
	for n := lo; n <= hi; n++ {
		a[vary] = strconv.Itoa(n)
		out = append(out, strings.Join(a, "/"))
	}
	return out, true
}

// interfaceType completes a type's name: "et" and "Eth" are Ethernet, "po" is
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

// shortName is the name in prompts and tables: Et1/1, Po3, Ma1.
func shortName(name string) string {
	i := strings.IndexAny(name, "0123456789")
	if i < 2 {
		return name
	}
	return name[:2] + name[i:]
}

// interfaceMode is the mode of an interface's name.
func interfaceMode(name string) string {
	for _, t := range interfaceTypes {
		if strings.HasPrefix(name, t.name) {
			return t.mode
		}
	}
	return modeLogical
}
