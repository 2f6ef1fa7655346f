//go:build !unix

package runner

import "os/exec"

// ownGroup does nothing: this system has no process groups, and none of the programs that are run
// on hosts.
func ownGroup(*exec.Cmd) (end func()) { return func() {} }
