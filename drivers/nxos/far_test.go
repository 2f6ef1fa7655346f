package nxos

import (
	"fmt"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	simnxos "github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

// manyPorts returns the options of a switch with n ports, all in the intent.
func manyPorts(n int) boxOptions {
	o := boxOptions{Options: simnxos.Options{Routed: true}}
	for i := range n {
		o.Interfaces = append(o.Interfaces, fmt.Sprintf("Ethernet1/%d", i+1))
	}
	o.intent = []string{"links:\n", fmt.Sprintf("links:\n  - {a: \"sw1/Ethernet1/[9-%d]\", b: \"sw2/Ethernet1/[9-%[1]d]\", cable: 40m, speed: 400G}\n", n)}
	return o
}

func far(t testing.TB, network drivertest.Options) *drivertest.LineBox[*Driver] {
	o := manyPorts(48)
	o.test = network
	return newBox(t, o).LineBox
}

func TestFarSwitch(t *testing.T) { drivertest.ApplyFar(t, far, 300, 15) }

func BenchmarkFarSwitch(b *testing.B) { drivertest.BenchmarkFar(b, far) }
