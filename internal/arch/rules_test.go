package arch

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/roce-fabric/roce-fabric"

// layers lists the folders of the module from the bottom up. A package may import its own folder
// and folders of lower layers.
var layers = [][]string{
	{"internal", "examples"},
	{"intent/qos"},
	{"intent"},
	{"render"},
	{"nic"},
	{"simulate"},
	{"drivers"},
	{"validate"},
	{"fleet"},
	{"prove"},
	{"report"},
	{"watch"},
	{"testlab"},
	{"cmd", "examples/program"},
}

// inFleet lists the packages of the folder fleet from the bottom up. A package may import its own
// folder and those further down, but not one of the same level.
var inFleet = [][]string{
	{"fleet/keys", "fleet/order", "fleet/systems"},
	{"fleet/input", "fleet/rollout", "fleet/store"},
	{"fleet/engine"},
	{"fleet/importer", "fleet/planfile"},
	{"fleet"},
	{"fleet/approval", "fleet/hook"},
}

// withoutIntent lists packages that must not import the intent.
var withoutIntent = []string{"fleet/engine", "fleet/keys", "fleet/store"}

// systems lists the supported operating systems: the folders of drivers that contain a system.go.
var systems = func() (out []string) {
	records, err := filepath.Glob("../../drivers/*/system.go")
	if err != nil || len(records) == 0 {
		panic(fmt.Sprintf("no record of a system: %v", err))
	}
	for _, r := range records {
		out = append(out, filepath.Base(filepath.Dir(r)))
	}
	return out
}()

// shared lists the packages of drivers that several systems share.
var shared = []string{"drivers/lines"}

// hosts is the only driver that is not for a switch, and the only one that may import package nic.
const hosts = "drivers/host"

// core lists the folders whose code must not contain names or syntax of operating systems.
var core = []string{
	"validate", "fleet", "render/derive", "render/inventory", "render/starter", "render/telemetry", "report", "watch", "cmd",
	"testlab/lab", "testlab/containerlab",
}

// helpers lists packages that only tests may import.
var helpers = []string{"drivers/drivertest", "fleet/engine/enginetest", "fleet/store/storetest", "internal/arch", "internal/browsertest", "internal/sharedtest", "render/forms/formstest", "watch/watchtest"}

// fakes simulate a machine's kernel, drivers and tools. Besides tests, only the simulated hosts of
// testlab use them.
var fakes = []string{"nic/local/localtest", "nic/mlxconfig/mlxconfigtest", "nic/nicctl/nicctltest", "nic/runner/runnertest"}

// labFile is the package that knows where the devices of a running lab are. Any command may import
// it, because any command may be used with a lab; only the lab command starts one.
const labFile = "testlab/lab"

// owners lists the packages that may import each third-party module. All other packages use it
// through them, so that a change of the module affects one place.
var owners = map[string][]string{
	"gopkg.in/yaml.v3":            {"internal/yaml"},
	"github.com/openconfig/gnmic": {"internal/gnmi"},
	"github.com/scrapli":          {"internal/ssh", "drivers/eos", "drivers/nxos"},
	"github.com/spf13/cobra":      {"cmd"},
	"github.com/prometheus":       {"watch/metrics", "watch/keep"},
	// Tests run the etcd server.
	"go.etcd.io/etcd": {"fleet/store"},
	"go.uber.org/zap": {"fleet/store"},
	// Tests parse reports with these.
	"github.com/owenrumney/go-sarif":      {"report"},
	"github.com/jstemmer/go-junit-report": {"report"},
}

// source is one Go file.
type source struct {
	path    string // relative to the module root, with slashes
	test    bool   // the name ends in _test.go
	imports []string
}

func (s source) pkg() string { return path.Dir(s.path) }

// lab reports whether the file belongs to the lab command.
func (s source) lab() bool {
	return within(s.path, "cmd") && (strings.HasPrefix(path.Base(s.path), "lab") || path.Base(s.pkg()) == "lab")
}

// within reports whether a package is the folder or is below it.
func within(pkg, folder string) bool {
	return pkg == folder || strings.HasPrefix(pkg, folder+"/")
}

func withinAny(pkg string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(pkg, f) })
}

// place returns the layer and the folder of a package. The layer is -1 if no layer contains the
// package.
func place(pkg string) (layer int, folder string) { return placeIn(layers, pkg) }

// placeIn is like place, for a list of layers.
func placeIn(list [][]string, pkg string) (layer int, folder string) {
	layer = -1
	for i, fs := range list {
		for _, f := range fs {
			if within(pkg, f) && len(f) > len(folder) {
				layer, folder = i, f
			}
		}
	}
	return layer, folder
}

// system returns the operating system whose folder, directly under below, contains the package, or
// "" if there is none.
func system(pkg, below string) string {
	for _, s := range systems {
		if within(pkg, below+"/"+s) {
			return s
		}
	}
	return ""
}

// importFaults returns the violations of the import rules, one line each. Tests may import
// anything.
func importFaults(files []source) []string {
	var faults []string
	for _, f := range files {
		if f.test {
			continue
		}
		if why := placeFault(f.pkg()); why != "" {
			faults = append(faults, fmt.Sprintf("%s: %s", f.path, why))
			continue
		}
		for _, imp := range f.imports {
			why := ""
			if ours, ok := strings.CutPrefix(imp, module+"/"); ok {
				why = ourFault(f, ours)
			} else {
				why = theirFault(f.pkg(), imp)
			}
			if why != "" {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", f.path, imp, why))
			}
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

func placeFault(pkg string) string {
	if layer, _ := place(pkg); layer < 0 {
		return "the package belongs to no layer"
	}
	if within(pkg, "drivers") && pkg != "drivers" && system(pkg, "drivers") == "" && !within(pkg, hosts) && !withinAny(pkg, append(shared, helpers...)) {
		return "the folder has no record of a system, system.go"
	}
	return ""
}

func ourFault(f source, imp string) string {
	pkg := f.pkg()
	helper := withinAny(pkg, helpers)
	if withinAny(imp, helpers) && !helper {
		return "only tests import it"
	}
	if withinAny(imp, fakes) && !withinAny(pkg, fakes) && !within(pkg, "testlab") && !helper {
		return "only tests and testlab import it"
	}
	if within(imp, "testlab") && !within(pkg, "testlab") && !f.lab() {
		switch {
		case helper:
			return ""
		case within(pkg, "cmd") && imp == labFile:
			return ""
		}
		return "only tests and the lab command import testlab"
	}
	layer, folder := place(pkg)
	impLayer, impFolder := place(imp)
	switch {
	case impLayer < 0:
		return "the package belongs to no layer"
	case impLayer > layer:
		return fmt.Sprintf("%s is below %s and must not import it", folder, impFolder)
	case impLayer == layer && impFolder != folder:
		return fmt.Sprintf("%s and %s are in the same layer and must not import each other", folder, impFolder)
	}
	if within(pkg, "fleet") && within(imp, "fleet") {
		layer, folder := placeIn(inFleet, pkg)
		impLayer, impFolder := placeIn(inFleet, imp)
		if impLayer > layer || impLayer == layer && impFolder != folder {
			return fmt.Sprintf("%s must not import %s", folder, impFolder)
		}
		if folder == "fleet" && pkg != folder || impFolder == "fleet" && imp != impFolder {
			return "inFleet does not list the package"
		}
	}
	if imp == "intent" && withinAny(pkg, withoutIntent) {
		return "it knows no intent"
	}
	if within(imp, "nic") && within(pkg, "drivers") && !within(pkg, hosts) {
		return "left to " + hosts
	}
	if within(imp, hosts) && within(pkg, "drivers") && !within(pkg, hosts) {
		return "drivers must not import each other, and shared packages must not import drivers"
	}
	if theirs := system(imp, "render"); theirs != "" {
		if within(pkg, "drivers") && system(pkg, "drivers") != theirs ||
			within(pkg, "render") && system(pkg, "render") != "" && system(pkg, "render") != theirs {
			return "one system knows nothing of another"
		}
	}
	if theirs := system(imp, "drivers"); theirs != "" && within(pkg, "drivers") && system(pkg, "drivers") != theirs {
		return "drivers must not import each other, and shared packages must not import drivers"
	}
	return ""
}

func theirFault(pkg, imp string) string {
	for mod, pkgs := range owners {
		if within(imp, mod) && !withinAny(pkg, pkgs) {
			return "left to " + strings.Join(pkgs, ", ")
		}
	}
	return ""
}
