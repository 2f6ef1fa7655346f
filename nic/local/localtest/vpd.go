package localtest

import "encoding/binary"

// vpd returns the vital product data of a card: a name and the read-only part (PCI Local Bus
// Specification 3.0, appendix I).
func vpd(part, serial string) string {
	var ro []byte
	for _, f := range []struct{ key, value string }{{"PN", part}, {"EC", "A5"}, {"SN", serial}, {"RV", "\x00"}} {
		ro = append(append(append(ro, f.key...), byte(len(f.value))), f.value...)
	}
	const name = "simulated card"
	out := binary.LittleEndian.AppendUint16([]byte{0x82}, uint16(len(name)))
	out = append(out, name...)
	out = binary.LittleEndian.AppendUint16(append(out, 0x90), uint16(len(ro)))
	return string(append(append(out, ro...), 0x78))
}
