package sonic

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
)

// An answer of Get varies with the seed and from call to call, is the same again for the same seed,
// and always has the same content.
func TestShuffledGetSaysTheSame(t *testing.T) {
	s := start(t, Options{})
	c := dial(t, s)
	ask := func(path ...string) string {
		t.Helper()
		r, err := c.GNMIClient.Get(c.ctx, &gnmi.GetRequest{Path: []*gnmi.Path{gpath(origin, path...)}, Encoding: gnmi.Encoding_JSON_IETF})
		if err != nil {
			t.Fatal(err)
		}
		return string(r.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
	}
	value := func(text string) (v map[string]any) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return v
	}
	plain := ask("CONFIG_DB", "localhost")
	if ask("CONFIG_DB", "localhost") != plain {
		t.Fatal("without a seed two answers differ")
	}
	texts := map[string]bool{plain: true}
	for seed := uint64(1); seed <= 8; seed++ {
		s.Shuffle(seed)
		first, second := ask("CONFIG_DB", "localhost"), ask("CONFIG_DB", "localhost")
		texts[first], texts[second] = true, true
		if d := cmp.Diff(value(plain), value(first)); d != "" {
			t.Fatalf("seed %d says something else:\n%s", seed, d)
		}
		s.Shuffle(seed)
		if ask("CONFIG_DB", "localhost") != first {
			t.Errorf("seed %d: another first answer the second time", seed)
		}
	}
	if len(texts) != 1+2*8 {
		t.Errorf("%d texts of 17 answers", len(texts))
	}
	s.Shuffle(0)
	if ask("CONFIG_DB", "localhost") != plain {
		t.Error("seed 0 still shuffles")
	}
}

// The entries of the ASIC and of the ports are the same for every seed; there may be additional
// ones.
func TestShuffledStateSaysTheSame(t *testing.T) {
	s := start(t, Options{})
	ports, asic := s.DB("APPL_DB")["PORT_TABLE"], s.DB("ASIC_DB")["ASIC_STATE"]
	others := 0
	for seed := uint64(1); seed <= 8; seed++ {
		s.Shuffle(seed)
		for _, c := range []struct{ before, now map[string]map[string]string }{
			{ports, s.DB("APPL_DB")["PORT_TABLE"]}, {asic, s.DB("ASIC_DB")["ASIC_STATE"]},
		} {
			for key, row := range c.before {
				for f, v := range row {
					if f == "SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST" {
						v, c.now[key][f] = members(t, v), members(t, c.now[key][f])
					}
					if c.now[key][f] != v {
						t.Fatalf("seed %d: %s %s is %q, was %q", seed, key, f, c.now[key][f], v)
					}
				}
			}
			if len(c.now) > len(c.before) {
				others++
			}
		}
	}
	if others == 0 {
		t.Error("no seed has other objects")
	}
}

// members returns the list of a map without its order.
func members(t *testing.T, text string) string {
	t.Helper()
	var list struct{ List []any }
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, m := range list.List {
		set[fmt.Sprint(m)] = true
	}
	return fmt.Sprint(set)
}

// A switch that spells out its defaults has otherwise the same ports.
func TestShuffledInstallation(t *testing.T) {
	plain := start(t, Options{}).Config()["PORT"]
	spelt := 0
	for seed := uint64(1); seed <= 6; seed++ {
		now := start(t, Options{Shuffle: seed}).Config()["PORT"]
		for port, row := range plain {
			for f, v := range now[port] {
				if old, said := row[f]; said && old != v {
					t.Errorf("seed %d: %s %s is %q, was %q", seed, port, f, v, old)
				} else if !said {
					spelt++
				}
			}
			if len(now[port]) < len(row) {
				t.Errorf("seed %d: %s lost fields", seed, port)
			}
		}
	}
	if spelt == 0 {
		t.Error("no seed spells anything out")
	}
}
