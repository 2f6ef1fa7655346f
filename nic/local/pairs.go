package local

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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

// pairs returns how the host's programs mark the traffic that they send on an mlx5 port, judging by
// the first and the last connected queue pair of each program. The drivers of other cards do not
// show this.
func (m *Machine) pairs(ctx context.Context, d *device) ([]nic.PairUse, error) {
	if d.driver != nic.DriverMLX5 || d.rdma == "" {
		return nil, ErrUnsupported
	}
	var all []queuePair
	if err := m.rdmaTool(ctx, &all, "-j", "resource", "show", "qp", "link", d.rdma+"/"+strconv.Itoa(d.port)); err != nil {
		return nil, err
	}
	var programs ordered.Groups[string, queuePair]
	for _, p := range all {
		if p.Type == "RC" && p.State == "RTS" && p.Remote > 0 {
			programs.Add(clip(p.Comm), p)
		}
	}
	var out []nic.PairUse
	read := 0
	var gone error
	for program, of := range programs.All() {
		at := len(out)
		sample := of[:1]
		if len(of) > 1 {
			sample = []queuePair{of[0], of[len(of)-1]}
		}
		for _, p := range sample {
			if read++; read > pairsOfPort {
				return out, nil
			}
			dscp, err := m.pairDSCP(ctx, d, p)
			if err != nil { // the pair may have been closed meanwhile
				gone = err
				continue
			}
			use := slices.IndexFunc(out[at:], func(u nic.PairUse) bool { return u.DSCP == dscp })
			if use < 0 {
				out = append(out, nic.PairUse{Program: program, DSCP: dscp, Of: len(of)})
				use = len(out) - 1 - at
			}
			out[at+use].Read++
		}
	}
	if len(out) == 0 {
		return nil, gone
	}
	return out, nil
}

// pairDSCP reads the DSCP of a queue pair from its context, which the driver dumps as raw bytes.
func (m *Machine) pairDSCP(ctx context.Context, d *device, p queuePair) (int, error) {
	var raw []struct {
		Data []int `json:"data"`
	}
	err := m.rdmaTool(ctx, &raw, "-j", "-r", "resource", "show", "qp", "link", d.rdma+"/"+strconv.Itoa(d.port), "lqpn", strconv.Itoa(p.Local))
	if err != nil {
		return 0, err
	}
	for _, r := range raw {
		b := make([]byte, len(r.Data))
		for i, v := range r.Data {
			b[i] = byte(v)
		}
		if dscp, ok := contextDSCP(b, p.Remote); ok {
			return dscp, nil
		}
	}
	return 0, fmt.Errorf("queue pair %d of %s: the format of its context is unknown: %w", p.Local, d.rdma, ErrUnsupported)
}

// Byte offsets in, and values of, an mlx5 queue pair context (Linux, include/linux/mlx5/mlx5_ifc.h,
// qpc_bits and ads_bits).
const (
	qpcMTU    = 8
	qpcRemote = 20
	qpcPath   = 24
	adsDSCP   = 33
	qpcState  = 3 // ready to send
	qpcMaxMTU = 5 // 4096 bytes
)

// contextDSCP finds the context of a connected queue pair in a firmware dump by the values that are
// known, and returns the DSCP of its path. The dump also contains other segments, whose length
// depends on the firmware.
func contextDSCP(b []byte, remote int) (dscp int, ok bool) {
	for at := 0; at+qpcPath+adsDSCP < len(b); at += 4 {
		c := b[at:]
		mtu := c[qpcMTU] >> 5
		if c[0]>>4 != qpcState || c[1] != 0 || mtu < 1 || mtu > qpcMaxMTU || int(binary.BigEndian.Uint32(c[qpcRemote:])&0xffffff) != remote {
			continue
		}
		if ok { // ambiguous
			return 0, false
		}
		dscp, ok = int(c[qpcPath+adsDSCP]&0x3f), true
	}
	return dscp, ok
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
