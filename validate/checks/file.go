package checks

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// File is what one check sees of a configuration that is checked without an intent. Only a
// contradiction within it is an error then: anything that may be on purpose is a warning.
type File struct {
	Check  *Check
	Config *qos.Device
	// Rows is set for a configuration of rows of tables; others consist of lines.
	Rows bool
	// Everywhere holds the priorities that every port with PFC pauses.
	Everywhere qos.PrioritySet
	// Add receives the findings, each with the port and the attribute that it is about.
	Add func(f Finding, port string, attr qos.Attr)
}

// Found adds a finding about an attribute of a port; port is "" for the switch.
func (r *File) Found(s Severity, port string, attr qos.Attr, what string, args ...any) {
	r.Check.MayFind(s)
	r.Add(Finding{ID: r.Check.ID, Severity: s, What: fmt.Sprintf(what, args...)}, port, attr)
}

// Perform runs a check of the configuration.
func (r *File) Perform(c *Check) {
	r.Check = c
	if c.Alone != nil {
		c.Alone(r)
	}
	if c.Port == nil {
		return
	}
	InEachPausingPort(func(r *File, name string, q *qos.Port) {
		c.Port(&Port{Config: q, LinkPause: q.LinkPause.V, Maps: r.Config.ClassifiedBy(name), Lossless: q.PFC.V, Read: true, Found: func(f Finding, attrs ...qos.Attr) {
			if strings.Contains(f.Fix, ApplyIntent) {
				f.Fix = ""
			}
			c.MayFind(f.Severity)
			f.ID = c.ID
			r.Add(f, name, attrs[0])
		}})
	})(r)
}

// InEachPort runs a check on each port of a configuration without an intent.
func InEachPort(check func(r *File, name string, q *qos.Port)) func(*File) {
	return func(r *File) {
		for _, name := range natural.Keys(r.Config.Ports) {
			check(r, name, r.Config.Ports[name])
		}
	}
}

// InEachPausingPort runs a check on each port that pauses a priority.
func InEachPausingPort(check func(r *File, name string, q *qos.Port)) func(*File) {
	return InEachPort(func(r *File, name string, q *qos.Port) {
		if q.PFC.Or(0) != 0 {
			check(r, name, q)
		}
	})
}
