package report

import "github.com/roce-fabric/roce-fabric/validate"

// Next names the command that comes next to a person at a terminal; "" is none. A pipeline
// has its next command.
func (c *Console) Next(command string) {
	if command != "" && (c.Output == "" || c.Output == "text") && terminal(c.Err) {
		c.Talk("next: %s", command)
	}
}

// ToExplain is the id of the check to look up first: that of the worst finding that says
// something is wrong; "" for none.
func (r Report) ToExplain() string {
	for _, f := range r.Findings { // worst first
		if f.Suppressed == nil && f.Severity != validate.Info && f.Unchecked == "" && validate.Lookup(f.ID) != nil {
			return f.ID
		}
	}
	return ""
}
