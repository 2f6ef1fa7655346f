package hostvm

import (
	"os/exec"
	"runtime"
	"syscall"
)

// dieWithParent makes the kernel kill the program when this process exits for any reason. The
// calling goroutine must start the program and wait for it, because the kernel ties the program to
// the thread that started it (golang.org/issue/27505). The returned function must be called after
// that.
func dieWithParent(cmd *exec.Cmd) (release func()) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return runtime.UnlockOSThread
}

// socketPair returns two connected stream sockets.
func socketPair() ([2]int, error) {
	return syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
}
