package sonic

// SetNeighbor sets the device and port that LLDP sees on a port. An empty device removes the
// neighbor.
//
// The row has the format of lldp_syncd (sonic-dbsyncd src/lldp_syncd/daemon.py), with only some of
// its many fields.
func (s *Switch) SetNeighbor(port, device, remotePort string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if device == "" {
		s.overlay["APPL_DB"].del("LLDP_ENTRY_TABLE", port)
		return
	}
	s.mergeRow("APPL_DB", "LLDP_ENTRY_TABLE", port, row{
		"lldp_rem_index": "1", "lldp_rem_chassis_id_subtype": "4", "lldp_rem_chassis_id": "52:54:00:ab:cd:ef",
		"lldp_rem_port_id_subtype": "7", "lldp_rem_port_id": remotePort, "lldp_rem_port_desc": "",
		"lldp_rem_sys_name": device, "lldp_rem_sys_desc": "", "lldp_rem_sys_cap_supported": "28 00", "lldp_rem_sys_cap_enabled": "28 00",
		"lldp_rem_man_addr": "192.0.2.1",
	})
}
