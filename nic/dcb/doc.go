// Package dcb reads and writes a network device's driver settings for RoCE (PFC, ETS, the APP table
// with its DSCP map, headroom buffers, the owner of DCBX) through dcbnl, the kernel's DCB interface
// over rtnetlink (include/uapi/linux/dcbnl.h). It works with every driver that has DCB operations,
// needs no other program, and reads without privileges.
//
// The package verifies every write, because the kernel's answers cannot be trusted. The kernel
// answers success to a write that the driver refused, with a negative errno in one byte. It answers
// plain success to a write of an attribute that it does not know or that the driver has no
// operation for (net/dcb/dcbnl.c). A [Client] therefore reads first and does not write a value that
// is already set, because writing a changed PFC mask takes the link down on mlx5 and ice. It sends
// one setting at a time, because the kernel stops at the first error and reverts nothing. Then it
// reads again.
//
// The package makes no decisions: the caller decides which values are right, in which order they
// are written and whether a port may go down. Its settings are lost when the driver is reloaded.
// The package does not support CEE and no other host settings; pause, MTU and firmware settings are
// elsewhere.
package dcb
