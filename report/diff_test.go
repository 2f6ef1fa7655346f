package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Each line comes with its enclosing lines, and an added line follows the removed line that it
// replaces.
func TestDiffLines(t *testing.T) {
	running := "interface Ethernet1\n   mtu 1500\n   trust cos\n   tx-queue 3\n      bandwidth 1\nold 1\n   in\n"
	intended := "interface Ethernet1\n   mtu 9000\n   trust dscp\n   tx-queue 3\n      bandwidth 2\nnew 1\n   in\n"
	var got []string
	for _, l := range DiffLines(running, intended) {
		got = append(got, l.Op+strings.Join(append(l.In, l.Text), "/"))
	}
	want := []string{
		"-interface Ethernet1/mtu 1500", "+interface Ethernet1/mtu 9000", "-interface Ethernet1/trust cos", "+interface Ethernet1/trust dscp",
		"-interface Ethernet1/tx-queue 3/bandwidth 1", "+interface Ethernet1/tx-queue 3/bandwidth 2", "-old 1", "-old 1/in", "+new 1", "+new 1/in",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if l := DiffLines(running, running); len(l) != 0 {
		t.Errorf("a text differs from itself: %v", l)
	}
}

func TestDiffSummary(t *testing.T) {
	for want, s := range map[string]DiffSummary{
		"24 devices, no differences": {Devices: 24},
		"1 of 2 devices differs":     {Devices: 2, Differing: 1}, "2 of 3 devices differ, 1 failed": {Devices: 3, Differing: 2, Failed: 1},
		"1 device, no differences, 1 failed": {Devices: 2, Failed: 1},
	} {
		if got := s.String(); got != want {
			t.Errorf("%+v is %q, want %q", s, got, want)
		}
	}
}

// The program patch turns the first text into the second with a unified diff, and reads all of it.
func TestUnifiedDiffIsAPatch(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("needs the program patch")
	}
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		if n++; n > 30 {
			return // each check starts a process
		}
		draw := func(name string) string {
			lines := rapid.SliceOfN(rapid.SampledFrom(strings.Split("abcdefghijklmnop", "")), 0, 40).Draw(r, name)
			text := strings.Join(lines, "\n")
			if text != "" && rapid.Bool().Draw(r, "end") {
				text += "\n"
			}
			return text
		}
		a, b := draw("a"), draw("b")
		var diff strings.Builder
		c := Console{Out: &diff, Getenv: func(string) string { return "" }}
		if err := c.UnifiedDiff("f", "f", a, b); err != nil || a == b && diff.Len() > 0 {
			r.Fatalf("%q and %q: %q, %v", a, b, diff.String(), err)
		}
		if a == b {
			return
		}
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(a), 0o600); err != nil {
			r.Fatal(err)
		}
		cmd := exec.Command(patch, "-s", "-F0", "--no-backup-if-mismatch", file)
		cmd.Stdin = strings.NewReader(diff.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			r.Fatalf("%v %s\n%s", err, out, diff.String())
		}
		got, err := os.ReadFile(file)
		if err != nil && b != "" {
			r.Fatal(err)
		}
		if string(got) != b {
			r.Fatalf("patch made %q of %q, want %q", got, a, b)
		}
	})
}
