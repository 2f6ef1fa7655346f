package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet/input"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/derive"
	"github.com/roce-fabric/roce-fabric/render/inventory"
)

// Limits: the size of the --map file in bytes, and the number of files in a folder of an
// inventory.
const (
	maxMapping = 1 << 20
	maxFiles   = 10_000
)

// readInventory reads the files and folders of an inventory and its mapping file; it returns
// nil if paths is empty.
func readInventory(paths []string, mapping string) (*inventory.Inventory, error) {
	if len(paths) == 0 {
		if mapping != "" {
			return nil, input.Wrong("map", "", "it needs --inventory")
		}
		return nil, nil
	}
	wrong := func(option string, err error) error {
		advice := hint.Of(err)
		if e := (*yaml.Error)(nil); errors.As(err, &e) {
			advice = e.Hint
		}
		return &input.OptionError{Option: option, Err: err, Advice: advice}
	}
	var m *inventory.Mapping
	if mapping != "" {
		text, err := boundedfile.Read(mapping, maxMapping)
		if err == nil {
			m, err = inventory.ReadMapping(mapping, text)
		}
		if err != nil {
			return nil, wrong("map", err)
		}
	}
	files, err := inventoryFiles(paths)
	if err != nil {
		return nil, wrong("inventory", err)
	}
	r := inventory.NewReader()
	for _, f := range files {
		text, err := boundedfile.Read(f, inventory.MaxFile)
		if err == nil {
			err = r.Add(f, text)
		}
		if err != nil {
			return nil, wrong("inventory", err)
		}
	}
	inv, err := r.Finish(m)
	if err != nil {
		return nil, wrong("inventory", err)
	}
	return inv, nil
}

// inventoryFiles returns the files in paths and the JSON and YAML files in its folders, in
// order.
func inventoryFiles(paths []string) (out []string, err error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			out = append(out, p)
			continue
		}
		n := len(out)
		err = filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if ext := filepath.Ext(path); d.Type().IsRegular() && slices.Contains([]string{".json", ".yml", ".yaml"}, ext) {
				out = append(out, path)
			}
			if len(out) > maxFiles {
				return fmt.Errorf("%s has more than %d files", p, maxFiles)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(out) == n {
			return nil, fmt.Errorf("%s contains no .json, .yml or .yaml file", p)
		}
	}
	return out, nil
}

// addInventory adds the hosts and cables of an inventory, and returns its selected switches that
// are not in the intent given with -f.
func (s *Sources) addInventory(o SourceOptions, inv *inventory.Inventory) ([]*intent.Switch, error) {
	s.inventory = inv
	var b strings.Builder
	head := "apiVersion: roce-fabric/v1\nkind: Fabric\nname: imported\nswitches:\n"
	b.WriteString(head)
	for i := range inv.Switches {
		sw := &inv.Switches[i]
		if s.Known != nil && s.Known.Switch(sw.Name) != nil {
			continue
		}
		fmt.Fprintf(&b, "  %s: {os: %s", strconv.Quote(sw.Name), sw.OS)
		for _, p := range [][2]string{{"role", sw.Role}, {"address", sw.Address}} {
			if p[1] != "" {
				fmt.Fprintf(&b, ", %s: %s", p[0], strconv.Quote(p[1]))
			}
		}
		b.WriteString("}\n")
	}
	var list []*intent.Switch
	if b.Len() > len(head) {
		o.credentials(&b)
		f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(b.String()), NoClasses: true})
		if faults := (intent.Errors)(nil); errors.As(err, &faults) && len(faults) > 0 {
			return nil, input.Wrong("inventory", faults[0].Hint, "%s", faults[0].Msg)
		}
		if err != nil {
			return nil, err
		}
		if list, err = f.Select(o.Only); err != nil && s.Known == nil {
			return nil, input.NotSelected(err)
		}
	}
	left := map[string]bool{} // switches that --only excludes
	for _, sw := range inv.Switches {
		left[sw.Name] = s.Known == nil || s.Known.Switch(sw.Name) == nil
	}
	for _, sw := range list {
		left[sw.Name] = false
	}
	for _, c := range inv.Cables {
		if !left[c.A.Device] && !left[c.B.Device] {
			s.cables = append(s.cables, c)
		}
	}
	known := map[string]bool{}
	for _, h := range s.hosts {
		known[h.Name] = true
	}
	for _, h := range inv.Hosts {
		if !known[h.Name] {
			s.hosts = append(s.hosts, h)
		}
	}
	return list, nil
}

// assignRecords assigns each source its switch in the inventory. With offline, a switch without
// a file is not read.
func (s *Sources) assignRecords(offline bool) {
	by := map[string]*inventory.Switch{}
	if s.inventory != nil {
		for i := range s.inventory.Switches {
			sw := &s.inventory.Switches[i]
			by[strings.ToLower(sw.Name)] = sw
		}
	}
	for _, src := range s.list {
		src.recorded = by[strings.ToLower(src.Name)]
		src.planned = offline && src.File == ""
	}
}

// plan returns what is known about a switch that is not read: its ports, from the inventory or
// from the catalogue of models.
func (s *Source) plan() *qos.Device {
	d := &qos.Device{Name: s.Name, Ports: map[string]*qos.Port{}}
	if s.recorded != nil {
		for _, p := range s.recorded.Ports {
			port := &qos.Port{}
			if p.Speed > 0 {
				port.Speed = qos.Of(p.Speed)
			}
			if p.LAG != "" {
				port.LAG = qos.Of(p.LAG)
			}
			d.Ports[p.Name] = port
		}
		return d
	}
	if m, ok := catalog.ModelOf(s.sw.OS, s.sw.Model.V); ok {
		for _, p := range m.Ports {
			d.Ports[p.Name] = &qos.Port{Speed: qos.Of(p.Speed)}
		}
	}
	return d
}

// compare returns where a switch contradicts its entry in the inventory. It also sets the
// model from the inventory if the switch does not report one.
func (s *Source) compare(sw *derive.Switch) (out []derive.Contradiction) {
	r, hostname := s.recorded, sw.Running.Name
	if r == nil {
		return nil
	}
	defer func() { sw.Model = cmp.Or(sw.Model, r.Model) }()
	if s.planned {
		return nil
	}
	source := cmp.Or(s.File, "the switch at "+sw.Address)
	add := func(recorded, found, intent string) {
		out = append(out, derive.Contradiction{Where: s.Name, Recorded: recorded, Place: r.Place, Found: found, Source: source, Intent: intent})
	}
	if r.OS != sw.OS {
		add("system "+r.OS, "system "+sw.OS, sw.OS)
	} else if r.Recorded != "" && sw.Model != "" && r.Model != sw.Model && !inventory.Fits(r.Recorded, sw.Model) {
		add("model "+r.Recorded, "model "+sw.Model, sw.Model)
	}
	if short, _, _ := strings.Cut(hostname, "."); hostname != "" && !strings.EqualFold(hostname, s.Name) && !strings.EqualFold(short, s.Name) {
		if own, _, _ := strings.Cut(s.Name, "."); !strings.EqualFold(short, own) {
			add("the name "+r.Name, "hostname "+hostname, r.Name)
		}
	}
	return out
}

// addInventoryNotes adds the notes of the inventory to the result.
func (s *Sources) addInventoryNotes(res *derive.Result) {
	if s.inventory == nil {
		return
	}
	assumed, left := slices.Clone(s.inventory.Assumed), slices.Clone(s.inventory.LeftOut)
	var taken, doubts ordered.Groups[string, string]
	for _, src := range s.list {
		r, sw := src.recorded, res.Fabric.Switch(src.Name)
		if r == nil || sw == nil || sw.Model.V != "" && sw.Model.V != r.Model {
			continue // the switch itself reports its model
		}
		if r.Taken != "" {
			taken.Add(r.Taken, src.Name)
		}
		if r.Doubt != "" {
			doubts.Add(r.Doubt, src.Name)
		}
	}
	for what, names := range taken.All() {
		assumed = append(assumed, derive.Note{Where: natural.Fold(names), What: what})
	}
	for what, names := range doubts.All() {
		left = append(left, derive.Note{Where: natural.Fold(names), What: what})
	}
	res.Assumed, res.LeftOut = append(assumed, res.Assumed...), append(left, res.LeftOut...)
}

// reachable returns an error if switches that are to be read have no address, or come from the
// inventory and have no credentials. Switches that are located otherwise need neither.
func (s *Sources) reachable(located bool) error {
	var lost, anonymous []string
	for _, src := range s.list {
		switch {
		case src.File != "" || src.planned || located:
		case src.sw.Address.V == "":
			lost = append(lost, src.Name)
		case src.recorded != nil && src.sw.Access.Username.V == "" && (s.Known == nil || s.Known.Switch(src.Name) == nil):
			anonymous = append(anonymous, src.Name)
		}
	}
	offline := ""
	if s.inventory != nil {
		offline = ", or take what the inventory says alone with --offline"
	}
	switch {
	case len(lost) == 1:
		return input.Wrong("", "state its address, or give its configuration with --config"+offline, "%s has no address", lost[0])
	case len(lost) > 1:
		return input.Wrong("", "state their addresses, give their configurations with --config, leave them out with --only '!NAME'"+offline, "%s have no address: %s",
			words.Plural(len(lost), "switch", "switches"), words.Some(lost, 8))
	case len(anonymous) > 0:
		return input.Wrong("", "add --username env:NAME --password env:NAME, give configurations with --config"+offline, "no credentials for %s of the inventory",
			words.Plural(len(anonymous), "switch", "switches"))
	}
	return nil
}
