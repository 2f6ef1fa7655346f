package arch

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTree checks the source tree against all rules.
func TestTree(t *testing.T) {
	tr, err := parseTree(moduleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	// If the walk missed the tree, it would find no faults either.
	for _, want := range []string{"intent", "intent/qos", "internal/yaml", "render", "drivers"} {
		if !slices.ContainsFunc(tr.files, func(s source) bool { return s.pkg() == want && !s.test }) {
			t.Errorf("no file of %s was read", want)
		}
	}
	for _, f := range importFaults(tr.files) {
		t.Error(f)
	}
	for i, src := range tr.files {
		for _, f := range pathFaults(src, tr.fset, tr.asts[i]) {
			t.Error(f)
		}
	}
}

func TestImportRules(t *testing.T) {
	tests := []struct {
		file, imp string
		want      string // expected part of the fault; "" for none
	}{
		{"intent/load.go", "internal/yaml", ""},
		{"internal/ssh/client.go", "internal/secret", ""},
		{"internal/ssh/client.go", "intent/qos", "internal is below intent/qos"},
		{"intent/qos/qos.go", "internal/units", ""},
		{"intent/qos/qos.go", "intent", "intent/qos is below intent"},
		{"intent/fabric.go", "intent/qos", ""},
		{"render/compile.go", "render/headroom", ""},
		{"render/derive/derive.go", "render", ""},
		{"render/compile.go", "drivers", "render is below drivers"},
		{"render/sonic/encode.go", "drivers/sonic", "render is below drivers"},
		{"render/sonic/encode.go", "render/catalog", ""},
		{"render/sonic/encode.go", "render/eos", "one system knows nothing of another"},
		{"render/sonic/yang/check.go", "render/sonic", ""},
		{"drivers/sonic/driver.go", "render/sonic", ""},
		{"drivers/sonic/driver.go", "render/catalog", ""},
		{"drivers/sonic/driver.go", "drivers", ""},
		{"drivers/sonic/driver.go", "render/eos", "one system knows nothing of another"},
		{"drivers/sonic/driver.go", "drivers/eos", "drivers must not import each other"},
		{"drivers/drivers.go", "drivers/sonic", "must not import drivers"},
		{"drivers/drivers.go", "render/sonic", "one system knows nothing of another"},
		{"drivers/junos/driver.go", "drivers", "no record of a system"},
		{"drivers/drivers.go", "nic", "left to drivers/host"},
		{"drivers/host/host.go", "nic/agent", ""},
		{"drivers/sonic/driver.go", "drivers/host", "drivers must not import each other"},
		{"nic/nic.go", "drivers", "nic is below drivers"},
		{"validate/links.go", "nic", ""},
		{"validate/links.go", "fleet", "validate is below fleet"},
		{"fleet/run.go", "report", "fleet is below report"},
		{"fleet/engine/journal.go", "fleet/store", ""},
		{"fleet/engine/run.go", "fleet", "fleet/engine must not import fleet"},
		{"fleet/engine/run.go", "fleet/planfile", "fleet/engine must not import fleet/planfile"},
		{"fleet/engine/run.go", "intent", "it knows no intent"},
		{"fleet/engine/run.go", "intent/qos", ""},
		{"fleet/planfile/decide.go", "fleet/importer", "fleet/planfile must not import fleet/importer"},
		{"fleet/planfile/decide.go", "fleet/engine", ""},
		{"fleet/other/other.go", "fleet/engine", "inFleet does not list the package"},
		{"fleet/hook/hook.go", "fleet", ""},
		{"fleet/engine/journal.go", "fleet/store/storetest", "only tests import it"},
		{"fleet/store/etcd.go", "go.etcd.io/etcd/client/v3", ""},
		{"fleet/engine/journal.go", "go.etcd.io/etcd/client/v3", "left to fleet/store"},
		{"report/json.go", "fleet", ""},
		{"report/json.go", "cmd/roce-fabric/flags", "report is below cmd"},
		{"cmd/roce-fabric/plan.go", "drivers/sonic", ""},
		{"cmd/roce-fabric/plan.go", "testlab/sim", "only tests and the lab command"},
		{"cmd/roce-fabric/target.go", "testlab/lab", ""},
		{"fleet/plan.go", "testlab/lab", "only tests and the lab command"},
		{"cmd/roce-fabric/lab.go", "testlab/sim", ""},
		{"cmd/roce-fabric/init.go", "examples", ""},
		{"examples/examples.go", "intent", "examples is below intent"},
		{"cmd/roce-fabric/lab_demo.go", "testlab/sim", ""},
		{"drivers/sonic/driver.go", "testlab/sim", "only tests and the lab command"},
		{"drivers/sonic/driver_test.go", "testlab/sim/sonic", ""},
		{"drivers/drivertest/suite.go", "testlab/sim", ""},
		{"drivers/drivertest/suite.go", "drivers/sonic", "must not import drivers"},
		{"drivers/sonic/driver.go", "drivers/drivertest", "only tests import it"},
		{"drivers/sonic/driver_test.go", "drivers/drivertest", ""},
		{"testlab/sim/sonic/sonic.go", "render/catalog", ""},
		{"testlab/sim/sim.go", "cmd/roce-fabric/flags", "testlab is below cmd"},
		{"pkg/util/util.go", "intent", "belongs to no layer"},
		{"intent/load.go", "pkg/util", "belongs to no layer"},
		{"render/compile.go", "internal/sharedtest", "only tests import it"},
		{"internal/yaml/yaml.go", "gopkg.in/yaml.v3", ""},
		{"intent/load.go", "gopkg.in/yaml.v3", "left to internal/yaml"},
		{"internal/gnmi/client.go", "github.com/openconfig/gnmic/pkg/api", ""},
		{"drivers/sonic/driver.go", "github.com/openconfig/gnmic/pkg/api", "left to internal/gnmi"},
		{"drivers/sonic/driver.go", "github.com/openconfig/gnmi/proto/gnmi", ""},
		{"drivers/eos/driver.go", "github.com/scrapli/scrapligo/driver/generic", ""},
		{"drivers/sonic/driver.go", "github.com/scrapli/scrapligo/driver/generic", "left to internal/ssh"},
		{"fleet/run.go", "github.com/spf13/cobra", "left to cmd"},
		{"cmd/roce-fabric/main.go", "github.com/spf13/cobra", ""},
		{"testlab/sim/host/machine.go", "nic/local/localtest", ""},
		{"nic/local/localtest/host.go", "nic/mlxconfig/mlxconfigtest", ""},
		{"nic/local/local_test.go", "nic/local/localtest", ""},
		{"nic/local/local.go", "nic/local/localtest", "only tests and testlab import it"},
		{"cmd/roce-fabric/lab.go", "nic/local/localtest", "only tests and testlab import it"},
	}
	for _, tt := range tests {
		imp := tt.imp
		if !strings.Contains(strings.Split(imp, "/")[0], ".") {
			imp = module + "/" + imp
		}
		src := source{path: tt.file, test: strings.HasSuffix(tt.file, "_test.go"), imports: []string{imp}}
		got := strings.Join(importFaults([]source{src}), "\n")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s imports %s: fault %q, want %q", tt.file, tt.imp, got, tt.want)
		}
	}
}

func TestSystemNames(t *testing.T) {
	tests := []struct {
		file, body string
		want       int
	}{
		{"fleet/plan.go", `var a = os == "sonic"`, 1},
		{"fleet/plan.go", `func f() { switch os { case "EOS", ` + "`nxos`" + `: } }`, 2},
		{"fleet/plan.go", `var a = "sonic-db"`, 0},
		{"fleet/plan.go", `var a = os == intent.SONiC.Name`, 1},
		{"fleet/plan_test.go", `var a = "sonic"`, 0},
		{"render/compile.go", `var a = "sonic"`, 0},
		{"render/inventory/build.go", `var a = intent.SONiC.Name`, 1},
		{"cmd/roce-fabric/check.go", `var a = map[string]int{"sonic": 1}`, 1},
		{"cmd/roce-fabric/lab.go", `var a = "sonic"`, 0},
		{"cmd/roce-fabric/main.go", `var systems = drivers.Systems{sonic.System}`, 0},
	}
	for _, tt := range tests {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, tt.file, "package p\n"+tt.body, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		src := source{path: tt.file, test: strings.HasSuffix(tt.file, "_test.go")}
		if got := systemFaults(src, fset, file); len(got) != tt.want {
			t.Errorf("%s: %s: %d faults, want %d: %q", tt.file, tt.body, len(got), tt.want, got)
		}
	}
}

// TestSyntaxFaults checks which texts of core code count as names or syntax of a system.
func TestSyntaxFaults(t *testing.T) {
	words := map[string]string{"dscp_to_tc_map": "sonic", "policy-map": "nxos"}
	tests := []struct {
		file, body string
		want       int
	}{
		{"validate/checks.go", `var a = "set it, on SONiC with a row"`, 1},
		{"validate/checks.go", `var a = "NVUE's and NX-OS's"`, 1},
		{"validate/checks.go", `var a = "sonically"`, 0},
		{"validate/checks.go", `var a = "DSCP_TO_TC_MAP|AZURE"`, 1},
		{"validate/checks.go", `var a = []Check{{Sources: []string{"sonic-swss"}}}`, 0},
		{"validate/checks.go", `const srcTables = "sonic-buildimage"`, 0},
		{"validate/checks.go", `import "drivers/sonic"`, 0},
		{"validate/checks_test.go", `var a = "on SONiC"`, 0},
		{"drivers/sonic/plan.go", `var a = "DSCP_TO_TC_MAP on SONiC"`, 0},
		{"testlab/lab/faults.go", "var a = `policy-map type qos`", 1},
		{"testlab/sim/eos/system.go", "var a = `policy-map type qos`", 0},
	}
	for _, tt := range tests {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, tt.file, "package p\n"+tt.body, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		src := source{path: tt.file, test: strings.HasSuffix(tt.file, "_test.go")}
		if got := syntaxFaults(src, fset, file, words); len(got) != tt.want {
			t.Errorf("%s: %s: %d faults, want %d: %q", tt.file, tt.body, len(got), tt.want, got)
		}
	}
}

func TestPaths(t *testing.T) {
	tests := []struct {
		file, body string
		want       int
	}{
		{"intent/load.go", `var a = "../shared/data"`, 1},
		{"intent/load.go", `var a = filepath.Join(dir, "..", "shared", "data")`, 1},
		{"intent/load.go", `var a = filepath.Join(dir, "..", "shared/data")`, 1},
		{"intent/load.go", "// See ../shared for more.\nvar a = 1", 1},
		{"intent/load_test.go", `var a = filepath.Join(dir, "..", "shared", "data")`, 0},
		{"render/headroom/headroom.go", `var a = f("shared", "..", "pool")`, 0},
		{"internal/sharedtest/sharedtest.go", `var a = "../shared"`, 0},
	}
	for _, tt := range tests {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, tt.file, "package p\n"+tt.body, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		src := source{path: tt.file, test: strings.HasSuffix(tt.file, "_test.go")}
		if got := pathFaults(src, fset, file); len(got) != tt.want {
			t.Errorf("%s: %s: %d faults, want %d: %q", tt.file, tt.body, len(got), tt.want, got)
		}
	}
}

func TestParseTree(t *testing.T) {
	root := t.TempDir()
	for name, body := range map[string]string{
		"go.mod":                 "module m",
		"a/a.go":                 "package a\nimport _ \"m/b\"",
		"a/a_windows.go":         "package a\nimport _ \"m/c\"",
		"a/keep.go":              "//go:build keepdeps\n\npackage a\nimport _ \"m/d\"",
		"a/testdata/x.go":        "not Go",
		"tools/go.mod":           "module t",
		"tools/tools.go":         "not Go",
		".hidden/x.go":           "not Go",
		"a/linux.go":             "//go:build linux\n\npackage a",
		"a/a_test.go":            "package a",
		"a/deep/deeper/there.go": "package deeper",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := parseTree(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range tr.files {
		got = append(got, strings.TrimSpace(f.path+" "+strings.Join(f.imports, " ")))
	}
	want := []string{"a/a.go m/b", "a/a_test.go", "a/a_windows.go m/c", "a/deep/deeper/there.go", "a/linux.go"}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	if !tr.files[slices.IndexFunc(tr.files, func(s source) bool { return s.path == "a/a_test.go" })].test {
		t.Error("a/a_test.go is not taken for a test")
	}
}
