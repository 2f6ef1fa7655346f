package nic

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// writers finds other programs that write settings of the intent's NICs. Daemons that write DCB
// settings are left to DCB-02. byPort holds the changes of each port.
func (v *hostCheck) writers(byPort map[string][]nic.Change) {
	if why := v.running.Missing[nic.FieldWriters]; why != "" && len(v.desired.Ports) > 0 {
		v.unread("READ", checks.Info, "", nic.FieldWriters, "read the host as root", nic.Change{Blocked: term.CleanLine(why)})
	}
	for _, w := range v.running.Writers {
		if w.Daemon {
			v.daemon(w, byPort)
			continue
		}
		for _, name := range natural.Keys(v.desired.Ports) {
			want := v.desired.Ports[name]
			rival, ch := w.Against(name, v.running.Ports[name], want)
			if rival == nic.NoRival {
				continue
			}
			where := cmp.Or(want.From[w.Field], v.host.Pos.String())
			if w.Field == "" {
				// One finding for the host: the program writes to all ports.
				v.add("NIC-12", checks.Info, "", where, "stop it, or have it leave the NICs of the intent alone", "%s writes NIC settings; this tool cannot tell which", w)
				break
			}
			v.rival(w, name, where, rival, ch)
		}
	}
}

// daemon reports a daemon that sets NICs as another system tells it. Where settings that it can write
// differ from the intent, it may have written them.
func (v *hostCheck) daemon(w nic.Writer, byPort map[string][]nic.Change) {
	var wrong ordered.Groups[string, string] // ports by fields
	for _, name := range natural.Keys(v.desired.Ports) {
		var fields []string
		for _, ch := range byPort[name] {
			if ch.Kind == nic.KindDrift && nic.LayerOf(ch.Field) != "" && w.Writes(name, ch.Field) {
				fields = append(fields, ch.Field)
			}
		}
		if len(fields) > 0 {
			wrong.Add(strings.Join(fields, ", "), name)
		}
	}
	const fix = "stop it, or have it leave the NICs of the intent alone"
	found := false
	for fields, ports := range wrong.All() {
		for _, name := range ports {
			found = true
			v.add("NIC-12", checks.Warning, name, v.host.Pos.String(), fix+", or give it the values of the intent", "%s runs, and may have set what differs from the intent: %s", w, fields)
		}
	}
	if !found {
		v.add("NIC-12", checks.Info, "", v.host.Pos.String(), fix, "%s writes NIC settings; this tool cannot tell which", w)
	}
}

// rival adds a finding for another program that writes a setting of a port.
func (v *hostCheck) rival(w nic.Writer, port, where string, rival nic.Rival, ch nic.Change) {
	severity := checks.Info
	if rival == nic.OtherRival && w.Idle == "" {
		severity = checks.Warning
	}
	v.add("NIC-12", severity, port, where, rivalFix(w, rival, ch), "%s %s (layer %s)", w, rivalSays(w, rival, ch), cmp.Or(nic.LayerOf(w.Field), nic.LayerDriver))
}

// rivalSays describes what the other program does.
func rivalSays(w nic.Writer, rival nic.Rival, ch nic.Change) string {
	says := ""
	switch rival {
	case nic.OtherRival:
		says = fmt.Sprintf("sets %s to %s, the intent says %s", w.Field, ch.Old, ch.New)
	case nic.SameRival:
		says = fmt.Sprintf("sets %s as well, to the value of the intent", w.Field)
	case nic.UnsureRival:
		says = fmt.Sprintf("sets %s as well, to a value that is not known before it runs", w.Field)
	}
	if w.Idle != "" {
		says += "; " + term.CleanLine(w.Idle)
	}
	return says
}

func rivalFix(w nic.Writer, rival nic.Rival, ch nic.Change) string {
	at := term.CleanLine(w.Place)
	if rival == nic.OtherRival {
		return fmt.Sprintf("remove the setting from %s, or write %s there", at, ch.New)
	}
	return "remove the setting from " + at + ", so that it has one writer"
}
