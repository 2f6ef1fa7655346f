package sonic

import "strconv"

// The following appears on some switches only, and does not change the QoS settings of a
// configuration.

// spelt lists optional fields of PORT and their default values (sonic-buildimage
// src/sonic-yang-models/yang-models/sonic-port.yang).
var spelt = [][2]string{{"pfc_asym", "off"}, {"autoneg", "off"}, {"description", ""}}

// spellOut adds default values to a configuration at boot, if the switch was installed that way.
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

// portExtras adds the fields that some releases have in PORT_TABLE of APPL_DB.
func (s *Switch) portExtras(port string, r row) {
	if s.dice.Habit("flaps").Bool() {
		r["flap_count"], r["last_up_time"] = strconv.Itoa(1+s.flaps[port]), "Thu Jan 01 00:00:00 1970"
	}
}

// asicExtras adds objects unrelated to QoS: the CPU port, and an object without attributes.
func (s *Switch) asicExtras(set func(kind, name string, r row)) {
	if s.dice.Habit("cpu port").Bool() {
		set("PORT", "cpu", row{"SAI_PORT_ATTR_TYPE": "SAI_PORT_TYPE_CPU"})
	}
	if s.dice.Habit("bare object").Bool() {
		set("VIRTUAL_ROUTER", "", row{"NULL": "NULL"})
	}
}

// managementNeighbor adds the LLDP neighbor of the management port.
func (s *Switch) managementNeighbor(t tables) {
	if s.dice.Habit("management").Bool() && len(t["LLDP_ENTRY_TABLE"]) > 0 {
		t.set("LLDP_ENTRY_TABLE", "eth0", row{
			"lldp_rem_chassis_id": "52:54:00:00:00:01", "lldp_rem_port_id": "Ethernet48", "lldp_rem_port_desc": "", "lldp_rem_sys_name": "oob1",
		})
	}
}
