package fleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/render/derive"
	"github.com/roce-fabric/roce-fabric/validate/topology"
)

// importSource is one switch to import: a file, or the switch itself, or both
// where an intent says more of it than its file does.
type importSource struct {
	name string
	os   string // "" where the file is to tell
	file string // "" for the switch itself
	sw   *intent.Switch
}

// switchOf is what is known of a switch before it is read.
func (s *importSource) switchOf() derive.Switch {
	out := derive.Switch{Name: s.name, OS: s.os}
	if s.sw != nil {
		out.OS, out.Role, out.Model, out.Release = s.sw.OS, s.sw.Role, s.sw.Model.V, s.sw.Release.V
		out.Address, out.Access = s.sw.Address.V, s.sw.Access
	}
	return out
}

// SourceOptions name what is imported.
type SourceOptions struct {
	// Name is that of the fabric; "" is the name in Intent, or "imported".
	Name string
	// Devices are switches to read, Username and Password references to how they are
	// logged in to. SSH has them reached over SSH as well.
	Devices            []Remote
	Username, Password string
	SSH                bool
	// Configs are switches to read from files.
	Configs []SavedSwitch
	// Topologies are files of links.
	Topologies []string
	// Intent is the path of an intent, in which classes may be missing, with switches,
	// credentials, hosts or links; "" is none. Stdin and Place are Stdin and Name of
	// [LoadOptions]. Only picks switches of it.
	Intent string
	Stdin  io.Reader
	Place  string
	Only   []string
}

// Remote is a switch to read.
type Remote struct {
	Name, OS, Address string
	SSH               string // an address of its own, "" for none
}

// SavedSwitch is a switch to read from a file; OS is "" where its text tells.
type SavedSwitch struct{ Name, OS, File string }

// Sources is all that is imported, and what is known of it before it is read.
type Sources struct {
	// Known is the intent that names switches; nil without one.
	Known *intent.Fabric

	name    string
	list    []*importSource
	hosts   []derive.Host
	cables  []derive.Cable
	classes map[int]string
}

// Live returns the switches that are read themselves.
func (s *Sources) Live() (out []*intent.Switch) {
	for _, src := range s.list {
		if src.file == "" {
			out = append(out, src.sw)
		}
	}
	return out
}

func wrong(option, hint, format string, a ...any) error {
	return &OptionError{Option: option, Err: fmt.Errorf(format, a...), Advice: hint}
}

// FindSources works out what is imported. What cannot be is an [*OptionError].
func FindSources(ctx context.Context, o SourceOptions) (*Sources, error) {
	s := &Sources{name: o.Name, classes: map[int]string{}}
	taken := map[string]*importSource{}
	add := func(src *importSource) error {
		if taken[src.name] != nil {
			return wrong("", "", "switch %q is named twice", src.name)
		}
		taken[src.name] = src
		s.list = append(s.list, src)
		return nil
	}
	for _, c := range o.Configs {
		if err := add(&importSource{name: c.Name, os: c.OS, file: c.File}); err != nil {
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
	for _, sw := range switches {
		if src := taken[sw.Name]; src != nil && src.file != "" && src.sw == nil {
			if src.os != "" && src.os != sw.OS {
				return nil, wrong("", "", "%s has os %s in %s, not %s", sw.Name, sw.OS, sw.Pos, src.os)
			}
			src.sw, src.os = sw, sw.OS
			continue
		}
		if err := add(&importSource{name: sw.Name, os: sw.OS, sw: sw}); err != nil {
			return nil, err
		}
	}
	if len(s.list) == 0 {
		return nil, wrong("", "name switches with --device, --config or -f; see roce-fabric import --help", "there is nothing to import")
	}
	s.name = cmp.Or(s.name, "imported")
	for _, file := range o.Topologies {
		cables, err := readCables(file, topology.MaxBytes)
		if err != nil {
			return nil, err
		}
		for _, c := range cables {
			s.cables = append(s.cables, derive.Cable{A: derive.End(c.A), B: derive.End(c.B)})
		}
	}
	return s, nil
}

// remotes are the switches of Devices, as an intent names them.
func (o *SourceOptions) remotes() ([]*intent.Switch, error) {
	if len(o.Devices) == 0 {
		return nil, nil
	}
	var b strings.Builder
	b.WriteString("apiVersion: roce-fabric/v1\nkind: Fabric\nname: imported\nswitches:\n")
	for _, d := range o.Devices {
		access := ""
		if d.SSH != "" {
			access = fmt.Sprintf(", access: {ssh: {address: %s}}", strconv.Quote(d.SSH))
		}
		fmt.Fprintf(&b, "  %s: {os: %s, address: %s%s}\n", strconv.Quote(d.Name), strconv.Quote(d.OS), strconv.Quote(d.Address), access)
	}
	b.WriteString("credentials:\n  switches:\n    tls: {}\n")
	if o.Username != "" {
		fmt.Fprintf(&b, "    username: %s\n", strconv.Quote(o.Username))
	}
	if o.Password != "" {
		fmt.Fprintf(&b, "    password: %s\n", strconv.Quote(o.Password))
	}
	if o.SSH {
		b.WriteString("    ssh: {}\n")
	}
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(b.String()), NoClasses: true})
	if faults := (intent.Errors)(nil); errors.As(err, &faults) && len(faults) > 0 {
		// Places in a text that nobody wrote help nobody.
		return nil, wrong("", faults[0].Hint, "%s", faults[0].Msg)
	}
	if err != nil {
		return nil, err
	}
	return f.Switches, nil
}

func readSaved(path string) ([]byte, error) {
	text, err := boundedfile.Read(path, maxConfig)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	text = plain(text)
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return text, nil
}

// known reads the intent that names switches: those that are picked of it, and what
// it says of hosts, links and the names of classes.
func (s *Sources) known(ctx context.Context, o SourceOptions) ([]*intent.Switch, error) {
	f, err := readIntent(ctx, o.Intent, intent.Options{Stdin: o.Stdin, Name: o.Place, NoClasses: true})
	if err != nil {
		return nil, err
	}
	switches, err := f.Select(o.Only)
	if err != nil {
		return nil, notSelected(err)
	}
	s.name = cmp.Or(s.name, f.Name)
	for _, h := range f.Hosts {
		host := derive.Host{Name: h.Name, Address: h.Address.V, Access: h.Access, PauseResponse: h.PauseResponse.V}
		for _, n := range h.NICs {
			host.NICs = append(host.NICs, derive.NIC{Name: n.Name, RDMA: n.RDMA.V, RXRing: n.RXRing.V, TXRing: n.TXRing.V})
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
	}
	s.Known = f
	return switches, nil
}

func endOf(e intent.Endpoint) derive.End { return derive.End{Device: e.Device, Port: e.Port} }
