package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

func compilerOf(t testing.TB, name string, text []byte) *render.Compiler {
	t.Helper()
	f, err := intent.Load("-", intent.Options{Stdin: bytes.NewReader(text), Name: name})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c, err := render.New(f, fleet.Systems.Fits())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

// sameModel fails if two intents compile to different models of a switch.
func sameModel(t *testing.T, a, b *render.Compiler) {
	t.Helper()
	if len(a.Fabric().Switches) != len(b.Fabric().Switches) || len(a.Fabric().Links) != len(b.Fabric().Links) {
		t.Errorf("%d switches with %d links have become %d with %d", len(a.Fabric().Switches), len(a.Fabric().Links), len(b.Fabric().Switches), len(b.Fabric().Links))
	}
	for _, s := range a.Fabric().Switches {
		other := b.Fabric().Switch(s.Name)
		if other == nil {
			t.Errorf("there is no %s", s.Name)
			continue
		}
		x, y := a.Device(s).Desired, b.Device(other).Desired
		for _, c := range append(qos.Diff(x, y), qos.Diff(y, x)...) {
			t.Errorf("%s %s: %s -> %s", s.Name, c.Path(), c.Old, c.New)
		}
	}
}

func lines(text []byte) int { return bytes.Count(text, []byte("\n")) }

// Importing an example's switches yields an intent that compiles to the same model and has an
// empty plan.
func TestImportOfExamples(t *testing.T) {
	for _, name := range examples.Names() {
		if name != "mixed" && name != "cumulus-clos" && !sharedtest.Nightly() {
			continue // these have every system; TestImportOfRail512FromFiles imports the largest without a lab
		}
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			text, err := examples.Intent(name)
			if err != nil {
				t.Fatal(err)
			}
			want := compilerOf(t, name, text)
			dir := t.TempDir()
			l, err := lab.Start(want.Fabric(), dir, lab.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			file, out := filepath.Join(dir, "fabric.yaml"), filepath.Join(dir, "imported.yaml")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			run := func(args ...string) (stdout, stderr string) {
				t.Helper()
				status, stdout, stderr := runHere(t, append(args, "--lab", lab.Path(dir))...)
				if status != exitOK {
					t.Fatalf("%v: status %d\n%s\n%s", args, status, stdout, stderr)
				}
				return stdout, stderr
			}
			state := filepath.Join(dir, "state")
			run("apply", "-f", file, "--yes", "--allow", "traffic-loss", "--gate", "off", "--state", state)
			_, said := run("import", "--out", out)
			got, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			sameModel(t, want, compilerOf(t, out, got))
			if !strings.Contains(said, "this intent changes nothing on the switches") || strings.Contains(said, "not understood") {
				t.Errorf("import said\n%s", said)
			}
			run("plan", "-f", out, "--only", "!role:host", "--exit-code", "--state", state)
			if n := lines(got); n > lines(text)+20 {
				t.Errorf("the intent has %d lines, the original %d:\n%s", n, lines(text), got)
			}
		})
	}
}

// Import 48 switches and their cables from rendered files.
func TestImportOfRail512FromFiles(t *testing.T) {
	text, err := examples.Intent("rail-512")
	if err != nil {
		t.Fatal(err)
	}
	want := compilerOf(t, "rail-512", text)
	dir := t.TempDir()
	args := []string{"import", "--name", "rail-512", "--output", "json"}
	for _, s := range want.Fabric().Switches {
		// A saved configuration identifies its switch, says whether its ports are up, and
		// contains the platform's buffer pools, which this tool does not write.
		d := want.Device(s)
		_, native := fleet.SystemOf(d).Encode(d)
		var doc map[string]any
		if err := json.Unmarshal(native, &doc); err != nil {
			t.Fatal(err)
		}
		doc["DEVICE_METADATA"] = map[string]any{"localhost": map[string]any{"hostname": s.Name, "hwsku": s.Model.V, "buffer_model": "traditional"}}
		doc["BUFFER_POOL"] = map[string]any{"ingress_lossless_pool": map[string]any{"type": "ingress", "mode": "dynamic", "size": "136000000"}}
		for _, row := range doc["PORT"].(map[string]any) {
			row.(map[string]any)["admin_status"] = "up"
		}
		if native, err = json.Marshal(doc); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, s.Name+".json")
		if err := os.WriteFile(file, native, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", s.Name+"="+file)
	}
	type neighbour struct {
		Device   string `json:"device"`
		Port     string `json:"port"`
		Peer     string `json:"peer"`
		PeerPort string `json:"peerPort"`
	}
	var ns []neighbour
	for _, l := range want.Fabric().Links {
		ns = append(ns, neighbour{l.A.Device, l.A.Port, l.B.Device, l.B.Port})
	}
	cables, err := json.Marshal(map[string]any{"neighbors": ns})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "cables.json")
	if err := os.WriteFile(file, cables, 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := runHere(t, append(args, "--topology", file)...)
	if status != exitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	var doc report.ImportDocument
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatal(err)
	}
	sameModel(t, want, compilerOf(t, "imported", []byte(doc.Intent)))
	if n := lines([]byte(doc.Intent)); n > 40 {
		t.Errorf("the intent of 48 switches has %d lines:\n%s", n, doc.Intent)
	}
	for _, a := range doc.Accounts {
		for _, l := range a.Lines {
			if l.Fate == render.Unknown || l.Fate == render.Differs {
				t.Errorf("%s: %+v", a.Device, l)
			}
		}
	}
	if len(doc.Assumed) != 0 {
		t.Errorf("%+v", doc.Assumed)
	}
	// The groups that a switch derives itself are not in rendered files, and no plan would
	// change them.
	if len(doc.WouldChange) != 0 {
		t.Errorf("a plan would change %+v", doc.WouldChange)
	}
}

// Text from a file reaches the terminal without control sequences.
func TestImportShowsForeignTextHarmlessly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config_db.json")
	text := `{"PORT": {"Ethernet0": {"speed": "400000"}}, "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3", "odd\u001b[2J": "\u001b]0;owned\u0007"}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := runHere(t, "import", "--config", "leaf1="+file)
	if status != exitOK || !strings.Contains(stderr, "not understood: leaf1 PORT_QOS_MAP|Ethernet0 [odd:") || strings.ContainsAny(stdout+stderr, "\x1b\x07") {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
}

// No file content makes the import panic, hang, or write an intent that cannot be loaded.
func FuzzImportOfAFile(f *testing.F) {
	for _, name := range []string{"quickstart", "eos-clos", "nxos-clos"} {
		text, err := examples.Intent(name)
		if err != nil {
			f.Fatal(err)
		}
		c := compilerOf(f, name, text)
		s := c.Fabric().Switches[0]
		d := c.Device(s)
		_, native := fleet.SystemOf(d).Encode(d)
		f.Add(s.OS, native)
		f.Add("", native)
	}
	f.Add("", []byte(`{"PORT":{"Ethernet0":{"speed":"400000"},"[1-3]":{"mtu":"1"},"\"}: {":{}},"PORT_QOS_MAP":{"Ethernet0":{"pfc_enable":"3"}}}`))
	f.Add("eos", []byte("interface Ethernet1/1\n   mtu 70000\n   priority-flow-control on\n"))
	f.Add("", []byte("leaf1#show run\n\x1b[7m--More--\x1b[m\r\x1b[Kinterface Ethernet1/1\r\n   qos trust dscp\n   priority-flow-control on\nleaf1#"))
	f.Add("", []byte("\xff\xfe{\x00\"\x00P\x00O\x00R\x00T\x00\"\x00:\x00{\x00}\x00}\x00"))
	cases, err := filepath.Glob("../../fleet/testdata/adopt/*/*.txtar")
	if err != nil || len(cases) == 0 {
		f.Fatal("no corpus: ", err)
	}
	for _, file := range cases {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if text := a.Files[0].Data; len(text) < 1500 { // larger ones take the fuzzer a minute each
			f.Add(filepath.Base(filepath.Dir(file)), text)
		}
	}
	f.Fuzz(func(t *testing.T, system string, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		arg := "leaf1=" + file
		if _, known := fleet.Systems.Find(system); known {
			arg = fmt.Sprintf("leaf1:%s=%s", system, file)
		}
		status, stdout, stderr := runHere(t, "import", "--config", arg)
		if status == exitOK {
			compilerOf(t, "imported", []byte(stdout))
		} else if stdout != "" || !strings.Contains(stderr, "error: ") || strings.Contains(stderr, "derived intent") {
			t.Errorf("status %d, %q\n%s", status, stdout, stderr)
		}
		// The coverage report is just as harmless.
		if status != exitOK {
			return
		}
		status, stdout, stderr = runHere(t, "import", "--coverage", "--config", arg)
		if status != exitOK || !strings.HasPrefix(stdout, "SWITCH ") || strings.ContainsFunc(stdout, func(r rune) bool { return r < ' ' && r != '\n' }) {
			t.Errorf("status %d, %q\n%s", status, stdout, stderr)
		}
	})
}
