package sonic

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// TestBooted: a switch that starts from a file derives the lossless groups that the file lacks, if
// it has the inputs for them.
func TestBooted(t *testing.T) {
	m, ok := catalog.Lookup("E530-24x2c")
	if !ok {
		t.Fatal("the catalogue lacks the model")
	}
	base := func() Config {
		return Config{
			TMetadata: {"localhost": {"buffer_model": "traditional"}},
			TPort:     {"Ethernet0": {"speed": "10000", "admin_status": "up"}},
			TPortQoS:  {"Ethernet0": {"pfc_enable": "3,4"}},
			TCable:    {"AZURE": {"Ethernet0": "5m"}},
			TPool:     {catalog.IngressPool: {"mode": "dynamic", "type": "ingress", "size": "1000000"}},
		}
	}
	const made = "pg_lossless_10000_5m_profile"
	for name, c := range map[string]struct {
		edit  func(Config)
		model *catalog.Model
		want3 string // the profile of group 3
	}{
		"all there":         {func(Config) {}, m, made},
		"no pool":           {func(c Config) { delete(c, TPool) }, m, ""},
		"no row":            {func(c Config) { c.Put(TCable, "AZURE", Row{"Ethernet0": "999m"}) }, m, ""},
		"no cable":          {func(c Config) { delete(c, TCable) }, m, ""},
		"no cable to speak": {func(c Config) { c.Put(TCable, "AZURE", Row{"Ethernet0": "0m"}) }, m, ""},
		"unknown model":     {func(Config) {}, nil, ""},
		"known profile":     {func(c Config) { c.Put(TProfile, made, Row{"xoff": "1"}); delete(c, TPool) }, nil, made},
		"dynamic":           {func(c Config) { c.Put(TMetadata, "localhost", Row{"buffer_model": "dynamic"}) }, m, ""},
		"never set up":      {func(c Config) { c.Put(TPort, "Ethernet0", Row{"speed": "10000"}) }, m, ""},
		"no PFC":            {func(c Config) { c.Put(TPortQoS, "Ethernet0", Row{}) }, m, ""},
	} {
		saved := base()
		c.edit(saved)
		before := saved.Clone()
		got := Booted(saved, c.model)
		if have := got.Row(TGroup, "Ethernet0|3")["profile"]; have != c.want3 {
			t.Errorf("%s: group 3 has %q, want %q", name, have, c.want3)
		}
		if c.want3 != "" && (got.Row(TProfile, made) == nil || got.Row(TGroup, "Ethernet0|4")["profile"] != made) {
			t.Errorf("%s: %v %v", name, got[TProfile], got[TGroup])
		}
		if len(saved[TGroup]) != len(before[TGroup]) || len(saved[TProfile]) != len(before[TProfile]) {
			t.Errorf("%s: the saved configuration is changed", name)
		}
	}
	for name, c := range map[string]struct {
		edit  func(Config)
		model *catalog.Model
		want  bool
	}{
		"all there":              {func(Config) {}, m, false},
		"no pool":                {func(c Config) { delete(c, TPool) }, m, false},
		"a part":                 {func(c Config) { delete(c, TMetadata) }, m, true},
		"unknown model":          {func(Config) {}, nil, true},
		"unknown model, no pool": {func(c Config) { delete(c, TPool) }, nil, false},
	} {
		saved := base()
		c.edit(saved)
		if got := MayDerive(saved, c.model); got != c.want {
			t.Errorf("%s: the switch may derive groups that are not added: %t, want %t", name, got, c.want)
		}
	}
	saved := base()
	saved.Put(TProfile, "mine", Row{"xoff": "1"})
	saved.Put(TGroup, "Ethernet0|3-4", Row{"profile": "mine"})
	if got := Booted(saved, m); len(got[TGroup]) != 1 {
		t.Errorf("groups with a row of their own: %v", got[TGroup])
	}
	// Of a port that rows of several ports name, too, the mask in its own row counts, and the groups
	// are among the rows as written.
	saved = base()
	saved.Put(TPortQoS+asWritten, "Ethernet0,Ethernet4", Row{"pfc_enable": "6"})
	saved.Put(TPortQoS+asWritten, "Ethernet0", Row{"pfc_enable": "3"})
	saved.Put(TPortQoS, "Ethernet0", Row{"pfc_enable": "6"})
	saved.Put(TGroup+asWritten, "Ethernet0,Ethernet4|0", Row{"profile": "ingress_lossy_profile"})
	saved.Put(TGroup, "Ethernet0|0", Row{"profile": "ingress_lossy_profile"})
	got := Booted(saved, m)
	if got.Row(TGroup, "Ethernet0|3")["profile"] != made || got.Row(TGroup+asWritten, "Ethernet0|3")["profile"] != made || got.Row(TGroup, "Ethernet0|6") != nil {
		t.Errorf("groups beside rows of several ports: %v", got[TGroup])
	}
	if len(saved[TGroup+asWritten]) != 1 {
		t.Errorf("the saved configuration is changed: %v", saved[TGroup+asWritten])
	}
}
