package intent

// rawVFs holds the settings of a NIC's virtual functions.
type rawVFs struct {
	Count        opt[int]    `key:"count" min:"1" max:"1024" doc:"How many VFs the NIC has, at most what its firmware offers. They are made where there are none; another number than there are is never written, since that takes all of them away first. Default: left alone."`
	Trust        opt[string] `key:"trust" enum:"on,off,keep" doc:"Whether VFs are trusted, as 'ip link set NIC vf N trust' sets it. Default keep."`
	VLAN         opt[int]    `key:"vlan" min:"0" max:"4094" doc:"VLAN ID of the tag that the card adds to all frames of every VF, as 'ip link set NIC vf N vlan' sets it; 0 for no tag. Default: left alone."`
	PCP          opt[int]    `key:"pcp" min:"0" max:"7" doc:"Priority in that tag ('qos' of 'ip link set NIC vf N vlan'). Default: the PCP of the class of RDMA."`
	Representors opt[string] `key:"representors" enum:"on,off,keep" doc:"on: the switch of the card is in switchdev mode, where each VF has a representor on the host; off: in legacy mode. It is compared, and never set: a change of the mode makes the interface of the NIC anew. Default keep."`
}

// rawSFs holds the settings of a NIC's scalable functions.
type rawSFs struct {
	Count opt[int] `key:"count" min:"1" max:"1024" doc:"How many active SFs the NIC has; NVIDIA's cards alone, in switchdev mode, at most what the firmware offers. They are made where there are none; another number than there are is never written, since that takes SFs away. Default: left alone."`
}

func (s *rawSFs) count() opt[int] {
	if s == nil {
		return opt[int]{}
	}
	return s.Count
}

// VFs holds the virtual function settings that one line of the intent states for its NICs.
type VFs struct {
	// Count is the number of VFs; 0 leaves them unchanged.
	Count Value[int]
	// VLAN is the VLAN ID of the VFs' tag, 0 for none; nil leaves the tag unchanged. PCP is the
	// priority in the tag; nil stands for that of RDMA.
	VLAN, PCP Value[*int]
	// Trust and Representors are "on" or "off"; "" leaves them unchanged.
	Trust, Representors Value[string]
}

func (v *rawVFs) line() VFs {
	if v == nil {
		v = &rawVFs{}
	}
	return VFs{Count: from(v.Count, 0), VLAN: fromOptional(v.VLAN), PCP: fromOptional(v.PCP), Trust: unlessKept(v.Trust), Representors: unlessKept(v.Representors)}
}

// unlessKept returns the word of v, or "" for keep.
func unlessKept(v opt[string]) Value[string] {
	out := from(v, "")
	if out.V == "keep" {
		out.V = ""
	}
	return out
}
