package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/catalog"
)

//go:embed evaluate.py
var evaluate string

type pair struct{ key, value string }

func (p *pair) UnmarshalJSON(b []byte) error {
	var l []any
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	if len(l) != 2 {
		return fmt.Errorf("%s is no pair", b)
	}
	p.key, p.value = fmt.Sprint(l[0]), fmt.Sprint(l[1])
	return nil
}

type entry struct {
	key    string
	fields []pair
}

func (e *entry) UnmarshalJSON(b []byte) error {
	var l [2]json.RawMessage
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	if err := json.Unmarshal(l[0], &e.key); err != nil {
		return err
	}
	return json.Unmarshal(l[1], &e.fields)
}

func (e entry) get(field string) (string, bool) {
	i := slices.IndexFunc(e.fields, func(p pair) bool { return p.key == field })
	if i < 0 {
		return "", false
	}
	return e.fields[i].value, true
}

type result struct {
	Tables map[string][]entry
	Mended bool
	Error  string
}

type job struct {
	Dir       string            `json:"dir"`
	Templates string            `json:"templates"`
	Metadata  map[string]string `json:"metadata"`
	Ports     [][2]any          `json:"ports"`
	Dynamic   bool              `json:"dynamic"`
}

// roles lists the roles that have their own templates, the leaf's first: the factory configuration
// of an image uses that one.
var roles = []struct{ template, role string }{{"t1", "LeafRouter"}, {"t2", "SpineRouter"}, {"t0", "ToRRouter"}}

// buffers evaluates the buffer templates of all models, each for both buffer models. A model gets
// the result of the first role whose template can be evaluated.
func buffers(tree string, all []*model) error {
	var jobs []job
	var of []*model
	var as []string
	templates, err := filepath.Abs(filepath.Join(tree, "files/build_templates"))
	if err != nil {
		return err
	}
	for _, m := range all {
		if !exists(tree, m.sku.dir, "buffers.json.j2") {
			continue
		}
		dir, err := filepath.Abs(filepath.Join(tree, m.sku.dir))
		if err != nil {
			return err
		}
		j := job{Dir: dir, Templates: templates}
		for _, p := range m.ports {
			f := strings.Fields(p)
			j.Ports = append(j.Ports, [2]any{f[0], map[string]string{"alias": f[1], "lanes": f[3], "speed": f[4]}})
		}
		if m.sku.asics > 0 {
			j.Ports = append(j.Ports, [2]any{"Ethernet0", map[string]string{}})
		}
		for _, r := range roles {
			if !exists(tree, m.sku.dir, defaults(r.template)) {
				continue
			}
			j.Metadata = map[string]string{"type": r.role, "hwsku": m.Name, "platform": m.Platform}
			for _, dynamic := range []bool{false, true} {
				j.Dynamic = dynamic
				jobs, of, as = append(jobs, j), append(of, m), append(as, r.template)
			}
		}
	}
	results, err := evaluated(jobs)
	if err != nil {
		return err
	}
	for i := 0; i < len(results); i += 2 {
		m, plain, dynamic := of[i], results[i], results[i+1]
		if m.Template != "" {
			continue
		}
		if plain.Error != "" {
			m.note("its buffer template for %s cannot be evaluated without a device: %s", as[i], plain.Error)
			continue
		}
		if len(plain.Tables["BUFFER_POOL"]) == 0 {
			continue
		}
		if err := m.take(plain.Tables, dynamic.Tables); err != nil {
			m.Pools, m.Profiles, m.Bindings = nil, nil, catalog.Bindings{}
			m.note("its buffer template for %s is left out: %v", as[i], err)
			continue
		}
		m.Template = as[i]
		if plain.Mended {
			m.note("its buffer template writes a comma too many, which is passed over here")
		}
		if _, ok := m.Pool(catalog.IngressPool); !ok {
			m.note("its template has no lossless pool")
			if b, err := os.ReadFile(filepath.Join(tree, m.sku.dir, "BALANCED", defaults(m.Template))); err == nil && strings.Contains(string(b), catalog.IngressPool) {
				m.note("the folder BALANCED next to it holds a template that has one")
			}
		}
		for _, f := range []string{defaults(m.Template), "buffers_defaults_objects.j2", "buffers_pool_sizes_" + m.Template + ".j2"} {
			if exists(tree, m.sku.dir, f) {
				if _, err := m.source(tree, f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// defaults returns the file name of a template.
func defaults(template string) string { return "buffers_defaults_" + template + ".j2" }

// evaluated runs evaluate.py with Debian's python if that has jinja2 (python3-jinja2), else with
// the python3 in PATH.
func evaluated(jobs []job) (results []result, err error) {
	in, err := json.Marshal(jobs)
	if err != nil {
		return nil, err
	}
	python := "/usr/bin/python3"
	if exec.Command(python, "-c", "import jinja2").Run() != nil {
		python = "python3"
	}
	cmd := exec.Command(python, "-c", evaluate)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("evaluate.py: %w: %s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &results); err != nil {
		return nil, fmt.Errorf("evaluate.py: %w", err)
	}
	if len(results) != len(jobs) {
		return nil, fmt.Errorf("evaluate.py: %d results of %d", len(results), len(jobs))
	}
	return results, nil
}

// take sets pools, profiles and bindings from the tables of a template.
func (m *model) take(tables, dynamic map[string][]entry) error {
	number := func(e entry, field string) (*int64, error) {
		s, ok := e.get(field)
		if !ok {
			return nil, nil
		}
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %s %q", e.key, field, s)
		}
		return &n, nil
	}
	for _, e := range tables["BUFFER_POOL"] {
		p := catalog.Pool{Name: e.key}
		p.Type, _ = e.get("type")
		p.Mode, _ = e.get("mode")
		for field, to := range map[string]*int64{"size": &p.Size, "xoff": &p.XOFF} {
			n, err := number(e, field)
			if err != nil {
				return err
			}
			if n != nil {
				*to = *n
			}
		}
		for _, d := range dynamic["BUFFER_POOL"] {
			if _, sized := d.get("size"); d.key == e.key && !sized && p.Size > 0 {
				p.Computed = true
			}
		}
		m.Pools = append(m.Pools, p)
	}
	for _, e := range tables["BUFFER_PROFILE"] {
		p := catalog.Profile{Name: e.key}
		p.Pool, _ = e.get("pool")
		p.Pool = strings.TrimSuffix(strings.TrimPrefix(p.Pool, "[BUFFER_POOL|"), "]")
		var size *int64
		for field, to := range map[string]**int64{"size": &size, "static_th": &p.StaticTh, "dynamic_th": &p.DynamicTh, "xon": &p.XON, "xoff": &p.XOFF, "xon_offset": &p.XONOffset} {
			n, err := number(e, field)
			if err != nil {
				return err
			}
			*to = n
		}
		if size != nil {
			p.Size = *size
		}
		if (p.StaticTh == nil) == (p.DynamicTh == nil) {
			return fmt.Errorf("profile %s has not exactly one threshold", p.Name)
		}
		if !slices.ContainsFunc(m.Pools, func(q catalog.Pool) bool { return q.Name == p.Pool }) {
			return fmt.Errorf("profile %s is of pool %s, which the template does not have", p.Name, p.Pool)
		}
		m.Profiles = append(m.Profiles, p)
	}
	known := func(name string) string {
		if slices.ContainsFunc(m.Profiles, func(p catalog.Profile) bool { return p.Name == name }) {
			return name
		}
		return ""
	}
	groups, queues := bound(tables["BUFFER_PG"]), bound(tables["BUFFER_QUEUE"])
	m.Bindings = catalog.Bindings{
		LossyGroup: known(groups[0]), IngressList: list(tables["BUFFER_PORT_INGRESS_PROFILE_LIST"]),
		EgressList: list(tables["BUFFER_PORT_EGRESS_PROFILE_LIST"]),
	}
	if q := queues[0]; q == queues[1] && q == queues[2] && q == queues[5] && q == queues[6] {
		m.Bindings.LossyQueue = known(q)
	}
	if q := queues[3]; q == queues[4] && q != queues[0] {
		m.Bindings.LosslessQueue = known(q) // if all queues are alike, none is for lossless traffic
	}
	switch g := groups[3]; {
	case g == "" || g == m.Bindings.LossyGroup:
	case known(g) != "":
		m.Bindings.LosslessGroup = g
		m.note("the template binds lossless groups to %s", g)
	default:
		m.note("the template binds lossless groups to %s by name", g)
	}
	return nil
}

// bound returns the profile of each group or queue for which all ports bind the same profile.
func bound(rows []entry) (out [8]string) {
	var differs [8]bool
	for _, e := range rows {
		_, span, ok := strings.Cut(e.key, "|")
		if strings.Contains(span, "|") || !ok {
			continue
		}
		profile, _ := e.get("profile")
		profile = strings.TrimSuffix(strings.TrimPrefix(profile, "[BUFFER_PROFILE|"), "]")
		lo, hi, ranged := strings.Cut(span, "-")
		first, err := strconv.Atoi(lo)
		last := first
		if ranged && err == nil {
			last, err = strconv.Atoi(hi)
		}
		if err != nil {
			continue
		}
		for i := max(first, 0); i <= min(last, 7); i++ {
			if out[i] != "" && out[i] != profile {
				differs[i] = true
			}
			out[i] = profile
		}
	}
	for i := range out {
		if differs[i] {
			out[i] = ""
		}
	}
	return out
}

// list returns the profile list if all ports have the same one, else nil.
func list(rows []entry) (out []string) {
	for i, e := range rows {
		s, _ := e.get("profile_list")
		s = strings.NewReplacer("[BUFFER_PROFILE|", "", "]", "").Replace(s)
		if l := strings.Split(s, ","); i == 0 {
			out = l
		} else if !slices.Equal(out, l) {
			return nil
		}
	}
	return out
}
