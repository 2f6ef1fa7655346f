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

// keyringAbsent is the exit status of macOS' security(1) for an item that is not there
// (errSecItemNotFound). secret-tool(1) of libsecret ends with 1 and says nothing.
const keyringAbsent = 44

// keyringCommand is the program of the system that prints a secret of the user's keyring:
// asking it needs no library of D-Bus, and it can be stopped.
func keyringCommand(ctx context.Context, service, user string) *exec.Cmd {
	if runtime.GOOS == "darwin" {
		return exec.CommandContext(ctx, "/usr/bin/security", "find-generic-password", "-s", service, "-a", user, "-w")
	}
	return exec.CommandContext(ctx, "secret-tool", "lookup", "service", service, "username", user)
}

// fromKeyring asks the keyring, which may ask the user to unlock it first.
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
			Fact:   "keyring cannot be asked: " + err.Error(),
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
