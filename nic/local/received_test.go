package local_test

import (
	"context"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// The FEC is the encoding that ethtool reports as active, under the name that switches use; an
// unknown encoding counts as not supported.
func TestFEC(t *testing.T) {
	h := newHost(t, mlx5(false))
	for encoding, want := range map[string]string{"RS": "rs", "BaseR": "fc", "Off": "none", "None": "none", "LLRS": "", "": ""} {
		h.SetFEC(ens0, encoding)
		p := read(t, h.Machine()).Ports[ens0]
		if p.FEC != (qos.Opt[string]{V: want, Set: want != ""}) || want == "" && p.Missing[nic.FieldFEC] != nic.NotInDriver {
			t.Errorf("%q: %+v, %q", encoding, p.FEC, p.Missing[nic.FieldFEC])
		}
	}
	// The output format of the ioctl-based ethtool.
	h.Programs["ethtool"] = func(context.Context, []string) (runner.Result, error) {
		return runner.Result{Stdout: []byte("FEC parameters for ens1f0np0:\nConfigured FEC encodings: Auto\nActive FEC encodings: RS\n")}, nil
	}
	if p := read(t, h.Machine()).Ports[ens0]; p.FEC != qos.Of("rs") {
		t.Errorf("%+v", p.FEC)
	}
	delete(h.Programs, "ethtool")
	if p := read(t, h.Machine()).Ports[ens0]; p.FEC.Set || p.Missing[nic.FieldFEC] == "" {
		t.Errorf("without ethtool: %+v", p.FEC)
	}
}

func TestReceived(t *testing.T) {
	h := newHost(t, mlx5(false))
	if p := read(t, h.Machine()).Ports[ens0]; p.Received.Set {
		t.Errorf("of no such statistic %+v", p.Received)
	}
	h.SetStat(ens0, "rx_crc_errors_phy", 3)
	h.SetStat(ens0, "rx_symbol_err_phy", 4)
	h.SetStat(ens0, "rx_packets_phy", 1000)
	h.SetStat(ens0, "rx_fec_uncorrectable_blocks", 5)
	if p := read(t, h.Machine()).Ports[ens0]; p.Received != qos.Of(nic.Received{Errors: 7, Frames: 1000, LostWords: 5}) {
		t.Errorf("%+v", p.Received)
	}
}
