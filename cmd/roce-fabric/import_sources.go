package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/render/derive"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
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

// sources is all that is imported, and what is known beside it.
type sources struct {
	name    string
	list    []*importSource
	hosts   []derive.Host
	cables  []derive.Cable
	classes map[int]string
	known   *intent.Fabric // the intent of -f; nil without one
	open    *opener
}

// importSources works out what the flags name.
func (a *app) importSources(o importOptions) (*sources, error) {
	s := &sources{name: o.name, classes: map[int]string{}}
	taken := map[string]*importSource{}
	add := func(src *importSource) error {
		if taken[src.name] != nil {
			return usage("switch %q is named twice", src.name)
		}
		taken[src.name] = src
		s.list = append(s.list, src)
		return nil
	}
	if len(a.only) > 0 && a.file == "" {
		return nil, usage("--only picks switches of -f, and there is no -f")
	}
	for _, c := range o.configs {
		src, err := configSource(c)
		if err == nil {
			err = add(src)
		}
		if err != nil {
			return nil, err
		}
	}
	useLab := a.lab != "" && a.file == "" && len(o.devices) == 0 && len(o.configs) == 0
	texts := []string{}
	if len(o.devices) > 0 {
		t, err := deviceIntent(o)
		if err != nil {
			return nil, err
		}
		texts = append(texts, t)
	}
	if useLab {
		t, name, err := a.labIntent()
		if err != nil {
			return nil, err
		}
		texts = append(texts, t)
		if s.name == "" {
			s.name = name
		}
	}
	var switches []*intent.Switch
	for _, t := range texts {
		f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(t), NoClasses: true})
		var faults intent.Errors
		if errors.As(err, &faults) && len(faults) > 0 {
			// Places in a text that nobody wrote help nobody.
			return nil, usageHint(faults[0].Hint, "%s", faults[0].Msg)
		}
		if err != nil {
			return nil, err
		}
		switches = append(switches, f.Switches...)
	}
	if a.file != "" {
		known, err := a.known(s)
		if err != nil {
			return nil, err
		}
		switches = append(switches, known...)
	}
	for _, sw := range switches {
		if src := taken[sw.Name]; src != nil && src.file != "" && src.sw == nil {
			if src.os != "" && src.os != sw.OS {
				return nil, usage("%s has os %s in %s, not %s", sw.Name, sw.OS, sw.Pos, src.os)
			}
			src.sw, src.os = sw, sw.OS
			continue
		}
		if err := add(&importSource{name: sw.Name, os: sw.OS, sw: sw}); err != nil {
			return nil, err
		}
	}
	if len(s.list) == 0 {
		return nil, usageHint("name switches with --device, --config or -f; see roce-fabric import --help", "there is nothing to import")
	}
	if s.name == "" {
		s.name = "imported"
	}
	if err := s.topologies(o.topologies); err != nil {
		return nil, err
	}
	return s, a.reach(s)
}

// reach makes the opener where a switch is to be read itself.
func (a *app) reach(s *sources) error {
	var live []*intent.Switch
	for _, src := range s.list {
		if src.file != "" {
			continue
		}
		if src.sw.Address.V == "" && a.lab == "" {
			return usageHint("state its address, or give its configuration with --config", "%s has no address", src.name)
		}
		live = append(live, src.sw)
	}
	if len(live) == 0 {
		return nil
	}
	o, err := a.opener()
	if err != nil {
		return err
	}
	s.open = o
	a.loud(live)
	return nil
}

// configSource reads NAME=FILE and NAME:OS=FILE.
func configSource(arg string) (*importSource, error) {
	name, file, ok := strings.Cut(arg, "=")
	name, system, stated := strings.Cut(name, ":")
	if !ok || name == "" || file == "" || stated && system == "" {
		return nil, usageHint("write --config leaf1=config_db.json or --config leaf1:OS=running.cfg", "--config %s is not NAME=FILE", arg)
	}
	if _, known := systems.Find(system); stated && !known {
		return nil, usage("--config %s: no system %q; there are %s", arg, system, strings.Join(systems.Names(), ", "))
	}
	return &importSource{name: name, os: system, file: file}, nil
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

// plain takes off what editors and terminals add to a text: a byte order mark
// and carriage returns at the end of lines.
func plain(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

// minimal begins an intent that only names switches.
const minimal = "apiVersion: roce-fabric/v1\nkind: Fabric\nname: imported\n"

// deviceForm is OS://HOST[:PORT].
var deviceForm = regexp.MustCompile(`^([^=]+)=([a-z0-9-]+)://([^/]+)/?$`)

// deviceIntent is the intent that names the switches of --device.
func deviceIntent(o importOptions) (string, error) {
	var b strings.Builder
	b.WriteString(minimal + "switches:\n")
	for _, d := range o.devices {
		m := deviceForm.FindStringSubmatch(d)
		if m == nil {
			// The argument is not repeated: it may hold a password.
			return "", usageHint("write --device leaf1=OS://192.0.2.11:8080; credentials have flags of their own", "--device %s is not NAME=OS://HOST[:PORT]", beforeSecret(d))
		}
		if strings.Contains(m[3], "@") {
			return "", usageHint("use --username and --password", "--device %s holds a user", beforeSecret(d))
		}
		if _, known := systems.Find(m[2]); !known {
			return "", usage("--device %s: no system %q; there are %s", d, m[2], strings.Join(systems.Names(), ", "))
		}
		fmt.Fprintf(&b, "  %s: {os: %s, address: %s}\n", strconv.Quote(m[1]), m[2], strconv.Quote(m[3]))
	}
	b.WriteString("credentials:\n  switches:\n")
	if o.username != "" {
		fmt.Fprintf(&b, "    username: %s\n", strconv.Quote(o.username))
	}
	if o.password != "" {
		fmt.Fprintf(&b, "    password: %s\n", strconv.Quote(o.password))
	}
	if o.ssh {
		b.WriteString("    ssh: {}\n")
	}
	if o.username == "" && o.password == "" && !o.ssh {
		b.WriteString("    tls: {}\n")
	}
	return b.String(), nil
}

// beforeSecret is an argument up to where a URL may hold a password.
func beforeSecret(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		head, _, _ := strings.Cut(s[:i], "//")
		return head + "//..."
	}
	return s
}

// labIntent is the intent that names the switches of a running lab.
func (a *app) labIntent() (text, fabric string, err error) {
	f, err := lab.Read(a.lab)
	if err != nil {
		return "", "", usageHint("start the lab with 'roce-fabric lab up INTENT', or unset ROCE_FABRIC_LAB to talk to real devices", "%w", err)
	}
	var b strings.Builder
	b.WriteString(minimal + "switches:\n")
	for _, n := range natural.Keys(f.Devices) {
		at := f.Devices[n]
		fmt.Fprintf(&b, "  %s: {os: %s, address: %s, access: {ssh: {address: %s}}}\n", strconv.Quote(n), strconv.Quote(at.OS), strconv.Quote(at.GNMI), strconv.Quote(at.SSH))
	}
	return b.String(), f.Fabric, nil
}

// known reads the intent of -f: the switches that are picked of it, and what it
// says of hosts, links and the names of classes.
func (a *app) known(s *sources) ([]*intent.Switch, error) {
	f, err := a.partial()
	if err != nil {
		return nil, err
	}
	switches, err := f.Select(a.only)
	if err != nil {
		return nil, notSelected(err)
	}
	if s.name == "" {
		s.name = f.Name
	}
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
	s.known = f
	return switches, nil
}

func endOf(e intent.Endpoint) derive.End { return derive.End{Device: e.Device, Port: e.Port} }

// topologies reads the files of --topology.
func (s *sources) topologies(files []string) error {
	for _, file := range files {
		text, err := boundedfile.Read(file, topology.MaxBytes)
		if err != nil {
			return usage("--topology: %w", err)
		}
		cables, err := topology.ReadCables(file, text)
		if err != nil {
			return usage("--topology: %w", err)
		}
		for _, c := range cables {
			s.cables = append(s.cables, derive.Cable{A: derive.End(c.A), B: derive.End(c.B)})
		}
	}
	return nil
}

// partial loads the intent of -f, in which classes may be missing.
func (a *app) partial() (*intent.Fabric, error) {
	f, err := intent.Load(a.file, intent.Options{Stdin: a.stdin, Name: a.name, NoClasses: true})
	if err != nil && !errors.As(err, new(intent.Errors)) {
		hint := ""
		if errors.Is(err, fs.ErrNotExist) {
			hint = "-f names an intent with the switches to read"
		}
		return nil, &statusError{exitUsage, err, hint}
	}
	return f, err
}
