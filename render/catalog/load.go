package catalog

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

//go:embed data
var data embed.FS

// models parse the file of each model, by name, on first use.
var models = sync.OnceValue(func() map[string]func() (*Model, error) {
	files, err := data.ReadDir("data/models")
	if err != nil {
		panic("catalog: embedded models are missing: " + err.Error())
	}
	out := make(map[string]func() (*Model, error), len(files))
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".json")
		out[name] = sync.OnceValues(func() (*Model, error) { return loadModel(name) })
	}
	return out
})

var asics = sync.OnceValues(func() ([]*ASIC, error) {
	b, err := data.ReadFile("data/asics.json")
	if err != nil {
		return nil, err
	}
	var l []*ASIC
	err = json.Unmarshal(b, &l)
	return l, err
})

// ASICByID returns the chip family with that id ("th3", "spc4").
func ASICByID(id string) (*ASIC, bool) {
	l, err := asics()
	if err != nil {
		panic("catalog: embedded asics.json: " + err.Error())
	}
	return find(l, func(a *ASIC) bool { return a.ID == id })
}

var names = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(models())) })

// Models returns the names of all models, sorted.
func Models() []string { return names() }

// Lookup returns the model of that name: the exact one, else the one that
// differs in upper and lower case only.
func Lookup(name string) (*Model, bool) {
	model := models()[name]
	if model == nil {
		alike, ok := find(Models(), func(n string) bool { return strings.EqualFold(n, name) })
		if !ok {
			return nil, false
		}
		model = models()[alike]
	}
	m, err := model()
	if err != nil {
		// The files are compiled in and a test parses every one.
		panic(err.Error())
	}
	return m, true
}

// ModelOf returns the model of a switch by its system and name.
func ModelOf(os, name string) (*Model, bool) {
	if !intent.SystemOf(os).Catalogued {
		return nil, false
	}
	return Lookup(name)
}

// modelFile is Model as it is stored: ports and rows are one line of text
// each, which keeps five hundred ports readable.
type modelFile struct {
	Model
	Ports          []string `json:"ports"`
	Headroom       []string `json:"headroom"`
	HeadroomSource string   `json:"headroom_source"`
}

func loadModel(name string) (*Model, error) {
	file := path.Join("data/models", name+".json")
	b, err := data.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	m, err := parseModel(b)
	if err != nil {
		return nil, fmt.Errorf("catalog: %s: %w", file, err)
	}
	if m.Name != name {
		return nil, fmt.Errorf("catalog: %s: names model %q", file, m.Name)
	}
	return m, nil
}

func parseModel(b []byte) (*Model, error) {
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	var f modelFile
	if err := dec.Decode(&f); err != nil {
		return nil, err
	}
	m := &f.Model
	a, ok := ASICByID(m.ASICID)
	if !ok {
		return nil, fmt.Errorf("asic %q is not in asics.json", m.ASICID)
	}
	m.asic = a
	m.ports = make(map[string]Port, len(f.Ports))
	for _, s := range f.Ports {
		p, err := parsePort(s)
		if err != nil {
			return nil, fmt.Errorf("port %q: %w", s, err)
		}
		if _, dup := m.ports[p.Name]; dup {
			return nil, fmt.Errorf("port %s is listed twice", p.Name)
		}
		m.ports[p.Name] = p
		m.Ports = append(m.Ports, p)
	}
	for _, s := range f.Headroom {
		r, err := parseRow(s)
		if err != nil {
			return nil, fmt.Errorf("headroom row %q: %w", s, err)
		}
		if _, dup := m.HeadroomRow(r.Speed, r.Cable); dup {
			return nil, fmt.Errorf("headroom row %q: speed and cable are listed twice", s)
		}
		r.Source = f.HeadroomSource
		m.Headroom = append(m.Headroom, r)
	}
	return m, nil
}

// parsePort reads "Ethernet0 etp1 1 33-40 400G": name, alias, index, lanes,
// speed.
func parsePort(s string) (Port, error) {
	f := strings.Fields(s)
	if len(f) != 5 {
		return Port{}, errors.New("not five fields")
	}
	index, err := strconv.Atoi(f[2])
	if err != nil {
		return Port{}, err
	}
	lanes, err := expandLanes(f[3])
	if err != nil {
		return Port{}, err
	}
	speed, err := units.ParseRate(f[4])
	return Port{Name: f[0], Alias: f[1], Index: index, Lanes: lanes, Speed: speed}, err
}

// expandLanes turns "1-4,9" into "1,2,3,4,9".
func expandLanes(s string) (string, error) {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		first, err := strconv.Atoi(lo)
		if err != nil {
			return "", err
		}
		last := first
		if ranged {
			if last, err = strconv.Atoi(hi); err != nil {
				return "", err
			}
		}
		if last < first || last-first > 15 {
			return "", fmt.Errorf("lane range %q", part)
		}
		for n := first; n <= last; n++ {
			out = append(out, strconv.Itoa(n))
		}
	}
	return strings.Join(out, ","), nil
}

// parseRow reads "400G 40m 2540 2540 201930 -2 2540": speed, cable, size, xon,
// xoff, threshold and, on some chips, xon_offset.
func parseRow(s string) (HeadroomRow, error) {
	f := strings.Fields(s)
	if len(f) != 6 && len(f) != 7 {
		return HeadroomRow{}, errors.New("not six or seven fields")
	}
	var r HeadroomRow
	var err error
	if r.Speed, err = units.ParseRate(f[0]); err != nil {
		return r, err
	}
	if r.Cable, err = units.ParseLength(f[1]); err != nil {
		return r, err
	}
	to := []*int64{&r.Size, &r.XON, &r.XOFF, &r.Threshold}
	if len(f) == 7 {
		r.XONOffset = new(int64)
		to = append(to, r.XONOffset)
	}
	for i, p := range to {
		if *p, err = strconv.ParseInt(f[2+i], 10, 64); err != nil {
			return r, err
		}
	}
	return r, nil
}
