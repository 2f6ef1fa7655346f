#!/bin/sh
# Installs roce-fabric from the files of a release, for Linux and macOS on amd64 and arm64.
#
#   curl -fsSL https://github.com/roce-fabric/roce-fabric/releases/latest/download/install.sh | sh
#
# The script needs sh, tar and either curl or wget; it needs root only if the prefix is not
# writable. It verifies the archive's checksum. Run again, it replaces the installed version.
set -eu

releases=https://github.com/roce-fabric/roce-fabric/releases

usage() {
	cat <<EOF
usage: install.sh [--prefix DIR] [--version TAG] [--from URL]

  --prefix DIR    install to DIR/bin and DIR/share; default /usr/local as root, else ~/.local
  --version TAG   the release, such as v1.2.0; default the latest
  --from URL      where the files of a release are: https, http or file
EOF
}

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

# fetch URL FILE downloads or copies a file.
fetch() {
	case $1 in
	file://*)
		cp -- "${1#file://}" "$2" 2>/dev/null || fail "cannot read ${1#file://}"
		return
		;;
	esac
	if command -v curl >/dev/null; then
		# A redirect must not lead away from HTTPS.
		case $1 in
		https://*) curl -fsSL --proto '=https' -o "$2" "$1" || fail "cannot download $1" ;;
		*) curl -fsSL -o "$2" "$1" || fail "cannot download $1" ;;
		esac
	elif command -v wget >/dev/null; then
		wget -q -O "$2" "$1" || fail "cannot download $1"
	else
		fail "neither curl nor wget is installed"
	fi
}

checksum() {
	if command -v sha256sum >/dev/null; then
		sha256sum "$1"
	elif command -v shasum >/dev/null; then
		shasum -a 256 "$1"
	elif command -v openssl >/dev/null; then
		openssl dgst -sha256 -r "$1"
	else
		fail "none of sha256sum, shasum and openssl is installed: cannot verify the download"
	fi
}

# main is a function, so that nothing runs if the download of this script was cut off.
main() {
	prefix="" version="" from=""
	while [ $# -gt 0 ]; do
		case $1 in
		-h | --help)
			usage
			return
			;;
		--prefix | --version | --from)
			if [ $# -lt 2 ] || [ -z "$2" ]; then fail "$1 needs a value"; fi
			case $1 in
			--prefix) prefix=$2 ;;
			--version) version=$2 ;;
			--from) from=$2 ;;
			esac
			shift 2
			;;
		*)
			usage >&2
			fail "unknown argument $1"
			;;
		esac
	done

	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no release for $(uname -s); build it with: go install github.com/roce-fabric/roce-fabric/cmd/roce-fabric@latest" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no release for $os on $(uname -m); build it with: go install github.com/roce-fabric/roce-fabric/cmd/roce-fabric@latest" ;;
	esac
	archive=roce-fabric_${os}_$arch.tar.gz

	if [ -z "$from" ]; then
		from=$releases/latest/download
		[ -z "$version" ] || from=$releases/download/$version
	elif [ -n "$version" ]; then
		fail "--from names the files of one release: leave out --version"
	fi
	from=${from%/}
	if [ -z "$prefix" ]; then
		prefix=/usr/local
		[ "$(id -u)" -eq 0 ] || prefix=${HOME:?is not set: use --prefix}/.local
	fi
	case $prefix in
	/*) ;;
	*) prefix=$PWD/$prefix ;;
	esac

	mkdir -p "$prefix/bin" 2>/dev/null || fail "cannot write to $prefix: choose another folder with --prefix, or run as root"
	# On the same file system as the program, so that the final move is atomic.
	tmp=$(mktemp -d "$prefix/bin/.roce-fabric.XXXXXX" 2>/dev/null) || fail "cannot write to $prefix/bin: choose another folder with --prefix, or run as root"
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM

	fetch "$from/SHA256SUMS" "$tmp/SHA256SUMS"
	fetch "$from/$archive" "$tmp/$archive"
	want=$(awk -v name="$archive" '$2 == name { print $1 }' "$tmp/SHA256SUMS")
	[ -n "$want" ] || fail "$from/SHA256SUMS has no checksum of $archive"
	got=$(checksum "$tmp/$archive")
	got=${got%% *}
	[ "$got" = "$want" ] || fail "$archive has checksum $got, and SHA256SUMS says $want: nothing was installed"

	mkdir "$tmp/new"
	tar -xzof "$tmp/$archive" -C "$tmp/new" || fail "cannot unpack $archive"
	now=$("$tmp/new/bin/roce-fabric" --version) || fail "the program does not run on this machine: nothing was installed"
	was=""
	if [ -x "$prefix/bin/roce-fabric" ]; then
		was=$("$prefix/bin/roce-fabric" --version 2>/dev/null) || was="a program that does not run"
	fi

	# Install the program last: if anything fails before, the old one is still in place.
	(cd "$tmp/new" && find share -type f) >"$tmp/files"
	rm -f "$prefix"/share/man/man1/roce-fabric.1 "$prefix"/share/man/man1/roce-fabric-*.1
	while read -r file; do
		mkdir -p "$prefix/${file%/*}" || fail "cannot write to $prefix/${file%/*}"
		mv -f "$tmp/new/$file" "$prefix/$file" || fail "cannot write $prefix/$file"
	done <"$tmp/files"
	mv -f "$tmp/new/bin/roce-fabric" "$prefix/bin/roce-fabric" || fail "cannot write $prefix/bin/roce-fabric"

	if [ -z "$was" ] || [ "$was" = "$now" ]; then
		echo "$now is installed: $prefix/bin/roce-fabric"
	else
		echo "$now is installed: $prefix/bin/roce-fabric (was $was)"
	fi
	case :$PATH: in
	*:"$prefix/bin":*)
		first=$(command -v roce-fabric) || first=""
		[ "$first" = "$prefix/bin/roce-fabric" ] || echo "note: $first comes first in PATH"
		echo "next: roce-fabric lab demo"
		;;
	*)
		echo "note: $prefix/bin is not in PATH; add it with: export PATH=\"$prefix/bin:\$PATH\""
		echo "next: $prefix/bin/roce-fabric lab demo"
		;;
	esac
}

main "$@"
