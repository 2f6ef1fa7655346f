package catalog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// box is a model of an operating system without published buffer data: its ports are known, and its
// chip if a public source names it.
type box struct {
	System   string   `json:"os"`
	Name     string   `json:"name"`
	Vendor   string   `json:"vendor"`
	ASIC     string   `json:"asic"`
	ASICFrom string   `json:"asic_from"`
	Note     string   `json:"note"`
	Ports    []string `json:"ports"` // "Ethernet[1-32]/1 400G"
	Sources  []string `json:"sources"`
}

// boxes parses the list of boxes.
func boxes() ([]*Model, error) { return parseBoxes(boxList) }

func parseBoxes(text []byte) ([]*Model, error) {
	var list []box
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return nil, err
	}
	var out []*Model
	for _, b := range list {
		a, ok := ASICByID(b.ASIC)
		if !ok {
			return nil, fmt.Errorf("%s: asic %q is not in asics.json", b.Name, b.ASIC)
		}
		m := &Model{System: b.System, Name: b.Name, Vendor: b.Vendor, ASICID: b.ASIC, ASICFrom: b.ASICFrom, Note: b.Note, Sources: b.Sources, asic: a}
		for _, s := range b.Ports {
			pattern, rate, _ := strings.Cut(s, " ")
			speed, err := units.ParseRate(rate)
			if err != nil {
				return nil, fmt.Errorf("%s: ports %q: %w", b.Name, s, err)
			}
			names, err := intent.Expand(pattern)
			if err != nil {
				return nil, fmt.Errorf("%s: ports %q: %w", b.Name, s, err)
			}
			for _, n := range names {
				if err := m.add(Port{Name: n, Alias: n, Index: len(m.Ports) + 1, Speed: speed}); err != nil {
					return nil, fmt.Errorf("%s: %w", b.Name, err)
				}
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// whole reports whether the catalogue has all models of a system that have public data. A name
// close to one of them is then more likely a typo.
func whole(os string) bool { return os == intent.SONiC.Name }

// maxParts is the maximum number of parts that a port is split into.
const maxParts = 8

// Has reports whether a switch of the model may have a port of that name: a port that the model
// lists, a part of such a port (Ethernet1/3 of Ethernet1/1 on EOS, Ethernet1/1/3 of Ethernet1/1 on
// NX-OS), or a port of a fabric extender, whose numbers start at 100. Without a complete catalogue
// for the system, names of another form (Eth1/1) are accepted.
func (m *Model) Has(name string) bool {
	if _, ok := m.ports[name]; ok {
		return true
	}
	if whole(m.System) {
		return false
	}
	if len(m.Ports) == 0 || !strings.HasPrefix(name, "Ethernet") {
		return true
	}
	at := strings.LastIndexByte(name, '/')
	if at < 0 {
		return false
	}
	first, _, _ := strings.Cut(name, "/")
	if n, err := strconv.Atoi(strings.TrimLeftFunc(first, unicode.IsLetter)); err == nil && n >= 100 {
		return true
	}
	part, err := strconv.Atoi(name[at+1:])
	if err != nil || part < 1 || part > maxParts {
		return false
	}
	// If the first number is a slot, the number of the part follows the port's number.
	of := name[:at] + "/1"
	if _, slot := m.ports[first+"/2"]; slot {
		of = name[:at]
	}
	_, ok := m.ports[of]
	return ok && strings.Contains(of, "/")
}
