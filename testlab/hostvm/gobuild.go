package hostvm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// GoBuild builds the command in package pkg as a static program for the VM, into the file out. The
// working directory must be in the module, as is the case in a test. GoBuild stops when ctx ends.
func GoBuild(ctx context.Context, pkg, out string) error {
	return goCommand(ctx, "build", "-o", out, pkg)
}

// GoTest builds the tests of package pkg, as [GoBuild] builds a command.
func GoTest(ctx context.Context, pkg, out string) error {
	return goCommand(ctx, "test", "-c", "-o", out, pkg)
}

func goCommand(ctx context.Context, verb string, args ...string) error {
	args = append([]string{verb, "-ldflags=-s -w"}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w: %.2000s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return nil
}
