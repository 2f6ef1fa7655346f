package cumulus

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	native "github.com/roce-fabric/roce-fabric/render/cumulus"
	simcumulus "github.com/roce-fabric/roce-fabric/testlab/sim/cumulus"
)

// releases lists the releases that the tests cover.
var releases = []string{"5.9", "5.10", "5.11", "5.12", "5.13", "5.14", "5.15", "5.16", "5.17"}

func TestAllReleasesAreTested(t *testing.T) {
	if !slices.Equal(releases, native.Releases()) {
		t.Errorf("tested are %v, known are %v", releases, native.Releases())
	}
}

// inWords converts commands to the syntax of a release: releases before 5.15 use other words.
func inWords(release, commands string) string {
	if r, _ := native.ReleaseOf(release); r.Minor >= 15 {
		return commands
	}
	return strings.NewReplacer("roce state enabled", "roce enable on", "roce state disabled", "roce enable off", "state enabled", "state enable", "state disabled", "state disable").Replace(commands)
}

func presetOn(release string) string { return inWords(release, "nv set qos roce state enabled") }

// TestThePlanAfterAnApplyIsEmpty covers each release with the preset on, off, and partly changed
// by someone else.
func TestThePlanAfterAnApplyIsEmpty(t *testing.T) {
	t.Parallel()
	left := `nv set qos roce state enabled
nv set qos roce mode lossless
nv set qos roce cable-length 30
nv set qos traffic-pool default-lossy memory-percent 10
nv set qos traffic-pool roce-lossless memory-percent 90
nv set qos mapping default-global dscp 26 switch-priority 4
nv set qos pfc HALF switch-priority 5
nv set qos congestion-control default-global traffic-class 3 min-threshold 40000
nv set interface swp1 qos pfc profile HALF
nv set interface swp2 qos pfc-watchdog state enabled
nv set interface swp5-8 qos pfc-watchdog state enabled`
	for name, setup := range map[string]string{
		"off": "", "on": "nv set qos roce state enabled", "switched off": "nv set qos roce state disabled", "lossy": "nv set qos roce state enabled\nnv set qos roce mode lossy",
		"single pool": "nv set qos roce mode lossless-single-ipool", "multi": "nv set qos roce mode lossy-multi-tc", "left": left,
	} {
		for _, release := range releases {
			t.Run(name+" "+release, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newBox(t, boxOptions{setup: inWords(release, setup), Options: simcumulus.Options{Version: release + ".0"}})
					was := b.Running()
					d := b.open()
					tok := b.apply(d)
					b.settled(d)
					if err := d.Confirm(t.Context(), tok); err != nil {
						t.Fatal(err)
					}
					if err := b.Restart(); err != nil {
						t.Fatal(err)
					}
					d = b.open()
					b.settled(d)
					if err := d.Revert(t.Context(), tok); err != nil {
						t.Fatal(err)
					}
					if b.Running() != was || b.Switch.Startup() != was {
						t.Errorf("after the revert it is\n%s\nand was\n%s", b.Running(), was)
					}
				})
			})
		}
	}
}
