package linediff

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Lines contains both texts, and the fewest possible differences for short ones.
func TestLines(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		draw := func(name string) []string {
			return rapid.SliceOfN(rapid.SampledFrom(strings.Split("abcdefgh", "")), 0, 20).Draw(r, name)
		}
		a, b := draw("a"), draw("b")
		var gotA, gotB []string
		for _, l := range Lines(a, b) {
			if l.Op != Added {
				gotA = append(gotA, l.Text)
			}
			if l.Op != Removed {
				gotB = append(gotB, l.Text)
			}
		}
		if strings.Join(gotA, "") != strings.Join(a, "") || strings.Join(gotB, "") != strings.Join(b, "") {
			r.Fatalf("%v and %v give %v and %v", a, b, gotA, gotB)
		}
	})
}

func TestFewest(t *testing.T) {
	for _, c := range [][3]string{
		{"a b c d", "a c d e", " a -b  c  d +e"},
		{"x a x b x", "x b x a x", " x -a -x  b +x +a  x"},
		{"x x y y", "y x x y", "-x -x  y +x +x  y"},
		{"", "a", "+a"},
	} {
		var got []string
		for _, l := range Lines(strings.Fields(c[0]), strings.Fields(c[1])) {
			got = append(got, string(l.Op)+l.Text)
		}
		if s := strings.Join(got, " "); s != c[2] {
			t.Errorf("%s to %s is %q, want %q", c[0], c[1], s, c[2])
		}
	}
}

// The program patch turns the first text into the second with the output of Unified, and reads all
// of it.
func TestUnified(t *testing.T) {
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
		diff := Unified("f", "f", a, b)
		if a == b {
			if diff != nil {
				r.Fatalf("equal texts differ: %q", diff)
			}
			return
		}
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(a), 0o600); err != nil {
			r.Fatal(err)
		}
		cmd := exec.Command(patch, "-s", "-F0", "--no-backup-if-mismatch", file)
		cmd.Stdin = strings.NewReader(strings.Join(diff, "\n") + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			r.Fatalf("%v %s\n%s", err, out, strings.Join(diff, "\n"))
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

// Long texts with little in common are compared quickly.
func TestLong(t *testing.T) {
	var a, b []string
	for i := range 200_000 {
		a, b = append(a, strings.Repeat("x", i%7)), append(b, strings.Repeat("y", i%5))
	}
	if got := len(Lines(a, b)); got < 200_000 {
		t.Errorf("%d lines", got)
	}
}
