package local

import (
	"context"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/nic"
)

// fecs maps ethtool's names of FEC encodings (ethtool.c, dump_feccmd, and netlink/fec.c) to ours.
// Low-latency RS is missing, because switches have no name for it.
var fecs = map[string]string{"rs": "rs", "baser": "fc", "off": "none", "none": "none"}

// fec asks ethtool for the forward error correction in use on a link.
func (m *Machine) fec(ctx context.Context, name string) (string, error) {
	if m.Tools == nil {
		return "", ErrUnsupported
	}
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	res, err := m.Tools.Run(ctx, "ethtool", "--show-fec", name)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(res.Stdout)) {
		key, v, _ := strings.Cut(line, ":")
		if strings.HasPrefix(strings.TrimSpace(key), "Active FEC encoding") {
			if fec := fecs[strings.ToLower(strings.TrimSpace(v))]; fec != "" {
				return fec, nil
			}
		}
	}
	return "", fmt.Errorf("ethtool shows no FEC in use: exit status %d: %w", res.Code, ErrUnsupported)
}

// received reads the counts of broken frames received by a port.
func (m *Machine) received(name string) (r nic.Received, err error) {
	if m.Ethtool == nil {
		return r, ErrUnsupported
	}
	stats, err := m.Ethtool.Stats(name)
	if err != nil {
		return r, err
	}
	shown := false
	for _, part := range []struct {
		names []string
		sum   *uint64
	}{{nic.ErrorStats, &r.Errors}, {nic.FrameStats, &r.Frames}, {nic.LostWordStats, &r.LostWords}} {
		for _, n := range part.names {
			v, ok := stats[n]
			*part.sum += v
			shown = shown || ok
		}
	}
	if !shown {
		return r, ErrUnsupported
	}
	return r, nil
}
