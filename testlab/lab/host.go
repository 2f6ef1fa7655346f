package lab

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"net"
	"path/filepath"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
)

// startHost starts a host with all of its NICs in the intent.
func startHost(h *intent.Host, s shared, dir string, o Options) (*host.Host, error) {
	opts := host.Options{
		Name: h.Name, Dir: filepath.Join(dir, "hosts", h.Name), Username: "admin", Password: s.password,
		HostKey: s.hostKey, Listen: o.Listen, Tools: mlxconfigtest.V431, TimeScale: o.TimeScale,
		Shuffle: seedOf(o.Shuffle, h.Name), Wire: s.wire,
	}
	opts.Address, _, _ = net.SplitHostPort(h.Address.V) // "" without an address
	nics, names := cardsOf(h, o.NIC)
	opts.NICs = nics
	for _, b := range h.Bonds {
		members := make([]string, len(b.Members.V))
		for i, m := range b.Members.V {
			members[i] = cmp.Or(names[m], m)
		}
		opts.Bonds = append(opts.Bonds, host.Bond{Name: b.Name, Members: members})
	}
	for _, v := range h.VLANs {
		opts.VLANs = append(opts.VLANs, host.VLAN{Name: v.Name, On: cmp.Or(names[v.On.V], v.On.V), ID: v.ID.V})
	}
	box, err := host.New(opts)
	if err != nil {
		return nil, err
	}
	if err := box.Start(); err != nil {
		return nil, err
	}
	return box, nil
}

// standIn returns an ELF file that is only a header, for the CPU architecture of the hosts. The
// real program has tens of megabytes, and on a Mac it is not a Linux program.
func standIn() []byte {
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phentsize: 56, Shentsize: 64,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	b, err := binary.Append(nil, binary.LittleEndian, h)
	if err != nil {
		panic("lab: " + err.Error()) // cannot fail: only numbers
	}
	return b
}

// hopsOf returns a function that counts the switches between two NICs: one if both are at the same
// leaf, else three.
func hopsOf(f *intent.Fabric) func(from, to string) int {
	near := map[string]string{} // by NIC: the switch that it is linked to
	for _, l := range f.Links {
		for _, e := range [][2]intent.Endpoint{{l.A, l.B}, {l.B, l.A}} {
			if f.Host(e[0].Device) != nil {
				near[e[0].String()] = e[1].Device
			}
		}
	}
	return func(from, to string) int {
		if near[from] == near[to] {
			return 1
		}
		return 3
	}
}

// weightOf returns a function that gives the weight of the class of a traffic class, whose upper six
// bits are the DSCP.
func weightOf(f *intent.Fabric) func(tclass int) float64 {
	return func(tclass int) float64 {
		for _, k := range f.Settings.Classes {
			if slices.Contains(k.DSCP.V, tclass>>2) {
				return float64(k.Bandwidth.V)
			}
		}
		return 0
	}
}
