package gate

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
)

// TestNamesOfDrivers checks that the gate understands NIC counters under the names that each
// driver gives them.
func TestNamesOfDrivers(t *testing.T) {
	bnxt := localtest.Port{RDMA: "bnxt_re0", Driver: nic.DriverBNXT, CC: localtest.CCDebugFS}
	broadcom := localtest.Port{RDMA: "bnxt_re0", Driver: nic.DriverBNXT, CC: localtest.CCConfigFS}
	ionic := localtest.Port{RDMA: "ionic_0", Driver: nic.DriverIonic}
	const (
		elsewhere = "warn gate:rdma-elsewhere gpu1 eth0: the NIC sent "
		inBytes   = elsewhere + "2GB of RDMA, but only 1GB in the priority of rdma; priority 0 1GB"
		inPackets = elsewhere + "2000000 packets of RDMA, but only 1000000 packets in the priority of rdma; priority 0 1000000 packets"
	)
	for name, tt := range map[string]struct {
		port localtest.Port
		hw   map[string]uint64 // growth of the RDMA device's counters
		stat map[string]uint64 // growth of the counters in ethtool -S
		want []string
	}{
		"bnxt, elsewhere":     {bnxt, map[string]uint64{"tx_roce_only_bytes": 2e9, "tx_bytes": 2e9}, map[string]uint64{"tx_bytes_pri3": 1e9, "tx_bytes_pri0": 1e9}, []string{inBytes}},
		"bnxt, in place":      {bnxt, map[string]uint64{"tx_roce_only_bytes": 1e9, "tx_bytes": 2e9}, map[string]uint64{"tx_bytes_pri3": 1e9, "tx_bytes_pri0": 1e9}, nil},
		"broadcom, elsewhere": {broadcom, map[string]uint64{"tx_bytes": 2e9}, map[string]uint64{"tx_bytes_pri3": 1e9, "tx_bytes_pri0": 1e9}, []string{inBytes}},
		"broadcom, in place":  {broadcom, map[string]uint64{"tx_bytes": 2e9}, map[string]uint64{"tx_bytes_pri3": 2e9, "tx_bytes_pri0": 1e9}, nil},
		"broadcom, notifications": {broadcom, map[string]uint64{"tx_bytes": 78e6, "np_cnp_sent": 1e6, "np_ecn_marked_roce_packets": 1e6},
			map[string]uint64{"tx_bytes_pri6": 78e6}, nil},
		"ionic, elsewhere": {ionic, map[string]uint64{"tx_rdma_ucast_bytes": 2e9, "tx_rdma_ucast_pkts": 2e6}, map[string]uint64{"frames_tx_pri_3": 1e6, "frames_tx_pri_0": 1e6}, []string{inPackets}},
		"ionic, in place":  {ionic, map[string]uint64{"tx_rdma_ucast_bytes": 2e9, "tx_rdma_ucast_pkts": 2e6}, map[string]uint64{"frames_tx_pri_3": 2e6, "frames_tx_pri_0": 1e6}, nil},
		"bnxt, errors": {bnxt, map[string]uint64{"rnr_naks_rcvd": 2, "oos_drop_count": 3, "seq_err_naks_rcvd": 4, "to_retransmits": 5}, nil, []string{
			"warn gate:rdma-error gpu1 eth0: 2 retries found no receive buffer", "warn gate:rdma-error gpu1 eth0: 3 packets came out of sequence",
			"warn gate:rdma-error gpu1 eth0: 4 packets were requested again", "warn gate:rdma-error gpu1 eth0: 5 acknowledgements timed out",
		}},
		"broadcom, errors": {broadcom, map[string]uint64{"rnr_nak_retry_err": 2, "out_of_sequence": 3, "packet_seq_err": 4, "local_ack_timeout_err": 5}, nil, []string{
			"warn gate:rdma-error gpu1 eth0: 2 retries found no receive buffer", "warn gate:rdma-error gpu1 eth0: 3 packets came out of sequence",
			"warn gate:rdma-error gpu1 eth0: 4 packets were requested again", "warn gate:rdma-error gpu1 eth0: 5 acknowledgements timed out",
		}},
		"ionic, errors": {ionic, map[string]uint64{"req_rx_rnr_retry_err": 2, "resp_rx_outouf_seq": 3, "req_rx_pkt_seq_err": 4, "tx_rdma_ack_timeout": 5}, nil, []string{
			"warn gate:rdma-error gpu1 eth0: 2 retries found no receive buffer", "warn gate:rdma-error gpu1 eth0: 3 packets came out of sequence",
			"warn gate:rdma-error gpu1 eth0: 4 packets were requested again", "warn gate:rdma-error gpu1 eth0: 5 acknowledgements timed out",
		}},
		"broadcom, ignored": {broadcom, map[string]uint64{"rp_cnp_ignored": 2}, nil, []string{"warn gate:cnp-loop gpu1 eth0: 2 of 2 congestion notifications were ignored"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := tt.port
			p.Name, p.PCI = "eth0", "0000:18:00.0"
			h := localtest.InMemory(t.TempDir())
			h.SetName("gpu1", "6.14.0")
			h.Add(p)
			for prio := range 8 {
				for _, stat := range map[string][]string{nic.DriverBNXT: {"rx_bytes_pri", "tx_bytes_pri", "rx_packets_pri", "tx_packets_pri"}, nic.DriverIonic: {"frames_rx_pri_", "frames_tx_pri_"}}[p.Driver] {
					h.SetStat("eth0", stat+strconv.Itoa(prio), 0)
				}
			}
			m := h.Machine()
			host, err := m.Read(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			take := func() drivers.PortCounters {
				if err := m.Counters(t.Context(), host); err != nil {
					t.Fatal(err)
				}
				return OfHost(host, began).Ports["eth0"]
			}
			before, after := read(0), read(span)
			before["gpu1"].Ports["eth0"] = take()
			for file, n := range tt.hw {
				name := path.Join("class/infiniband", p.RDMA, "ports/1/hw_counters", file)
				h.Put(name, strconv.FormatUint(n, 10)+"\n")
			}
			for stat, n := range tt.stat {
				h.SetStat("eth0", stat, n)
			}
			after["gpu1"].Ports["eth0"] = take()
			got := show(Judge(fabric(), samples(before, after), Options{}).Findings)
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}
