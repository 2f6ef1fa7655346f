package nic

// Received is what a port has received of broken frames.
type Received struct {
	// Errors are frames with errors, of Frames in all; 0 where those are not counted.
	Errors uint64 `json:"errors"`
	Frames uint64 `json:"frames"`
	// LostWords are code words that forward error correction could not correct.
	LostWords uint64 `json:"lost_words"`
}

// The statistics that count them, by the names of drivers (Linux, drivers/net/ethernet:
// mellanox/mlx5/core/en_stats.c, broadcom/bnxt/bnxt_ethtool.c, pensando/ionic/ionic_stats.c).
var (
	ErrorStats    = []string{"rx_crc_errors_phy", "rx_symbol_err_phy", "rx_fcs_err_frames", "frames_rx_bad_fcs"}
	FrameStats    = []string{"rx_packets_phy", "rx_ucast_frames", "frames_rx_ok"}
	LostWordStats = []string{"rx_fec_uncorrectable_blocks"}
)
