package drivers

import (
	"cmp"
	"net"
	"slices"
	"strings"
)

// Identity is what a switch or host, or a saved configuration, reports about itself; fields are
// "" if not reported.
type Identity struct {
	Hostname, Model, Release string
	Unit                     Unit
}

// Unit identifies the hardware of a device, as far as the device shows it.
type Unit struct {
	Serial string `json:"serial,omitempty"` // of the chassis or machine; "" if not shown
	MAC    string `json:"mac,omitempty"`    // of the system, as 52:54:00:12:34:56; "" if not shown
}

// noSerial lists the placeholders that devices and firmware print instead of a serial number.
var noSerial = []string{
	"n/a", "na", "none", "null", "unknown", "unspecified", "not specified", "not available", "not applicable", "default string", "system serial number",
	"chassis serial number", "to be filled by o.e.m.", "to be filled by oem", "oem", "empty", "invalid", "undefined", "0123456789", "123456789", "1234567890",
}

// maxSerial is far longer than any serial number.
const maxSerial = 64

// UnitOf returns the unit of a device with this serial number and MAC address. It ignores a text
// that cannot be a unique serial number, or the MAC address of a single device.
func UnitOf(serial, mac string) (u Unit) {
	serial = strings.TrimSpace(serial)
	visible := func(r rune) bool { return r >= ' ' && r <= '~' }
	if len(serial) <= maxSerial && !strings.ContainsFunc(serial, func(r rune) bool { return !visible(r) }) &&
		!slices.Contains(noSerial, strings.ToLower(serial)) && strings.Trim(serial, serial[:min(1, len(serial))]) != "" {
		u.Serial = serial
	}
	if a, err := net.ParseMAC(strings.TrimSpace(mac)); err == nil && len(a) == 6 && a[0]&1 == 0 && slices.Max(a) > 0 {
		u.MAC = a.String()
	}
	return u
}

// Other reports whether two units certainly belong to different devices. They are compared by
// serial number if both have one, otherwise by MAC address.
func (u Unit) Other(v Unit) bool {
	if u.Serial != "" && v.Serial != "" {
		return !strings.EqualFold(u.Serial, v.Serial)
	}
	return u.MAC != "" && v.MAC != "" && u.MAC != v.MAC
}

// Same reports whether two units certainly belong to the same device.
func (u Unit) Same(v Unit) bool {
	return !u.Other(v) && (u.Serial != "" && v.Serial != "" || u.MAC != "" && v.MAC != "")
}

// Versus describes two units by the property that Other compares.
func (u Unit) Versus(v Unit) (a, b string) {
	if u.Serial != "" && v.Serial != "" {
		return "serial number " + u.Serial, "serial number " + v.Serial
	}
	return "MAC address " + u.MAC, "MAC address " + v.MAC
}

// With fills in missing values from a recorded unit.
func (u Unit) With(recorded Unit) Unit {
	return Unit{cmp.Or(u.Serial, recorded.Serial), cmp.Or(u.MAC, recorded.MAC)}
}

// Known reports whether any value is known.
func (u Unit) Known() bool { return u != Unit{} }

func (u Unit) String() string {
	switch {
	case u.Serial != "" && u.MAC != "":
		return "serial number " + u.Serial + ", MAC address " + u.MAC
	case u.Serial != "":
		return "serial number " + u.Serial
	case u.MAC != "":
		return "MAC address " + u.MAC
	}
	return "no serial number"
}

// Named is a Driver of a device whose configuration contains the host name.
type Named interface {
	// Hostname returns the host name in a snapshot; "" if there is none. It does no I/O.
	Hostname(*Snapshot) string
}

// Hostname returns the host name in a snapshot, without the domain; "" if it is not known.
func Hostname(d Driver, s *Snapshot) string {
	n, ok := d.(Named)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(n.Hostname(s), ".")
	return name
}

// IdentityOf returns what a device reports about itself.
func IdentityOf(d Driver, f Facts, s *Snapshot) Identity {
	if u, ok := d.(interface{ Unit(*Snapshot) Unit }); ok { // hosts report it in the snapshot
		f.Unit = u.Unit(s)
	}
	return Identity{Hostname: Hostname(d, s), Model: f.Model, Release: f.Release, Unit: f.Unit}
}
