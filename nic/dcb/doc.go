// Package dcb reads and writes what a network device's driver does for RoCE
// (PFC, ETS, the APP table with its DSCP mapping, headroom buffers, the owner
// of DCBX) by dcbnl, the kernel's DCB interface over rtnetlink
// (include/uapi/linux/dcbnl.h). It works with every driver that has DCB
// operations, needs no other program, and reads without privilege.
//
// The kernel is not taken at its word. It answers a write that the driver
// refused with success and a negative errno in one byte; a write of an
// attribute that it does not know, or that the driver has no operation for,
// with plain success (net/dcb/dcbnl.c). So a [Client] reads first, writes
// nothing that is already so (a changed PFC mask takes the link down on mlx5
// and ice), sends one thing at a time, since the kernel stops at the first
// fault and reverts nothing, and reads again.
//
// The package decides nothing: which values are right, in which order they are
// written and whether a port may bounce is the caller's business. Its settings
// are lost when the driver is reloaded. It does not speak CEE, and holds no
// other host setting: pause, MTU and firmware settings are elsewhere.
package dcb
