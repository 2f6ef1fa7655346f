// Package hostvm boots a real Linux kernel in QEMU and runs a script in it. It tests the host side
// of the tool against the kernel's own DCB, RDMA and configfs interfaces, without a NIC, without
// root, and without touching the machine that it runs on. The processor is emulated (TCG): no KVM
// is needed, and a boot takes seconds.
//
// The kernel is Debian's linux-image-amd64. The DCB devices roce0 and roce1 come from the kernel
// module in the directory fakedcb, which is built against the installed headers; see main.c there
// for its parameters and for what a test can change at run time. rdma_rxe is loaded, so that "rdma
// link add rxe0 type rxe netdev roce0" creates an RDMA device. Modules can be removed and loaded
// again with modprobe, as when a driver is reloaded.
//
// The first process is a shell script or, with [Options.Systemd], Debian's systemd with udevd, for
// tests of what runs at boot and when a device appears.
//
// [Cable] connects two VMs through a virtio_net NIC in each; rxe's RDMA works over it.
//
// On a machine without the required packages, tests skip with the line from [Missing]. Do not use
// the package to learn how a device behaves: fakedcb has no hardware behind it, drops the frames
// that it receives, and knows only the rules written into it. Only tests and the lab import this
// package.
package hostvm
