package yang

import (
	"errors"
	"net/netip"
	"strings"

	goyang "github.com/openconfig/goyang/pkg/yang"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// The YANG library on the switch has ietf-inet-types and ietf-yang-types (RFC 6991) built in, so a
// folder of SONiC models refers to them without containing them. This file implements the types
// that SONiC models use. If a folder contains the two files, they take precedence.

// ietfTypes implements the types that do more than restrict a built-in type. Each function returns
// the canonical form.
var ietfTypes = map[string]func(string) (string, error){
	"ietf-inet-types:ip-address":           func(s string) (string, error) { return ipAddr(s, 0, true) },
	"ietf-inet-types:ipv4-address":         func(s string) (string, error) { return ipAddr(s, 4, true) },
	"ietf-inet-types:ipv6-address":         func(s string) (string, error) { return ipAddr(s, 6, true) },
	"ietf-inet-types:ip-address-no-zone":   func(s string) (string, error) { return ipAddr(s, 0, false) },
	"ietf-inet-types:ipv4-address-no-zone": func(s string) (string, error) { return ipAddr(s, 4, false) },
	"ietf-inet-types:ipv6-address-no-zone": func(s string) (string, error) { return ipAddr(s, 6, false) },
	"ietf-inet-types:ip-prefix":            func(s string) (string, error) { return ipPrefix(s, 0) },
	"ietf-inet-types:ipv4-prefix":          func(s string) (string, error) { return ipPrefix(s, 4) },
	"ietf-inet-types:ipv6-prefix":          func(s string) (string, error) { return ipPrefix(s, 6) },
	"ietf-inet-types:domain-name":          domainName,
	"ietf-inet-types:host": func(s string) (string, error) {
		if c, err := ipAddr(s, 0, true); err == nil {
			return c, nil
		}
		return domainName(s)
	},
	"ietf-yang-types:mac-address": macAddress,
}

// ietfNumbers lists the types that are whole numbers, with the base type and the maximum; 0 means
// the maximum of the base type.
var ietfNumbers = map[string]struct {
	base string
	max  uint64
}{
	"ietf-inet-types:port-number":     {"uint16", 0},
	"ietf-inet-types:as-number":       {"uint32", 0},
	"ietf-inet-types:dscp":            {"uint8", 63},
	"ietf-inet-types:ipv6-flow-label": {"uint32", 1<<20 - 1},
	"ietf-yang-types:counter32":       {"uint32", 0},
	"ietf-yang-types:counter64":       {"uint64", 0},
	"ietf-yang-types:gauge32":         {"uint32", 0},
	"ietf-yang-types:gauge64":         {"uint64", 0},
	"ietf-yang-types:timeticks":       {"uint32", 0},
}

// ietfType returns the type of one of the two modules that ref names, nil if there is none.
func ietfType(u *unit, ref string) *ytype {
	prefix, name, ok := strings.Cut(ref, ":")
	if !ok {
		return nil
	}
	name = u.imports[prefix] + ":" + name
	if f := ietfTypes[name]; f != nil {
		return &ytype{base: "ietf", fn: f, require: true}
	}
	if n, ok := ietfNumbers[name]; ok {
		t := &ytype{base: n.base, require: true}
		if n.max > 0 {
			all := goyang.YRange{Max: goyang.FromUint(n.max)}
			t.ranges = []ranges{{spans: goyang.YangRange{all}, text: all.String()}}
		}
		return t
	}
	return nil
}

func ipAddr(s string, version int, zone bool) (string, error) {
	addr, z, hasZone := strings.Cut(s, "%")
	a, err := netip.ParseAddr(addr)
	switch {
	case err != nil || hasZone && (!zone || z == ""),
		version == 4 && !a.Is4(), version == 6 && a.Is4():
		return s, errors.New("not " + familyNames[version] + " address")
	case hasZone:
		return a.String() + "%" + z, nil
	}
	return a.String(), nil
}

func ipPrefix(s string, version int) (string, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil || version == 4 && !p.Addr().Is4() || version == 6 && p.Addr().Is4() {
		return s, errors.New("not " + familyNames[version] + " prefix")
	}
	return p.Masked().String(), nil
}

var familyNames = map[int]string{0: "an IP", 4: "an IPv4", 6: "an IPv6"}

var macText = lazyre.New(`^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$`)

func macAddress(s string) (string, error) {
	if !macText.MatchString(s) {
		return s, errors.New("not six pairs of hexadecimal digits with colons")
	}
	return s, nil
}

// domainName accepts labels of letters, digits, hyphens and underscores, of up to 63 characters
// each, and "." alone.
func domainName(s string) (string, error) {
	err := errors.New("not a domain name")
	if s == "." {
		return s, nil
	}
	if s == "" || len(s) > 253 {
		return s, err
	}
	for _, l := range strings.Split(strings.TrimSuffix(s, "."), ".") {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' ||
			strings.Trim(strings.ToLower(l), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return s, err
		}
	}
	return s, nil
}
