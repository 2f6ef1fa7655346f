// Package writers searches the files of a host for other writers of its NIC settings: profiles of
// NetworkManager, netplan, systemd-networkd and ifupdown, and commands in units, cron tables, udev
// rules and scripts.
//
// It takes text and returns a [nic.Writer] for each line that sets something. It reads no files and
// runs nothing; nic/local finds the files. All text is considered hostile: what cannot be parsed is
// skipped, and no line is an error.
package writers

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
)

// NIC is a port of the host with all of its names.
type NIC struct {
	Name string
	RDMA string // "" if there is none
	Bond string // bond that it is a member of; "" if there is none
	// VLANs are the VLANs over the port, or over its bond.
	VLANs []string
	PCI   string
	MAC   string
	// Driver is the kernel module.
	Driver string
}

// most is the maximum number of writers found on one host.
const most = 256

// Finder collects writers.
type Finder struct {
	NICs []NIC
	// Follow returns the text of a script that a command runs; false if there is none.
	Follow func(name string) ([]byte, bool)

	Found []nic.Writer
	// More reports whether there are more writers than were kept.
	More bool

	followed map[string]bool
}

// clip shortens text from outside the program and makes it safe to print on one line.
func clip(s string) string { return term.Clip(s, 160) }

// at is the origin of a text.
type at struct {
	who, file string
	line      int
	// process is set if file names a process, which has no lines.
	process bool
	// by is what runs the file; "" if no other file does.
	by   string
	idle string
	// match holds the ports that an enclosing rule or profile applies to; nil means any port.
	match []string
}

func (a at) place() string {
	p := clip(a.file)
	if !a.process {
		p += ":" + strconv.Itoa(a.line)
	}
	if a.by != "" {
		p += ", run by " + a.by
	}
	return p
}

// add records that a field of ports is set. value sets the member for the field; nil means that the
// value is not known.
func (f *Finder) add(a at, ports []string, field string, value func(*nic.Port)) {
	w := nic.Writer{Ports: ports, Field: field}
	if value != nil {
		w.Sets = &nic.Port{}
		value(w.Sets)
	}
	f.note(a, w)
}

// note records a writer, once for each place, field and set of ports.
func (f *Finder) note(a at, w nic.Writer) {
	if len(f.Found) >= most {
		f.More = true
		return
	}
	w.Who, w.Place, w.Idle = clip(a.who), a.place(), a.idle
	same := func(o nic.Writer) bool {
		return o.Place == w.Place && o.Field == w.Field && slices.Equal(o.Ports, w.Ports)
	}
	if !slices.ContainsFunc(f.Found, same) {
		f.Found = append(f.Found, w)
	}
}

// number records a field that is a number. If the text is not a number, the value is not known.
func (f *Finder) number(a at, ports []string, field, text string) {
	n, err := strconv.Atoi(text)
	if err != nil {
		f.add(a, ports, field, nil)
		return
	}
	f.add(a, ports, field, func(p *nic.Port) {
		switch field {
		case nic.FieldMTU:
			p.MTU = qos.Of(n)
		case nic.FieldToS:
			p.ToS = qos.Of(n)
		case nic.FieldTrafficClass:
			p.TrafficClass = qos.Of(n)
		case nic.FieldCNPDSCP:
			p.CNPDSCP = qos.Of(n)
		case nic.FieldCNPPriority:
			p.CNPPriority = qos.Of(n)
		case nic.FieldCable:
			p.Cable = qos.Of(units.Length(n))
		}
	})
}

// egress records entries, such as "3:3", of a VLAN's egress map.
func (f *Finder) egress(a at, vlan string, entries []string, sep string) {
	ports := f.those(func(n NIC) bool { return slices.Contains(n.VLANs, vlan) })
	m := nic.PCPs{-1, -1, -1, -1, -1, -1, -1, -1}
	known := false
	for _, e := range entries {
		from, to, _ := strings.Cut(e, sep)
		prio, err := strconv.Atoi(from)
		pcp, perr := strconv.Atoi(to)
		if err != nil || perr != nil || prio < 0 || prio > 7 || pcp < 0 || pcp > 7 {
			break // the rest does not belong to the map
		}
		m[prio], known = int8(pcp), true
	}
	if len(ports) == 0 || !known {
		return
	}
	f.note(a, nic.Writer{Ports: ports, Field: nic.FieldEgress, Egress: &m})
}

// named returns the ports with the given device name: that of the port, its RDMA device or its
// bond.
func (f *Finder) named(name string) []string {
	return f.those(func(n NIC) bool { return name == n.Name || name == n.RDMA || name == n.Bond })
}

func (f *Finder) those(is func(NIC) bool) (out []string) {
	for _, n := range f.NICs {
		if is(n) {
			out = append(out, n.Name)
		}
	}
	return out
}

// matches reports whether a list of shell patterns matches one of the names. A pattern that begins
// with ! excludes names; if all patterns do, all other names match.
func matches(patterns []string, names ...string) bool {
	taken, positive := false, false
	for _, p := range patterns {
		p, not := strings.CutPrefix(p, "!")
		positive = positive || !not
		hit := slices.ContainsFunc(names, func(n string) bool {
			ok, err := path.Match(p, n)
			return n != "" && err == nil && ok
		})
		switch {
		case hit && not:
			return false
		case hit:
			taken = true
		}
	}
	return taken || len(patterns) > 0 && !positive
}
