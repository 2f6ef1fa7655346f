package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/sonic"
)

// sku describes the folder of a hwsku.
type sku struct {
	name, platform, vendor string
	dir                    string // folder of the files, below the tree; with several ASICs, the folder of the first one
	asics                  int    // 0 for a box with one ASIC
	linked                 bool   // the folder, or the folder of its platform, is a link
}

// model holds what is read about a hwsku.
type model struct {
	catalog.Model
	sku      sku
	chip     string // platform_asic: "broadcom"
	asicFrom string
	files    []string // file, or "file -> target" for a link
	table    bool     // it has a headroom table, possibly empty
	rows     []string
	ports    []string
	notes    []string
}

func (m *model) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// makers maps folder names to today's vendor names where they differ.
var makers = map[string]string{"mellanox": "nvidia"}

// find lists the folders of all hwskus. If several have the same name, the preferred one comes
// first: real boxes before simulated ones, and folders before links to them.
func find(tree string) ([]sku, error) {
	dirs, err := filepath.Glob(filepath.Join(tree, "device/*/*/*"))
	if err != nil {
		return nil, err
	}
	var out []sku
	for _, dir := range dirs {
		rel, err := filepath.Rel(tree, dir)
		if err != nil {
			return nil, err
		}
		part := strings.Split(rel, "/")
		s := sku{vendor: part[1], platform: part[2], name: part[3], dir: rel, linked: isLink(dir) || isLink(filepath.Dir(dir))}
		s.vendor = cmp.Or(makers[s.vendor], s.vendor)
		for isDir(filepath.Join(dir, strconv.Itoa(s.asics))) {
			s.asics++
		}
		if s.asics > 0 {
			s.dir += "/0"
		}
		if exists(tree, s.dir, "port_config.ini") || exists(tree, s.dir, "hwsku.json") || exists(tree, s.dir, table) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no hwsku below device", tree)
	}
	rank := func(s sku) int {
		n := 0
		if strings.Contains(s.platform, "simx") {
			n += 2
		}
		if s.linked {
			n++
		}
		return n
	}
	ordered.Sort(out, func(a, b sku) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a.dir, b.dir)) })
	return out, nil
}

const table = "pg_profile_lookup.ini"

func isLink(p string) bool {
	i, err := os.Lstat(p)
	return err == nil && i.Mode()&fs.ModeSymlink != 0
}

func isDir(p string) bool {
	i, err := os.Stat(p)
	return err == nil && i.IsDir()
}

func exists(elem ...string) bool {
	_, err := os.Stat(filepath.Join(elem...))
	return err == nil
}

// read reads the ports and headroom rows of a hwsku.
func (s sku) read(tree string) (*model, error) {
	m := &model{sku: s, chip: unknown, Model: catalog.Model{Name: s.name, Platform: s.platform, Vendor: s.vendor}}
	up := ".."
	if s.asics > 0 {
		up = "../.."
	}
	if b, err := os.ReadFile(filepath.Join(tree, s.dir, up, "platform_asic")); err == nil {
		m.chip = strings.TrimSpace(string(b))
	}
	if s.asics > 0 {
		m.note("%d ASICs; rows, pools and profiles are those of ASIC 0, and ports belong to a namespace, so none are listed", s.asics)
	} else if err := m.readPorts(tree); err != nil {
		return nil, err
	}
	if err := m.readRows(tree); err != nil {
		return nil, err
	}
	if len(m.ports) == 0 && len(m.rows) == 0 {
		return nil, errors.New("neither ports nor headroom rows")
	}
	return m, nil
}

// source records a file that the model is read from, and returns its text.
func (m *model) source(tree, file string) ([]byte, error) {
	at := filepath.Join(tree, m.sku.dir, file)
	b, err := os.ReadFile(at)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return nil, err
	}
	root, err := filepath.EvalSymlinks(tree)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, real)
	if err != nil {
		return nil, err
	}
	f := file
	if rel != filepath.Join(m.sku.dir, file) {
		f += " -> " + rel
	}
	if !slices.Contains(m.files, f) {
		m.files = append(m.files, f)
	}
	return b, nil
}

// readPorts reads the ports like SONiC: from platform.json with the breakouts of hwsku.json, else
// from port_config.ini (sonic-buildimage src/sonic-config-engine/portconfig.py, src/sonic-py-common
// device_info.get_path_to_port_config_file).
func (m *model) readPorts(tree string) error {
	platform := filepath.Join("..", "platform.json")
	if exists(tree, m.sku.dir, "hwsku.json") && exists(tree, m.sku.dir, platform) {
		ok, err := m.readBreakouts(tree, platform)
		if err != nil {
			m.note("hwsku.json does not fit platform.json: %v", err)
		}
		if ok && err == nil {
			return m.keepPorts()
		}
	}
	if !exists(tree, m.sku.dir, "port_config.ini") {
		return nil
	}
	b, err := m.source(tree, "port_config.ini")
	if err != nil {
		return err
	}
	titles := []string{"name", "lanes", "alias", "index"}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			if strings.Contains(line, "name") {
				titles = strings.Fields(strings.Trim(strings.TrimSpace(line), "#"))
			}
			continue
		}
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		row := map[string]string{}
		for i, v := range f {
			if i < len(titles) {
				row[titles[i]] = v
			}
		}
		if r := row["role"]; r != "" && r != "Ext" {
			continue // recycle and inband ports have no cable
		}
		if err := m.addPort(row["name"], row["alias"], row["index"], row["lanes"], row["speed"]); err != nil {
			return err
		}
	}
	return m.keepPorts()
}

var mode = regexp.MustCompile(`^(\d+)x(\d+G?)(\[[^]]*\])?(?:\((\d+)\))?`)

// breakout is one part of a breakout mode: "2x50G[25G](2)".
type breakout struct {
	count, lanes int
	speed        string
	speeds       string // all supported speeds, sorted
}

func breakouts(s string, lanes int) (out []breakout, err error) {
	for part := range strings.SplitSeq(s, "+") {
		f := mode.FindStringSubmatch(strings.TrimSpace(part))
		if f == nil {
			return nil, fmt.Errorf("breakout mode %q", s)
		}
		b := breakout{lanes: lanes, speed: f[2]}
		b.count, _ = strconv.Atoi(f[1])
		if f[4] != "" {
			b.lanes, _ = strconv.Atoi(f[4])
		}
		l := []string{f[2]}
		if f[3] != "" {
			for v := range strings.SplitSeq(strings.Trim(f[3], "[]"), ",") {
				l = append(l, strings.TrimSpace(v))
			}
		}
		slices.Sort(l)
		b.speeds = strings.Join(slices.Compact(l), ",")
		if b.count < 1 || b.lanes < b.count {
			return nil, fmt.Errorf("breakout mode %q of %d lanes", s, lanes)
		}
		out = append(out, b)
	}
	return out, nil
}

func (m *model) readBreakouts(tree, platform string) (ok bool, err error) {
	var p struct {
		Interfaces map[string]struct {
			Index, Lanes string
			Modes        map[string][]string `json:"breakout_modes"`
		} `json:"interfaces"`
	}
	var h struct {
		Interfaces map[string]struct {
			Mode string `json:"default_brkout_mode"`
		} `json:"interfaces"`
	}
	b, err := os.ReadFile(filepath.Join(tree, m.sku.dir, platform))
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return false, fmt.Errorf("platform.json: %w", err)
	}
	if len(p.Interfaces) == 0 {
		return false, nil
	}
	if b, err = os.ReadFile(filepath.Join(tree, m.sku.dir, "hwsku.json")); err != nil {
		return false, err
	}
	if err := json.Unmarshal(b, &h); err != nil {
		return false, fmt.Errorf("hwsku.json: %w", err)
	}
	defer func() {
		if err != nil || !ok {
			m.ports = nil
		}
	}()
	for _, name := range natural.Keys(p.Interfaces) {
		at, listed := p.Interfaces[name], h.Interfaces[name]
		if _, in := h.Interfaces[name]; !in {
			continue
		}
		lanes, index := strings.Split(at.Lanes, ","), strings.Split(at.Index, ",")
		want, err := breakouts(listed.Mode, len(lanes))
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		var aliases []string
		for s, l := range at.Modes {
			have, err := breakouts(s, len(lanes))
			if err == nil && slices.EqualFunc(have, want, func(a, b breakout) bool { return a.count == b.count && a.lanes == b.lanes && a.speeds == b.speeds }) {
				aliases = l
			}
		}
		base, err := strconv.Atoi(strings.TrimPrefix(name, "Ethernet"))
		if err != nil || aliases == nil {
			return false, fmt.Errorf("%s has no breakout mode %q", name, listed.Mode)
		}
		lane, alias := 0, 0
		for _, w := range want {
			each := w.lanes / w.count
			for range w.count {
				if lane+each > len(lanes) || lane >= len(index) || alias >= len(aliases) {
					return false, fmt.Errorf("%s: breakout mode %q needs more lanes than there are", name, listed.Mode)
				}
				speed := w.speed
				if n, ok := strings.CutSuffix(speed, "G"); ok {
					speed = n + "000"
				}
				if err := m.addPort("Ethernet"+strconv.Itoa(base+lane), aliases[alias], index[lane], strings.Join(lanes[lane:lane+each], ","), speed); err != nil {
					return false, err
				}
				lane += each
				alias++
			}
		}
	}
	m.files = append(m.files, "../platform.json", "hwsku.json")
	return len(m.ports) > 0, nil
}

// addPort adds a port. A missing index becomes 0, a missing speed "-".
func (m *model) addPort(name, alias, index, lanes, mbps string) error {
	if !strings.HasPrefix(name, "Ethernet") || strings.ContainsAny(name, "-") {
		return nil // backplane, recycle and inband ports
	}
	speed := "-"
	if mbps != "" {
		n, err := strconv.ParseInt(mbps, 10, 64)
		if err != nil || n <= 0 {
			return fmt.Errorf("%s: speed %q", name, mbps)
		}
		speed = units.Rate(n * 1e6).String()
	}
	runs, err := fold(strings.Split(lanes, ","))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := strconv.Atoi(cmp.Or(index, "0")); err != nil {
		return fmt.Errorf("%s: index %q", name, index)
	}
	m.ports = append(m.ports, strings.Join([]string{name, cmp.Or(alias, name), cmp.Or(index, "0"), runs, speed}, " "))
	return nil
}

// keepPorts checks that names are unique and notes lanes that several ports use.
func (m *model) keepPorts() error {
	used, seen, again := map[string]string{}, map[string]bool{}, 0
	for _, p := range m.ports {
		f := strings.Fields(p)
		if seen[f[0]] {
			return fmt.Errorf("port %s is listed twice", f[0])
		}
		seen[f[0]] = true
		lanes, err := catalog.ExpandLanes(f[3])
		if err != nil {
			return err
		}
		for l := range strings.SplitSeq(lanes, ",") {
			if other, dup := used[l]; dup {
				if again++; again == 1 {
					m.note("the published layout names lane %s twice, in %s and %s", l, other, f[0])
				}
			}
			used[l] = f[0]
		}
	}
	if again > 1 {
		m.note("the published layout names %d lanes twice", again)
	}
	return nil
}

// fold turns 1,2,3,9 into "1-3,9".
func fold(lanes []string) (string, error) {
	var n []int
	for _, l := range lanes {
		v, err := strconv.Atoi(strings.TrimSpace(l))
		if err != nil {
			return "", fmt.Errorf("lanes %q", strings.Join(lanes, ","))
		}
		n = append(n, v)
	}
	var out []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		s := strconv.Itoa(n[i])
		if j > i {
			s += "-" + strconv.Itoa(n[j])
		}
		out = append(out, s)
		i = j + 1
	}
	return strings.Join(out, ","), nil
}

// readRows reads the headroom table, sorted by speed and cable. If rows repeat both, the last one
// counts, as in buffermgrd.
func (m *model) readRows(tree string) error {
	if !exists(tree, m.sku.dir, table) {
		return nil
	}
	b, err := m.source(tree, table)
	if err != nil {
		return err
	}
	m.table = true
	rows, err := sonic.ParseLookup(b)
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	ordered.Sort(rows, func(a, b sonic.LookupRow) int {
		return cmp.Or(cmp.Compare(a.Speed, b.Speed), cmp.Compare(a.Cable, b.Cable))
	})
	for _, r := range rows {
		row := fmt.Sprintf("%s %s %d %d %d %d", r.Speed, r.Cable, r.Size, r.XON, r.XOFF, r.Threshold)
		if r.HasOffset {
			row += fmt.Sprintf(" %d", r.XONOffset)
		}
		m.rows = append(m.rows, row)
	}
	if len(m.rows) == 0 {
		m.note("its headroom table is empty")
	}
	return nil
}

// differs names the differences between two folders of the same name; "" if there are none.
func (m *model) differs(o *model) string {
	var l []string
	if !slices.Equal(m.ports, o.ports) {
		l = append(l, "ports")
	}
	if !slices.Equal(m.rows, o.rows) {
		l = append(l, "headroom rows")
	}
	if m.poolText() != o.poolText() {
		l = append(l, "pools")
	}
	return strings.Join(l, " and ")
}
