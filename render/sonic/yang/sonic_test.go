package yang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// TestAcceptance checks what the public models of each release accept and reject.
func TestAcceptance(t *testing.T) {
	set := func(path, v string) func(config) {
		p := strings.Split(path, "/")
		return func(c config) {
			if c[p[0]][p[1]] == nil {
				c[p[0]][p[1]] = map[string]string{}
			}
			c[p[0]][p[1]][p[2]] = v
		}
	}
	const none, all = "", "202311 202405 202411 202505 202511 202605 master"
	since := func(rel string) string { return all[strings.Index(all, rel):] }
	until := func(rel string) string { return all[:strings.Index(all, rel)+len(rel)] }
	// The worked example has watchdog times of 200 ms, which must not be below the interval.
	poll := func(ms string) func(config) {
		return func(c config) {
			c["PFC_WD"] = map[string]map[string]string{"GLOBAL": {"POLL_INTERVAL": ms}}
		}
	}
	ms := map[string]*Models{}
	for _, rel := range releases {
		ms[rel] = loadRelease(t, rel)
	}
	base := readConfig(t, "testdata/leaf-traditional.json")
	for _, tc := range []struct {
		name   string
		change func(config)
		takes  string
		field  string // field in which the other releases report the fault
	}{
		{"as it is", func(config) {}, all, ""},
		{"pfc_enable empty", set("PORT_QOS_MAP/Ethernet0/pfc_enable", ""), since("202505"), "pfc_enable"},
		{"pfc_enable with a blank", set("PORT_QOS_MAP/Ethernet0/pfc_enable", "3, 4"), none, "pfc_enable"},
		{"pfc_enable 8", set("PORT_QOS_MAP/Ethernet0/pfc_enable", "8"), none, "pfc_enable"},
		{"watchdog polls every 1000 ms", poll("1000"), all, ""},
		{"watchdog polls every 1500 ms", poll("1500"), until("202505"), "POLL_INTERVAL"},
		{"watchdog polls every 3001 ms", poll("3001"), none, "POLL_INTERVAL"},
		{"pfc_stat_history", set("PFC_WD/Ethernet0/pfc_stat_history", "enable"), since("202511"), "pfc_stat_history"},
		{"big red switch", set("PFC_WD/GLOBAL/BIG_RED_SWITCH", "enable"), none, "BIG_RED_SWITCH"},
		{"detection below the interval", set("PFC_WD/Ethernet0/detection_time", "199"), none, "detection_time"},
		{"interval on a port", set("PFC_WD/Ethernet0/POLL_INTERVAL", "200"), none, "POLL_INTERVAL"},
		{"pool for both", set("BUFFER_POOL/egress_lossless_pool/type", "both"), since("202405"), "type"},
		{"pool percentage in the traditional model", func(c config) {
			c["BUFFER_POOL"]["spare"] = map[string]string{"type": "egress", "mode": "dynamic", "percentage": "10"}
		}, none, "percentage"},
		{"trim", set("BUFFER_PROFILE/egress_lossy_profile/packet_discard_action", "trim"), since("202505"), "packet_discard_action"},
		{"dynamic_th 8", set("BUFFER_PROFILE/egress_lossy_profile/dynamic_th", "8"), none, "dynamic_th"},
		{"queue 8", set("TC_TO_QUEUE_MAP/AZURE/7", "8"), since("202411"), "7"},
		{"speed 1.6 Tb/s", set("PORT/Ethernet0/speed", "1600000"), since("202511"), "speed"},
		{"mtu 9300", set("PORT/Ethernet0/mtu", "9300"), none, "mtu"},
		{"DSCP with a zero before it", set("DSCP_TO_TC_MAP/AZURE/03", "3"), none, "03"},
		{"cable without a unit", set("CABLE_LENGTH/AZURE/Ethernet0", "40"), none, "Ethernet0"},
		{"cable of no port", set("CABLE_LENGTH/AZURE/Ethernet1", "40m"), none, "Ethernet1"},
		{"dangling map", set("PORT_QOS_MAP/global/dscp_to_tc_map", "GONE"), none, "dscp_to_tc_map"},
		{"dangling map, no such table", func(c config) { delete(c, "DSCP_TO_TC_MAP") }, none, "dscp_to_tc_map"},
		{"upper case GLOBAL", func(c config) { c["PORT_QOS_MAP"]["GLOBAL"] = map[string]string{} }, none, "ifname"},
		{"weight 0", set("SCHEDULER/scheduler.0/weight", "0"), none, "weight"},
		{"pir without cir", set("SCHEDULER/scheduler.0/pir", "100"), none, "pir"},
		{"pir below cir", func(c config) {
			set("SCHEDULER/scheduler.0/pir", "100")(c)
			set("SCHEDULER/scheduler.0/cir", "101")(c)
		}, none, "pir"},
		{"pir at cir", func(c config) {
			set("SCHEDULER/scheduler.0/pir", "100")(c)
			set("SCHEDULER/scheduler.0/cir", "100")(c)
		}, all, ""},
		{"min above max", set("WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold", "2097153"), none, "green_max_threshold"},
		{"max without min", func(c config) { delete(c["WRED_PROFILE"]["AZURE_LOSSLESS"], "red_min_threshold") }, none, "red_max_threshold"},
		{"True", set("WRED_PROFILE/AZURE_LOSSLESS/wred_green_enable", "True"), none, "wred_green_enable"},
		{"queue of a VOQ chassis on another switch", func(c config) { c["QUEUE"]["leaf1|asic0|Ethernet0|3"] = map[string]string{} }, none, ""},
		{"queue without a profile, whose default is no row", func(c config) { delete(c["BUFFER_QUEUE"]["Ethernet0|3"], "profile") }, none, "profile"},
		{"priority groups 3,4", func(c config) { c["BUFFER_PG"]["Ethernet0|3,4"] = map[string]string{"profile": "NULL"} }, none, "pg_num"},
		{"a port without lanes", func(c config) { delete(c["PORT"]["Ethernet0"], "lanes") }, none, "lanes"},
		{"a port without lanes in a chassis", func(c config) {
			delete(c["PORT"]["Ethernet0"], "lanes")
			delete(c["PORT"]["Ethernet8"], "lanes")
			c["DEVICE_METADATA"]["localhost"]["switch_type"] = "chassis-packet"
		}, since("202405"), "lanes"},
		{"TC_TO_DSCP_MAP", func(c config) { c["TC_TO_DSCP_MAP"] = map[string]map[string]string{"AZURE": {"3": "26"}} }, since("202411"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, rel := range releases {
				c := clone(base)
				tc.change(c)
				vs := ms[rel].Check(c)
				takes := strings.Contains(tc.takes, rel)
				if takes != (len(vs) == 0) {
					t.Errorf("%s: want taken %v, got %v", rel, takes, vs)
				}
				for _, v := range vs {
					if v.Field != tc.field && !takes {
						t.Errorf("%s: finds fault elsewhere: %v", rel, v)
					}
				}
			}
		})
	}
}

// TestEveryRuleIsEvaluated: this package evaluates every rule of the public models.
func TestEveryRuleIsEvaluated(t *testing.T) {
	for _, rel := range releases {
		m := loadRelease(t, rel)
		for _, r := range m.Unevaluated() {
			t.Errorf("%s: %s", rel, r)
		}
		for _, s := range m.Skipped() {
			t.Errorf("%s: %s", rel, s)
		}
	}
}

// large returns a configuration for a switch of 64 ports with every per-port row.
func large(b testing.TB) config {
	src := readConfig(b, "testdata/leaf-dynamic.json")
	c := config{}
	for table, rows := range src {
		c[table] = map[string]map[string]string{}
		for key, fields := range rows {
			switch {
			case strings.HasPrefix(key, "Ethernet8"):
			case !strings.HasPrefix(key, "Ethernet0"):
				c[table][key] = fields
			default:
				for p := range 64 {
					c[table][fmt.Sprintf("Ethernet%d", p*8)+key[len("Ethernet0"):]] = fields
				}
			}
		}
	}
	c["CABLE_LENGTH"]["AZURE"] = map[string]string{}
	for p := range 64 {
		c["CABLE_LENGTH"]["AZURE"][fmt.Sprintf("Ethernet%d", p*8)] = "40m"
	}
	return c
}

func BenchmarkLoad(b *testing.B) {
	dir := sharedtest.YANG(b, "master")
	for b.Loop() {
		load(b, dir)
	}
}

func BenchmarkCheck64Ports(b *testing.B) {
	m := loadRelease(b, "master")
	c := large(b)
	for b.Loop() {
		if vs := m.Check(c); len(vs) > 0 {
			b.Fatal(vs)
		}
	}
}
