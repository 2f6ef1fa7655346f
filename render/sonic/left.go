package sonic

import (
	"fmt"
	"maps"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Up reports whether the port is administratively up.
func (c Config) Up(port string) bool { return c.Row(TPort, port)["admin_status"] == "up" }

// Down returns the ports of the set that are administratively down, in natural order.
func (c Config) Down(ports map[string]string) []string {
	var out []string
	for _, p := range natural.Keys(ports) {
		if c.Row(TPort, p) != nil && !c.Up(p) {
			out = append(out, p)
		}
	}
	return out
}

// Raised returns the configuration with the ports up that a run left down, that is, as it was
// before that run.
func (c Config) Raised(left map[string]string) Config {
	var ops []Op
	for _, p := range c.Down(left) {
		ops = append(ops, admin(p, "up"))
	}
	return c.After(ops)
}

// withLeft returns desired, extended to bring up the ports that a run left down unless the intent
// sets their admin state, and these ports.
func withLeft(desired *qos.Device, running Config, left map[string]string) (*qos.Device, []string) {
	var ports []string
	out := *desired
	for _, name := range running.Down(left) {
		p := desired.Ports[name]
		if p == nil || p.AdminUp.Set {
			continue
		}
		if ports == nil {
			out.Ports = maps.Clone(desired.Ports)
		}
		own := *p
		own.AdminUp = qos.Of(true)
		out.Ports[name] = &own
		ports = append(ports, name)
	}
	return &out, ports
}

// explainRaisedPorts sets the reason of changes that bring up ports, and returns notes that name
// the run that left the ports down.
func explainRaisedPorts(changes []qos.Change, ports []string, left map[string]string) []string {
	byRun := map[string][]string{}
	for _, p := range ports {
		byRun[left[p]] = append(byRun[left[p]], p)
		for i := range changes {
			if c := &changes[i]; c.Port == p && c.Field.Kind == qos.KindAdminUp {
				c.Reason = "left down by run " + left[p]
			}
		}
	}
	const few = 8 // up to this many ports are listed by name
	var notes []string
	for _, run := range natural.Keys(byRun) {
		list := byRun[run]
		names := strings.Join(list, ", ")
		if len(list) > few {
			names = natural.Fold(list)
		}
		if len(list) == 1 {
			notes = append(notes, fmt.Sprintf("%s was left down by run %s; it is brought up", names, run))
		} else {
			notes = append(notes, fmt.Sprintf("%s were left down by run %s; they are brought up", names, run))
		}
	}
	return notes
}

// noteShutPorts notes the ports that are down and stay down because no run on record took them down.
func (s Site) noteShutPorts(running Config, desired *qos.Device) []string {
	if s.Left == nil {
		return nil
	}
	shut := map[string]string{}
	for name, p := range desired.Ports {
		if _, ours := s.Left[name]; !ours && !p.AdminUp.Set {
			shut[name] = ""
		}
	}
	switch ports := running.Down(shut); len(ports) {
	case 0:
		return nil
	case 1:
		return []string{ports[0] + " is administratively down and stays down: no run on record took it down; with admin: up in the intent it is brought up"}
	default:
		return []string{natural.Fold(ports) + " are administratively down and stay down: no run on record took them down; with admin: up in the intent they are brought up"}
	}
}
