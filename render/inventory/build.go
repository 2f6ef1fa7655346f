package inventory

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/derive"
)

var roleText = lazyre.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// builder resolves the contents of the files.
type builder struct {
	*store
	mapping    *Mapping
	out        *Inventory
	byID       map[string]*device
	byName     map[string]*device
	portByID   map[string]*port // by kind and ID
	portByName map[portName]*port
	children   map[string][]*port           // by the ID of the parent port
	fronts     map[rearPosition]*port       // by the rear port behind them
	cabled     map[*port][]*cable           // cables that end at the port
	candidates map[modelKey][]string        // of the catalogue
	used       map[*device]map[string]*port // ports with a cable, by name
	assumed    ordered.Groups[string, string]
	left       ordered.Groups[note, string]
	swapped    map[*port]swap
	guessed    map[*cable]bool
	linked     map[*port]bool
	// cabledDevice holds the devices with a data cable.
	cabledDevice map[*device]bool
}

type portName struct {
	d    *device
	name string
}

type rearPosition struct {
	rear string
	n    int
}

type note struct{ device, what string }

// Finish resolves everything that was added. mapping may be nil. Errors are of type [*Error].
func (r *Reader) Finish(mapping *Mapping) (*Inventory, error) {
	if err := r.incomplete(); err != nil {
		return nil, err
	}
	if mapping == nil {
		mapping = &Mapping{}
	}
	r.addPeers()
	b := &builder{store: &r.store, mapping: mapping, out: &Inventory{Recorded: map[string]string{}, Unclear: map[string]bool{}},
		byID: map[string]*device{}, byName: map[string]*device{}, portByID: map[string]*port{}, portByName: map[portName]*port{}, children: map[string][]*port{},
		fronts: map[rearPosition]*port{}, cabled: map[*port][]*cable{}, candidates: map[modelKey][]string{}, used: map[*device]map[string]*port{},
		swapped: map[*port]swap{}, guessed: map[*cable]bool{}, linked: map[*port]bool{}, cabledDevice: map[*device]bool{}}
	if len(r.devices) == 0 {
		return nil, faultf(place{file: "the inventory"}, "export /api/dcim/devices/ as well", "no file holds devices")
	}
	if err := b.nameDevices(); err != nil {
		return nil, err
	}
	for _, d := range b.devices {
		if d.name != "" {
			b.classify(d)
		}
	}
	b.index()
	b.links()
	b.devicesOut()
	b.notes()
	return b.out, nil
}

// assume records an assumption about a device.
func (b *builder) assume(device, what string) { b.assumed.Add(what, device) }

// leave records a part of a device, or of one of its ports, that is not imported.
func (b *builder) leave(device, port, what string) { b.left.Add(note{device, what}, port) }

func (b *builder) notes() {
	for what, devices := range b.assumed.All() {
		b.out.Assumed = append(b.out.Assumed, derive.Note{Where: shown(devices), What: what})
	}
	type key struct{ ports, what string }
	var devices ordered.Groups[key, string]
	for n, ports := range b.left.All() {
		devices.Add(key{shown(ports), n.what}, n.device)
	}
	for k, ds := range devices.All() {
		b.out.LeftOut = append(b.out.LeftOut, derive.Note{Where: strings.TrimSpace(shown(ds) + " " + k.ports), What: k.what})
	}
}

// shown folds names into ranges and shortens long lists.
func shown(names []string) string {
	names = slices.Compact(natural.Sorted(slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" })))
	const most = 120
	s := natural.Fold(names)
	if len(s) <= most {
		return s
	}
	return some(names)
}

func some(names []string) string { return words.Some(names, 6) }

func itoa(n int) string { return strconv.Itoa(n) }

// nameDevices gives each device its name in the intent.
func (b *builder) nameDevices() error {
	taken := map[string]*device{}
	for _, d := range b.devices {
		if d.id != "" {
			b.byID[d.id] = d
		}
		if d.name == "" {
			b.leave("the device at "+d.place.String(), "", "it has no name")
			continue
		}
		d.imported = d.name
		if !intent.IsName(d.name) {
			d.imported = strings.Trim(strings.Join(strings.FieldsFunc(d.name, func(r rune) bool {
				return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-')
			}), "-"), "-._")
			d.imported = strings.Trim(d.imported[:min(len(d.imported), 63)], "-._")
			if !intent.IsName(d.imported) {
				b.leave("the device at "+d.place.String(), "", "an intent cannot have its name: "+strconv.Quote(cut(d.name)))
				d.name = ""
				continue
			}
			b.assume(d.imported, "its name in the inventory is "+strconv.Quote(cut(d.name)))
		}
		key := strings.ToLower(d.imported)
		if other := taken[key]; other != nil && (d.id == "" || d.id != other.id) {
			return faultf(d.place, "filter the export by site, or rename one", "a second device %s; the first is at %s", d.imported, other.place)
		}
		taken[key] = d
		b.byName[strings.ToLower(d.name)] = d
		b.out.Recorded[key] = d.place.String()
	}
	return nil
}

func cut(s string) string { return s[:min(len(s), 80)] }

// index builds the lookup tables for ports and cables.
func (b *builder) index() {
	for _, p := range b.ports {
		p.device = b.deviceOf(p.devID, p.devName)
		if p.id != "" {
			b.portByID[p.kind+p.id] = p
		}
		if p.device != nil {
			b.portByName[portName{p.device, p.kind + p.name}] = p
		}
		if p.device != nil && p.kind == kindInterface && !p.mgmt && len(p.connected) > 0 {
			b.cabledDevice[p.device] = true
		}
		if p.parent.ID != "" {
			b.children[p.parent.ID] = append(b.children[p.parent.ID], p)
		}
		if p.kind == kindFront && p.rear != "" {
			b.fronts[rearPosition{p.rear, p.position}] = p
		}
	}
	for _, c := range b.cables {
		for i, side := range [][]ref{c.a, c.b} {
			for _, r := range side {
				p := b.portOf(r)
				c.ports[i] = append(c.ports[i], p)
				if p != nil {
					b.cabledDevice[p.device] = b.cabledDevice[p.device] || p.kind == kindInterface && !p.mgmt
					b.cabled[p] = append(b.cabled[p], c)
				}
			}
		}
	}
}

func (b *builder) deviceOf(id, name string) *device {
	if d := b.byID[id]; d != nil && id != "" {
		return d
	}
	return b.byName[strings.ToLower(name)]
}

// portOf returns the port that a reference means. If the files do not contain the port, it is
// created from the device and port name in the reference. The result is nil for objects that are
// not network ports, and for a bare ID that no file defines.
func (b *builder) portOf(r ref) *port {
	kind := r.Kind
	switch kind {
	case kindInterface, kindFront, kindRear:
		if p := b.portByID[kind+r.ID]; p != nil && r.ID != "" && p.device != nil {
			return p
		}
	case "":
		for _, k := range []string{kindInterface, kindFront, kindRear} {
			if p := b.portByID[k+r.ID]; p != nil && r.ID != "" && p.device != nil {
				return p
			}
		}
		kind = kindInterface
	default:
		return nil
	}
	if r.Device == nil {
		return nil
	}
	d := b.deviceOf(r.Device.ID, r.Device.title())
	name := cmp.Or(r.Name, r.Display)
	if d == nil || name == "" {
		return nil
	}
	if p := b.portByName[portName{d, kind + name}]; p != nil {
		return p
	}
	p := &port{kind: kind, id: r.ID, name: name, device: d, place: d.place}
	b.portByName[portName{d, kind + name}] = p
	if p.id != "" {
		b.portByID[kind+p.id] = p
	}
	return p
}

// devicesOut adds the switches and hosts to the result.
func (b *builder) devicesOut() {
	for _, d := range b.devices {
		switch {
		case d.name == "":
		case d.switchOS != "":
			s := Switch{Name: d.imported, OS: d.switchOS, Role: d.roleName, Model: d.model, Recorded: cmp.Or(d.typ.Model, d.typ.title()), Taken: d.taken, Doubt: d.doubt, Address: b.address(d), Place: d.place.String(), Ports: b.switchPorts(d)}
			b.out.Switches = append(b.out.Switches, s)
		case d.host:
			if len(b.used[d]) > 0 {
				b.out.Hosts = append(b.out.Hosts, derive.Host{Name: d.imported, Address: b.address(d), Bonds: b.bonds(d)})
			}
		case d.why != "" && b.cabledDevice[d]:
			b.leave(d.imported, "", d.why)
		}
	}
}

// address returns the management address of a device, without the prefix length. A member of a
// virtual chassis without its own address gets none: the address of the master reaches only the
// master.
func (b *builder) address(d *device) string {
	for _, r := range d.addresses {
		r = b.resolve(r)
		for _, s := range []string{r.Address, r.Display, r.Name} {
			host, _, _ := strings.Cut(s, "/")
			if a, err := netip.ParseAddr(host); err == nil {
				return a.String()
			}
		}
	}
	if vc := b.resolve(d.vc); !vc.empty() {
		b.leave(d.imported, "", "no address: it is a member of virtual chassis "+cmp.Or(vc.title(), vc.ID)+", and each member is read by itself")
	}
	return ""
}

// switchPorts returns the ports of the model and those that cables name.
func (b *builder) switchPorts(d *device) []Port {
	var out []Port
	at := map[string]int{}
	add := func(name string, speed units.Rate) {
		at[name] = len(out)
		out = append(out, Port{Name: name, Speed: speed})
	}
	alias := map[string]string{}
	if m, ok := catalog.ModelOf(d.switchOS, d.model); ok {
		for _, p := range m.Ports {
			add(p.Name, p.Speed)
			if p.Alias != "" {
				alias[p.Alias] = p.Name
			}
		}
	}
	system := intent.SystemOf(d.switchOS)
	for _, name := range natural.Keys(b.used[d]) {
		p := b.used[d][name]
		n, known := name, false
		for _, try := range []string{name, alias[name], alias[aliasOf(system, name)], system.PortName(name)} {
			if _, ok := at[try]; ok && try != "" {
				n, known = try, true
				break
			}
		}
		if !known {
			if n = system.PortName(name); n == "" {
				continue // derive reports that the switch has no such port
			}
			add(n, 0)
		}
		if s := cmp.Or(p.speed, p.usual); s > 0 {
			out[at[n]].Speed = s
		}
		out[at[n]].LAG = b.lagOf(p)
	}
	return out
}

// aliasOf returns the alias of a port with Linux's name; "" if the system has none.
func aliasOf(s intent.System, name string) string {
	if s.PortAlias == nil {
		return ""
	}
	return s.PortAlias(name)
}

// lagOf returns the name of the port channel or bond of a port; "" if there is none.
func (b *builder) lagOf(p *port) string {
	if p.lag.Name != "" {
		return p.lag.Name
	}
	if l := b.portByID[kindInterface+p.lag.ID]; l != nil && p.lag.ID != "" {
		return l.name
	}
	return ""
}

// bonds returns the bonds of a host; their members are the ports with a cable.
func (b *builder) bonds(d *device) []intent.Bond {
	var by ordered.Groups[string, string]
	for _, name := range natural.Keys(b.used[d]) {
		if lag := b.lagOf(b.used[d][name]); lag != "" {
			by.Add(lag, name)
		}
	}
	var out []intent.Bond
	for lag, members := range by.All() {
		if !nicText.MatchString(lag) || slices.ContainsFunc(members, func(m string) bool { return !nicText.MatchString(m) }) {
			continue
		}
		out = append(out, intent.Bond{Name: lag, Members: intent.Value[[]string]{V: members}})
	}
	return out
}

var nicText = lazyre.New(`^[A-Za-z0-9_.:@-]{1,15}$`)
