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
		says string // part of the switch in the intent
		want []string
	}{
		{"ports: {Ethernet1/1: {fec: rs}, Ethernet2/1: {fec: none}, Ethernet3/1: {}}", []string{"this tool does not set FEC on EOS: that of Ethernet1/1,Ethernet2/1 stays as the switch has it"}},
		{"ports: {Ethernet1/1: {admin: up}}", nil},
		{"trimming: {classes: [default], size: 256B, dscp: 21}", []string{"this tool does not set packet trimming on EOS: it stays as the switch has it"}},
		{"loadBalancing: {mode: flow}", []string{"this tool does not set load balancing on EOS: it stays as the switch has it"}},
	} {
		f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(head + "switches: {leaf1: {os: eos, " + c.says + "}}\n")})
		if err != nil {
			t.Fatal(err)
		}
		if got := Unwritten(f.Switch("leaf1"), "EOS"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.says, got, c.want)
		}
	}
}
