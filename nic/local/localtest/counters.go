package localtest

import (
	"maps"
	"path/filepath"
	"strings"

	"github.com/roce-fabric/roce-fabric/nic"
)

// hwCounters lists the files of an RDMA device under ports/1/hw_counters, with their initial values
// (Linux drivers/infiniband/hw/bnxt_re/hw_counters.c; ionic's firmware gives the names to its
// driver). Broadcom's own bnxt_re uses mlx5's names, and counts RoCE as rx_bytes and tx_bytes.
var hwCounters = map[string]string{
	nic.DriverMLX5: "np_cnp_sent=17",
	nic.DriverBNXT: `active_qps=2 rx_pkts rx_bytes tx_pkts tx_bytes recoverable_errors rx_roce_errors rx_roce_discards
		to_retransmits seq_err_naks_rcvd max_retry_exceeded rnr_naks_rcvd missing_resp dup_req oos_drop_count
		tx_roce_only_pkts tx_roce_only_bytes rx_roce_only_pkts rx_roce_only_bytes rx_roce_good_pkts rx_roce_good_bytes
		rx_out_of_buffer tx_cnp_pkts rx_cnp_pkts rx_ecn_marked_pkts`,
	nic.DriverBNXT + CCConfigFS: `active_qps=2 rx_pkts rx_bytes tx_pkts tx_bytes recoverable_errors rx_roce_errors rx_roce_discards
		local_ack_timeout_err packet_seq_err max_retry_exceeded rnr_nak_retry_err implied_nak_seq_err duplicate_request
		out_of_sequence rx_good_pkts rx_good_bytes out_of_buffer np_cnp_sent rp_cnp_handled rp_cnp_ignored np_ecn_marked_roce_packets`,
	nic.DriverIonic: `tx_rdma_ucast_bytes tx_rdma_ucast_pkts tx_rdma_mcast_bytes tx_rdma_mcast_pkts tx_rdma_cnp_pkts
		rx_rdma_ucast_bytes rx_rdma_ucast_pkts rx_rdma_mcast_bytes rx_rdma_mcast_pkts rx_rdma_cnp_pkts rx_rdma_ecn_pkts
		req_rx_pkt_seq_err req_rx_rnr_retry_err req_rx_impl_nak_seq_err req_rx_dup_response req_tx_retry_excd_err
		resp_rx_dup_request resp_rx_outof_buf resp_rx_outouf_seq resp_tx_pkt_seq_err resp_tx_rnr_retry_err
		tx_rdma_retx_pkts tx_rdma_retx_bytes tx_rdma_ack_timeout rx_rdma_mtu_discard_pkts`,
}

// addCounters creates the counters of a port's RDMA device.
func (h *Host) addCounters(p Port) {
	names, ok := hwCounters[p.Driver+p.CC]
	if !ok {
		names = hwCounters[p.Driver]
	}
	dir := filepath.Join(h.sys("devices", "pci0000:00", p.PCI, "infiniband", p.RDMA), "ports", "1")
	for _, f := range strings.Fields(names) {
		name, v, _ := strings.Cut(f, "=")
		if v == "" {
			v = "0"
		}
		h.put(filepath.Join(dir, "hw_counters", name), v+"\n")
	}
	h.put(filepath.Join(dir, "hw_counters", "lifespan"), "10\n")
	h.put(filepath.Join(dir, "counters", "port_xmit_wait"), "4\n")
}

// stats are the initial statistics of ethtool -S: the RoCE statistics of priority 3 and a few
// others, by the driver's names.
var stats = map[string]map[string]uint64{
	nic.DriverBNXT: {
		"rx_bytes_pri3": 4096, "tx_bytes_pri3": 0, "rx_packets_pri3": 4, "tx_packets_pri3": 0, "pfc_pri3_rx_duration_us": 900, "pfc_pri3_tx_duration_us": 0,
		"rx_ucast_frames": 80, "rx_fcs_err_frames": 0, "[0]: rx_ucast_packets": 77,
	},
	nic.DriverIonic: {
		"frames_rx_pri_3": 4, "frames_tx_pri_3": 0, "rx_pripause_3_1us_count": 900, "tx_pripause_3_1us_count": 0,
		"frames_rx_ok": 80, "frames_rx_bad_fcs": 0, "rx_0_pkts": 77,
	},
}

// ofMLX5 are the statistics of mlx5 and, in this simulation, of all drivers without an entry in
// stats.
var ofMLX5 = map[string]uint64{
	"rx_prio3_bytes": 4096, "tx_prio3_pause": 12, "rx_prio3_pause_duration": 900, "rx_prio3_buf_discard": 2,
	"rx_prio9_pause": 1, "rx_discards_phy": 5, "rx0_packets": 77, "tx_pause_storm_warning_events": 1,
}

// Stats implements local.Ethtool.
func (e ethtool) Stats(name string) (map[string]uint64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := e.port(name)
	if err != nil {
		return nil, err
	}
	out := stats[p.Driver]
	if out == nil {
		out = ofMLX5
	}
	out = maps.Clone(out)
	maps.Copy(out, p.stats)
	return out, nil
}

// SetStat changes a statistic that ethtool -S shows for a port.
func (h *Host) SetStat(port, name string, v uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.ports[port]
	if p.stats == nil {
		p.stats = map[string]uint64{}
	}
	p.stats[name] = v
}
