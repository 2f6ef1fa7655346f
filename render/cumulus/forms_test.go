package cumulus

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TestRanges(t *testing.T) {
	for in, want := range map[string]string{
		"swp1": "swp1", "swp1-3": "swp1 swp2 swp3", "swp1-2,swp6": "swp1 swp2 swp6", "swp1s0-1": "swp1s0 swp1s1", "swp1-2s0-1": "swp1s0 swp1s1 swp2s0 swp2s1",
		"swp1-swp2": "swp1 swp2", "bond1-2": "bond1 bond2", "br_default": "br_default", "vlan10,20": "vlan10 vlan20", "swp2,6": "swp2 swp6", "peerlink": "peerlink", "swp4-1": "swp4-1", "swp1-999999": "swp1-999999", "a-b": "a-b",
	} {
		if got := strings.Join(expandPorts(in), " "); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"3": "3", "0-2,5": "0 1 2 5", "10,21,36": "10 21 36", "": "", "a": "", "1-": "", "3-1": "", "01": ""} {
		if got := strings.Join(expandNumbers(in), " "); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"swp1 swp2 swp3 swp6": "swp1-3,swp6", "swp1s0 swp1s1 swp2s0": "swp1s0-1,swp2s0", "bond1 swp1": "bond1,swp1",
	} {
		names := strings.Fields(in)
		got := foldPorts(names)
		if got != want || !slices.Equal(expandPorts(got), names) {
			t.Errorf("%s is folded into %s, want %s", in, got, want)
		}
	}
}

func TestReleases(t *testing.T) {
	for in, want := range map[string]struct {
		release string
		known   bool
	}{
		"Cumulus Linux 5.9.1": {"5.9", true}, "5.15.0": {"5.15", true}, "5.17": {"5.17", true}, "5.4.0": {"5.9", false}, "5.30.1": {"5.17", false},
		"4.4.5": {"", false}, "": {"", false}, "15.9.1": {"", false},
	} {
		if r, ok := ReleaseOf(in); r.String() != want.release || ok != want.known {
			t.Errorf("%s is %q, %t", in, r, ok)
		}
	}
	if all := Releases(); all[0] != "5.9" || all[len(all)-1] != Newest().String() {
		t.Errorf("%v", all)
	}
	// Release 5.15 renamed the words for on and off.
	for release, word := range map[string]string{"5.14": "enable", "5.15": "enabled"} {
		have := parse(t, "nv set interface swp1 type swp")
		have.Release, _ = ReleaseOf(release)
		state := Change(have, plain("swp1")).Apply(have).Tree.At("interface", "swp1", "qos", "pfc-watchdog", "state")
		if state.Word() != word {
			t.Errorf("%s: the watchdog is %q", release, state.Word())
		}
	}
}

// The preset is recognized in the syntax of every release.
func TestPresetIsRead(t *testing.T) {
	for text, mode := range map[string]string{
		"nv set qos roce": Lossless, "nv set qos roce enable on": Lossless, "nv set qos roce state enabled": Lossless, "nv set qos roce mode lossy": Lossy,
		"nv set qos roce enable off": "", "nv set qos roce state disabled\nnv set qos roce mode lossless": "", "nv set qos pfc p": "",
	} {
		got := ""
		if p := PresetOf(parse(t, text)); p != nil {
			got = p.Mode
		}
		if got != mode {
			t.Errorf("%s is mode %q, want %q", text, got, mode)
		}
	}
}

// Check rejects paths that this package never writes.
func TestCheck(t *testing.T) {
	for path, ok := range map[string]bool{
		"qos pfc roce-fabric tx": true, "qos roce mode": false, "qos": false, "interface swp1 qos pfc profile": true, "interface swp1 ip address": false,
		"interface swp1 link mtu": true, "interface swp1 link state up": true, "system hostname": false, "interface eth0 link mtu": false, "interface swp1 link speed": false,
		"qos pfc a;b tx": true, "qos pfc $(x) tx": true, "qos egress-queue-mapping other": false, "interface swp2 qos pfc profile": false,
	} {
		e := Edit{{Path: strings.Fields(path), Set: text("x")}}
		if err := e.Check(func(name string) bool { return name == "swp1" }); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := (Edit{{Path: Path{"qos", "pfc", "$(x)", "tx"}, Set: text("a b")}}).Lines()[0]; got != "nv set qos pfc '$(x)' tx 'a b'" {
		t.Errorf("a shell reads %s", got)
	}
	e := Edit{{Path: Path{"interface", "swp1", "qos", "pfc", "profile"}, Set: text("p")}}
	if err := e.CheckUndo(Edit{{Path: Path{"interface", "swp1", "qos", "mapping", "profile"}}}); err == nil {
		t.Error("an undo of something else is taken")
	}
}

func TestImpact(t *testing.T) {
	for path, want := range map[string]qos.Impact{
		"qos pfc p tx": qos.ImpactLoss, "qos traffic-pool default-lossy memory-percent": qos.ImpactLoss, "interface swp1 qos pfc profile": qos.ImpactLoss, "qos mapping p trust": qos.ImpactNone,
		"qos congestion-control p traffic-class 3 ecn": qos.ImpactNone, "qos pfc-watchdog robustness": qos.ImpactNone, "interface swp1 qos pfc-watchdog state": qos.ImpactNone,
		"interface swp1 link state down": qos.ImpactPortFlap, "interface swp1 link mtu": qos.ImpactLoss, "qos egress-scheduler p traffic-class 3 mode": qos.ImpactNone,
	} {
		if got := (Edit{{Path: strings.Fields(path)}}).Impact(); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"": "empty", "{": "line 1", "{}": "nothing of NVUE's tree", "[1]": "nothing of NVUE's tree", "a: b: c": "", "nv set qos pfc 'x": "line 1: a quote",
		`{"qos": {}} x`: "more behind", "hello": "nothing of NVUE's tree", strings.Repeat(`{"qos":`, 99): "nested more",
		strings.Repeat("nv set interface swp1-4000 qos pfc profile p\n", 30): "ranges stand for more",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}
