package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// unknown is the ASIC of a model if no published file names it.
const unknown = "unknown"

// chips finds the ASIC family of a hwsku from published files, never from the name of a box.
type chips struct {
	tree     string
	platform map[string]string // platform -> ID, from SONiC's own lists
}

var listed = regexp.MustCompile(`'([^']+)'\s*:\s*'([A-Z0-9-]+)'`)

// tables are the lists of platforms and chips for SONiC's dynamic buffer model.
var tables = []string{"platform/mellanox/asic_table.j2", "platform/barefoot/asic_table.j2"}

// nameOf maps the chip names in those lists to the IDs of package catalog.
var nameOf = map[string]string{
	"MELLANOX-SPECTRUM": "spc1", "MELLANOX-SPECTRUM-2": "spc2", "MELLANOX-SPECTRUM-3": "spc3", "MELLANOX-SPECTRUM-4": "spc4",
	"MELLANOX-SPECTRUM-5": "spc5", "MELLANOX-SPECTRUM-6": "spc6", "BAREFOOT-TOFINO-2": "tofino2",
}

func readChips(tree string) (*chips, error) {
	c := &chips{tree: tree, platform: map[string]string{}}
	for _, f := range tables {
		b, err := os.ReadFile(filepath.Join(tree, f))
		if err != nil {
			return nil, err
		}
		for _, l := range listed.FindAllStringSubmatch(string(b), -1) {
			if id := nameOf[l[2]]; id != "" {
				c.platform[l[1]] = id
			}
		}
	}
	return c, nil
}

// prefix matches the chip family in the name of a Broadcom configuration: th3-x-32x400G.config.bcm.
// Smaller relatives (td3-x5, hx5) are different chips, whose buffers are not known.
var prefix = regexp.MustCompile(`^(td[234]|th[23456]?|q3d)[-_](x\d-)?`)

// families maps the soc_family of a configuration to Broadcom's chips with external memory: the
// Arista 7280R4, a q3d by the name of its file, has BCM8887X. The config updater's list has the same
// families.
var families = map[string]string{"BCM8869X": "jr2", "BCM8885X": "j2c+", "BCM8887X": "q3d"}

var (
	initFile  = regexp.MustCompile(`(?m)^\s*SAI_INIT_CONFIG_FILE\s*=\s*\S*/([^/\s]+)\s*$`)
	socFamily = regexp.MustCompile(`(?m)^soc_family(?:\.\w+)?=(BCM\w+)\s*$`)
	pcieChip  = regexp.MustCompile(`BCM78900|BCM78910`)
)

// pcieName maps the chip names in a pcie.yaml to IDs; Broadcom's product pages name both families.
var pcieName = map[string]string{"BCM78900": "th5", "BCM78910": "th6"}

// of sets the ASIC of a model, to "unknown" if no file names it.
func (c *chips) of(m *model, up *updater) {
	set := func(id, from string) bool {
		if id != "" {
			m.ASICID, m.asicFrom = id, from
		}
		return id != ""
	}
	if set(c.platform[m.Platform], "asic_table.j2") {
		return
	}
	switch {
	case m.Vendor == "virtual":
		set("vs", "the virtual switch")
		return
	case m.chip == "marvell-teralynx":
		set("teralynx", "platform_asic")
		return
	case m.chip == "barefoot": // the table has only Tofino-2
		set("tofino", "platform_asic")
		return
	case !strings.HasPrefix(m.chip, "broadcom"):
		set(unknown, "platform_asic names "+m.chip)
		return
	}
	var names []string
	if b, err := os.ReadFile(filepath.Join(c.tree, m.sku.dir, "sai.profile")); err == nil {
		for _, f := range initFile.FindAllStringSubmatch(string(b), -1) {
			names = append(names, f[1])
		}
	}
	more, _ := filepath.Glob(filepath.Join(c.tree, m.sku.dir, "*.bcm"))
	for _, ext := range []string{"*.yml", "*.yaml", "*.config.bcm.j2", "config.bcm.j2"} {
		l, _ := filepath.Glob(filepath.Join(c.tree, m.sku.dir, ext))
		more = append(more, l...)
	}
	slices.Sort(more)
	for _, f := range more {
		names = append(names, filepath.Base(f))
	}
	for _, n := range names {
		if f := prefix.FindStringSubmatch(n); f != nil {
			if f[2] != "" {
				set(unknown, n+" names a smaller relative")
				return
			}
			set(f[1], n)
			return
		}
	}
	for _, f := range more {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		if s := socFamily.FindStringSubmatch(string(b)); s != nil && set(families[s[1]], filepath.Base(f)+": soc_family "+s[1]) {
			return
		}
	}
	if set(up.broadcom(m.Name), "the config updater's list") {
		return
	}
	if real, err := filepath.EvalSymlinks(filepath.Join(c.tree, m.sku.dir, table)); err == nil {
		if _, after, ok := strings.Cut(real, "/device/common/profiles/"); ok {
			if id, _, _ := strings.Cut(after, "/"); prefix.MatchString(id + "-") {
				set(id, "device/common/profiles/"+id)
				return
			}
		}
	}
	pcie, _ := filepath.Glob(filepath.Join(c.tree, m.sku.dir, "../pcie.yaml*"))
	for _, f := range pcie {
		if b, err := os.ReadFile(f); err == nil && set(pcieName[pcieChip.FindString(string(b))], filepath.Base(f)) {
			return
		}
	}
	set(unknown, "no file names the chip")
}

// siblings handles models whose own files do not name their chip: they get the chip of the other
// hwskus of their platform, which are port layouts of the same box.
func siblings(all []*model) {
	of := map[string]map[string]string{}
	for _, m := range all {
		if m.ASICID != unknown {
			if of[m.Platform] == nil {
				of[m.Platform] = map[string]string{}
			}
			of[m.Platform][m.ASICID] = m.Name
		}
	}
	for _, m := range all {
		if known := of[m.Platform]; m.ASICID == unknown && len(known) == 1 {
			for id, name := range known {
				m.ASICID, m.asicFrom = id, "the platform of "+name
			}
		}
	}
}

// updater holds what the generic config updater knows about hwskus, by branch.
type updater struct {
	branches []string // oldest first, the last is master
	lists    map[string]lists
}

type lists struct {
	Mellanox map[string][]string `json:"mellanox_asics"`
	Broadcom map[string][]string `json:"broadcom_asics"`
	order    []string            // order of the keys of Broadcom in the file
	teralynx bool
}

const (
	updaterConf = "generic_config_updater/gcu_field_operation_validators.conf.json"
	updaterCode = "generic_config_updater/field_operation_validators.py"
)

func readUpdater(o options) (*updater, error) {
	up := &updater{lists: map[string]lists{}}
	if o.utilities == "" {
		return nil, errors.New("-utilities is needed")
	}
	show := func(branch, file string) ([]byte, error) {
		return exec.Command("git", "-C", o.utilities, "show", branch+":"+file).Output()
	}
	for _, b := range []string{"202205", "202305", "202311", "202405", "202411", "202505", "202511", "202605", "master"} {
		conf, err := show(b, updaterConf)
		if err != nil {
			return nil, fmt.Errorf("%s of sonic-utilities %s: %w", updaterConf, b, err)
		}
		var f struct {
			Helper struct {
				RDMA lists `json:"rdma_config_update_validator"`
			} `json:"helper_data"`
		}
		if err := json.Unmarshal(conf, &f); err != nil {
			return nil, fmt.Errorf("%s of sonic-utilities %s: %w", updaterConf, b, err)
		}
		code, err := show(b, updaterCode)
		if err != nil {
			return nil, err
		}
		l := f.Helper.RDMA
		l.teralynx = strings.Contains(string(code), "'marvell-teralynx'") && strings.Contains(string(conf), `"marvell-teralynx"`)
		for id := range l.Broadcom {
			l.order = append(l.order, id)
		}
		ordered.Sort(l.order, func(a, c string) int {
			return strings.Index(string(conf), `"`+a+`": [`) - strings.Index(string(conf), `"`+c+`": [`)
		})
		up.branches = append(up.branches, b)
		up.lists[b] = l
	}
	return up, nil
}

// chip returns the name that the updater of a branch has for a hwsku. Broadcom's lists hold parts
// of names, which are tried in the order of the file.
func (l lists) chip(m *model) string {
	name := strings.ToLower(m.Name)
	in := func(list []string, meant func(string) bool) bool {
		return slices.ContainsFunc(list, func(s string) bool { return meant(strings.ToLower(s)) })
	}
	switch {
	case m.chip == "marvell-teralynx":
		if l.teralynx {
			return m.chip
		}
	case m.chip == "mellanox":
		for id, skus := range l.Mellanox {
			if in(skus, func(s string) bool { return s == name }) {
				return id
			}
		}
	case strings.HasPrefix(m.chip, "broadcom"):
		for _, id := range l.order {
			if in(l.Broadcom[id], func(s string) bool { return strings.Contains(name, s) }) {
				return id
			}
		}
	}
	return ""
}

func (u *updater) broadcom(name string) string {
	m := &model{chip: "broadcom"}
	m.Name = name
	return u.lists["master"].chip(m)
}

// of returns the updater's chip name for a hwsku, and the oldest branch that knows the hwsku.
func (u *updater) of(m *model) (chip, since string) {
	if chip = u.lists["master"].chip(m); chip == "" {
		return "", ""
	}
	for _, b := range u.branches {
		if u.lists[b].chip(m) != "" {
			return chip, b
		}
	}
	return "", ""
}
