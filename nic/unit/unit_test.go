package unit_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
	"github.com/roce-fabric/roce-fabric/nic/unit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "rewrite the golden files")

func host() *nic.Host {
	p := &nic.Port{
		Name: "ens1f0np0", RDMA: "mlx5_bond_0", PFC: qos.Of(qos.Priorities(3)), Trust: qos.Of(qos.TrustDSCP), ToS: qos.Of(106), MTU: qos.Of(9000),
		Wanted: qos.Of(mlxconfig.Settings{CCPriorities: qos.Priorities(3), CNPDSCP: 48, CNPPriority: 6, FirmwareLLDPOff: true}),
		From:   map[string]string{"pfc": "fabric.yaml:12"},
	}
	p.Cable.V, p.Cable.Set = 10, true
	h := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{
		"ens1f0np0": p, "ens1f1np1": {Name: "ens1f1np1", RDMA: "mlx5_bond_0", MTU: qos.Of(9000)}, "eth2": {Name: "eth2", MTU: qos.Of(9000)},
	}}
	h.Unit = nic.UnitState{Present: true, Digest: nic.Digest(h)}
	return h
}

// machine returns a machine with systemd and the program.
func machine(t *testing.T) (local.Roots, unit.Settings, *runnertest.Fake) {
	t.Helper()
	dir := t.TempDir()
	r := local.Roots{Etc: filepath.Join(dir, "etc"), Run: filepath.Join(dir, "run")}
	const bin = "/usr/local/bin/rf"
	for _, d := range []string{r.Etc, filepath.Join(r.Run, "systemd", "system"), filepath.Join(dir, filepath.Dir(bin))} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, bin), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := &runnertest.Fake{Programs: map[string]runnertest.Program{"systemctl": runnertest.Prints("", "", 0), "udevadm": runnertest.Prints("", "", 0)}}
	return r, unit.Settings{Binary: bin, Host: host()}, run
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, rerr := filepath.Rel(dir, name)
			out, err = append(out, filepath.ToSlash(rel)), rerr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGolden(t *testing.T) {
	got, err := unit.Files(unit.Settings{Host: host()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got {
		path := filepath.Join("testdata", filepath.Base(f.Path)+".golden")
		if *update {
			if err := os.WriteFile(path, f.Content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(f.Content)); diff != "" {
			t.Errorf("%s differs; refresh with -update and review:\n%s", path, diff)
		}
	}
}

func TestInstallReadRemove(t *testing.T) {
	r, s, run := machine(t)
	if state, err := unit.Read(r, nil); err != nil || state != (nic.UnitState{}) {
		t.Errorf("before: %+v %v", state, err)
	}
	if _, err := unit.Load(r); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	written, err := unit.Install(t.Context(), r, run, s)
	if err != nil || len(written) != 3 {
		t.Fatalf("%q, %v", written, err)
	}
	if diff := cmp.Diff([]string{"udevadm control --reload", "systemctl daemon-reload"}, run.Calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	state, err := unit.Read(r, nil)
	if err != nil || state != s.Host.Unit {
		t.Errorf("installed: %+v %v", state, err)
	}
	loaded, err := unit.Load(r)
	if err != nil {
		t.Fatal(err)
	}
	want := *s.Host
	want.Unit = nic.UnitState{}
	if diff := cmp.Diff(&want, loaded.Host); diff != "" || loaded.Binary != s.Binary {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}

	if again, err := unit.Install(t.Context(), r, run, s); err != nil || again != nil || len(run.Calls()) != 4 {
		t.Errorf("again: %q, %v, calls %q", again, err, run.Calls())
	}

	// After a change of the settings, the unit still has the old ones until it is reinstalled.
	next := host()
	next.Ports["eth2"].MTU = qos.Of(4200)
	next.Unit.Digest = nic.Digest(next)
	running := &nic.Host{Unit: state, Ports: map[string]*nic.Port{}}
	if !slices.ContainsFunc(nic.Diff(running, next), func(c nic.Change) bool { return c.Kind == nic.KindNotPersistent }) {
		t.Error("a unit of other settings is not found")
	}
	if written, err := unit.Install(t.Context(), r, run, unit.Settings{Binary: s.Binary, Host: next}); err != nil || len(written) != 1 {
		t.Errorf("renewed %q, %v", written, err)
	}
	if state, _ := unit.Read(r, nil); state != next.Unit {
		t.Errorf("renewed: %+v", state)
	}

	before := len(run.Calls())
	removed, err := unit.Remove(t.Context(), r, run)
	if err != nil || len(removed) != 3 {
		t.Fatalf("%q, %v", removed, err)
	}
	if diff := cmp.Diff([]string{
		"udevadm control --reload", "systemctl stop roce-fabric-nic@*.service", "systemctl reset-failed roce-fabric-nic@*.service", "systemctl daemon-reload",
	}, run.Calls()[before:]); diff != "" {
		t.Errorf("removed, calls (-want +got):\n%s", diff)
	}
	if left := files(t, r.Etc); left != nil {
		t.Errorf("left %q", left)
	}
	if _, err := os.Stat(filepath.Join(r.Etc, "roce-fabric")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
	calls := len(run.Calls())
	if again, err := unit.Remove(t.Context(), r, run); err != nil || again != nil || len(run.Calls()) != calls {
		t.Errorf("removed again: %q, %v", again, err)
	}
}

func TestStale(t *testing.T) {
	const hostFile, service, rules = "roce-fabric/host.json", "systemd/system/roce-fabric-nic@.service", "udev/rules.d/99-roce-fabric-nic.rules"
	edit := func(path, old, now string) func(*testing.T, local.Roots, string) {
		return func(t *testing.T, r local.Roots, _ string) {
			name := filepath.Join(r.Etc, path)
			b, err := os.ReadFile(name)
			if err != nil || !strings.Contains(string(b), old) {
				t.Fatalf("%q is not in %s: %v", old, path, err)
			}
			if err := os.WriteFile(name, []byte(strings.Replace(string(b), old, now, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(path string) func(*testing.T, local.Roots, string) {
		return func(t *testing.T, r local.Roots, bin string) {
			name := filepath.Join(filepath.Dir(r.Etc), bin)
			if path != "" {
				name = filepath.Join(r.Etc, path)
			}
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(*testing.T, local.Roots, string)
		why    string
	}{
		{"a setting was edited", edit(hostFile, `106`, `104`), "digest"},
		{"no JSON", edit(hostFile, `{`, ``), "damaged"},
		{"a later format", edit(hostFile, `"format": 1`, `"format": 2`), "format is 2"},
		{"an empty port", edit(hostFile, `"eth2": {`, `"eth9": null, "eth2": {`), "empty"},
		{"more text", edit(hostFile, "{\n", "{}\n{\n"), "damaged"},
		{"the service was edited", edit(service, "oneshot", "simple"), "differs from what this program writes"},
		{"the rules were edited", edit(rules, "eth2", "eth3"), "differs from what this program writes"},
		{"no host file", remove(hostFile), "missing"},
		{"no service", remove(service), "missing"},
		{"no rules", remove(rules), "missing"},
		{"no program", remove(""), "does not exist"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, s, run := machine(t)
			if _, err := unit.Install(t.Context(), r, run, s); err != nil {
				t.Fatal(err)
			}
			tt.damage(t, r, s.Binary)
			state, err := unit.Read(r, nil)
			if err != nil || !state.Present || state.Digest != "" || !strings.Contains(state.Stale, tt.why) {
				t.Errorf("%+v %v", state, err)
			}
			if tt.name == "no program" {
				return
			}
			if _, err := unit.Install(t.Context(), r, run, s); err != nil {
				t.Fatal(err)
			}
			if state, err := unit.Read(r, nil); err != nil || state != s.Host.Unit {
				t.Errorf("renewed: %+v %v", state, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	r, s, run := machine(t)
	for _, name := range []string{"eth*", "en p", "x\"y", "../x", "", "a@b", `a\b`, "-o"} {
		h := host()
		h.Ports[name] = &nic.Port{Name: name}
		if _, err := unit.Install(t.Context(), r, run, unit.Settings{Host: h}); !errors.Is(err, unit.ErrName) {
			t.Errorf("port %q: %v", name, err)
		}
		h = host()
		h.Ports["eth2"].RDMA = name
		if _, err := unit.Files(unit.Settings{Host: h}); name != "" && !errors.Is(err, unit.ErrName) {
			t.Errorf("RDMA device %q: %v", name, err)
		}
	}
	for _, bin := range []string{"roce-fabric", "/opt/my tool", "/opt/%i", "/opt/../x", "/opt/x;y", "/opt/"} {
		if _, err := unit.Install(t.Context(), r, run, unit.Settings{Binary: bin, Host: s.Host}); !errors.Is(err, unit.ErrName) {
			t.Errorf("program %q: %v", bin, err)
		}
	}
	if _, err := unit.Files(unit.Settings{Host: &nic.Host{}}); err == nil {
		t.Error("a unit of nothing")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := unit.Install(ctx, r, run, s); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left := files(t, r.Etc); left != nil {
		t.Errorf("written %q", left)
	}

	run.Programs["systemctl"] = runnertest.Prints("", "Failed to connect to bus\n", 1)
	if written, err := unit.Install(t.Context(), r, run, s); err == nil || !strings.Contains(err.Error(), "Failed to connect to bus") || len(written) != 3 {
		t.Errorf("systemctl fails: %q, %v", written, err)
	}
	if err := os.RemoveAll(filepath.Join(r.Run, "systemd")); err != nil {
		t.Fatal(err)
	}
	if _, err := unit.Install(t.Context(), r, run, s); !errors.Is(err, unit.ErrNoSystemd) {
		t.Errorf("without systemd: %v", err)
	}
	if removed, err := unit.Remove(t.Context(), r, run); err != nil || len(removed) != 3 {
		t.Errorf("remove without systemd: %q, %v", removed, err)
	}
}

func TestPartOf(t *testing.T) {
	h := host()
	h.Ports["eth2"].MTU, h.Ports["eth2"].PFC = qos.Of(9000), qos.Of(qos.Priorities(3))
	h.Uppers = map[string]*nic.Upper{
		"bond0":     {Name: "bond0", Kind: nic.UpperBond, On: []string{"ens1f0np0", "ens1f1np1"}},
		"bond0.100": {Name: "bond0.100", Kind: nic.UpperVLAN, On: []string{"bond0"}},
		"eth2.7":    {Name: "eth2.7", Kind: nic.UpperVLAN, On: []string{"eth2"}},
	}
	for device, want := range map[string]string{
		"eth2": "eth2", "mlx5_bond_0": "ens1f0np0 ens1f1np1", "": "", "eth9": "",
		"bond0": "ens1f0np0 ens1f1np1 bond0", "bond0.100": "ens1f0np0 ens1f1np1 bond0 bond0.100", "eth2.7": "eth2 eth2.7",
	} {
		var got []string
		if part := unit.PartOf(h, device); part != nil {
			got = append(natural.Keys(part.Ports), natural.Keys(part.Uppers)...)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q", device, s)
		}
	}
	// For a device below, only the MTU is set: its other settings are applied when it appears.
	if p := unit.PartOf(h, "eth2.7").Ports["eth2"]; p.MTU != qos.Of(9000) || p.PFC.Set {
		t.Errorf("%+v", p)
	}
	if p := unit.PartOf(h, "eth2").Ports["eth2"]; !p.PFC.Set {
		t.Errorf("%+v", p)
	}
	files, err := unit.Files(unit.Settings{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	if rules := string(files[2].Content); !strings.Contains(rules, `KERNEL=="bond0.100", TAG+="systemd", ENV{SYSTEMD_WANTS}+="roce-fabric-nic@bond0.100.service"`) {
		t.Errorf("rules:\n%s", rules)
	}
}

// If no program is stated, the unit runs a copy of the running program, which is removed with the
// unit.
func TestProgram(t *testing.T) {
	r, s, run := machine(t)
	s.Binary = ""
	name := filepath.Join(filepath.Dir(r.Etc), unit.DefaultBinary)
	written, err := unit.Install(t.Context(), r, run, s)
	if err != nil || len(written) != 4 || written[0] != name {
		t.Fatalf("%q, %v", written, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	same := func(when string) {
		t.Helper()
		st, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || st.Mode() != 0o755 || !bytes.Equal(got, want) {
			t.Errorf("%s: mode %v, %d bytes, %v", when, st.Mode(), len(got), err)
		}
		if state, err := unit.Read(r, nil); err != nil || state != s.Host.Unit {
			t.Errorf("%s: %+v %v", when, state, err)
		}
	}
	same("installed")
	if again, err := unit.Install(t.Context(), r, run, s); err != nil || again != nil {
		t.Errorf("again: %q, %v", again, err)
	}
	for what, damage := range map[string]func() error{
		"another version": func() error { return os.WriteFile(name, []byte("old"), 0o755) },
		"open to all":     func() error { return os.Chmod(name, 0o777) },
		"no program":      func() error { return os.Chmod(name, 0o644) },
		"gone":            func() error { return os.Remove(name) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if what != "another version" {
			if state, err := unit.Read(r, nil); err != nil || state.Digest != "" || state.Stale == "" {
				t.Errorf("%s: %+v %v", what, state, err)
			}
		}
		if again, err := unit.Install(t.Context(), r, run, s); err != nil || !slices.Equal(again, []string{name}) {
			t.Errorf("%s: %q, %v", what, again, err)
		}
		same(what)
	}
	if removed, err := unit.Remove(t.Context(), r, run); err != nil || len(removed) != 4 {
		t.Errorf("%q, %v", removed, err)
	}
	if left := files(t, filepath.Dir(name)); left != nil {
		t.Errorf("left %q", left)
	}
}

// Only root may be able to replace a program that root runs at boot.
func TestProgramOfOthers(t *testing.T) {
	r, s, run := machine(t)
	top := filepath.Dir(r.Etc)
	mode := func(path string, m fs.FileMode) {
		t.Helper()
		if err := os.Chmod(filepath.Join(top, path), m); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string) {
		t.Helper()
		written, err := unit.Install(t.Context(), r, run, s)
		if !errors.Is(err, unit.ErrProgram) || written != nil {
			t.Errorf("%s: %q, %v", what, written, err)
		}
		if left := files(t, r.Etc); left != nil {
			t.Fatalf("%s: written %q", what, left)
		}
	}
	mode(s.Binary, 0o757)
	refused("a file that all may write")
	mode(s.Binary, 0o755)
	mode("usr/local", 0o777|fs.ModeSticky)
	refused("a folder above that all may write")
	s.Binary = ""
	refused("the same for the copy")
	mode("usr/local", 0o755)

	open := filepath.Join(top, "open")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(open, "rf"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	mode("open", 0o777)
	if err := os.Symlink(filepath.Join(open, "rf"), filepath.Join(top, "usr/local/bin/link")); err != nil {
		t.Fatal(err)
	}
	s.Binary = "/usr/local/bin/link"
	refused("a link to where all may write")
	s.Binary = "/usr/local/bin/none"
	refused("no file")
	if os.Geteuid() == 0 {
		s.Binary = "/usr/local/bin/rf"
		if err := os.Chown(filepath.Join(top, s.Binary), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		refused("another user's file")
	}
}

// For NICs with selectors, udev starts the unit for all devices that may be chosen.
func TestRulesOfSelectors(t *testing.T) {
	h := host()
	h.Ports = map[string]*nic.Port{
		"rail1": {Name: "rail1", Select: qos.Of(intent.Selector{Vendor: "nvidia", Rail: 1})},
		"rail2": {Name: "rail2", Select: qos.Of(intent.Selector{Vendor: "nvidia", Rail: 2})},
		"store": {Name: "store", Select: qos.Of(intent.Selector{PCI: "0000:3b:00.0"})},
	}
	files, err := unit.Files(unit.Settings{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	const of = `, TAG+="systemd", ENV{SYSTEMD_WANTS}+="roce-fabric-nic@$name.service"` + "\n"
	want := `SUBSYSTEM=="net", SUBSYSTEMS=="pci", ATTRS{vendor}=="0x15b3"` + of + `SUBSYSTEM=="infiniband", SUBSYSTEMS=="pci", ATTRS{vendor}=="0x15b3"` + of +
		`SUBSYSTEM=="net", SUBSYSTEMS=="pci", KERNELS=="0000:3b:00.0"` + of + `SUBSYSTEM=="infiniband", SUBSYSTEMS=="pci", KERNELS=="0000:3b:00.0"` + of
	if rules := string(files[2].Content); !strings.Contains(rules, want) || strings.Contains(rules, `KERNEL=="rail1"`) {
		t.Errorf("rules:\n%s", rules)
	}
}
