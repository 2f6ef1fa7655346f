package mlxconfig

import (
	"cmp"
	"strconv"
	"strings"
)

// Value is one value of a parameter as the tool writes it: a name with its
// number ("ETH(2)"), a number alone ("48"), a name alone ("Array[0..7]"), or
// nothing where the tool could not read it ("N/A", the zero Value).
//
// The numbers belong to the tool as much as to the card: TRUST_DSCP of
// QOS_TRUST_STATE is 6 in mstflint 4.21 and 2 in 4.36 (mlxconfig_host.db), so
// that such a value is best wanted by its name.
type Value struct {
	Name   string
	Number uint64
	// Numbered says that Number is known.
	Numbered bool
}

// numberOf returns the value of a number.
func numberOf(n uint64) Value { return Value{Number: n, Numbered: true} }

// ParseValue reads a value as the tool prints it or a person writes it. Numbers are
// decimal, or hexadecimal with 0x; True is 1, False 0, "" and "N/A" the zero Value.
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

// number is strict: strconv's base 0 would take 010 for 8, and 1_0 for 10.
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

// Same reports whether two values are the same: by name where both have one,
// without regard to case as the tool compares them, else by number.
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

// argument is the value as the tool takes it, by name where it has one.
func (v Value) argument() string {
	return cmp.Or(v.Name, strconv.FormatUint(v.Number, 10))
}
