package host_test

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
)

// The simulated shell accepts and prints the same as dash and GNU coreutils; only error messages
// differ.
func TestShell(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, c := range []struct {
		command, in string
		out, err    string // err is a part of the expected text
		status      int
	}{
		{"uname -s; uname -m", "", "Linux\nx86_64\n", "", 0},
		{`sh -c 'echo "$0|$1|$2|$3"' sh a "b c"`, "", "sh|a|b c|\n", "", 0},
		{`x="a  b"; echo $x "$x" '$x' \$x`, "", "a b a  b $x $x\n", "", 0},
		{`x="a - b"; echo "${x%% *}" ${x} ${HOME:?}/y`, "", "a a - b /home/admin/y\n", "", 0},
		{`echo ${NOPE:?}/x; echo more`, "", "", "parameter not set or null", 2},
		{"sha256sum", "", empty + "  -\n", "", 0},
		{`h=$(sha256sum </no/file) || h=-; echo "$h"`, "", "-\n", "cannot open /no/file", 0},
		{`if [ a = b ]; then echo yes; else echo no; fi`, "", "no\n", "", 0},
		{`if [ -d "$HOME" ] && [ a != b ]; then echo yes; fi; echo $?`, "", "yes\n0\n", "", 0},
		{`false && echo a || echo b; true || echo c`, "", "b\n", "", 0},
		{`set -e; false || true; echo on; false; echo off`, "", "on\n", "", 1},
		{`set -e; x=$(false); echo off`, "", "", "", 1},
		{`set -e; if false; then echo a; fi; echo on`, "", "on\n", "", 0},
		{`trap 'echo bye' EXIT; echo hi; exit 3`, "", "hi\nbye\n", "", 3},
		{`trap 'echo bye' EXIT; exec echo hi`, "", "hi\n", "", 0},
		{`umask 077; mkdir -p "$HOME/d/e"; cat >"$HOME/d/e/f"; sha256sum <"$HOME/d/e/f"; mv -fT "$HOME/d/e/f" "$HOME/g"; [ -f "$HOME/g" ]`, "", empty + "  -\n", "", 0},
		{`cat >"$HOME/no/f"`, "x", "", "cannot create /home/admin/no/f", 2},
		{`echo out; echo err >&2`, "", "out\n", "err\n", 0},
		{`echo lost >/dev/null; nope 2>/dev/null`, "", "", "", 127},
		{`mkdir -p /srv/x`, "", "", "", 0},
		{`rm -f "$HOME/nothing"; rm -f "$HOME"; echo $?`, "", "1\n", "cannot remove", 0},
		{`nope`, "", "", "nope: not found", 127},
		{`cat >"$HOME/p"; "$HOME/p" nic serve; chmod 700 "$HOME/p"; "$HOME/p" nic agent`, "text", "", "Exec format error", 126},
		{`id -u; sudo -n -- id -u`, "", "1000\n0\n", "", 0},
		{`sudo -n -- nope`, "", "", "sudo: nope: command not found", 1},
		{`cat </etc/passwd | head`, "", "", "Syntax error", 2},
		{"echo `uname`", "", "", "Syntax error", 2},
		{`echo "unterminated`, "", "", "Syntax error", 2},
		{`for x in a; do echo x; done`, "", "", "Syntax error", 2},
		{`! true`, "", "", "Syntax error", 2},
		{"x=0123456789abcdef;" + strings.Repeat("x=$x$x;", 60), "", "", "Argument list too long", 2},
		{`if true; then echo`, "", "", "Syntax error", 2},
		{strings.Repeat("if true; then ", 40), "", "", "Syntax error", 2},
		{`sh -c 'sh -c "sh -c \"sh -c \\\"sh -c uname\\\"\""'`, "", "", "Cannot fork", 2},
		{"cat /etc/shadow", "", "", "does not know", 2},
	} {
		t.Run(c.command[:min(len(c.command), 30)], func(t *testing.T) {
			b := start(t, func(o *host.Options) { o.Processor = "" })
			conn, err := ssh.Dial(t.Context(), b.config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			r, err := conn.Run(t.Context(), c.command, []byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Stdout) != c.out || !strings.Contains(string(r.Stderr), c.err) || (c.err == "") != (len(r.Stderr) == 0) && c.status != 127 || r.Status != c.status {
				t.Errorf("%s\nstatus %d\n%s%s", c.command, r.Status, r.Stdout, r.Stderr)
			}
		})
	}
}
