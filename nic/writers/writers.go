// Package writers reads the files of a host for what else writes the settings of its
// NICs: profiles of NetworkManager, netplan, systemd-networkd and ifupdown, and the
// commands in units, cron tables, udev rules and scripts.
//
// It is given text and returns a [nic.Writer] for each line that sets something. It
// reads no file, and runs nothing: which files there are is nic/local's. All text is
// taken as hostile; what is not understood is passed over, and no line is a fault.
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

// NIC is a port of the host by all of its names.
type NIC struct {
	Name string
	RDMA string // "" for none
	Bond string // that it is a member of, "" for none
	// VLANs are those over it, or over its bond.
	VLANs []string
	PCI   string
	MAC   string
	// Driver is the kernel module.
	Driver string
}

// most bounds what is found in one host.
const most = 256

// Finder collects writers.
type Finder struct {
	NICs []NIC
	// Follow returns the text of a script that a command runs, false for none.
	Follow func(name string) ([]byte, bool)

	Found []nic.Writer
	// More says that there are more writers than it keeps.
	More bool

	followed map[string]bool
}

// clip makes foreign text short and safe to print on one line.
func clip(s string) string { return term.Clip(s, 160) }

// at is where text comes from.
type at struct {
	who, file string
	line      int
	// process: the file is the name of a process, which has no lines.
	process bool
	// by is what runs the file; "" for no other file.
	by   string
	idle string
	// match are the ports that an enclosing rule or profile is for; nil is any.
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

// add notes that a field of ports is set. value sets the member of the field; nil is a
// value that is not known.
func (f *Finder) add(a at, ports []string, field string, value func(*nic.Port)) {
	w := nic.Writer{Ports: ports, Field: field}
	if value != nil {
		w.Sets = &nic.Port{}
		value(w.Sets)
	}
	f.note(a, w)
}

// note keeps a writer, once for each place and field.
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

// number adds a field that is a number, unless its text is none: that is a value that is
// not known.
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

// egress adds what is set of the egress map of VLANs: "3:3".
func (f *Finder) egress(a at, vlan string, entries []string, sep string) {
	ports := f.those(func(n NIC) bool { return slices.Contains(n.VLANs, vlan) })
	m := nic.PCPs{-1, -1, -1, -1, -1, -1, -1, -1}
	known := false
	for _, e := range entries {
		from, to, _ := strings.Cut(e, sep)
		prio, err := strconv.Atoi(from)
		pcp, perr := strconv.Atoi(to)
		if err != nil || perr != nil || prio < 0 || prio > 7 || pcp < 0 || pcp > 7 {
			break // what follows is not of the map
		}
		m[prio], known = int8(pcp), true
	}
	if len(ports) == 0 || !known {
		return
	}
	f.note(a, nic.Writer{Ports: ports, Field: nic.FieldEgress, Egress: &m})
}

// named returns the ports of a literal name of a device: of the port, of its RDMA
// device, of its bond.
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

// matches reports whether a list of patterns of shell globs takes one of the names; a
// pattern that begins with ! leaves names out, and alone takes all others.
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
