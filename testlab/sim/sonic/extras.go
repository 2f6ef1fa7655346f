package sonic

import "strconv"

// The following is there on some boxes, and does not change what a
// configuration says about QoS.

// spelt are optional fields of PORT with the values that leaving them out stands
// for (sonic-buildimage src/sonic-yang-models/yang-models/sonic-port.yang).
var spelt = [][2]string{{"pfc_asym", "off"}, {"autoneg", "off"}, {"description", ""}}

// spellOut has a configuration that is booted say what it leaves out, where the
// box is one that was installed so.
func (s *Switch) spellOut(t tables) {
	for _, f := range spelt {
		if !s.dice.Habit("spelt " + f[0]).Bool() {
			continue
		}
		for port, r := range t["PORT"] {
			if _, said := r[f[0]]; !said {
				r = copyRow(r)
				r[f[0]] = f[1]
				t["PORT"][port] = r
			}
		}
	}
}

// portExtras adds to a row of PORT_TABLE in APPL_DB what releases add.
func (s *Switch) portExtras(port string, r row) {
	if s.dice.Habit("flaps").Bool() {
		r["flap_count"], r["last_up_time"] = strconv.Itoa(1+s.flaps[port]), "Thu Jan 01 00:00:00 1970"
	}
}

// asicExtras adds objects that are not of QoS: the port of the CPU, and one
// without attributes.
func (s *Switch) asicExtras(set func(kind, name string, r row)) {
	if s.dice.Habit("cpu port").Bool() {
		set("PORT", "cpu", row{"SAI_PORT_ATTR_TYPE": "SAI_PORT_TYPE_CPU"})
	}
	if s.dice.Habit("bare object").Bool() {
		set("VIRTUAL_ROUTER", "", row{"NULL": "NULL"})
	}
}

// managementNeighbor is what LLDP sees on the port for management.
func (s *Switch) managementNeighbor(t tables) {
	if s.dice.Habit("management").Bool() && len(t["LLDP_ENTRY_TABLE"]) > 0 {
		t.set("LLDP_ENTRY_TABLE", "eth0", row{
			"lldp_rem_chassis_id": "52:54:00:00:00:01", "lldp_rem_port_id": "Ethernet48", "lldp_rem_port_desc": "", "lldp_rem_sys_name": "oob1",
		})
	}
}
