package catalog

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

//go:generate go -C ../../tools run ./catalog -pack

var (
	//go:embed data/asics.json
	asicList []byte
	//go:embed data/boxes.json
	boxList []byte
)

// systems holds the models of each operating system by name, each as a function that parses once.
// SONiC's models come from the archive, all others from the list of boxes.
var systems = sync.OnceValue(func() map[string]map[string]func() (*Model, error) {
	out := map[string]map[string]func() (*Model, error){}
	add := func(os, name string, model func() (*Model, error)) {
		if out[os] == nil {
			out[os] = map[string]func() (*Model, error){}
		}
		out[os][name] = model
	}
	files, err := unpack(packed)
	if err != nil {
		panic("catalog: embedded models.gz: " + err.Error())
	}
	for name, text := range files {
		os, base := path.Split(name)
		add(path.Clean(os), base, sync.OnceValues(func() (*Model, error) { return loadModel(name, text) }))
	}
	list, err := boxes()
	if err != nil {
		panic("catalog: embedded boxes.json: " + err.Error())
	}
	for _, m := range list {
		add(m.System, m.Name, func() (*Model, error) { return m, nil })
	}
	return out
})

var asics = sync.OnceValues(func() ([]*ASIC, error) {
	var l []*ASIC
	err := json.Unmarshal(asicList, &l)
	return l, err
})

// ASICByID returns the chip family with that ID ("th3", "spc4").
func ASICByID(id string) (*ASIC, bool) {
	l, err := asics()
	if err != nil {
		panic("catalog: embedded asics.json: " + err.Error())
	}
	return find(l, func(a *ASIC) bool { return a.ID == id })
}

var names = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for os, models := range systems() {
		out[os] = natural.Keys(models)
	}
	return out
})

// ModelsOf returns the names of all models of an operating system, sorted; nil if the catalogue has
// none.
func ModelsOf(os string) []string { return names()[os] }

// Models returns the names of all SONiC hwskus, sorted.
func Models() []string { return ModelsOf(intent.SONiC.Name) }

// Lookup returns the hwsku of that name, as [ModelOf] does.
func Lookup(name string) (*Model, bool) { return ModelOf(intent.SONiC.Name, name) }

// ModelOf returns the model of a switch by its operating system and name. An exact match wins over
// one that differs only in case. Except for SONiC, the airflow suffix of an order number
// (DCS-7060DX5-64S-R) is ignored.
func ModelOf(os, name string) (*Model, bool) {
	models := systems()[os]
	if !whole(os) {
		if n := len(name) - 2; n > 0 && (strings.EqualFold(name[n:], "-F") || strings.EqualFold(name[n:], "-R")) {
			name = name[:n]
		}
	}
	model := models[name]
	if model == nil {
		alike, ok := find(ModelsOf(os), func(n string) bool { return strings.EqualFold(n, name) })
		if !ok {
			return nil, false
		}
		model = models[alike]
	}
	m, err := model()
	if err != nil {
		// The files are compiled in, and a test parses each of them.
		panic(err.Error())
	}
	return m, true
}

// modelFile is the stored form of Model: ports and rows are one line of text each, so that five
// hundred ports stay readable.
type modelFile struct {
	Model
	Ports    []string `json:"ports"`
	Headroom []string `json:"headroom"`
	// From is the folder of Files, with repository and commit.
	From  string   `json:"from"`
	Files []string `json:"files"`
}

// rowFile is the file with the headroom rows of SONiC.
const rowFile = "pg_profile_lookup.ini"

// loadModel parses the model stored in an archive under a name.
func loadModel(name string, text func() (string, error)) (*Model, error) {
	t, err := text()
	if err != nil {
		return nil, fmt.Errorf("catalog: %s: %w", name, err)
	}
	m, err := parseModel(t)
	if err != nil {
		return nil, fmt.Errorf("catalog: %s: %w", name, err)
	}
	if m.Name != path.Base(name) {
		return nil, fmt.Errorf("catalog: %s: names model %q", name, m.Name)
	}
	return m, nil
}

func parseModel(text string) (*Model, error) {
	dec := json.NewDecoder(strings.NewReader(text))
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
	m.asic, m.System = a, intent.SONiC.Name
	of := map[string]string{} // the port of each lane
	for _, s := range f.Ports {
		p, err := parsePort(s)
		if err != nil {
			return nil, fmt.Errorf("port %q: %w", s, err)
		}
		if err := m.add(p); err != nil {
			return nil, err
		}
		for lane := range strings.SplitSeq(p.Lanes, ",") {
			if other := of[lane]; other != "" && m.twice == "" {
				m.twice = fmt.Sprintf("lane %s is used by %s and %s", lane, other, p.Name)
			}
			of[lane] = p.Name
		}
	}
	repository, _, _ := strings.Cut(f.From, "@")
	_, dir, _ := strings.Cut(f.From, ":")
	var rows string
	for _, file := range f.Files {
		name, target, linked := strings.Cut(file, " -> ")
		s := repository + ":" + path.Join(dir, name)
		if linked {
			s += " (link to " + target + ")"
		}
		if name == rowFile {
			rows = s
		}
		m.Sources = append(m.Sources, strings.Replace(s, repository, strings.TrimSuffix(f.From, ":"+dir), 1))
	}
	for _, s := range f.Headroom {
		r, err := parseRow(s)
		if err != nil {
			return nil, fmt.Errorf("headroom row %q: %w", s, err)
		}
		if _, dup := m.HeadroomRow(r.Speed, r.Cable); dup {
			return nil, fmt.Errorf("headroom row %q: speed and cable are listed twice", s)
		}
		r.Source = rows
		m.Headroom = append(m.Headroom, r)
	}
	return m, nil
}

// add adds a port.
func (m *Model) add(p Port) error {
	if _, dup := m.ports[p.Name]; dup {
		return fmt.Errorf("port %s is listed twice", p.Name)
	}
	if m.ports == nil {
		m.ports, m.speeds = map[string]Port{}, map[units.Rate]int{}
	}
	m.ports[p.Name] = p
	m.speeds[p.Speed]++
	m.Ports = append(m.Ports, p)
	return nil
}

// parsePort reads "Ethernet0 etp1 1 33-40 400G": name, alias, index, lanes and speed, which is "-"
// if the layout states none.
func parsePort(s string) (Port, error) {
	f := strings.Fields(s)
	if len(f) != 5 {
		return Port{}, errors.New("not five fields")
	}
	index, err := strconv.Atoi(f[2])
	if err != nil {
		return Port{}, err
	}
	lanes, err := ExpandLanes(f[3])
	if err != nil {
		return Port{}, err
	}
	var speed units.Rate
	if f[4] != "-" {
		speed, err = units.ParseRate(f[4])
	}
	return Port{Name: f[0], Alias: f[1], Index: index, Lanes: lanes, Speed: speed}, err
}

// ExpandLanes turns "1-4,9" into "1,2,3,4,9".
func ExpandLanes(s string) (string, error) {
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

// parseRow reads "400G 40m 2540 2540 201930 -2 2540": speed, cable, size, xon, xoff, threshold and,
// for some chips, xon_offset.
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
