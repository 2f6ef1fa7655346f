package mlxconfig

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
)

// roce is the wanted state of port 1; on a fresh card, all six settings differ.
var roce = Settings{Port: 1, CCPriorities: qos.Priorities(3), CNPDSCP: 46, CNPPriority: 5, FirmwareLLDPOff: true}

func planned(t *testing.T, tool *Tool, s Settings) []Change {
	t.Helper()
	cfg, err := tool.Query(t.Context(), pci)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Wanted(cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	return Plan(cfg, want)
}

func kinds(changes []Change) map[Kind]int {
	n := map[Kind]int{}
	for _, ch := range changes {
		n[ch.Kind]++
	}
	return n
}

// sets returns the calls that write.
func sets(card *mlxconfigtest.Card) []string {
	return slices.DeleteFunc(card.Calls(), func(call string) bool { return strings.HasSuffix(call, "query") })
}

// TestProgramAndReset takes a card from factory settings to the wanted ones: they are programmed once, wait
// for a reset without being planned again, and are in force afterwards.
func TestProgramAndReset(t *testing.T) {
	eachVersion(t, func(t *testing.T, card *mlxconfigtest.Card, tool *Tool) {
		changes := planned(t, tool, roce)
		if n := kinds(changes); n[Program] != 6 || len(n) != 1 {
			t.Fatalf("a fresh card:\n%s", table(changes))
		}
		out, err := tool.Set(t.Context(), "3B:00.0", changes)
		if err != nil || len(out) != 6 {
			t.Fatalf("%+v, %v", out, err)
		}
		want := "mstconfig -d 0000:3b:00.0 -y set CNP_802P_PRIO_P1=5 CNP_DSCP_P1=46 LLDP_NB_DCBX_P1=0 LLDP_NB_RX_MODE_P1=0 LLDP_NB_TX_MODE_P1=0 ROCE_CC_PRIO_MASK_P1=8"
		if got := sets(card); len(got) != 1 || got[0] != want {
			t.Errorf("ran %q", got)
		}
		if p := card.Get("CNP_DSCP_P1"); p.Next != 46 || p.Current != 48 {
			t.Errorf("the card holds %+v", p)
		}
		if p := card.Get("CNP_DSCP_P2"); p.Next != 48 {
			t.Errorf("the other port holds %+v", p)
		}

		again := planned(t, tool, roce)
		if n := kinds(again); n[ResetPending] != 6 || len(n) != 1 {
			t.Errorf("after the set:\n%s", table(again))
		}
		for _, list := range [][]Change{again, changes} {
			if out, err := tool.Set(t.Context(), pci, list); err != nil || len(out) > 0 || len(sets(card)) != 1 {
				t.Errorf("a second set: %+v, %v, ran %q", out, err, sets(card))
			}
		}
		card.Reset()
		if left := planned(t, tool, roce); len(left) != 0 {
			t.Errorf("after the reset:\n%s", table(left))
		}
	})
}

// TestSetSendsDifferencesAlone leaves out values that were set after the plan was made.
func TestSetSendsDifferencesAlone(t *testing.T) {
	eachVersion(t, func(t *testing.T, card *mlxconfigtest.Card, tool *Tool) {
		changes := planned(t, tool, roce)
		for _, name := range []string{"LLDP_NB_DCBX_P1", "LLDP_NB_RX_MODE_P1", "LLDP_NB_TX_MODE_P1"} {
			card.Change(name, func(p *mlxconfigtest.Param) { p.Next = 0 })
		}
		out, err := tool.Set(t.Context(), pci, changes)
		if got := sets(card); err != nil || len(out) != 3 || len(got) != 1 || strings.Contains(got[0], "LLDP") {
			t.Errorf("%+v, %v, ran %q", out, err, got)
		}
	})
}

func TestSetFaults(t *testing.T) {
	const next = "CNP_DSCP_P1"
	tests := []struct {
		name    string
		hurt    func(*mlxconfigtest.Card)
		want    error
		words   string
		writes  int // number of calls that write
		written int // number of settings stored
	}{
		{"the card ignores it", func(c *mlxconfigtest.Card) { c.SetFaults(mlxconfigtest.Faults{Ignore: true}) },
			ErrRejected, "CNP_DSCP_P1 is 48 and not 46", 1, 0},
		{"the first group fails", func(c *mlxconfigtest.Card) { c.SetFaults(mlxconfigtest.Faults{FailGroup: "nv_lldp_nb_conf_P1"}) },
			ErrRejected, "Failed to set nv_lldp_nb_conf_P1: ME_REG_ACCESS_RES_NOT_AVLBL", 1, 0},
		{"the last group fails", func(c *mlxconfigtest.Card) { c.SetFaults(mlxconfigtest.Faults{FailGroup: "nv_roce_cc_ecn_P1"}) },
			ErrPartial, "Failed to set nv_roce_cc_ecn_P1", 1, 4},
		{"it fails with everything stored", func(c *mlxconfigtest.Card) { c.SetFaults(mlxconfigtest.Faults{FailLate: true}) },
			nil, "", 1, 6},
		{"the card is gone afterwards", func(c *mlxconfigtest.Card) { c.SetFaults(mlxconfigtest.Faults{CloseAfterSet: true}) },
			ErrPartial, "could not be read after the write", 1, 0},
		{"the card is gone before", func(c *mlxconfigtest.Card) { c.SetFaults(mlxconfigtest.Faults{Closed: true}) },
			ErrAccess, "nothing was written", 0, 0},
		{"another hand was there", func(c *mlxconfigtest.Card) { c.Change(next, func(p *mlxconfigtest.Param) { p.Next = 12 }) },
			ErrStale, "the next boot was 48 and is 12", 0, 0},
		{"a setting went away", func(c *mlxconfigtest.Card) { c.Change(next, func(p *mlxconfigtest.Param) { p.Hidden = true }) },
			ErrUnsupported, "CNP_DSCP_P1", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, card *mlxconfigtest.Card, tool *Tool) {
				changes := planned(t, tool, roce)
				tt.hurt(card)
				out, err := tool.Set(t.Context(), pci, changes)
				if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.words) {
					t.Errorf("error %v, want %v with %q", err, tt.want, tt.words)
				}
				if errors.Is(err, ErrRejected) && errors.Is(err, ErrPartial) {
					t.Errorf("both rejected and partial: %v", err)
				}
				if len(out) != tt.written {
					t.Errorf("written:\n%s", table(out))
				}
				for _, ch := range out {
					if p := card.Get(ch.Name); uint64(p.Next) != ch.Want.Number {
						t.Errorf("%s is said to be written, and is %d", ch.Name, p.Next)
					}
				}
				if got := sets(card); len(got) != tt.writes {
					t.Errorf("ran %q", got)
				}
			})
		})
	}
}

// TestSetOfAReadOnlySetting uses a tool that does not mark read-only settings (4.21): its rejection
// undoes the whole batch.
func TestSetOfAReadOnlySetting(t *testing.T) {
	card := mlxconfigtest.New("mlxconfig", pci)
	card.Version = mlxconfigtest.V421
	tool, err := Find(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := tool.Query(t.Context(), pci)
	if err != nil {
		t.Fatal(err)
	}
	out, err := tool.Set(t.Context(), pci, Plan(cfg, map[string]string{"FW_VERSION_STAMP": "8", "CNP_DSCP_P1": "46"}))
	if !errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "Read only TLV: nv_stamp") || len(out) > 0 || card.Get("CNP_DSCP_P1").Next != 48 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestSetRefuses checks changes that must never reach the tool.
func TestSetRefuses(t *testing.T) {
	card := mlxconfigtest.New("mlxconfig", pci)
	tool, err := Find(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	good := Change{Name: "CNP_DSCP_P1", Kind: Program, Want: numberOf(46), Next: numberOf(48)}
	for name, list := range map[string][]Change{
		"an option for a name":   {good, {Name: "--force", Kind: Program, Want: numberOf(1)}},
		"a value with a blank":   {{Name: "CNP_DSCP_P1", Kind: Program, Want: Value{Name: "4 -y"}}},
		"a value that assigns":   {{Name: "CNP_DSCP_P1", Kind: Program, Want: Value{Name: "4=5"}}},
		"no value":               {{Name: "CNP_DSCP_P1", Kind: Program}},
		"twice":                  {good, good},
		"the power limit":        {{Name: "DISABLE_SLOT_POWER_LIMITER", Kind: Program, Want: numberOf(1)}},
		"an element of an array": {{Name: "ESWITCH_HAIRPIN_DESCRIPTORS[1]", Kind: Program, Want: numberOf(1)}},
	} {
		if _, err := tool.Set(t.Context(), pci, list); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tool.Set(t.Context(), "-h", []Change{good}); !errors.Is(err, ErrDevice) {
		t.Errorf("an option for a device: %v", err)
	}
	other := good
	other.Kind = ResetPending
	if out, err := tool.Set(t.Context(), pci, []Change{other}); err != nil || len(out) > 0 {
		t.Errorf("nothing to program: %+v, %v", out, err)
	}
	if calls := card.Calls(); len(calls) != 0 {
		t.Errorf("ran %q", calls)
	}
}

// TestSetAndTheEndOfAContext checks that Set stops before the write, but not during it.
func TestSetAndTheEndOfAContext(t *testing.T) {
	for _, verb := range []string{" query", " set "} {
		card := mlxconfigtest.New("mlxconfig", pci)
		tool, err := Find(t.Context(), card)
		if err != nil {
			t.Fatal(err)
		}
		changes := planned(t, tool, roce)
		ctx, cancel := context.WithCancel(t.Context())
		card.Before(func(call string) {
			if strings.Contains(call, verb) {
				cancel()
			}
		})
		out, err := tool.Set(ctx, pci, changes)
		cancel()
		if verb == " query" {
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "nothing was written") || len(sets(card)) != 0 {
				t.Errorf("ended before the write: %v, ran %q", err, sets(card))
			}
			continue
		}
		if err != nil || len(out) != 6 {
			t.Errorf("ended during the write: %+v, %v", out, err)
		}
	}
}
