package fleet

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

func TestBaselineNeedsAWindow(t *testing.T) {
	_, err := baseline("none.json", "pod1", 0)
	var wrong *OptionError
	if !errors.As(err, &wrong) || wrong.Option != "baseline" || !strings.Contains(err.Error(), "none is asked for") {
		t.Errorf("%v", err)
	}
	if r, err := baseline("", "pod1", 0); r != nil || err != nil {
		t.Errorf("%v, %v", r, err)
	}
}

// Whatever the file contains, a decoded baseline has only existing counters and windows of a
// sane length, and saving and decoding it again gives the same ports.
func FuzzBaseline(f *testing.F) {
	for _, seed := range []string{
		`{"format":1,"fabric":"pod1","window":[{"device":"leaf1","port":"Ethernet0","seconds":120,"counters":{"pfc-rx 3":41,"errors-rx":18446744073709551615,"no such":1}}]}`,
		`{"format":1,"fabric":"pod1","window":[{"seconds":1e300}]}`, `{"format":1,"fabric":"pod1","window":[{"seconds":-1}]}`,
		`{"format":1,"fabric":"pod1","window":[{"device":"\u001b[2J","port":"\n","seconds":31622401}]}`,
		`{"format":2}`, `{"format":1,"fabric":"pod1","window":[]}`, `[]`, ``, `{"format":1,"fabric":"pod1","window":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeBaseline(b, "pod1")
		if err != nil {
			if r != nil || strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("%v, %q", r, err)
			}
			return
		}
		known := drivers.CounterNames()
		for _, p := range r.Ports {
			for id := range p.Growth {
				if at, ok := known[id.String()]; !ok || at != id {
					t.Errorf("%s %s has a counter %v", p.Device, p.Port, id)
				}
			}
		}
		kept, err := json.Marshal(map[string]any{"format": baselineFormat, "fabric": "pod1", "window": gate.Save(r.Ports)})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := decodeBaseline(kept, "pod1"); err != nil || len(again.Ports) != len(r.Ports) {
			t.Errorf("%v, %v", again, err)
		}
	})
}
