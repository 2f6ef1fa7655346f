package eos

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	simeos "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

func conform(t *testing.T, o boxOptions, only ...string) {
	t.Run(describe(o), func(t *testing.T) {
		t.Parallel() // most of the time is spent waiting
		drivertest.Run(t, drivertest.Fixture{Only: only, New: func(t *testing.T, d drivertest.Options) *drivertest.Device {
			o := o
			o.test = d
			return newBox(t, o).device()
		}})
	})
}

// TestConformance runs the whole suite over both transports, with and without printed defaults. A
// commit is all or nothing, so no case fails half way.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, gnmi := range []bool{false, true} {
		for _, defaults := range []bool{false, true} {
			conform(t, boxOptions{gnmi: gnmi, Options: simeos.Options{Model: strata, PrintDefaults: defaults, OldSessionJSON: defaults, Persist: true}})
		}
	}
}

// TestConformanceOfOthers runs the most important cases on other families and releases.
func TestConformanceOfOthers(t *testing.T) {
	t.Parallel()
	only := []string{"plan is empty after apply and a restart", "foreign objects survive apply and revert", "foreign changes after apply survive revert", "revert restores every byte", "another process reverts"}
	for _, o := range []boxOptions{
		{Options: simeos.Options{Model: sand}},
		{Options: simeos.Options{Model: sand, OldSessionJSON: true, PrintDefaults: true}},
		{Options: simeos.Options{Model: strata, QueueKeyword: "tx-queue"}},
		{Options: simeos.Options{Model: unknown, QueueKeyword: "tx-queue"}},
		{gnmi: true, Options: simeos.Options{Model: sand, Persist: true}},
		{gnmi: true, Options: simeos.Options{Model: unknown, Persist: true, PrintDefaults: true}},
	} {
		conform(t, o, only...)
	}
}
