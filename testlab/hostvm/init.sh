#!/bin/sh
# The first process of the machine: mounts, modules, and then the script, by
# itself or as a service of systemd.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C ROCE_FABRIC_HOSTVM=1

die() {
	echo "hostvm: $*"
	reboot -f
}

# The kernel's rootfs is open to all.
chmod 755 /
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t debugfs debugfs /sys/kernel/debug
hostname hostvm

modprobe -a $(cat /etc/hostvm/modules) || die "a module does not load"
mount -t configfs configfs /sys/kernel/config || die "no configfs"
ip link set lo up

if [ -x /usr/lib/systemd/systemd ]; then
	exec /usr/lib/systemd/systemd
fi
exec sh /usr/lib/hostvm/run
