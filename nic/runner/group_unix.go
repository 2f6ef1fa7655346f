//go:build unix

package runner

import (
	"os/exec"
	"syscall"
)

// ownGroup puts cmd into its own process group, so that its children are stopped with it. The
// returned function kills what is left of the group after Run.
func ownGroup(cmd *exec.Cmd) (end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return func() {
		if cmd.Process != nil {
			// ESRCH, the usual answer, means that no process is left.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
}
