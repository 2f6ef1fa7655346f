package host

import (
	"io"
	"strings"
	"testing"
)

// A client may send any command: none makes the shell panic or run forever.
func FuzzShell(f *testing.F) {
	for _, s := range []string{
		`set -e; umask 077; d="${HOME:?}/.cache"; mkdir -p "$d"; t="$d/.$1"; trap 'rm -f "$t"' EXIT; cat >"$t"; h=$(sha256sum <"$t"); if [ "${h%% *}" = x ]; then mv -fT "$t" "$d/$1"; else echo no >&2; exit 3; fi`,
		`sudo -S -p "$2" -- id -u`, `sh -c 'echo "$1"' sh a`, `a=$(b=$(uname); echo $b) || echo $? 2>&1`, "if if true; then false; fi; then exit 300; fi",
	} {
		f.Add(s)
	}
	h, err := New(Options{Name: "gpu1", Dir: f.TempDir(), Username: "admin", Password: "p"})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = h.Close() })
	f.Fuzz(func(t *testing.T, text string) {
		sh := &shell{host: h, ctx: t.Context(), acct: h.account(), name: "sh", vars: map[string]string{"HOME": "/home/admin"}, params: []string{"a", "b"}}
		if status := sh.run(text, streams{strings.NewReader("in\n"), io.Discard, io.Discard}); status < 0 || status > 255 {
			t.Errorf("status %d", status)
		}
	})
}
