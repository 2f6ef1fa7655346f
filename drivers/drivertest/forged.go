package drivertest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// Forged describes an active apply on a line-configured switch, and texts that its undo record
// cannot contain. A journal is a file that anyone may edit, so a record that Apply did not create
// must not be typed.
type Forged struct {
	Driver interface {
		drivers.Driver
		drivers.Checker
	}
	Token   *drivers.Token
	Managed func(port string) bool
	State   func() string // returns the configuration of the switch
	// Settings lists invalid settings in JSON, for the edit and for the undo.
	Settings []string
	// Key is the field of the record that names what the run keeps on the switch; Names lists
	// invalid names.
	Key   string
	Names []string
}

// Run checks that each forged record is refused, with its position, and that the true record is
// executed.
func (f Forged) Run(t *testing.T) {
	d, tok := f.Driver, f.Token
	if _, err := d.CheckUndo(tok, f.Managed); err != nil {
		t.Fatal(err)
	}
	was := f.State()
	refused := func(raw string) {
		t.Helper()
		bad := &drivers.Token{Device: tok.Device, Native: []byte(raw)}
		_, err := d.CheckUndo(bad, f.Managed)
		for _, err := range []error{err, d.Revert(t.Context(), bad), d.Confirm(t.Context(), bad)} {
			if err == nil || !strings.HasPrefix(err.Error(), "undo record: ") {
				t.Errorf("%s: %v", raw, err)
			}
		}
		if f.State() != was {
			t.Fatalf("%s was carried out", raw)
		}
	}
	for _, setting := range f.Settings {
		refused(strings.Replace(string(tok.Native), `"undo":[`, `"undo":[`+setting+`,`, 1))
	}
	refused(strings.Replace(string(tok.Native), `"edit":[`, `"edit":[{"key":"hostname","line":"hostname x"},`, 1))
	for _, name := range f.Names {
		var record map[string]any
		if err := json.Unmarshal(tok.Native, &record); err != nil {
			t.Fatal(err)
		}
		record[f.Key] = name
		raw, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		refused(string(raw))
	}
	none := func(string) bool { return false }
	if _, err := d.CheckUndo(tok, none); err == nil || !strings.Contains(err.Error(), "is not in the intent") {
		t.Errorf("ports outside of the intent: %v", err)
	}
	if err := d.Revert(t.Context(), tok); err != nil {
		t.Error(err)
	}
}
