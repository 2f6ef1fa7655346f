package planfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func sample(name string) *engine.DevicePlan {
	return &engine.DevicePlan{
		Name: name, OS: "sonic", Base: "abc", Facts: drivers.Facts{Model: "M", Release: "202511"},
		Changes: []engine.Group{{Ports: []string{"Ethernet0", "Ethernet8"}, Change: qos.Change{Field: qos.KindPFC.Attr(), Old: "{3,4}", New: "{3}", Impact: qos.ImpactPortFlap}}},
		Steps:   []drivers.Step{{Via: "gnmi", What: "bind", Native: []byte(`{"ops":[]}`)}},
	}
}

func save(t testing.TB, devices ...*engine.DevicePlan) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.plan")
	w, err := New(PlanHeader{Tool: "t", Fabric: "f", Intent: "hash"})
	if err != nil {
		t.Fatal(err)
	}
	r := &rollout.Rollout{}
	for _, d := range devices {
		if err := w.Add(d); err != nil {
			t.Fatal(err)
		}
		r.Waves = append(r.Waves, rollout.Wave{Devices: []string{d.Name}})
	}
	p, err := w.End(r, nil)
	if err := errors.Join(err, p.Save(path, nil), p.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(path string, head func(PlanHeader), do func(*engine.DevicePlan)) error {
	f, err := OpenPlan(path)
	if err != nil {
		return err
	}
	head(f.PlanHeader)
	for _, p := range f.devices {
		d, err := f.device(p)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		do(d)
	}
	return f.Close()
}

func TestPlanSurvivesTheFile(t *testing.T) {
	a, b := sample("leaf1"), sample("leaf2")
	path := save(t, a, b)
	var got []*engine.DevicePlan
	err := read(path, func(h PlanHeader) {
		if h.Fabric != "f" || h.Intent != "hash" || h.Format != planFormat {
			t.Errorf("header %+v", h)
		}
	}, func(d *engine.DevicePlan) { got = append(got, d) })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]*engine.DevicePlan{a, b}, got, cmpopts.EquateComparable(qos.Attr{}), cmpopts.IgnoreUnexported(engine.DevicePlan{})); d != "" {
		t.Error(d)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
}

// If a file is not complete, no device in it is acted on.
func TestDamagedPlanIsRefusedBeforeTheFirstDevice(t *testing.T) {
	path := save(t, sample("leaf1"), sample("leaf2"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for name, c := range map[string]struct{ text, want string }{
		"empty":       {"", ":1: "},
		"cut short":   {strings.Join(lines[:2], ""), ":3: not a usable plan file: the file ends early"},
		"half a line": {string(whole[:len(lines[0])+len(lines[1])/2]), ":2: "},
		"edited":      {strings.Replace(string(whole), "{3,4}", "{3,5}", 1), ":5: not a usable plan file: the file was changed after it was saved"},
		"a line gone": {lines[0] + lines[1] + lines[3] + lines[4], ":4: not a usable plan file: the file was changed"},
		"no wave":     {lines[0] + lines[1] + lines[2] + strings.Replace(lines[3], `{"devices":["leaf2"]`, `{"devices":[]`, 1) + lines[4], ":5: not a usable plan file: "},
		"more":        {string(whole) + "{}\n", ":6: not a usable plan file: text after the end"},
		"new format":  {strings.Replace(string(whole), `"format":3`, `"format":4`, 1), "format 4; this version reads format 3"},
		"other file":  {"apiVersion: roce-fabric/v1\n", ":1: not a usable plan file: the first line is no header"},
		"other field": {strings.Replace(string(whole), `"os":`, `"os2":`, 1), `:2: not a usable plan file: json: unknown field "os2"`},
		"bad field":   {strings.Replace(string(whole), `"field":"pfc"`, `"field":"pfcs"`, 1), `:2: not a usable plan file: unknown change field "pfcs"`},
		"bad impact":  {strings.Replace(string(whole), `"port-flap"`, `"big"`, 1), `unknown impact "big"`},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		did := 0
		err := read(path, func(PlanHeader) {}, func(*engine.DevicePlan) { did++ })
		if !errors.Is(err, errPlanFile) || !strings.Contains(err.Error(), c.want) || did > 0 {
			t.Errorf("%s: %d devices acted on, error %v, want %q", name, did, err, c.want)
		}
	}
}

func FuzzPlanFile(f *testing.F) {
	path := save(f, sample("leaf1"))
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	// Edited steps and impacts.
	for _, edit := range [][2]string{
		{`"steps":[`, `"steps":[{"via":"gnmi","what":"x\u001b[2J","down":["Ethernet16"],"native":{"ops":[{"table":"PORT","key":"Ethernet16","field":"admin_status","value":"down"}]}},`},
		{`"steps":[`, `"steps":[{"via":"ssh","what":"","native":{"edit":[{"key":"username eve","line":"username eve privilege 15 nopassword"}]}},`},
		{`"impact":"port-flap"`, `"impact":"none"`},
	} {
		f.Add(bytes.Replace(whole, []byte(edit[0]), []byte(edit[1]), 1))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		err := read(path, func(PlanHeader) {}, func(*engine.DevicePlan) { n++ })
		if err != nil && n > 0 {
			t.Errorf("acted on %d devices of a file that is refused: %v", n, err)
		}
	})
}
