package sonic

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

type tables = map[string]map[string]map[string]string

// bare edits a configuration to have no PFC and to state neither MTU nor cable, with a profile that
// does not mark: everything that a run writes must be removed again, field by field.
func bare(cfg tables) {
	withoutRows := func(table string) { delete(cfg, table) }
	withoutRows("CABLE_LENGTH")
	withoutRows("BUFFER_PG")
	for port, row := range cfg["PORT_QOS_MAP"] {
		if delete(row, "pfc_enable"); port != "global" {
			delete(row, "pfcwd_sw_enable")
		}
	}
	for _, row := range cfg["PORT"] {
		row["mtu"] = "1500"
	}
	for _, row := range cfg["WRED_PROFILE"] {
		delete(row, "ecn")
		delete(row, "wred_green_enable")
		delete(row, "green_drop_probability")
	}
}

// empty edits a configuration to have no QoS settings at all.
func empty(cfg tables) {
	bare(cfg)
	for _, table := range []string{"PORT_QOS_MAP", "QUEUE", "SCHEDULER", "WRED_PROFILE", "DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE"} {
		delete(cfg, table)
	}
	for _, row := range cfg["PORT"] {
		delete(row, "mtu")
	}
}

// TestFirstApplyIsUndone: after an apply and its revert, the databases of the daemons have their
// old contents, and keep them when the ports go down and up. No daemon exits.
func TestFirstApplyIsUndone(t *testing.T) {
	if testing.Short() {
		t.Skip("many combinations of one kind, in one goroutine each")
	}
	ways := map[string]boxOptions{"gnmi": {}, "gnmi+ssh": {ssh: true}, "ssh": {alone: true}, "direct": {direct: true}}
	starts := map[string]func(tables){"factory": func(tables) {}, "bare": bare, "empty": empty}
	for _, release := range []string{"202411", "202511", "202605", "master"} {
		for way, o := range ways {
			for start, edit := range starts {
				t.Run(release+"/"+way+"/"+start, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						o := o
						o.model, o.release, o.edit = known, release, edit
						b := newBox(t, o)
						was, cfg := b.inForce(), string(b.state())
						d := b.open()
						tok, _ := b.apply(d)
						if err := d.Confirm(t.Context(), tok); err != nil {
							t.Fatal(err)
						}
						b.rollBack(tok)
						b.compare("configuration", cfg, string(b.state()))
						b.sameInForce(was)
						b.flapAll()
						b.sameInForce(was)
						if row := b.config().Row(native.TWatchdog, "GLOBAL"); row != nil && !maps.Equal(row, native.Row{"POLL_INTERVAL": "100"}) {
							t.Errorf("PFC_WD|GLOBAL %v", row)
						}
						b.compare("configuration after the ports went down and up", cfg, string(b.state()))
					})
				})
			}
		}
	}
}

func (b *box) rollBack(tok *drivers.Token) {
	b.t.Helper()
	if err := b.open().Revert(b.t.Context(), tok); err != nil {
		b.t.Fatal(err)
	}
}

// inForce returns what orchagent sent to the ASIC.
func (b *box) inForce() map[string]map[string]string {
	out := b.DB("ASIC_DB")["ASIC_STATE"]
	// Without SSH, profiles that buffermgrd derived stay; nothing refers to them.
	maps.DeleteFunc(out, func(key string, _ map[string]string) bool {
		return len(key) > 30 && key[:30] == "SAI_OBJECT_TYPE_BUFFER_PROFILE"
	})
	return out
}

func (b *box) sameInForce(was map[string]map[string]string) {
	b.t.Helper()
	now := b.inForce()
	for _, key := range slices.Sorted(maps.Keys(was)) {
		b.compare(key, fmt.Sprint(was[key]), fmt.Sprint(now[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if was[key] == nil {
			b.t.Errorf("new in ASIC_DB: %s %v", key, now[key])
		}
	}
}

func (b *box) compare(what, was, now string) {
	b.t.Helper()
	if was != now {
		b.t.Errorf("%s:\nwas %s\nnow %s", what, was, now)
	}
}

// flapAll takes every port that is up down and up again.
func (b *box) flapAll() {
	for port, row := range b.Config()["PORT"] {
		if row["admin_status"] != "up" {
			continue
		}
		for _, status := range []string{"down", "up"} {
			row = maps.Clone(row)
			row["admin_status"] = status
			b.SetRow("PORT", port, row)
		}
	}
}
