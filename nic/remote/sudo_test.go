package remote_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/remote"
)

const password = "correct horse's \"$(battery)\""

// sudo imitates the parts of sudo(8) that the package uses: -n never asks; -S asks on standard
// error with the prompt of -p and reads a line from standard input, up to three times. RULE is
// free, asks or never.
const sudo = `#!/bin/sh
printf '%s\n' "$*" >>LOG
case $1 in
-n) shift 2
    [ RULE = free ] && exec "$@"
    echo 'sudo: a password is required' >&2; exit 1;;
-S) prompt=$3; shift 4
    [ RULE = free ] && exec "$@"
    echo 'We trust you have received the usual lecture.' >&2
    for try in 1 2 3; do
        printf %s "$prompt" >&2
        IFS= read -r line || { echo 'sudo: no password was provided' >&2; exit 1; }
        echo asked >>LOG
        if [ "$line" = "$(cat PASSWORD)" ]; then
            [ RULE = never ] && { echo 'alice is not in the sudoers file.' >&2; exit 1; }
            exec "$@"
        fi
        echo 'Sorry, try again.' >&2
    done
    exit 1;;
esac
exit 1
`

func TestSudo(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		o          remote.Options
		text       string // "" if the call succeeds
		asked      int
	}{
		{"without a password", "free", remote.Options{Sudo: remote.SudoNoPassword}, "", 0},
		{"a password is wanted", "asks", remote.Options{Sudo: remote.SudoNoPassword}, "a password is required", 0},
		{"with a password", "asks", remote.Options{Sudo: remote.SudoPassword, Password: password}, "", 1},
		{"a password for nothing", "free", remote.Options{Sudo: remote.SudoPassword, Password: password}, "", 0},
		{"wrong password", "asks", remote.Options{Sudo: remote.SudoPassword, Password: password + "x"}, "the password is not accepted", 1},
		{"not in sudoers", "never", remote.Options{Sudo: remote.SudoPassword, Password: password}, "not in the sudoers file", 1},
		{"no sudo", "", remote.Options{Sudo: remote.SudoNoPassword}, "not found", 0},
		{"no sudo for a password", "", remote.Options{Sudo: remote.SudoPassword, Password: password}, "not found", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			dir := t.TempDir()
			log, pw := filepath.Join(dir, "log"), filepath.Join(dir, "pw")
			l.put(t, log, "")
			l.put(t, pw, password)
			if c.rule != "" {
				l.put(t, filepath.Join(l.bin, "sudo"), strings.NewReplacer("LOG", log, "PASSWORD", pw, "RULE", c.rule).Replace(sudo))
			}
			h := open(t, l, c.o)
			_, err := h.Read(t.Context(), nil)
			b, rerr := os.ReadFile(log)
			if rerr != nil {
				t.Fatal(rerr)
			}
			if strings.Contains(string(b), "horse") || strings.Count(string(b), "asked\n") != c.asked {
				t.Errorf("sudo was called so: %s", b)
			}
			if c.rule != "" && !strings.Contains(string(b), l.program(t)+" nic serve\n") {
				t.Errorf("sudo was called so: %s", b)
			}
			if c.text == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var hint interface{ Hint() string }
			if !errors.Is(err, remote.ErrSudo) || !errors.Is(err, agent.ErrStart) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "horse") ||
				!errors.As(err, &hint) || hint.Hint() == "" {
				t.Errorf("%v", err)
			}
		})
	}
}
