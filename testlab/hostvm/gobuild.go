package hostvm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// GoBuild builds the command in the package pkg into the file out, static and
// for the machine. The working folder must be in the module, as that of a test
// is. It ends with ctx.
func GoBuild(ctx context.Context, pkg, out string) error {
	return goCommand(ctx, "build", "-o", out, pkg)
}

// GoTest builds the tests of the package pkg, as [GoBuild] does a command.
func GoTest(ctx context.Context, pkg, out string) error {
	return goCommand(ctx, "test", "-c", "-o", out, pkg)
}

func goCommand(ctx context.Context, verb string, args ...string) error {
	args = append([]string{verb, "-trimpath", "-ldflags=-s -w"}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w: %.2000s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return nil
}
