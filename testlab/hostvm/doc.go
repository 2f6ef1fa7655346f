// Package hostvm boots a real Linux kernel in QEMU and runs a script in it, so
// that the host half of the tool is tested against the kernel's own DCB, RDMA
// and configfs interfaces, without a NIC, without root, and without touching
// the machine that it runs on. The processor is emulated (TCG): it needs no
// KVM, and a boot takes seconds.
//
// The kernel is the one of Debian's linux-image-amd64, the DCB devices roce0
// and roce1 are those of the kernel module in the folder fakedcb, which is
// built against the installed headers; see main.c there for its parameters and
// for what a test may turn by hand. rdma_rxe is loaded, so that
// "rdma link add rxe0 type rxe netdev roce0" gives an RDMA device. Modules can
// be removed and loaded again with modprobe, as at a reload of a driver.
//
// The first process is a shell script, or, with [Options.Systemd], Debian's systemd
// with udevd, for what runs at boot and when a device appears.
//
// [Cable] joins two machines, by a NIC of virtio_net in each: RDMA of rxe goes over it.
//
// A machine that lacks the packages cannot run it, see [Missing]; tests skip
// there with that line. Do not use it to learn what a device does: no hardware
// is behind fakedcb, frames that it gets are dropped, and it knows no rule but
// those written into it. Only tests and the lab import this package.
package hostvm
