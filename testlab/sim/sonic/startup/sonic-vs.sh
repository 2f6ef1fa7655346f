#!/usr/bin/env bash
# Runs in a container of SONiC: starts its SSH server with a login admin, admin, and brings
# its ports up once the daemons know them.
set -euo pipefail

# until_done TRIES COMMAND...: every 2 s.
until_done() {
	local tries=$1
	shift
	until "$@" >/dev/null 2>&1; do
		((--tries > 0)) || { echo "not within time: $*" >&2; exit 1; }
		sleep 2
	done
}

id admin >/dev/null 2>&1 || useradd -m -s /bin/bash admin
echo admin:admin | chpasswd
echo 'admin ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/admin
mkdir -p /run/sshd
ssh-keygen -A
pgrep -x sshd >/dev/null || /usr/sbin/sshd

until_done 150 bash -c "sonic-db-cli APPL_DB exists PORT_TABLE:PortInitDone | grep -q 1"
for port in $(sonic-db-cli CONFIG_DB keys 'PORT|*'); do
	config interface startup "${port#PORT|}"
done
config save -y
