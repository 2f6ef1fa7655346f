package storetest

import (
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Free returns a loopback address on which nothing listens.
func Free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Etcd starts etcd on loopback, with args as extra arguments, and stops it when the test
// ends. It skips the test if etcd is not installed.
func Etcd(t testing.TB, scheme string, args ...string) (cmd *exec.Cmd, addr string) {
	t.Helper()
	bin, err := exec.LookPath("etcd")
	if err != nil {
		t.Skip("no etcd (Debian's package etcd-server): the store in etcd is not tested")
	}
	addr = Free(t)
	peer := "http://" + Free(t)
	cmd = exec.Command(bin, append([]string{"--name", "one", "--data-dir", t.TempDir(), "--logger", "zap", "--log-level", "error", "--unsafe-no-fsync",
		"--listen-client-urls", scheme + "://" + addr, "--advertise-client-urls", scheme + "://" + addr,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "one=" + peer}, args...)...)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	// Etcd must not outlive a test that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT) // the process may have ended
		_ = cmd.Process.Kill()
		<-over
		if t.Failed() {
			t.Logf("etcd: %.2000s", log.String())
		}
	})
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close() // the connection only proved that etcd listens
			return cmd, addr
		}
		select {
		case err := <-over:
			t.Fatalf("etcd ended: %v\n%s", err, log.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
