package local

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestSSHPeerBehindSudo uses process trees as created by sudo: only the login shell has
// SSH_CONNECTION.
func TestSSHPeerBehindSudo(t *testing.T) {
	none := func(string) string { return "" }
	const login = "SSH_CONNECTION=10.7.0.9 51000 10.7.0.1 22"
	for _, tt := range []struct {
		name   string
		parent map[int]string // stat file of each process
		env    map[int]string // environment of each process
		want   string
	}{
		{"sudo", map[int]string{9: "9 (roce-fabric) S 8 9", 8: "8 (sudo) S 7 8", 7: "7 (bash) S 1 7"}, map[int]string{8: "SUDO_UID=1000\x00", 7: "TERM=xterm\x00" + login + "\x00"}, "10.7.0.9"},
		{"a name like the end of one", map[int]string{9: "9 (a) S 5 (b)) S 8 9", 8: "8 (bash) S 1 8"}, map[int]string{8: login}, "10.7.0.9"},
		{"the nearest counts", map[int]string{9: "9 (x) S 8", 8: "8 (bash) S 7", 7: "7 (bash) S 1"}, map[int]string{8: "SSH_CONNECTION=2001:db8::5 1 2001:db8::1 22", 7: login}, "2001:db8::5"},
		{"a console", map[int]string{9: "9 (x) S 8", 8: "8 (login) S 1"}, map[int]string{8: "TERM=linux\x00NOT_" + login}, ""},
		{"one that may not be read", map[int]string{9: "9 (x) S 8", 8: "8 (sudo) S 7", 7: "7 (bash) S 1"}, map[int]string{7: login}, "10.7.0.9"},
		{"a circle", map[int]string{9: "9 (x) S 8", 8: "8 (x) S 9"}, map[int]string{}, ""},
		{"nonsense", map[int]string{9: "9 (x", 8: "8 (x) S 1"}, map[int]string{8: login}, ""},
		{"no address", map[int]string{9: "9 (x) S 8", 8: "8 (x) S 1"}, map[int]string{8: "SSH_CONNECTION=UNKNOWN 1 2"}, ""},
		{"no /proc", nil, nil, ""},
	} {
		proc := t.TempDir()
		put := func(pid int, file, text string) {
			t.Helper()
			dir := filepath.Join(proc, strconv.Itoa(pid))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for pid, s := range tt.parent {
			put(pid, "stat", s+"\n")
		}
		for pid, s := range tt.env {
			put(pid, "environ", s)
		}
		got := ""
		if addr := sshPeer(none, proc, 9); addr.IsValid() {
			got = addr.String()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	own := func(string) string { return "192.0.2.1 1 192.0.2.2 22" }
	if addr := sshPeer(own, t.TempDir(), 9); addr.String() != "192.0.2.1" {
		t.Errorf("of its own environment: %s", addr)
	}

	// The same with real processes: a shell that has SSH_CONNECTION waits for one that does not.
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("skipped: this system has no /proc")
	}
	cmd := exec.Command("sh", "-c", "env -i sh -c 'echo $$; read x'; :")
	cmd.Env = append(os.Environ(), login)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, perr := strconv.Atoi(strings.TrimSpace(line))
	if err := errors.Join(err, perr); err != nil {
		t.Error(err)
	} else if addr := sshPeer(none, "/proc", pid); addr.String() != "10.7.0.9" {
		t.Errorf("of a real process: %s", addr)
	}
	in.Close()
	_ = cmd.Wait() // the read ends without a line
}
