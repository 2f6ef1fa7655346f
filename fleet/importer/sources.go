package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet/input"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/render/derive"
	"github.com/roce-fabric/roce-fabric/render/inventory"
)

// Source is one switch to import.
type Source struct {
	Name string
	OS   string // "" to recognise it from the file
	// File holds the switch's configuration. If it is "", the switch itself is read at Address.
	// SSH is a separate address for SSH; "" for the same host.
	File, Address, SSH string
	// More lists further files, each of which adds to the files before it; see readConfig.
	More []string

	sw       *intent.Switch // the switch in an intent or inventory; may be nil
	recorded *inventory.Switch
	planned  bool // the switch is not read
}

// ParseSource parses NAME=FILE or NAME:OS=FILE, which names a saved configuration. It returns
// an [*OptionError] if arg is invalid.
func ParseSource(arg string) (Source, error) {
	name, file, ok := strings.Cut(arg, "=")
	name, system, stated := strings.Cut(name, ":")
	if !ok || name == "" || file == "" || stated && system == "" {
		return Source{}, input.Wrong("", "write --config leaf1=FILE or --config leaf1:OS=FILE", "--config %s is not NAME=FILE", arg)
	}
	if stated {
		if err := knownSystem("config "+arg, system); err != nil {
			return Source{}, err
		}
	}
	return Source{Name: name, OS: system, File: file}, nil
}

// ParseSources parses configs with [ParseSource] and devices with [ParseLive].
func ParseSources(configs, devices []string) (out []Source, err error) {
	read := func(args []string, parse func(string) (Source, error)) {
		for _, arg := range args {
			if err != nil {
				return
			}
			var s Source
			s, err = parse(arg)
			out = append(out, s)
		}
	}
	read(configs, ParseSource)
	read(devices, ParseLive)
	return out, err
}

// ParseLive parses NAME=OS://HOST[:PORT], which names a switch to read. It returns an
// [*OptionError] if arg is invalid; the error repeats no part of arg that may be a password.
func ParseLive(arg string) (Source, error) {
	shown := arg
	if i := strings.LastIndexByte(arg, '@'); i >= 0 {
		head, _, _ := strings.Cut(arg[:i], "//")
		shown = head + "//..."
	}
	m := liveForm.FindStringSubmatch(arg)
	switch {
	case m == nil:
		return Source{}, input.Wrong("", "write --device leaf1=OS://192.0.2.11:8080; credentials have their own flags", "--device %s is not NAME=OS://HOST[:PORT]", shown)
	case strings.Contains(m[3], "@"):
		return Source{}, input.Wrong("", "use --username and --password", "--device %s holds a user", shown)
	}
	return Source{Name: m[1], OS: m[2], Address: m[3]}, knownSystem("device "+arg, m[2])
}

var liveForm = lazyre.New(`^([^=]+)=([a-z0-9-]+)://([^/]+)/?$`)

// knownSystem returns an error unless name is a supported operating system.
func knownSystem(option, name string) error {
	if _, known := systems.All.Find(name); !known {
		return input.Wrong(option, "", "unknown system %q; known are %s", name, strings.Join(systems.All.Names(), ", "))
	}
	return nil
}

// switchOf returns what is known about a switch before it is read.
func (s *Source) switchOf() derive.Switch {
	out := derive.Switch{Name: s.Name, OS: s.OS}
	if s.sw != nil {
		out.OS, out.Role, out.Model, out.Release = s.sw.OS, s.sw.Role, s.sw.Model.V, s.sw.Release.V
		out.Address, out.Access, out.Identity, out.Write = s.sw.Address.V, s.sw.Access, s.sw.Identity, s.sw.Write.V
	}
	return out
}

// SourceOptions name the sources of an import.
type SourceOptions struct {
	// Name is the name of the fabric; "" is the name in Intent, or "imported".
	Name string
	// Switches lists switches to import. Username and Password are references to the
	// credentials of switches without a file. SSH makes the import connect to these switches
	// over SSH as well.
	Switches           []Source
	Username, Password string
	SSH                bool
	// Topologies lists files of links.
	Topologies []string
	// Inventory lists files and folders exported from an inventory, and Map is a file that
	// maps the terms used there. Offline reads no switch: for switches without a file, the
	// import uses the inventory alone.
	Inventory []string
	Map       string
	Offline   bool
	// Intent is the path of an intent with switches, credentials, hosts or links; "" is none.
	// It need not have classes. If it is "-", Stdin is read, and StdinName is the file name in
	// positions; "" is "<stdin>".
	Intent    string
	Stdin     io.Reader
	StdinName string
	// Only selects switches of Intent and of Inventory, by name, ranges, glob, role:NAME or os:NAME;
	// empty selects all of them.
	Only []string
}

// Sources holds the sources of an import, and what is known before they are read.
type Sources struct {
	// Known is the intent that names switches; may be nil.
	Known *intent.Fabric

	name      string
	inventory *inventory.Inventory // may be nil
	list      []*Source
	hosts     []derive.Host
	cables    []derive.Cable
	classes   map[int]string
	lossy     qos.PrioritySet
}

// Live returns the switches that are read directly, not from files.
func (s *Sources) Live() (out []*intent.Switch) {
	for _, src := range s.list {
		if src.File == "" && !src.planned {
			out = append(out, src.sw)
		}
	}
	return out
}

// FindSources determines the sources of an import. It returns an [*OptionError] for an invalid
// source.
func FindSources(ctx context.Context, o SourceOptions) (*Sources, error) {
	s := &Sources{name: o.Name, classes: map[int]string{}}
	taken := map[string]*Source{}
	add := func(src *Source) error {
		if was := taken[src.Name]; was != nil && was.File != "" && src.File != "" && was.sw == nil {
			if was.OS != "" && src.OS != "" && was.OS != src.OS {
				return input.Wrong("", "", "switch %q is %s in one file and %s in another", src.Name, was.OS, src.OS)
			}
			was.OS, was.More = cmp.Or(was.OS, src.OS), append(was.More, src.File)
			return nil
		}
		if taken[src.Name] != nil {
			return input.Wrong("", "", "switch %q is named twice", src.Name)
		}
		taken[src.Name] = src
		s.list = append(s.list, src)
		return nil
	}
	for _, c := range o.Switches {
		if c.File == "" {
			continue
		}
		if err := add(&c); err != nil {
			return nil, err
		}
	}
	switches, err := o.remotes()
	if err != nil {
		return nil, err
	}
	if o.Intent != "" {
		known, err := s.known(ctx, o)
		if err != nil {
			return nil, err
		}
		switches = append(switches, known...)
	}
	told, err := s.readTopologies(o.Topologies)
	if err != nil {
		return nil, err
	}
	inv, err := readInventory(o.Inventory, o.Map)
	if err != nil {
		return nil, err
	}
	if inv != nil {
		listed, err := s.addInventory(o, inv)
		if err != nil {
			return nil, err
		}
		for _, sw := range listed {
			// A file or an address given by the operator takes precedence.
			if src := taken[sw.Name]; src != nil && src.File != "" && src.sw == nil {
				src.sw = sw
				continue
			}
			if !slices.ContainsFunc(switches, func(x *intent.Switch) bool { return x.Name == sw.Name }) {
				switches = append(switches, sw)
			}
		}
	}
	s.cables = append(s.cables, told...)
	for _, sw := range switches {
		if src := taken[sw.Name]; src != nil && src.File != "" && src.sw == nil {
			if src.OS != "" && src.OS != sw.OS {
				return nil, input.Wrong("", "", "%s has os %s in %s, not %s", sw.Name, sw.OS, sw.Pos, src.OS)
			}
			src.sw, src.OS = sw, sw.OS
			continue
		}
		if err := add(&Source{Name: sw.Name, OS: sw.OS, sw: sw}); err != nil {
			return nil, err
		}
	}
	if len(s.list) == 0 {
		return nil, input.Wrong("", "name switches with --device, --config, --inventory or -f; see roce-fabric import --help", "there is nothing to import")
	}
	s.name = cmp.Or(s.name, "imported")
	s.assignRecords(o.Offline)
	return s, nil
}

// readTopologies adds the links of topology files, except those that devices reported by
// LLDP. It returns the latter, because they rank after the links of an inventory.
func (s *Sources) readTopologies(files []string) (told []derive.Cable, err error) {
	for _, file := range files {
		cables, err := input.Cables(file)
		if err != nil {
			return nil, err
		}
		for _, c := range cables {
			cable := derive.Cable{A: derive.End(c.A), B: derive.End(c.B)}
			if c.Told {
				cable.LLDP = c.A.Device
				told = append(told, cable)
			} else {
				s.cables = append(s.cables, cable)
			}
		}
	}
	return told, nil
}

// remotes returns the switches without a file, parsed like the switches of an intent.
func (o *SourceOptions) remotes() ([]*intent.Switch, error) {
	var b strings.Builder
	const head = "apiVersion: roce-fabric/v1\nkind: Fabric\nname: imported\nswitches:\n"
	b.WriteString(head)
	for _, d := range o.Switches {
		if d.File != "" {
			continue
		}
		access := ""
		if d.SSH != "" {
			access = fmt.Sprintf(", access: {ssh: {address: %s}}", strconv.Quote(d.SSH))
		}
		fmt.Fprintf(&b, "  %s: {os: %s, address: %s%s}\n", strconv.Quote(d.Name), strconv.Quote(d.OS), strconv.Quote(d.Address), access)
	}
	if b.Len() == len(head) {
		return nil, nil
	}
	o.credentials(&b)
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(b.String()), NoClasses: true})
	if faults := (intent.Errors)(nil); errors.As(err, &faults) && len(faults) > 0 {
		// Omit the position: it is in generated text that the user has not seen.
		return nil, input.Wrong("", faults[0].Hint, "%s", faults[0].Msg)
	}
	if err != nil {
		return nil, err
	}
	return f.Switches, nil
}

// credentials writes the credentials of the switches without a file, as YAML of an intent.
func (o *SourceOptions) credentials(b *strings.Builder) {
	b.WriteString("credentials:\n  switches:\n    tls: {}\n")
	if o.Username != "" {
		fmt.Fprintf(b, "    username: %s\n", strconv.Quote(o.Username))
	}
	if o.Password != "" {
		fmt.Fprintf(b, "    password: %s\n", strconv.Quote(o.Password))
	}
	if o.SSH {
		b.WriteString("    ssh: {}\n")
	}
}

// known reads the intent o.Intent and returns its selected switches. It adds the hosts, links
// and class names of the intent to s.
func (s *Sources) known(ctx context.Context, o SourceOptions) ([]*intent.Switch, error) {
	f, err := input.Intent(ctx, o.Intent, intent.Options{Stdin: o.Stdin, Name: o.StdinName, NoClasses: true})
	if err != nil {
		return nil, err
	}
	switches, err := f.Select(o.Only)
	if err != nil && len(o.Inventory) == 0 {
		return nil, input.NotSelected(err)
	}
	s.name = cmp.Or(s.name, f.Name)
	for _, h := range f.Hosts {
		host := derive.Host{Name: h.Name, Address: h.Address.V, Access: h.Access, Identity: h.Identity, PauseResponse: h.PauseResponse.V, Bonds: h.Bonds, VLANs: h.VLANs}
		for _, n := range h.NICs {
			rdma, dpu := n.RDMA.V, ""
			if n.NoRDMA.V {
				rdma = intent.NoDevice
			}
			if n.DPU.V != (intent.Endpoint{}) {
				dpu = n.DPU.V.String()
			}
			host.NICs = append(host.NICs, derive.NIC{Name: n.Name, Select: n.Select.V, VFs: n.VFs, SFs: n.SFs.V, DPU: dpu, RDMA: rdma, RXRing: n.RXRing.V, TXRing: n.TXRing.V,
				Buffers: n.Buffers.V, Willing: n.Willing.V, StallPrevention: n.StallPrevention.V, Card: n.CardLine})
		}
		s.hosts = append(s.hosts, host)
	}
	picked := func(e intent.Endpoint) bool {
		return f.Switch(e.Device) == nil || slices.ContainsFunc(switches, func(sw *intent.Switch) bool { return sw.Name == e.Device })
	}
	for _, l := range f.Links {
		if picked(l.A) && picked(l.B) {
			s.cables = append(s.cables, derive.Cable{A: endOf(l.A), B: endOf(l.B), Length: l.Cable.V, Speed: l.Speed.V})
		}
	}
	for _, c := range f.Settings.Classes {
		s.classes[c.Priority.V] = c.Name
		if c.Mode.V == intent.ModeLossy {
			s.lossy |= qos.Priorities(c.Priority.V)
		}
	}
	s.Known = f
	return switches, nil
}

func endOf(e intent.Endpoint) derive.End { return derive.End{Device: e.Device, Port: e.Port} }
