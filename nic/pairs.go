package nic

// PairUse describes how a program sends RDMA, judging by those of its connected queue pairs that
// were read. Queue pairs that differ in anything but their number are separate uses.
type PairUse struct {
	Program string `json:"program"`
	DSCP    int    `json:"dscp"`
	// PCP is the priority of the pairs' VLAN tag, which they have if Over is a VLAN.
	PCP int `json:"pcp,omitempty"`
	// Source is the address that they send from; "" if it is not known. Over is the interface that
	// has it. V1 says that they use RoCE v1, whose packets have no IP header and so no DSCP.
	Source string `json:"source,omitempty"`
	Over   string `json:"over,omitempty"`
	V1     bool   `json:"v1,omitempty"`
	// Read is how many of the program's queue pairs are like this; Of is how many it has.
	Read int `json:"read"`
	Of   int `json:"of"`
	// Unread says why none of them could be read; Read is then 0.
	Unread string `json:"unread,omitempty"`
}

// SharedPort is a peer to which all queue pairs of a program that were read, at least two, send
// from the same UDP port, so that a hash of addresses and ports sends them over one path.
type SharedPort struct {
	Program string `json:"program"`
	Peer    string `json:"peer"`
	UDPPort int    `json:"udp_port"`
	Read    int    `json:"read"`
}
