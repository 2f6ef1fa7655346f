package local

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mdlayher/netlink"
)

const notifyEnv = "ROCE_FABRIC_TEST_NOTIFY"

// This machine's kernel reports an MTU change. The test runs itself again in a network namespace,
// where it is allowed to change the MTU.
func TestNotify(t *testing.T) {
	if os.Getenv(notifyEnv) == "" {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestNotify$", "-test.v")
		cmd.Env = append(os.Environ(), notifyEnv+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		if err != nil && len(out) == 0 {
			t.Skipf("skipped: no user namespace: %v", err)
		}
		if err != nil || !strings.Contains(string(out), "--- PASS: TestNotify") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	heard, ended := make(chan string, 100), make(chan error, 1)
	go func() { ended <- Notify(ctx, func(name string) { heard <- name }) }()
	const iflaMTU = 4
	// The first changes may happen before the socket is open.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for mtu := uint32(1500); ; mtu++ {
		ae := netlink.NewAttributeEncoder()
		ae.String(iflaIfname, "lo")
		ae.Uint32(iflaMTU, mtu)
		if _, err := exchange(ctx, rtmNewLink, netlink.Request|netlink.Acknowledge, ae); err != nil {
			t.Fatal(err)
		}
		select {
		case name := <-heard:
			if name != "lo" {
				t.Fatalf("%q", name)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			return
		case err := <-ended:
			t.Fatal(err)
		case <-tick.C:
		}
	}
}
