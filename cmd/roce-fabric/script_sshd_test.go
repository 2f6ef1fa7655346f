package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// sshd starts OpenSSH's server on loopback, with its own home folder. It sets SSHD and
// SSHD_USER, and writes known_hosts and other_hosts, which contains another host key. RF is the
// real program, because the test binary does not act as the program once it is copied to a host.
func sshd(ts *testscript.TestScript, _ bool, _ []string) {
	dir := ts.MkAbs("sshd")
	ts.Check(os.MkdirAll(filepath.Join(dir, "home"), 0o700))
	ts.Check(os.MkdirAll("/run/sshd", 0o755))
	for _, name := range []string{"host", "other", "id"} {
		ts.Check(exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).Run())
	}
	pub := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name+".pub"))
		ts.Check(err)
		f := strings.Fields(string(b))
		return f[0] + " " + f[1]
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	addr := l.Addr().String()
	ts.Check(l.Close())
	_, port, _ := net.SplitHostPort(addr)
	file := func(name, text string) string {
		p := filepath.Join(dir, name)
		ts.Check(os.WriteFile(p, []byte(text), 0o600))
		return p
	}
	conf := file("config", fmt.Sprintf("ListenAddress 127.0.0.1\nPort %s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\nStrictModes no\n"+
		"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nSetEnv HOME=%s\n",
		port, filepath.Join(dir, "host"), file("authorized", pub("id")+"\n"), filepath.Join(dir, "home")))
	for name, key := range map[string]string{"known_hosts": "host", "other_hosts": "other"} {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(fmt.Sprintf("[127.0.0.1]:%s %s\n", port, pub(key))), 0o600))
	}
	cmd := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", conf)
	var log syncBuffer
	cmd.Stderr = io.Writer(&log)
	cmd.WaitDelay = 5 * time.Second // surviving sessions keep standard error open
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(log.String(), "Server listening") {
		select {
		case <-tick.C:
		case err := <-ended:
			ended <- err
			ts.Fatalf("sshd ended at once: %v: %s", err, log.String())
		case <-limit.C:
			ts.Fatalf("sshd does not listen: %s", log.String())
		}
	}
	rf := filepath.Join(dir, "roce-fabric")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", rf, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		ts.Fatalf("go build: %v\n%s", err, out)
	}
	ts.Setenv("RF", rf)
	me, err := user.Current()
	ts.Check(err)
	ts.Setenv("SSHD", addr)
	ts.Setenv("SSHD_USER", me.Username)
}
