package lines

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/render/eos"
	native "github.com/roce-fabric/roce-fabric/render/lines"
	"github.com/roce-fabric/roce-fabric/render/nxos"
)

// FuzzUndo checks that every line of a valid undo record is a single command.
func FuzzUndo(f *testing.F) {
	for _, s := range []string{
		`{"session":"rf-x","edit":[{"section":"interface Ethernet1/1","key":"mtu","line":"mtu 9100"}],"undo":[{"section":"interface Ethernet1/1","key":"mtu"}]}`,
		`{"checkpoint":"rf-x","edit":[{"key":" "}],"undo":[{"key":" ","line":"x"}]}`,
		`{"checkpoint":"rf-x","edit":[{"key":"username eve"}],"undo":[{"key":"username eve","line":"username eve"}]}`,
		`{"checkpoint":"rf-x;y\n","edit":[{"section":"interface Ethernet1/1"}],"undo":[{"section":"interface Ethernet1/1","key":"shutdown","line":"shutdown ; reload","at":-1}]}`,
	} {
		f.Add([]byte(s))
	}
	have := map[*native.Grammar]*native.Config{}
	for g, parse := range map[*native.Grammar]func([]byte) (*native.Config, error){eos.Lines: eos.Parse, nxos.Lines: nxos.Parse} {
		c, err := parse([]byte("hostname x\ninterface Ethernet1/1\n  description a\n"))
		if err != nil {
			f.Fatal(err)
		}
		have[g] = c
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for g, c := range have {
			m := Machine{Name: "sw1", Grammar: g}
			b, err := m.Record(&drivers.Token{Device: "sw1", Native: raw})
			if err != nil {
				continue
			}
			for _, e := range []native.Edit{b.Undo, b.Edit} {
				for _, l := range e.Commands(c) {
					if strings.ContainsAny(l, ";|<>\n\r?") {
						t.Errorf("%q is typed", l)
					}
				}
			}
		}
	})
}
