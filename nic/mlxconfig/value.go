package mlxconfig

import (
	"cmp"
	"strconv"
	"strings"
)

// Value is one value of a parameter in the tool's notation: a name with its number ("ETH(2)"), only
// a number ("48"), only a name ("Array[0..7]"), or nothing if the tool could not read it ("N/A",
// the zero Value).
//
// The numbers depend on the tool as well as on the card: TRUST_DSCP of QOS_TRUST_STATE is 6 in
// mstflint 4.21 and 2 in 4.36 (mlxconfig_host.db). Such values should be requested by name.
type Value struct {
	Name   string
	Number uint64
	// Numbered reports whether Number is known.
	Numbered bool
}

// numberOf returns the value for a number.
func numberOf(n uint64) Value { return Value{Number: n, Numbered: true} }

// ParseValue parses a value as printed by the tool or written by a user. Numbers are decimal, or
// hexadecimal with 0x; True is 1, False is 0, and "" and "N/A" are the zero Value.
func ParseValue(s string) Value {
	s = strings.TrimSpace(s)
	if s == "" || s == "N/A" {
		return Value{}
	}
	if n, ok := number(s); ok {
		return numberOf(n)
	}
	if open := strings.LastIndexByte(s, '('); open >= 0 && s[len(s)-1] == ')' {
		if n, ok := number(s[open+1 : len(s)-1]); ok {
			return Value{Name: s[:open], Number: n, Numbered: true}
		}
	}
	switch {
	case strings.EqualFold(s, "true"):
		return Value{Name: "True", Number: 1, Numbered: true}
	case strings.EqualFold(s, "false"):
		return Value{Name: "False", Numbered: true}
	}
	return Value{Name: s}
}

// number parses strictly: strconv's base 0 would read 010 as 8 and 1_0 as 10.
func number(s string) (uint64, bool) {
	base, digits := 10, s
	if hex, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		base, digits = 16, hex
	}
	n, err := strconv.ParseUint(digits, base, 64)
	return n, err == nil
}

// Known reports whether there is a value.
func (v Value) Known() bool { return v != Value{} }

// Same reports whether two values are equal: by name if both have one, ignoring case like the tool,
// or else by number.
func (v Value) Same(o Value) bool {
	if v.Name != "" && o.Name != "" {
		return strings.EqualFold(v.Name, o.Name)
	}
	return v.Numbered && o.Numbered && v.Number == o.Number
}

// String prints the value as the tool does: "ETH(2)", "48", "N/A".
func (v Value) String() string {
	n := strconv.FormatUint(v.Number, 10)
	switch {
	case !v.Known():
		return "N/A"
	case !v.Numbered:
		return v.Name
	case v.Name == "":
		return n
	}
	return v.Name + "(" + n + ")"
}

// argument returns the value as an argument for the tool, by name if it has one.
func (v Value) argument() string {
	return cmp.Or(v.Name, strconv.FormatUint(v.Number, 10))
}
