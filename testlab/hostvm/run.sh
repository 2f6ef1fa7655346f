#!/bin/sh
# Runs the script and ends the machine. It talks to the host over the named
# ports of a virtio console: the script's output goes to "output", an archive of
# what is kept to "kept", and the exit status, last of all, to "status".
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C ROCE_FABRIC_HOSTVM=1
cd /

die() {
	echo "hostvm: $*" >/dev/console
	reboot -f
}

# The kernel makes the ports a moment after the module is there.
output= kept= status=
for try in $(seq 200); do
	for p in /sys/class/virtio-ports/*; do
		[ -c "/dev/${p##*/}" ] || continue
		read -r name <"$p/name" || continue
		case $name in
		output) output=/dev/${p##*/} ;;
		kept) kept=/dev/${p##*/} ;;
		status) status=/dev/${p##*/} ;;
		esac
	done
	[ -z "$output" ] || [ -z "$kept" ] || [ -z "$status" ] || break
	sleep 0.05
done
[ -n "$output" ] && [ -n "$kept" ] && [ -n "$status" ] || die "no virtio ports"

sh -eu /etc/hostvm/script </dev/null >"$output" 2>&1
code=$?

cd /
set --
while read -r name; do
	[ -e "$name" ] && set -- "$@" "$name"
done </etc/hostvm/keep
if [ $# -gt 0 ]; then
	tar -cf "$kept" "$@" || die "the kept files cannot be sent"
fi
echo "exit $code" >"$status"
reboot -f
