package eos

import (
	"fmt"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

// manyPorts returns the options of a switch with n ports, all in the intent.
func manyPorts(n int) boxOptions {
	o := boxOptions{Options: simeos.Options{Model: strata, Routed: true}}
	for i := range n {
		o.Interfaces = append(o.Interfaces, fmt.Sprintf("Ethernet%d/1", i+1))
	}
	o.intent = []string{"links:\n", fmt.Sprintf("links:\n  - {a: \"sw1/Ethernet[9-%d]/1\", b: \"sw2/Ethernet[9-%[1]d]/1\", cable: 40m, speed: 400G}\n", n)}
	return o
}

func far(t testing.TB, network drivertest.Options) *drivertest.LineBox[*Driver] {
	o := manyPorts(76)
	o.test = network
	return newBox(t, o).LineBox
}

func TestFarSwitch(t *testing.T) { drivertest.ApplyFar(t, far, 300, 15) }

func BenchmarkFarSwitch(b *testing.B) { drivertest.BenchmarkFar(b, far) }
