#!/usr/bin/env bash
# Runs in the container around the virtual machine of SONiC: gives it a gNMI server with
# TLS and passwords, and brings its ports up. USERNAME and PASSWORD are containerlab's.
set -euo pipefail

on() {
	SSHPASS=$PASSWORD sshpass -e ssh -o LogLevel=ERROR -o ConnectTimeout=5 -o StrictHostKeyChecking=no \
		-o UserKnownHostsFile=/dev/null "$USERNAME@localhost" "$@"
}

# until_done TRIES COMMAND...: every 5 s.
until_done() {
	local tries=$1
	shift
	until "$@" >/dev/null 2>&1; do
		((--tries > 0)) || { echo "not within time: $*" >&2; exit 1; }
		sleep 5
	done
}

until_done 120 on true
until_done 60 on "sudo sonic-db-cli CONFIG_DB exists 'DEVICE_METADATA|localhost' | grep -q 1"
# The YANG models want the names to end in .cer and .key: with others the switch refuses
# every later change.
on 'sudo bash -euo pipefail -s' <<'SWITCH'
mkdir -p /etc/sonic/gnmi
umask 077
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj "/CN=$(hostname)" \
	-keyout /etc/sonic/gnmi/server.key -out /etc/sonic/gnmi/server.cer
sonic-db-cli CONFIG_DB hset 'GNMI|certs' server_crt /etc/sonic/gnmi/server.cer server_key /etc/sonic/gnmi/server.key
sonic-db-cli CONFIG_DB hset 'GNMI|gnmi' port 8080 client_auth false log_level 2 user_auth password
for port in $(sonic-db-cli CONFIG_DB keys 'PORT|*'); do
	config interface startup "${port#PORT|}"
done
config save -y
systemctl restart gnmi
SWITCH
