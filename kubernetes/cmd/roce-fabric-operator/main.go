// Command roce-fabric-operator is the Kubernetes operator for RoCE fabrics. As
// 'roce-fabric-operator node' it is the agent for the NICs of a Node.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	_ "time/tzdata" // maintenance windows name time zones, and the image has no zone database

	"github.com/KimMachineGun/automemlimit/memlimit"
	ctrl "sigs.k8s.io/controller-runtime"
)

// version is the version of the release, set by its build.
var version string

func init() { version = cmp.Or(version, "devel") }

func main() {
	// Make the garbage collector work harder before the Pod's memory is used up.
	_, _ = memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(0.9), memlimit.WithProvider(memlimit.FromCgroup))
	os.Exit(run(ctrl.SetupSignalHandler(), os.Args[1:]))
}

// run runs the program until ctx ends and returns its exit status, which is 2 for a wrong
// command line.
func run(ctx context.Context, args []string) int {
	do := operate
	if len(args) > 0 && args[0] == "node" {
		do, args = attend, args[1:]
	}
	err := do(ctx, args)
	usage := (*usageError)(nil)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "roce-fabric-operator:", err)
		return 2
	case err != nil:
		fmt.Fprintln(os.Stderr, "roce-fabric-operator:", err)
		return 1
	}
	return 0
}

// usageError is an error in the command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func wrong(format string, a ...any) error { return &usageError{fmt.Sprintf(format, a...)} }
