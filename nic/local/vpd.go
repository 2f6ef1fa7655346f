package local

import (
	"encoding/binary"
	"strings"
)

// Tags in vital product data (PCI Local Bus Specification 3.0, appendix I; Linux,
// include/linux/pci.h, PCI_VPD_LRDT_RO_DATA).
const (
	vpdLarge    = 0x80 // large resource: a length of two bytes follows
	vpdReadOnly = 0x90
	vpdEnd      = 0x0f // small resource, with its length in the low three bits
)

// parseVPD returns the part and serial number in a card's vital product data, or "" for a missing
// one. It stops at malformed data.
func parseVPD(b []byte) (part, serial string) {
	for len(b) > 0 {
		var n, head int
		switch {
		case b[0]&vpdLarge == 0:
			if b[0]>>3 == vpdEnd {
				return part, serial
			}
			head, n = 1, int(b[0]&7)
		case len(b) < 3:
			return part, serial
		default:
			head, n = 3, int(binary.LittleEndian.Uint16(b[1:]))
		}
		if len(b) < head+n {
			return part, serial
		}
		if b[0] == vpdReadOnly {
			for f := b[head : head+n]; len(f) >= 3 && len(f) >= 3+int(f[2]); f = f[3+int(f[2]):] {
				value := clip(strings.Trim(string(f[3:3+int(f[2])]), " \x00"))
				switch string(f[:2]) {
				case "PN":
					part = value
				case "SN":
					serial = value
				}
			}
		}
		b = b[head+n:]
	}
	return part, serial
}
