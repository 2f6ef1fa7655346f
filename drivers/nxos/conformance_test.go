package nxos

import (
	"fmt"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	simnxos "github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

func conform(t *testing.T, name string, o boxOptions, only ...string) {
	t.Run(name, func(t *testing.T) {
		t.Parallel() // most of the time is spent waiting
		drivertest.Run(t, drivertest.Fixture{Only: only, New: func(t *testing.T, d drivertest.Options) *drivertest.Device {
			o := o
			o.test = d
			return newBox(t, o).device()
		}})
	})
}

// TestConformance runs the whole suite with a dual-stage commit and line by line.
func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, "dual-stage", boxOptions{})
	conform(t, "line by line", boxOptions{Options: simnxos.Options{NoDualStage: true, OldOrder: true}})
}

// TestConformanceOfOthers runs the most important cases on switches that differ in undocumented
// behavior.
func TestConformanceOfOthers(t *testing.T) {
	t.Parallel()
	only := []string{"plan is empty after apply and a restart", "foreign objects survive apply and revert", "foreign changes after apply survive revert", "revert restores every byte", "another process reverts"}
	for i, o := range []simnxos.Options{
		{EmptyClassDefault: true, OldOrder: true},
		{EmptyClassDefault: true, NoDualStage: true},
		{NQLocked: true, ReplacePolicy: true},
		{NQLocked: true, NoDualStage: true},
		{FourQueue: true},
		{FourQueue: true, DualStageNoQoS: true},
		{DualStageNoQoS: true},
		{Version: "9.3(10)", NoDualStage: true},
	} {
		conform(t, fmt.Sprint(i+1), boxOptions{Options: o}, only...)
	}
}
