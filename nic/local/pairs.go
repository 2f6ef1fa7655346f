package local

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/nic"
)

// pairsOfPort limits how many queue pairs are read. Each one takes a firmware command, and programs
// open thousands of identical pairs.
const pairsOfPort = 16

// queuePair is a queue pair as 'rdma resource show qp' shows it (iproute2, rdma/res-qp.c).
type queuePair struct {
	Local  int    `json:"lqpn"`
	Remote int    `json:"rqpn"`
	Type   string `json:"type"`
	State  string `json:"state"`
	Comm   string `json:"comm"`
}

// sampleOf returns the queue pairs that are read of a program: its first two and its last two.
// Pairs opened one after the other often go to the same peer.
func sampleOf(of []queuePair) []queuePair {
	if len(of) <= 4 {
		return of
	}
	return slices.Concat(of[:2], of[len(of)-2:])
}

// pairs returns how the host's programs send RDMA on a port. Every driver lists its queue pairs;
// only mlx5 shows in a published format how they are marked.
func (m *Machine) pairs(ctx context.Context, d *device) (uses []nic.PairUse, shared []nic.SharedPort, err error) {
	var all []queuePair
	if err := m.rdmaTool(ctx, &all, "-j", "resource", "show", "qp", "link", d.rdma+"/"+strconv.Itoa(d.port)); err != nil {
		return nil, nil, err
	}
	var programs ordered.Groups[string, queuePair]
	for _, p := range all {
		if p.Type == "RC" && p.State == "RTS" && p.Remote > 0 {
			programs.Add(clip(p.Comm), p)
		}
	}
	left := pairsOfPort
	for program, of := range programs.All() {
		sample := sampleOf(of)
		sample = sample[:min(len(sample), left)]
		unread := nic.PairUse{Program: program, Of: len(of)}
		switch {
		case d.driver != nic.DriverMLX5:
			unread.Unread = nic.NotInDriver
		case left == 0:
			unread.Unread = fmt.Sprintf("at most %d queue pairs of a port are read", pairsOfPort)
		default:
			found, ports, why := m.sample(ctx, d, program, sample)
			left -= len(sample)
			for i := range found {
				found[i].Of = len(of)
			}
			if uses, shared = append(uses, found...), append(shared, ports...); len(found) > 0 || why == nil {
				continue
			}
			unread.Unread = m.explainError(why)
		}
		uses = append(uses, unread)
	}
	return uses, shared, nil
}

// sample reads some queue pairs of a program. Those that were closed meanwhile are left out; the
// error says why another one could not be read.
func (m *Machine) sample(ctx context.Context, d *device, program string, of []queuePair) (uses []nic.PairUse, shared []nic.SharedPort, err error) {
	var peers ordered.Groups[string, int]
	for _, p := range of {
		path, perr := m.pairPath(ctx, d, p)
		if perr != nil {
			if !errors.Is(perr, errNoResource) {
				err = perr
			}
			continue
		}
		use := nic.PairUse{Program: program, DSCP: path.dscp, PCP: path.pcp}
		if gid, kind, gerr := m.gid(d, strconv.Itoa(path.slot)); gerr == nil && kind != "" {
			use.Source, use.V1 = gid.String(), kind != nic.ModeRoCEv2
			over, _ := m.text(m.portFile(d, "gid_attrs", "ndevs", strconv.Itoa(path.slot)))
			use.Over = clip(over)
		}
		if use.Source != "" && !use.V1 && path.udpPort != 0 && path.peer.IsValid() {
			peers.Add(path.peer.String(), path.udpPort)
		}
		at := slices.IndexFunc(uses, func(u nic.PairUse) bool { u.Read = 0; return u == use })
		if at < 0 {
			at, uses = len(uses), append(uses, use)
		}
		uses[at].Read++
	}
	for peer, ports := range peers.All() {
		if len(ports) > 1 && len(slices.Compact(slices.Clone(ports))) == 1 {
			shared = append(shared, nic.SharedPort{Program: program, Peer: peer, UDPPort: ports[0], Read: len(ports)})
		}
	}
	return uses, shared, err
}

// errNoResource is returned for a queue pair that was closed, or a device that is gone.
var errNoResource = errors.New("it does not exist any more")

// pairPath reads the path of a queue pair from its context, which the driver dumps as raw bytes.
func (m *Machine) pairPath(ctx context.Context, d *device, p queuePair) (pairPath, error) {
	var raw []struct {
		Data []int `json:"data"`
	}
	err := m.rdmaTool(ctx, &raw, "-j", "-r", "resource", "show", "qp", "link", d.rdma+"/"+strconv.Itoa(d.port), "lqpn", strconv.Itoa(p.Local))
	if err != nil {
		return pairPath{}, err
	}
	for _, r := range raw {
		b := make([]byte, len(r.Data))
		for i, v := range r.Data {
			b[i] = byte(v)
		}
		if path, ok := contextPath(b, p.Remote); ok {
			return path, nil
		}
	}
	return pairPath{}, fmt.Errorf("queue pair %d of %s: the format of its context is unknown: %w", p.Local, d.rdma, ErrUnsupported)
}

// pairPath is the path of a connected queue pair.
type pairPath struct {
	dscp, pcp int
	slot      int // of the GID table: what it sends from
	udpPort   int // source port; 0 if the driver sets none
	peer      netip.Addr
}

// Byte offsets in, and values of, an mlx5 queue pair context (Linux, include/linux/mlx5/mlx5_ifc.h,
// qpc_bits and ads_bits).
const (
	qpcMTU    = 8
	qpcRemote = 20
	qpcPath   = 24
	adsSource = 9  // src_addr_index
	adsPeer   = 16 // rgid_rip
	adsDSCP   = 33
	adsUDP    = 34 // udp_sport
	adsPCP    = 36 // dei_cfi, eth_prio, sl
	qpcState  = 3  // ready to send
	qpcMaxMTU = 5  // 4096 bytes
)

// contextPath finds the context of a connected queue pair in a firmware dump by the values that are
// known, and returns its path. The dump also contains other segments, whose length depends on the
// firmware.
func contextPath(b []byte, remote int) (path pairPath, ok bool) {
	for at := 0; at+qpcPath+adsPCP < len(b); at += 4 {
		c := b[at:]
		mtu := c[qpcMTU] >> 5
		if c[0]>>4 != qpcState || c[1] != 0 || mtu < 1 || mtu > qpcMaxMTU || int(binary.BigEndian.Uint32(c[qpcRemote:])&0xffffff) != remote {
			continue
		}
		if ok { // ambiguous
			return pairPath{}, false
		}
		ads := c[qpcPath:]
		peer := netip.AddrFrom16([16]byte(ads[adsPeer : adsPeer+16])).Unmap()
		path, ok = pairPath{dscp: int(ads[adsDSCP] & 0x3f), pcp: int(ads[adsPCP] >> 4 & 7), slot: int(ads[adsSource]), udpPort: int(binary.BigEndian.Uint16(ads[adsUDP:])), peer: peer}, true
	}
	return path, ok
}

// rdmaTool runs iproute2's rdma, which prints JSON.
func (m *Machine) rdmaTool(ctx context.Context, into any, args ...string) error {
	if m.Tools == nil {
		return ErrUnsupported
	}
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	res, err := m.Tools.Run(ctx, "rdma", args...)
	switch {
	case err != nil:
		return err
	case strings.Contains(string(res.Stderr), "No such file or directory"):
		return fmt.Errorf("rdma resource: %w", errNoResource)
	case res.Code != 0:
		return fmt.Errorf("rdma resource: exit status %d: %s", res.Code, clip(string(res.Stderr)))
	case len(res.Stdout) == 0: // it prints nothing if there are no queue pairs
		return nil
	}
	if err := json.Unmarshal(res.Stdout, into); err != nil {
		return fmt.Errorf("rdma resource: %w", err)
	}
	return nil
}
