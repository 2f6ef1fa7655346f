package showjson

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// FuzzDecode checks that each decoder terminates on any input, gives the same result twice, and
// returns no text that is unsafe to print.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{interfaces, lldp, lldpDetail, pfcPriorities, watchdog, ecn, queueDetail, version, sessionsOld, sessionsNew,
		`{"errors":["no"]}`, `{"lldpNeighbors":{"a":{"lldpNeighborInfo":[{"neighborInterfaceInfo":{"interfaceId":"\" x\""}}]}}}`, `{"lldpNeighbors":{"a":{"lldpNeighborInfo":[{"systemName":"\u202e"}]},"a\u001b":{}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		clean := func(s string) {
			if term.CleanLine(s) != s {
				t.Errorf("text %q", s)
			}
		}
		for name, d := range decoders {
			var o, again drivers.Observation
			err := d(b, &o)
			if err2 := d(b, &again); (err == nil) != (err2 == nil) {
				t.Fatalf("%s: %v, then %v", name, err, err2)
			}
			if err != nil {
				clean(err.Error())
				continue
			}
			// Decoding the same output again adds nothing.
			if err := d(b, &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(o, again); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			for port, p := range o.Ports {
				clean(port)
				for _, n := range p.Neighbors {
					clean(n.Device)
					clean(n.Port)
				}
			}
		}
		if s, err := ParseSessions(b); err == nil {
			clean(s.Timer)
			for name, state := range s.States {
				clean(name)
				clean(state)
			}
		}
	})
}
