package sonic

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// The rows of QUEUE, BUFFER_QUEUE and PORT_QOS_MAP act on a switch as if orchagent wrote them one
// after the other, in the order of their keys, port by port and index by index. The test replays
// that and compares the result with Decode, for random rows that overlap.
func TestRowsThatOverlap(t *testing.T) {
	ports := []string{"Ethernet0", "Ethernet4", "Ethernet8"}
	seed := sharedtest.Seed(0)
	for n := range sharedtest.Sized(300, 5000) {
		rnd := rand.New(rand.NewPCG(seed, uint64(n)))
		pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
		list := func() string {
			some := slices.Clone(ports)
			rnd.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
			return strings.Join(some[:1+rnd.IntN(len(some))], ",")
		}
		cfg := Config{TPort: {}, TQueue: {}, TBufferQueue: {}, TPortQoS: {},
			TScheduler: {"a": {"type": "DWRR", "weight": "10"}, "b": {"type": "DWRR", "weight": "20"}},
			TWRED:      {"w": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "1", "green_max_threshold": "2"}},
			TProfile:   {"x": {}, "y": {}}}
		for _, p := range ports {
			cfg.Put(TPort, p, Row{"speed": "100000"})
		}
		for range rnd.IntN(6) {
			from := rnd.IntN(5)
			index := fmt.Sprint(from)
			if to := from + rnd.IntN(3); to > from {
				index += fmt.Sprintf("-%d", to)
			}
			row := Row{}
			if rnd.IntN(2) > 0 {
				row["scheduler"] = pick("a", "b", "[SCHEDULER|b]")
			}
			if rnd.IntN(2) > 0 {
				row["wred_profile"] = pick("w", "[]", "[WRED_PROFILE|w]")
			}
			cfg.Put(TQueue, list()+"|"+index, row)
			cfg.Put(TBufferQueue, list()+"|"+index, Row{"profile": pick("x", "y")})
			row = Row{}
			if rnd.IntN(2) > 0 {
				row["pfc_enable"] = pick("3", "3,4", "")
			}
			if rnd.IntN(2) > 0 {
				row["pfcwd_sw_enable"] = "4"
			}
			cfg.Put(TPortQoS, list(), row)
		}
		type state struct {
			weights [qos.NumPriorities]int
			marks   [qos.NumPriorities]bool
			buffer  [qos.NumPriorities]string
			pfc     string
		}
		want := map[string]*state{}
		for _, p := range ports {
			want[p] = &state{}
		}
		each := func(table string, do func(s *state, i int, row Row)) {
			for _, key := range slices.Sorted(maps.Keys(cfg[table])) {
				names, index, _ := strings.Cut(key, "|")
				from, to := 0, 0
				if _, err := fmt.Sscanf(index, "%d-%d", &from, &to); err != nil {
					to = from
				}
				for _, p := range strings.Split(names, ",") {
					for i := from; i <= to; i++ {
						do(want[p], i, cfg[table][key])
					}
				}
			}
		}
		each(TQueue, func(s *state, i int, row Row) {
			if v := row["scheduler"]; v != "" {
				s.weights[i] = map[bool]int{true: 10, false: 20}[v == "a"]
			}
			if v, is := row["wred_profile"]; is {
				s.marks[i] = v != "[]"
			}
		})
		each(TBufferQueue, func(s *state, i int, row Row) { s.buffer[i] = row["profile"] })
		each(TPortQoS, func(s *state, _ int, row Row) { s.pfc = "{" + row["pfc_enable"] + "}" })
		read := cfg.Clone()
		if err := read.Modernize(); err != nil {
			t.Fatal(err)
		}
		dev, unknown := Decode(read)
		if len(unknown) > 0 && !slices.ContainsFunc(unknown, func(u Unknown) bool { return u.Why == "no such port" }) {
			t.Errorf("seed %d, text %d: %v", seed, n, unknown)
		}
		for _, p := range ports {
			got, at := state{}, dev.Ports[p]
			for i := range at.Queues {
				got.weights[i] = at.Queues[i].Scheduler.V.Weight
				got.marks[i] = at.Queues[i].ECN.V.Enabled
				got.buffer[i] = at.Queues[i].Buffer.V
			}
			if got.pfc = at.PFC.V.String(); want[p].pfc == "" {
				want[p].pfc = "{}"
			}
			if d := cmp.Diff(*want[p], got, cmp.AllowUnexported(state{})); d != "" {
				t.Fatalf("seed %d, text %d: %s %s\n%s", seed, n, p, d, read.AppendJSON(nil))
			}
		}
		placesAsWritten(t, cfg, Account(read))
	}
}

// placesAsWritten checks that every field of the rows is in the account, with the text of its row.
func placesAsWritten(t *testing.T, cfg Config, lines []render.Line) {
	t.Helper()
	said := map[string]bool{}
	for _, l := range lines {
		said[l.Where+" "+l.Text] = true
	}
	for _, table := range listed {
		for key, row := range cfg[table] {
			for field, v := range row {
				if at := table + "|" + key + " " + field + ": " + v; !said[at] {
					t.Errorf("%s is not in the account", at)
				}
			}
		}
	}
}

// A row that another one overrides says so, and names it.
func TestOverriddenRowsAreNamed(t *testing.T) {
	cfg := Config{TPort: {"Ethernet0": {}, "Ethernet4": {}}, TScheduler: {"a": {"type": "DWRR"}, "b": {"type": "STRICT"}}, TQueue: {
		"Ethernet0|3": {"scheduler": "a"}, "Ethernet0|3-4": {"scheduler": "b"},
		"Ethernet4,Ethernet0|5": {"scheduler": "b"}, "Ethernet0|5": {"scheduler": "a"},
	}}
	if err := cfg.Modernize(); err != nil {
		t.Fatal(err)
	}
	for where, by := range map[string]string{"QUEUE|Ethernet0|3": "QUEUE|Ethernet0|3-4", "QUEUE|Ethernet0|5": "QUEUE|Ethernet4,Ethernet0|5"} {
		found := false
		for _, l := range Account(cfg) {
			found = found || l.Where == where && l.Check == "BUF-18" && strings.Contains(l.Why, by+" ")
		}
		if !found {
			t.Errorf("%s does not name %s: %v", where, by, Account(cfg))
		}
	}
}

// buffermgrd takes a key of several ports for the name of one port, so that these ports get no
// lossless groups.
func TestKeysOfSeveralPortsGetNoHeadroom(t *testing.T) {
	for key, want := range map[string]int{"Ethernet0": 1, "Ethernet0,Ethernet4": 0} {
		cfg := Config{TPort: {"Ethernet0": {"speed": "100000", "admin_status": "up"}, "Ethernet4": {"speed": "100000", "admin_status": "up"}},
			TCable: {cableName: {"Ethernet0": "5m", "Ethernet4": "5m"}}, TProfile: {"pg_lossless_100000_5m_profile": {"xoff": "1000"}},
			TPortQoS: {key: {"pfc_enable": "3"}}}
		if err := cfg.Modernize(); err != nil {
			t.Fatal(err)
		}
		if got := len(Booted(cfg, nil)[TGroup]); got != want {
			t.Errorf("%s: %d lossless groups", key, got)
		}
	}
}

// A row of BUFFER_PG may name the profile that buffermgrd makes when the switch starts.
func TestProfilesToBeDerived(t *testing.T) {
	m, ok := catalog.Lookup("Arista-7060CX-32S-C32")
	if !ok {
		t.Fatal("the catalogue lacks the model")
	}
	cfg := Config{TPort: {"Ethernet0": {"speed": "100000", "admin_status": "up"}}, TCable: {cableName: {"Ethernet0": "40m"}}, TPool: {"ingress_lossless_pool": {"mode": "dynamic", "type": "ingress"}},
		TPortQoS: {"Ethernet0": {"pfc_enable": "3,4"}}, TGroup: {"Ethernet0|3-4": {"profile": "pg_lossless_100000_40m_profile"}}}
	dev, _ := Decode(Booted(cfg, m))
	if g := dev.Ports["Ethernet0"].Groups; !g[3].Lossless.V || !g[4].Lossless.V {
		t.Error("the groups have no headroom")
	}
	for _, l := range Account(cfg) {
		if l.Fate == render.Unknown {
			t.Errorf("%s %s: %s", l.Where, l.Text, l.Why)
		}
	}
}
