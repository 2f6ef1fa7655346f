package local

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Peer returns the address from which this process is managed over SSH, if known.
func Peer(getenv func(string) string) netip.Addr { return sshPeer(getenv, "/proc", os.Getpid()) }

// maxParents limits how many parents are searched for the login: sudo, su and multiplexers add a
// few processes between the login and this one.
const maxParents = 64

// sshPeer returns the address that a process's SSH session comes from. Because sudo and su remove
// SSH_CONNECTION from the environment, sshPeer uses the value of the nearest parent that was
// started with one. proc is the path of /proc.
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

// sshConnection is the variable that sshd sets to "address port address port", the client's address
// first (ssh(1)).
const sshConnection = "SSH_CONNECTION"

// parentOf returns the parent of a process; false if it has none or is gone.
func parentOf(proc string, pid int) (int, bool) {
	b, err := OS{}.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	// The format is "pid (name) state parent ...", where the name may contain anything (proc(5)).
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(f[1])
	return parent, err == nil && parent > 1
}

// startedWith returns a variable from the environment that a process was started with; "" if it is
// not set or this user may not read it.
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
