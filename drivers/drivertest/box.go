package drivertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
)

// Compile returns the desired state of switch sw1 in an intent.
func Compile(t testing.TB, text string, fits render.Fits) *qos.Device {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fabric.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatalf("intent: %v\n%s", err, text)
	}
	c, err := render.New(f, fits)
	if err != nil {
		t.Fatal(err)
	}
	return c.Device(f.Switch("sw1")).Desired
}

// Open creates a driver and closes it when t ends.
func Open[D drivers.Driver](t testing.TB, open func(drivers.Target) (drivers.Driver, error), target drivers.Target) D {
	t.Helper()
	d, err := open(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d.(D)
}

// planOf reads a device and plans several times, because a saved plan is compared with a new one
// when it is applied.
func planOf(t testing.TB, d drivers.Driver, desired *qos.Device, policy drivers.Policy) (*drivers.Snapshot, *drivers.Steps) {
	t.Helper()
	ctx := context.Background()
	facts, err := d.Probe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := d.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	st, err := d.Plan(facts, snap, desired, policy)
	if err != nil {
		t.Fatal(err)
	}
	if err := Repeatable(st, func() (*drivers.Steps, error) { return d.Plan(facts, snap, desired, policy) }); err != nil {
		t.Fatal(err)
	}
	return snap, st
}

// settled fails the test if a plan has something to do.
func settled(t testing.TB, st *drivers.Steps) {
	t.Helper()
	for _, c := range st.Changes {
		if c.Blocked == "" {
			t.Errorf("still to change: %s: %s -> %s", c.Path(), c.Old, c.New)
		}
	}
	for _, s := range st.Items {
		t.Errorf("still a step: %s %s", s.What, s.Native)
	}
}

// withoutComments removes comment lines, such as the heading with the command and the time.
func withoutComments(text string) []byte {
	var out []byte
	for l := range strings.Lines(text) {
		if !strings.HasPrefix(l, "!") {
			out = append(out, l...)
		}
	}
	return out
}

// Says fails the test unless err wraps is, does not wrap not, contains all the texts, and does not
// contain the secret. not may be nil.
func Says(t testing.TB, secret string, err, is, not error, texts ...string) {
	t.Helper()
	if !errors.Is(err, is) || not != nil && errors.Is(err, not) {
		t.Errorf("error %v", err)
		return
	}
	for _, s := range texts {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
	if strings.Contains(err.Error(), secret) || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("error %q", err)
	}
}
