package lab

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"path/filepath"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
)

// startHost starts a host with all of its NICs in the intent.
func startHost(h *intent.Host, s shared, dir string, o Options) (*host.Host, error) {
	opts := host.Options{
		Name: h.Name, Dir: filepath.Join(dir, "hosts", h.Name), Username: "admin", Password: s.password,
		HostKey: s.hostKey, Listen: o.Listen, Tools: mlxconfigtest.V431, TimeScale: o.TimeScale,
		Shuffle: seedOf(o.Shuffle, h.Name),
	}
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
