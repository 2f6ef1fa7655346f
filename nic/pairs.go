package nic

// PairUse describes how a program marks the RDMA that it sends, judging by its connected queue
// pairs.
type PairUse struct {
	Program string `json:"program"`
	DSCP    int    `json:"dscp"`
	// Read is how many of the program's queue pairs showed this DSCP; Of is how many it has.
	Read int `json:"read"`
	Of   int `json:"of"`
}
