package eos

import (
	"fmt"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

// manyPorts is a switch of which all n ports are in the intent.
func manyPorts(n int) boxOptions {
	o := boxOptions{Options: simeos.Options{Model: strata, Routed: true}}
	for i := range n {
		o.Interfaces = append(o.Interfaces, fmt.Sprintf("Ethernet%d/1", i+1))
	}
	o.intent = []string{"links:\n", fmt.Sprintf("links:\n  - {a: \"sw1/Ethernet[9-%d]/1\", b: \"sw2/Ethernet[9-%[1]d]/1\", cable: 40m, speed: 400G}\n", n)}
	return o
}

func TestFarSwitch(t *testing.T) { drivertest.ApplyFar(newBox(t, manyPorts(76)).LineBox, 300, 15) }

func BenchmarkFarSwitch(b *testing.B) {
	drivertest.BenchmarkFar(b, func() *drivertest.LineBox[*Driver] { return newBox(b, manyPorts(76)).LineBox })
}
