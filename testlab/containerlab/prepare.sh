#!/usr/bin/env bash
# Gives the switches of the lab a gNMI server with TLS and passwords.
#
#   prepare.sh        all of it
#   prepare.sh certs  only makes the keys and certificates
#
# FABRIC_USER and FABRIC_PASSWORD are the login of the switches. Needs openssl,
# and for the switches ssh, ssh-keyscan and sshpass. CERTS is the folder for
# keys and certificates, certs next to this script unless set.
set -euo pipefail

switches=(leaf1=172.20.60.11 leaf2=172.20.60.12 spine1=172.20.60.21 spine2=172.20.60.22)
certs=${CERTS:-$(dirname "${BASH_SOURCE[0]}")/certs}
key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)

make_certs() {
	local s name address
	umask 077
	mkdir -p "$certs"
	if [[ ! -f $certs/ca.pem ]]; then
		openssl req -x509 "${key[@]}" -days 365 -subj /CN=roce-lab-ca -keyout "$certs/ca.key" -out "$certs/ca.pem" 2>/dev/null
	fi
	for s in "${switches[@]}"; do
		name=${s%%=*} address=${s#*=}
		[[ ! -f $certs/$name.cer ]] || continue
		openssl req "${key[@]}" -subj "/CN=$name" -keyout "$certs/$name.key" -out "$certs/$name.csr" 2>/dev/null
		printf 'subjectAltName=DNS:%s,IP:%s\nextendedKeyUsage=serverAuth\n' "$name" "$address" >"$certs/$name.ext"
		openssl x509 -req -days 365 -in "$certs/$name.csr" -CA "$certs/ca.pem" -CAkey "$certs/ca.key" \
			-extfile "$certs/$name.ext" -out "$certs/$name.cer" 2>/dev/null
		rm "$certs/$name.csr" "$certs/$name.ext"
	done
}

# on runs a command on a switch. The password comes from the environment, so
# that no process list shows it; the host key must be the one that was seen
# first.
on() {
	local address=$1
	shift
	SSHPASS=$FABRIC_PASSWORD sshpass -e ssh -o UserKnownHostsFile="$certs/known_hosts" -o StrictHostKeyChecking=yes \
		"$FABRIC_USER@$address" "$@"
}

prepare() {
	local name=$1 address=$2
	if ! ssh-keygen -F "$address" -f "$certs/known_hosts" >/dev/null 2>&1; then
		ssh-keyscan -T 20 "$address" >>"$certs/known_hosts" 2>/dev/null
	fi
	# The YANG model wants the names to end in .cer and .key; a name that does
	# not fit makes the switch refuse every later change.
	on "$address" 'sudo mkdir -p /etc/sonic/gnmi'
	on "$address" 'sudo tee /etc/sonic/gnmi/server.cer >/dev/null' <"$certs/$name.cer"
	on "$address" 'sudo sh -c "umask 077; cat >/etc/sonic/gnmi/server.key"' <"$certs/$name.key"
	on "$address" "sudo sonic-db-cli CONFIG_DB hset 'GNMI|certs' server_crt /etc/sonic/gnmi/server.cer server_key /etc/sonic/gnmi/server.key &&
		sudo sonic-db-cli CONFIG_DB hset 'GNMI|gnmi' port 8080 client_auth false log_level 2 user_auth password &&
		sudo config save -y && sudo systemctl restart gnmi" >/dev/null
	echo "$name: gNMI on $address:8080"
}

make_certs
case ${1:-} in
certs) exit ;;
"") ;;
*) echo "usage: prepare.sh [certs]" >&2; exit 2 ;;
esac
: "${FABRIC_USER:?set it to the user of the switches}" "${FABRIC_PASSWORD:?set it to the password of the switches}"
for s in "${switches[@]}"; do
	prepare "${s%%=*}" "${s#*=}"
done
