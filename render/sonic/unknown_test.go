package sonic

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// TestUnclearValues checks that a value that several rows give, or that is not understood, is not known,
// and that it is known again where another row replaces it.
func TestUnclearValues(t *testing.T) {
	base := func() Config {
		return Config{
			TPort:      {"Ethernet0": {"speed": "400000", "mtu": "9100"}},
			TPortQoS:   {"Ethernet0": {"pfc_enable": "3", "pfcwd_sw_enable": "3"}},
			TWatchdog:  {"Ethernet0": {"action": "drop", "detection_time": "200", "restoration_time": "200"}, "GLOBAL": {"POLL_INTERVAL": "200"}},
			TCable:     {"AZURE": {"Ethernet0": "5m"}},
			TWRED:      {"w": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "1000", "green_max_threshold": "2000"}},
			TScheduler: {"s": {"type": "DWRR", "weight": "10"}},
			TQueue:     {"Ethernet0|3": {"wred_profile": "w", "scheduler": "s"}},
			TProfile:   {"p": {"xoff": "1000", "size": "0"}},
			TGroup:     {"Ethernet0|3": {"profile": "p"}},
		}
	}
	if d, _ := Decode(base()); len(d.NotKnown) > 0 {
		t.Fatalf("all values are clear, not known are %v", d.NotKnown)
	}
	for name, c := range map[string]struct {
		at   qos.Attr
		edit func(Config)
	}{
		"two lists of cables": {qos.KindCable.Attr(), func(c Config) { c.Put(TCable, "OTHER", Row{"Ethernet0": "40m"}) }},
		"MTU":                 {qos.KindMTU.Attr(), func(c Config) { c[TPort]["Ethernet0"]["mtu"] = "jumbo" }},
		"speed":               {qos.KindSpeed.Attr(), func(c Config) { c[TPort]["Ethernet0"]["speed"] = "400G" }},
		"PFC":                 {qos.KindPFC.Attr(), func(c Config) { c[TPortQoS]["Ethernet0"]["pfc_enable"] = "all" }},
		"curve":               {qos.KindECN.At(3), func(c Config) { c[TWRED]["w"]["green_min_threshold"] = "1 MB" }},
		"scheduler":           {qos.KindScheduler.At(3), func(c Config) { c[TScheduler]["s"]["weight"] = "half" }},
		"a profile of NULL":   {qos.KindLossless.At(3), func(c Config) { c[TGroup]["Ethernet0|3"]["profile"] = "NULL" }},
	} {
		cfg := base()
		c.edit(cfg)
		d, _ := Decode(cfg)
		if at := (qos.Place{Port: "Ethernet0", Field: c.at}); d.NotKnown[at] == "" || d.Holds(at.Port, at.Field) {
			t.Errorf("%s: not known are %v", name, d.NotKnown)
		}
		want, _ := Decode(base())
		changes := qos.Diff(d, want)
		if len(changes) == 0 {
			t.Errorf("%s: the value counts as equal", name)
		}
		for _, ch := range changes {
			if ch.Unknown == "" || ch.Old != qos.NotKnown {
				t.Errorf("%s: %v counts as different: %+v", name, ch.Path(), ch)
			}
		}
	}
	cfg := base()
	cfg.Put(TCable, "OTHER", Row{"Ethernet0": "5m"})
	cfg.Put(TQueue, "Ethernet0|2-3", Row{"wred_profile": "bad"})
	cfg.Put(TWRED, "bad", Row{"green_min_threshold": "?"})
	if d, _ := Decode(cfg); d.Ports["Ethernet0"].Cable.V != 5 || d.NotKnown[qos.Place{Port: "Ethernet0", Field: qos.KindECN.At(3)}] != "" {
		t.Errorf("two lists agree and a later row replaces an unclear one, not known are %v", d.NotKnown)
	}
}
