package sonic

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Symbolic links behave like those of the programs on this machine, if these are GNU's.
func TestLinksAreThoseOfARealShell(t *testing.T) {
	if out, err := exec.Command("ln", "--version").Output(); err != nil || !strings.Contains(string(out), "GNU coreutils") {
		t.Skip("no GNU coreutils")
	}
	_, b := newBox(t, Options{})
	dir := t.TempDir()
	// Apostrophes and the surrounding words differ between versions and locales.
	words := regexp.MustCompile(`[^\n]*: ([A-Z][^\n:]*)\n`)
	for _, cmd := range []string{
		"readlink /run/m", "stat -c %Y /run/m", "touch -h /run/m", "sudo mv -T /run/m /run/n", "sudo rm -f /run/m",
		`sudo ln -sT -- '{"run":"a b"}' /run/m`, "readlink /run/m", `sudo ln -sT -- x /run/m`, "readlink /run/m",
		"sudo touch -h -d @1700000000 /run/m", "date +%s >/dev/null; stat -c %Y /run/m; readlink /run/m",
		"sudo ln -sT -- theirs /run/n", "sudo mv -T /run/m /run/n", "readlink /run/m", "readlink /run/n", "stat -c %Y /run/n",
		"sudo ln -sT -- x /run/none/m", "sudo ln -sT -- x /run", "sudo rm -f /run/n", "readlink /run/n",
	} {
		got, status := b.run(cmd, "")
		sh := exec.Command("sh", "-c", strings.ReplaceAll(strings.ReplaceAll(cmd, "sudo ", ""), "/run", dir))
		sh.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
		out, _ := sh.CombinedOutput() // the exit status is compared below
		want := string(out)
		if got, want := words.ReplaceAllString(got, "$1\n"), words.ReplaceAllString(want, "$1\n"); got != want || status != sh.ProcessState.ExitCode() {
			t.Errorf("%s\nprints %q with status %d, a real shell %q with %d", cmd, got, status, want, sh.ProcessState.ExitCode())
		}
	}
	for _, cmd := range []string{"ln -sT -- x /run/m", "ln -s x /tmp/y", "mv /tmp/x /tmp/y", "touch /tmp/x"} {
		if out, status := b.run(cmd, ""); status == 0 {
			t.Errorf("%s: %s", cmd, out)
		}
	}
}
