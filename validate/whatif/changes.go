package whatif

import "strings"

// Changes says how a fabric differs from its present version.
type Changes struct {
	Set     []string `json:"set,omitempty" doc:"the changes of the intent, as --set states them"`
	Without []string `json:"without,omitempty" doc:"what was left out, as --without states it"`
}

// None reports whether nothing is changed.
func (c Changes) None() bool { return len(c.Set)+len(c.Without) == 0 }

// String describes the changes after the name of a fabric: "with mtu.fabric=1500 without spine1".
func (c Changes) String() string {
	var parts []string
	if len(c.Set) > 0 {
		parts = append(parts, "with "+strings.Join(c.Set, " and "))
	}
	if len(c.Without) > 0 {
		parts = append(parts, "without "+strings.Join(c.Without, " and "))
	}
	return strings.Join(parts, " ")
}
