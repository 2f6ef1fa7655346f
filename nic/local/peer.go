package local

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Peer returns the machine that this process is managed from over SSH, if known.
func Peer(getenv func(string) string) netip.Addr { return sshPeer(getenv, "/proc", os.Getpid()) }

// maxParents bounds the way up to the login: sudo, su and multiplexers put a few
// processes between it and this one.
const maxParents = 64

// sshPeer is the machine that the SSH session of a process comes from. sudo and
// su take SSH_CONNECTION out of the environment, so that it is then that of the
// nearest parent that was started with one. proc is /proc.
func sshPeer(getenv func(string) string, proc string, pid int) netip.Addr {
	connection := getenv(sshConnection)
	for range maxParents {
		if connection != "" {
			break
		}
		var ok bool
		if pid, ok = parentOf(proc, pid); !ok {
			return netip.Addr{}
		}
		connection = startedWith(proc, pid, sshConnection)
	}
	from, _, _ := strings.Cut(connection, " ")
	addr, err := netip.ParseAddr(from)
	if err != nil {
		return netip.Addr{}
	}
	return addr
}

// sshConnection is set by sshd: "address port address port", the client's first
// (ssh(1)).
const sshConnection = "SSH_CONNECTION"

// parentOf returns the parent of a process; false where it has none, or is gone.
func parentOf(proc string, pid int) (int, bool) {
	b, err := OS{}.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	// "pid (name) state parent ...", and a name may hold anything (proc(5)).
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(f[1])
	return parent, err == nil && parent > 1
}

// startedWith returns a variable of the environment that a process was started
// with, "" where it had none or this user may not know.
func startedWith(proc string, pid int, name string) string {
	b, err := OS{}.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "environ"))
	if err != nil {
		return ""
	}
	for v := range bytes.SplitSeq(b, []byte{0}) {
		if s, ok := strings.CutPrefix(string(v), name+"="); ok {
			return s
		}
	}
	return ""
}
