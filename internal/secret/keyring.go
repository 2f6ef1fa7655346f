package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// keyringAbsent is the exit status of macOS' security(1) for a missing item (errSecItemNotFound).
// libsecret's secret-tool(1) exits with 1 and prints nothing.
const keyringAbsent = 44

// keyringCommand returns the system's command that prints a secret from the user's keyring. A
// command needs no D-Bus library and can be stopped.
func keyringCommand(ctx context.Context, service, user string) *exec.Cmd {
	if runtime.GOOS == "darwin" {
		return exec.CommandContext(ctx, "/usr/bin/security", "find-generic-password", "-s", service, "-a", user, "-w")
	}
	return exec.CommandContext(ctx, "secret-tool", "lookup", "service", service, "username", user)
}

// fromKeyring reads a secret from the keyring, which may ask the user to unlock it first.
func fromKeyring(ctx context.Context, r reference) (Secret, error) {
	service, user := r.user()
	cmd := keyringCommand(ctx, service, user)
	cmd.WaitDelay = time.Second
	var value, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &value, &said
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", &Error{Fact: "keyring did not answer: " + ctx.Err().Error(), Err: errors.Join(errKeyring, ctx.Err())}
	case errors.Is(err, exec.ErrNotFound):
		return "", &Error{
			Fact:   "cannot query the keyring: " + err.Error(),
			Advice: "install secret-tool (Debian: libsecret-tools, Fedora: libsecret), or use env:NAME or file:PATH",
			Err:    errors.Join(errKeyring, err),
		}
	case errors.As(err, &ended) && (said.Len() == 0 || ended.ExitCode() == keyringAbsent):
		return "", &Error{Fact: fmt.Sprintf("keyring has no secret of service %q for user %q", service, user), Err: errMissing}
	case err != nil:
		return "", &Error{
			Fact:   fmt.Sprintf("keyring is not available: %v: %q", err, bytes.TrimSpace(said.Bytes())),
			Advice: "a keyring needs a desktop session; on a server use env:NAME or file:PATH",
			Err:    errors.Join(errKeyring, err),
		}
	}
	return trimmed(value.Bytes(), fmt.Sprintf("keyring secret of service %q for user %q", service, user))
}
