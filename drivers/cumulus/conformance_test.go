package cumulus

import (
	"os"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	simcumulus "github.com/roce-fabric/roce-fabric/testlab/sim/cumulus"
)

func TestMain(m *testing.M) {
	sharedtest.CollectLess()
	os.Exit(m.Run())
}

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

func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, "5.15", boxOptions{})
}

// TestConformanceOfOthers runs the most important cases on other releases, and with the other
// variant of undocumented behavior.
func TestConformanceOfOthers(t *testing.T) {
	t.Parallel()
	only := []string{"plan is empty after apply and a restart", "foreign changes after apply survive revert", "revert restores every byte"}
	if sharedtest.Nightly() {
		only = nil
	}
	for _, release := range releases {
		conform(t, release, boxOptions{setup: presetOn(release), Options: simcumulus.Options{Version: release + ".0", Whole: true, Hollow: true, Wrapped: true, Spelled: true, Rounded: true, Model: "SN4700"}}, only...)
	}
}
