//go:build !linux

package hostvm

import (
	"errors"
	"os/exec"
)

// dieWithParent does nothing on this system; [Missing] prevents VMs from starting.
func dieWithParent(*exec.Cmd) (release func()) { return func() {} }

func socketPair() ([2]int, error) { return [2]int{}, errors.ErrUnsupported }
