package lines

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
)

func TestUnwritten(t *testing.T) {
	const head = "apiVersion: roce-fabric/v1\nkind: Fabric\nname: pod\nclasses: {default: {priority: 0, dscp: rest}}\n"
	for _, c := range []struct {
		ports string
		want  []string
	}{
		{"Ethernet1/1: {fec: rs}, Ethernet2/1: {fec: none}, Ethernet3/1: {}", []string{"this tool does not set FEC on EOS: that of Ethernet1/1,Ethernet2/1 stays as the switch has it"}},
		{"Ethernet1/1: {admin: up}", nil},
	} {
		f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(head + "switches: {leaf1: {os: eos, ports: {" + c.ports + "}}}\n")})
		if err != nil {
			t.Fatal(err)
		}
		if got := Unwritten(f.Switch("leaf1"), "EOS"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.ports, got, c.want)
		}
	}
}
