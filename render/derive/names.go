package derive

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

var (
	hostName  = lazyre.New(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9_])?$`)
	nicName   = lazyre.New(`^[A-Za-z0-9_.:@-]{1,15}$`) // IFNAMSIZ is 16 including the terminating NUL
	macText   = lazyre.New(`^(?i)([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$|^([0-9a-f]{4}\.){2}[0-9a-f]{4}$`)
	hexDigits = lazyre.New(`^(?i)[0-9a-f.-]{12,}$`) // a MAC address without separators
	numbers   = lazyre.New(`[0-9]+`)
	// switchPort matches port names that switches have and hosts do not: Ethernet1/1, Eth1/1,
	// Et1, swp1, xe-0/0/1.
	switchPort = lazyre.New(`^(?i)(ethernet|eth|et|[a-z]*gige?|[a-z]*gigabitethernet)[0-9]+(/[0-9]+)+$|^Ethernet[0-9]+$|^(?i)(etp|swp)[0-9]+[a-z0-9]*$|^[a-z]{2}-[0-9]+/[0-9]+/[0-9]+`)
)

// short returns a name without its domain.
func short(name string) string {
	s, _, _ := strings.Cut(name, ".")
	return s
}

// hex returns the digits of a MAC address; "" if s is none.
func hex(s string) string {
	if !IsMAC(s) {
		return ""
	}
	return strings.ToLower(strings.NewReplacer(":", "", "-", "", ".", "").Replace(s))
}

// IsMAC reports whether an LLDP name is a MAC address, which identifies a device without a
// system name.
func IsMAC(s string) bool { return macText.MatchString(s) }

// NamesInterface reports whether a port name announced by a host can be an interface name. Some
// hosts announce a MAC address or a description instead (IEEE 802.1AB, port ID subtypes).
func NamesInterface(given string) bool {
	return nicName.MatchString(given) && !hexDigits.MatchString(given) && !IsMAC(given)
}

// fit returns s with invalid characters replaced, cut to n characters; "" if nothing is left.
func fit(s string, n int) string {
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, s)
	out = out[:min(len(out), n)]
	return strings.Trim(out, ".-")
}

// SamePort reports whether an LLDP name means a port: its name, or its name with the letters
// abbreviated, as Et1/1 and Eth1/1 for Ethernet1/1.
func SamePort(port, given string) bool {
	if port == given {
		return true
	}
	a, b := letters(port), letters(given)
	return len(b) > 1 && len(b) <= len(a) && strings.EqualFold(a[:len(b)], b) && port[len(a):] == given[len(b):] && len(port) > len(a)
}

// SameForm reports whether two names differ only in their numbers, as Ethernet1/1 and
// Ethernet60/1 do. If the switch has no port with such a name, the name is not an alias of
// another port.
func SameForm(a, b string) bool {
	return strings.EqualFold(numbers.ReplaceAllString(a, "0"), numbers.ReplaceAllString(b, "0"))
}

// letters returns the letters at the start of a name.
func letters(s string) string {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return s[:i]
		}
	}
	return s
}

// portIndex finds the ports of a switch by the names that others use.
type portIndex struct {
	names   []string // in natural order
	place   map[string]int
	alias   map[string]string
	numbers map[string][]string // rest of a name after its first letters -> names
}

func (s *box) index() *portIndex {
	if s.ix != nil {
		return s.ix
	}
	ix := &portIndex{names: natural.Keys(s.Running.Ports), place: map[string]int{}, alias: map[string]string{}, numbers: map[string][]string{}}
	for i, n := range ix.names {
		ix.place[n] = i
		rest := n[len(letters(n)):]
		ix.numbers[rest] = append(ix.numbers[rest], n)
	}
	// Aliases that the switch announces take precedence over those of its model.
	if m, ok := catalog.ModelOf(s.OS, s.Model); ok {
		for _, p := range m.Ports {
			if s.Running.Ports[p.Name] != nil && s.Aliases[p.Name] == "" {
				ix.alias[p.Alias] = p.Name
			}
		}
	}
	for _, n := range natural.Keys(s.Aliases) {
		if s.Running.Ports[n] != nil {
			ix.alias[s.Aliases[n]] = n
		}
	}
	s.ix = ix
	return ix
}

// portOf returns the port of a switch that a name stands for; "" if there is none.
func portOf(s *box, given string) string {
	if s.Running.Ports[given] != nil {
		return given
	}
	ix := s.index()
	if n := ix.alias[given]; n != "" && given != "" {
		return n
	}
	for _, n := range ix.numbers[given[len(letters(given)):]] {
		if SamePort(n, given) {
			return n
		}
	}
	return ""
}
