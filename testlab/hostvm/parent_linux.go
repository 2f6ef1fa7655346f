package hostvm

import (
	"os/exec"
	"runtime"
	"syscall"
)

// dieWithParent makes the kernel kill the program when this process ends
// however it ends. The calling goroutine must start the program and wait for
// it: the kernel ties the program to the thread that started it
// (golang.org/issue/27505). The function it returns is called after that.
func dieWithParent(cmd *exec.Cmd) (release func()) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return runtime.UnlockOSThread
}

// socketPair makes two stream sockets that are connected.
func socketPair() ([2]int, error) {
	return syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
}
