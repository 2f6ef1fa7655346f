package nic

// PairUse is how a program marks the RDMA that it sends, by its connected queue pairs.
type PairUse struct {
	Program string `json:"program"`
	DSCP    int    `json:"dscp"`
	// Read is of how many pairs that was read; Of is how many the program has.
	Read int `json:"read"`
	Of   int `json:"of"`
}
