package nic

// Received counts the broken frames that a port has received.
type Received struct {
	// Errors is how many of Frames had errors; Frames is 0 if the total is not counted.
	Errors uint64 `json:"errors"`
	Frames uint64 `json:"frames"`
	// LostWords is how many code words forward error correction could not correct.
	LostWords uint64 `json:"lost_words"`
}

// Names of the statistics for [Received], for all drivers (Linux, drivers/net/ethernet:
// mellanox/mlx5/core/en_stats.c, broadcom/bnxt/bnxt_ethtool.c, pensando/ionic/ionic_stats.c).
var (
	ErrorStats    = []string{"rx_crc_errors_phy", "rx_symbol_err_phy", "rx_fcs_err_frames", "frames_rx_bad_fcs"}
	FrameStats    = []string{"rx_packets_phy", "rx_ucast_frames", "frames_rx_ok"}
	LostWordStats = []string{"rx_fec_uncorrectable_blocks"}
)
