package dcb

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/mdlayher/netlink"
)

// real returns a Client of this machine's kernel.
func real(t *testing.T) *Client {
	t.Helper()
	c, err := Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	// Without CONFIG_DCB the kernel does not even look up the device.
	if _, err := c.Get(t.Context(), "roce-no-such"); errors.Is(err, ErrUnsupported) {
		t.Skip("skipped: this machine's kernel has no CONFIG_DCB")
	}
	return c
}

func TestRealKernel(t *testing.T) {
	c := real(t)
	if _, err := c.Get(t.Context(), "lo"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("lo: %v", err)
	}
	if _, err := c.Get(t.Context(), "roce-no-such"); !errors.Is(err, ErrNoDevice) {
		t.Errorf("no device: %v", err)
	}
	if changed, err := c.SetPFC(t.Context(), "lo", 8, 0); changed || !errors.Is(err, ErrUnsupported) {
		t.Errorf("lo: %v, %v", changed, err)
	}
	if _, err := c.Get(t.Context(), "lo"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("after errors: %v", err)
	}
}

const unprivilegedEnv = "ROCE_FABRIC_TEST_USERNS"

// The test runs itself again in a user namespace, where CAP_NET_ADMIN is present but not
// sufficient.
func TestRealKernelUnprivileged(t *testing.T) {
	c := real(t)
	if os.Getenv(unprivilegedEnv) == "" {
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestRealKernelUnprivileged$", "-test.v")
		cmd.Env = append(os.Environ(), unprivilegedEnv+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		switch {
		case err != nil && !errors.As(err, &exit):
			t.Skipf("skipped: this machine allows no user namespaces: %v", err)
		case err != nil || !strings.Contains(string(out), "--- PASS: TestRealKernelUnprivileged"):
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	// Encode each kind of write directly: the methods would read first, and lo has nothing to read.
	pfc := PFC{Enabled: 8}
	for cmd, req := range map[uint8]func() (netlink.Message, error){
		cmdIEEESet: func() (netlink.Message, error) { return encodeIEEE(cmdIEEESet, "lo", ieeePFC, bytesOf(pfc)) },
		cmdIEEEDel: func() (netlink.Message, error) { return encodeApp(cmdIEEEDel, "lo", DSCP(26, 3)) },
		cmdSetDCBX: func() (netlink.Message, error) { return encodeDCBX("lo", DCBXHost) },
	} {
		m, err := req()
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.begin(t.Context(), "write", "lo")
		if err != nil {
			t.Fatal(err)
		}
		_, untouched, err := p.write(m, cmd)
		p.end()
		if !untouched || !errors.Is(err, ErrPermission) {
			t.Errorf("command %d: %v, %v", cmd, untouched, err)
		}
	}
}
