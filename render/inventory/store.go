package inventory

import (
	"cmp"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// store holds the contents of the files before references are resolved: an object may refer to one
// in a later file.
type store struct {
	devices []*device
	ports   []*port
	cables  []*cable
	// named holds objects that others may refer to by UUID only.
	named map[string]ref
	last  string // kind of the last object
	taken int
}

func (s *store) total() int { return s.taken }

// device is a device of the inventory.
type device struct {
	id, name, display               string
	typ, role, platform, status, vc ref
	driver                          string
	addresses                       []ref // the management address first
	place                           place

	// The result of classify.
	switchOS, roleName, model, why string
	taken, doubt                   string // about its model
	host, skip                     bool
	imported                       string // its name in the intent
}

// port is an interface, or a port of a patch panel.
type port struct {
	kind, id, name string
	devID, devName string
	parent, lag    ref
	speed          units.Rate // as stated
	usual          units.Rate // of its type
	mgmt, virtual  bool
	rear           string // for a front port: the ID of the rear port behind it
	position       int
	mapped         int // for a front port: its number of positions
	connected      []ref
	place          place

	device *device
}

// cable is a cable with the ends that the inventory gives it.
type cable struct {
	a, b    []ref
	length  units.Length
	profile string
	place   place

	ports [2][]*port // the resolved ends; nil for ends that are not imported
	dead  string     // the reason why it is not followed
}

// add stores an object.
func (s *store) add(o *object, at place, hint string) {
	kind := o.kind(hint)
	s.last = kind
	s.taken++
	switch kind {
	case kindDevice:
		s.addDevice(o, at)
	case kindInterface, kindFront, kindRear:
		s.addPort(o, kind, "", "", at)
	case kindCable:
		c := &cable{a: ends(o.ATerminations, o.TermA, o.TermAType, o.TermAID), b: ends(o.BTerminations, o.TermB, o.TermBType, o.TermBID),
			length: o.length(), profile: o.Profile.choice(), place: at}
		if o.Status.choice() != "decommissioning" {
			s.cables = append(s.cables, c)
		}
	}
	if id := string(o.ID); uuid.MatchString(id) {
		s.named[id] = ref{ID: id, Name: string(o.Name), Slug: string(o.Slug), Display: string(o.Display), Model: string(o.Model), PartNumber: string(o.PartNumber),
			Address: first(o.Address, o.Host), Driver: string(o.Driver), Manufacturer: &o.Manufacturer, Master: &o.Master}
	}
}

func (s *store) addDevice(o *object, at place) {
	d := &device{id: string(o.ID), name: string(o.Name), display: string(o.Display), role: o.Role, platform: o.Platform, status: o.Status, vc: o.VirtualChassis,
		addresses: []ref{o.PrimaryIP, o.PrimaryIP4, o.PrimaryIP6, o.OOBIP}, place: at}
	if o.DeviceType != nil {
		d.typ = *o.DeviceType
	}
	if d.role.empty() {
		d.role = o.DeviceRole
	}
	s.devices = append(s.devices, d)
	for _, nested := range []struct {
		kind  string
		ports many
	}{{kindInterface, o.Interfaces}, {kindFront, o.FrontPortsOf}, {kindRear, o.RearPortsOf}} {
		for i := range nested.ports {
			in := at
			in.list, in.i = at.list+"["+itoa(at.i)+"] "+nested.kind, i
			s.addPort(&nested.ports[i], nested.kind, d.id, d.name, in)
		}
	}
}

func (s *store) addPort(o *object, kind, devID, devName string, at place) {
	p := &port{kind: kind, id: string(o.ID), name: string(o.Name), devID: cmp.Or(o.Device.ID, devID), devName: cmp.Or(o.Device.title(), devName),
		parent: o.Parent, lag: o.LAG, mgmt: bool(o.MgmtOnly), place: at}
	if p.parent.empty() {
		p.parent = o.ParentInterface
	}
	if o.Speed > 0 && o.Speed < 1e12 {
		p.speed = units.Rate(o.Speed) * 1000
	}
	typ := o.Type.choice()
	p.virtual = typ == "virtual" || typ == "lag" || typ == "bridge"
	p.usual = speedOfType(typ)
	switch kind {
	case kindFront:
		p.position, p.mapped = max(1, int(o.RearPosition)), 1
		if o.RearPort != nil {
			p.rear = cmp.Or(o.RearPort.ID, o.RearPort.Name)
		}
		if o.RearPorts != nil {
			p.mapped = len(*o.RearPorts)
			if p.mapped > 0 {
				m := (*o.RearPorts)[0]
				p.rear, p.position = m.RearPort.ID, max(1, int(m.RearPosition))
			}
		}
	case kindInterface:
		p.connected = append(p.connected, o.ConnectedEndpoints...)
		for _, c := range []*ref{o.ConnectedEndpoint, o.ConnectedInterface} {
			if c != nil && !c.empty() {
				p.connected = append(p.connected, *c)
			}
		}
		told := kindOf(text(first(o.ConnectedType, o.ConnectedTypeOne)), "", "")
		for i := range p.connected {
			p.connected[i].Kind = cmp.Or(p.connected[i].Kind, told, kindInterface)
		}
	}
	s.ports = append(s.ports, p)
}

// ends returns the ends of one side of a cable, from any of the forms.
func ends(list *listOf[termination], one ref, kind, id text) []ref {
	if list == nil {
		one.ID = cmp.Or(one.ID, string(id))
		one.Kind = cmp.Or(kindOf(kind, "", ""), one.Kind)
		if one.empty() {
			return nil
		}
		return []ref{one}
	}
	var out []ref
	for _, t := range *list {
		r := t.ref
		if t.Object != nil {
			r = *t.Object
		}
		r.ID = cmp.Or(string(t.ObjectID), r.ID)
		r.Kind = cmp.Or(kindOf(t.ObjectType, "", ""), r.Kind)
		if !r.empty() {
			out = append(out, r)
		}
	}
	return out
}

func (r ref) empty() bool {
	return r.ID == "" && r.Name == "" && r.Slug == "" && r.Display == "" && r.Model == ""
}

// title returns the common name of an object.
func (r ref) title() string { return cmp.Or(r.Name, r.Display, r.Model, r.Slug) }

// resolve returns the object that a reference means if the reference has only an ID.
func (s *store) resolve(r ref) ref {
	if r.Name == "" && r.Slug == "" && r.Model == "" && r.Display == "" && r.Address == "" {
		if full, ok := s.named[r.ID]; ok {
			return full
		}
	}
	return r
}

// speedOfType returns the speed at the start of an interface type: 400gbase-x-qsfpdd, 1000base-t; 0
// if there is none.
func speedOfType(typ string) units.Rate {
	n, i := 0, 0
	for ; i < len(typ) && typ[i] >= '0' && typ[i] <= '9' && i < 6; i++ {
		n = n*10 + int(typ[i]-'0')
	}
	switch {
	case strings.HasPrefix(typ[i:], "gbase") || strings.HasPrefix(typ[i:], "tbase") && n < 100:
		if typ[i] == 't' {
			n *= 1000
		}
		return units.Rate(n) * 1e9
	case strings.HasPrefix(typ[i:], "base"):
		return units.Rate(n) * 1e6
	}
	return 0
}
