package inventory

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// object is an object of any kind that this package reads, with the field names that NetBox and
// Nautobot have used over the years. Fields that are missing or have another form are zero.
type object struct {
	page
	ID           text `json:"id"`
	URL          text `json:"url"`
	TypeName     text `json:"__typename"`
	Name         text `json:"name"`
	Display      text `json:"display"`
	Slug         text `json:"slug"`
	Model        text `json:"model"`
	PartNumber   text `json:"part_number"`
	Driver       text `json:"network_driver"`
	NapalmDriver text `json:"napalm_driver"`
	Address      text `json:"address"`
	Host         text `json:"host"`
	Manufacturer ref  `json:"manufacturer"`
	Status       ref  `json:"status"`

	// Fields of a device.
	DeviceType     *ref `json:"device_type"`
	Role           ref  `json:"role"`
	DeviceRole     ref  `json:"device_role"` // NetBox before 3.6, Nautobot 1.x
	Platform       ref  `json:"platform"`
	PrimaryIP      ref  `json:"primary_ip"`
	PrimaryIP4     ref  `json:"primary_ip4"`
	PrimaryIP6     ref  `json:"primary_ip6"`
	OOBIP          ref  `json:"oob_ip"`
	VirtualChassis ref  `json:"virtual_chassis"`
	Master         ref  `json:"master"`
	VCMaster       ref  `json:"vc_master"`
	Interfaces     many `json:"interfaces"` // GraphQL
	FrontPortsOf   many `json:"frontports"`
	RearPortsOf    many `json:"rearports"`

	// Fields of an interface, a front port or a rear port.
	Device             ref             `json:"device"`
	Type               ref             `json:"type"`
	Speed              number          `json:"speed"` // kbit/s
	MgmtOnly           flag            `json:"mgmt_only"`
	LAG                ref             `json:"lag"`
	Parent             ref             `json:"parent"`
	ParentInterface    ref             `json:"parent_interface"` // Nautobot
	ConnectedEndpoints refs            `json:"connected_endpoints"`
	ConnectedEndpoint  *ref            `json:"connected_endpoint"` // NetBox before 3.3, Nautobot
	ConnectedInterface *ref            `json:"connected_interface"`
	ConnectedType      text            `json:"connected_endpoints_type"`
	ConnectedTypeOne   text            `json:"connected_endpoint_type"`
	RearPort           *ref            `json:"rear_port"`
	RearPosition       number          `json:"rear_port_position"`
	RearPorts          *listOf[mapped] `json:"rear_ports"` // NetBox from 4.5
	Positions          *number         `json:"positions"`

	// Fields of a cable.
	ATerminations *listOf[termination] `json:"a_terminations"`
	BTerminations *listOf[termination] `json:"b_terminations"`
	TermAType     text                 `json:"termination_a_type"` // NetBox before 3.3, Nautobot
	TermBType     text                 `json:"termination_b_type"`
	TermAID       text                 `json:"termination_a_id"`
	TermBID       text                 `json:"termination_b_id"`
	TermA         ref                  `json:"termination_a"`
	TermB         ref                  `json:"termination_b"`
	Length        number               `json:"length"`
	LengthUnit    ref                  `json:"length_unit"`
	Profile       ref                  `json:"profile"`
}

// page holds the paging information of a list of the REST API.
type page struct {
	Count    number `json:"count"`
	Next     text   `json:"next"`
	Previous text   `json:"previous"`
	Results  many   `json:"results"`
}

// mapped is a position of a front port and the rear port behind it.
type mapped struct {
	RearPort     ref    `json:"rear_port"`
	RearPosition number `json:"rear_port_position"`
}

// termination is an end of a cable: in REST a type and an object, in GraphQL the object itself.
type termination struct {
	ObjectType text `json:"object_type"`
	ObjectID   text `json:"object_id"`
	Object     *ref `json:"object"`
	ref
}

func (t *termination) UnmarshalJSON(b []byte) error {
	type plain struct {
		ObjectType text `json:"object_type"`
		ObjectID   text `json:"object_id"`
		Object     *ref `json:"object"`
	}
	if err := t.ref.UnmarshalJSON(b); err != nil || b[0] != '{' {
		return err
	}
	var p plain
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	t.ObjectType, t.ObjectID, t.Object = p.ObjectType, p.ObjectID, p.Object
	return nil
}

// ref is a reference to another object: its ID, its name or slug, or some of its fields.
type ref struct {
	ID, Name, Slug, Display, Model, PartNumber string
	Value, Address, Driver, Kind               string
	Device, Manufacturer, Master               *ref
}

func (r *ref) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '{':
		var p struct {
			ID           text `json:"id"`
			Name         text `json:"name"`
			Slug         text `json:"slug"`
			Display      text `json:"display"`
			DisplayName  text `json:"display_name"`
			Model        text `json:"model"`
			PartNumber   text `json:"part_number"`
			Value        text `json:"value"`
			Address      text `json:"address"`
			Host         text `json:"host"`
			Driver       text `json:"network_driver"`
			ObjectType   text `json:"object_type"`
			TypeName     text `json:"__typename"`
			URL          text `json:"url"`
			Device       *ref `json:"device"`
			Manufacturer *ref `json:"manufacturer"`
			Master       *ref `json:"master"`
		}
		if err := json.Unmarshal(b, &p); err != nil {
			return err
		}
		*r = ref{ID: string(p.ID), Name: string(p.Name), Slug: string(p.Slug), Display: first(p.Display, p.DisplayName), Model: string(p.Model),
			PartNumber: string(p.PartNumber), Value: string(p.Value), Address: first(p.Address, p.Host), Driver: string(p.Driver),
			Kind: kindOf(p.ObjectType, p.TypeName, p.URL), Device: p.Device, Manufacturer: p.Manufacturer, Master: p.Master}
	case '"':
		var s text
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		// a UUID, a choice, or the name itself
		if uuid.MatchString(string(s)) {
			r.ID = string(s)
		} else {
			r.Value, r.Name = string(s), string(s)
		}
	case 'n', 't', 'f', '[':
	default:
		r.ID = string(b)
	}
	return nil
}

var uuid = lazyre.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// choice returns the value of an enumerated field in the spelling of REST. GraphQL uses names such
// as STATUS_ACTIVE, A_400GBASE_X_QSFPDD and UNIT_METER.
func (r ref) choice() string {
	s := strings.ToLower(first(text(r.Value), text(r.Slug), text(r.Name), text(r.Display)))
	for _, p := range []string{"a_", "status_", "type_", "unit_"} {
		s = strings.TrimPrefix(s, p)
	}
	return dashes.Replace(s)
}

// Replacers for different spellings of a word.
var (
	dashes = strings.NewReplacer("_", "-", " ", "-")
	joined = strings.NewReplacer("_", "", "-", "")
)

// The kinds of objects, named like their REST lists.
const (
	kindDevice    = "devices"
	kindInterface = "interfaces"
	kindFront     = "front-ports"
	kindRear      = "rear-ports"
	kindCable     = "cables"
	kindCircuit   = "circuit-terminations"
	kindOther     = "other"
)

var urlKind = lazyre.New(`/api/(?:plugins/)?([a-z-]+)/([a-z-]+)/`)

// kindOf derives the kind of an object from one of its type fields: dcim.interface, InterfaceType,
// .../api/dcim/interfaces/7/. It is "" if none is set.
func kindOf(objectType, typeName, url text) string {
	word := string(objectType)
	if _, after, ok := strings.Cut(word, "."); ok {
		word = after
	}
	if word == "" {
		word = strings.TrimSuffix(string(typeName), "Type")
	}
	if word == "" {
		m := urlKind.FindStringSubmatch(string(url))
		if m == nil {
			return ""
		}
		word = m[2]
	}
	return listKind(word)
}

// listKind returns the kind for the name of a list: interfaces, interface_list, all_interfaces. It
// is kindOther for lists that are not read, and "" for an empty name.
func listKind(word string) string {
	word = strings.ToLower(joined.Replace(word))
	word = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(word, "list"), "all"), "s")
	switch word {
	case "device":
		return kindDevice
	case "interface":
		return kindInterface
	case "frontport":
		return kindFront
	case "rearport":
		return kindRear
	case "cable":
		return kindCable
	case "circuittermination":
		return kindCircuit
	case "":
		return ""
	}
	return kindOther
}

// kind returns the kind of an object: from its own type fields, else from the list that contains
// it, else from fields that only one kind has.
func (o *object) kind(hint string) string {
	if k := kindOf("", o.TypeName, o.URL); k != "" {
		return k
	}
	switch {
	case hint != "" && hint != kindOther:
		return hint
	case o.ATerminations != nil || o.BTerminations != nil || o.TermAType != "" || o.TermAID != "":
		return kindCable
	case o.DeviceType != nil:
		return kindDevice
	case o.RearPort != nil || o.RearPorts != nil:
		return kindFront
	case (o.Device.ID != "" || o.Device.Name != "") && o.Positions != nil:
		return kindRear
	case (o.Device.ID != "" || o.Device.Name != "") && o.Name != "":
		return kindInterface
	}
	return kindOther
}

// text is a string, or a number in its original notation; any other value becomes "".
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(t))
	case 'n', 't', 'f', '{', '[':
	default:
		*t = text(b)
	}
	return nil
}

func first(of ...text) string {
	for _, t := range of {
		if t != "" {
			return string(t)
		}
	}
	return ""
}

// number is a number, possibly in a string; any other value becomes 0.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64)
	if err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		*n = number(f)
	}
	return nil
}

// flag is a boolean; any value but true becomes false.
type flag bool

func (f *flag) UnmarshalJSON(b []byte) error {
	*f = flag(string(b) == "true")
	return nil
}

// listOf is a list; any other value becomes an empty one.
type listOf[T any] []T

func (l *listOf[T]) UnmarshalJSON(b []byte) error {
	if b[0] != '[' {
		return nil
	}
	return json.Unmarshal(b, (*[]T)(l))
}

type (
	refs = listOf[ref]
	many = listOf[object]
)

// length returns the length of a cable; 0 if none is given, or its unit is not known.
func (o *object) length() units.Length {
	f, ok := map[string]float64{"km": 1000, "kilometer": 1000, "m": 1, "meter": 1, "cm": 0.01, "centimeter": 0.01, "mi": 1609.344, "mile": 1609.344, "ft": 0.3048, "foot": 0.3048, "in": 0.0254, "inch": 0.0254}[o.LengthUnit.choice()]
	if !ok || o.Length <= 0 {
		return 0
	}
	// Rounded up to decimeters, because a length that is too short gives too little headroom.
	return units.Length(math.Ceil(float64(o.Length)*f*10-1e-6) / 10)
}
