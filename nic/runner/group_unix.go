//go:build unix

package runner

import (
	"os/exec"
	"syscall"
)

// ownGroup puts cmd into a process group of its own, so that its children end
// with it. The function it returns kills what is left of the group after Run.
func ownGroup(cmd *exec.Cmd) (end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return func() {
		if cmd.Process != nil {
			// ESRCH, the usual answer, says that nobody is left.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
}
