package secret

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inKeyring is set for the test program that runs in its own D-Bus session.
const inKeyring = "SECRET_TEST_IN_KEYRING"

// TestKeyring reads from GNOME's keyring in its own D-Bus session.
func TestKeyring(t *testing.T) {
	if os.Getenv(inKeyring) == "" {
		for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon", "secret-tool"} {
			if _, err := exec.LookPath(program); err != nil {
				t.Skip("no " + program + ": the keyring is not asked")
			}
		}
		home := t.TempDir()
		cmd := exec.CommandContext(t.Context(), "dbus-run-session", "--", "sh", "-ec", `printf pw | gnome-keyring-daemon --unlock --components=secrets >/dev/null
printf 'from ring' | secret-tool store --label=test service https://vault/x username admin
exec "$0" -test.run '^TestKeyring$'`, os.Args[0])
		cmd.Env = append(os.Environ(), inKeyring+"=1", "HOME="+home, "XDG_DATA_HOME="+home, "XDG_RUNTIME_DIR="+home)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	if got, err := Resolve(t.Context(), "keyring:https://vault/x/admin"); err != nil || got.Reveal() != "from ring" {
		t.Errorf("%q, error %v", got.Reveal(), err)
	}
	if _, err := Resolve(t.Context(), "keyring:svc/nobody"); !errors.Is(err, errMissing) || errors.Is(err, errKeyring) {
		t.Errorf("error %v", err)
	}
}

// program puts a fake secret-tool first in PATH.
func program(t *testing.T, script string) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret-tool"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestHeadlessKeyring(t *testing.T) {
	program(t, "echo 'secret-tool: Cannot autolaunch D-Bus without X11 $DISPLAY' >&2; exit 1")
	_, err := Resolve(t.Context(), "keyring:svc/user")
	if !errors.Is(err, errKeyring) || errors.Is(err, errMissing) || !strings.Contains(err.Error(), "without X11") {
		t.Fatalf("error %v", err)
	}
	wantHint(t, err, "env:NAME")
}

func TestNoKeyringProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Resolve(t.Context(), "keyring:svc/user")
	if !errors.Is(err, errKeyring) {
		t.Fatalf("error %v", err)
	}
	wantHint(t, err, "libsecret-tools")
}

func wantHint(t *testing.T, err error, part string) {
	t.Helper()
	var h interface{ Hint() string }
	if !errors.As(err, &h) || !strings.Contains(h.Hint(), part) {
		t.Errorf("no hint with %q in %v", part, err)
	}
}

// TestKeyringEndsWithContext covers a locked keyring that waits for its user.
func TestKeyringEndsWithContext(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "asked")
	program(t, "echo x > "+fifo+"; exec sleep 600")
	if out, err := exec.CommandContext(t.Context(), "mkfifo", fifo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = os.ReadFile(fifo); cancel() }()
	if _, err := Resolve(ctx, "keyring:svc/user"); !errors.Is(err, context.Canceled) || !errors.Is(err, errKeyring) {
		t.Fatalf("error %v", err)
	}
}
