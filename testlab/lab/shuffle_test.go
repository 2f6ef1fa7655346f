package lab

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/testlab/sim/eos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// With a seed, the devices of a lab differ from those without a seed and from each other. A new
// seed changes them without a restart.
func TestShuffle(t *testing.T) {
	text, err := examples.Intent("mixed")
	if err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(string(text))})
	if err != nil {
		t.Fatal(err)
	}
	// said returns what each switch shows that shuffling may change.
	said := func(l *Lab) map[string]string {
		out := map[string]string{}
		for name, s := range l.Switches {
			switch s := s.(type) {
			case *sonic.Switch:
				b, err := json.Marshal(s.DB("ASIC_DB"))
				if err != nil {
					t.Fatal(err)
				}
				out[name] = string(b)
			case *eos.EOS:
				out[name] = s.Running()
			case *nxos.NXOS:
				_, body, _ := strings.Cut(s.Running(), "\nversion ")
				out[name] = body
			}
		}
		return out
	}
	l, err := Start(f, t.TempDir(), Options{Shuffle: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	texts := map[string]map[string]bool{}
	note := func() {
		for name, text := range said(l) {
			if texts[name] == nil {
				texts[name] = map[string]bool{}
			}
			texts[name][text] = true
		}
	}
	note()
	for seed := range uint64(8) {
		l.Shuffle(seed + 2)
		note()
	}
	l.Shuffle(0)
	plain := said(l)
	if !maps.Equal(plain, said(l)) {
		t.Error("without a seed a device says something else the second time")
	}
	for name := range l.Switches {
		if len(texts[name]) < 2 {
			t.Errorf("%s says the same with every seed", name)
		}
	}
	if seedOf(1, "leaf1") == seedOf(1, "leaf2") || seedOf(1, "leaf1") == seedOf(2, "leaf1") || seedOf(0, "leaf1") != 0 {
		t.Error("devices share a seed")
	}
}
