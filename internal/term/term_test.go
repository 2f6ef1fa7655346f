package term

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/goleak"
)

func env(kv ...string) func(string) string {
	return func(k string) string {
		for _, e := range kv {
			if n, v, _ := strings.Cut(e, "="); n == k {
				return v
			}
		}
		return ""
	}
}

func TestColor(t *testing.T) {
	for _, c := range []struct {
		name     string
		mode     ColorMode
		env      []string
		terminal bool
		want     bool
	}{
		{"terminal", ColorAuto, nil, true, true},
		{"empty mode", "", nil, true, true},
		{"pipe", ColorAuto, nil, false, false},
		{"always in a pipe", ColorAlways, nil, false, true},
		{"always beats NO_COLOR", ColorAlways, []string{"NO_COLOR=1"}, false, true},
		{"never beats force", ColorNever, []string{"CLICOLOR_FORCE=1"}, true, false},
		{"NO_COLOR", ColorAuto, []string{"NO_COLOR=1"}, true, false},
		{"NO_COLOR=0 is set", ColorAuto, []string{"NO_COLOR=0"}, true, false},
		{"NO_COLOR empty", ColorAuto, []string{"NO_COLOR="}, true, true},
		{"NO_COLOR beats force", ColorAuto, []string{"NO_COLOR=1", "CLICOLOR_FORCE=1"}, true, false},
		{"force in a pipe", ColorAuto, []string{"CLICOLOR_FORCE=1"}, false, true},
		{"force 0", ColorAuto, []string{"CLICOLOR_FORCE=0"}, false, false},
		{"CI beats force", ColorAuto, []string{"CLICOLOR_FORCE=1", "CI=true"}, true, false},
		{"CI", ColorAuto, []string{"CI=true"}, true, false},
		{"CI=false", ColorAuto, []string{"CI=false"}, true, true},
		{"dumb", ColorAuto, []string{"TERM=dumb"}, true, false},
	} {
		if got := Color(c.mode, env(c.env...), c.terminal); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	for _, c := range []struct {
		env      string
		terminal bool
		want     bool
	}{{"A=b", true, true}, {"A=b", false, false}, {"CI=1", true, false}, {"NO_COLOR=1", true, false}, {"TERM=dumb", true, false}, {"CLICOLOR_FORCE=1", false, false}} {
		if got := Animate(env(c.env), c.terminal); got != c.want {
			t.Errorf("Animate %s terminal %v: %v", c.env, c.terminal, got)
		}
	}
}

func TestColorFlag(t *testing.T) {
	m := ColorAuto
	if err := m.Set("always"); err != nil || m != ColorAlways {
		t.Errorf("%v %v", m, err)
	}
	if err := m.Set("sometimes"); err == nil || m != ColorAlways {
		t.Errorf("%v %v", m, err)
	}
}

func TestIsTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if IsTerminal(w) || IsTerminal(nil) || Width(w) != 80 {
		t.Error("a pipe is taken for a terminal")
	}
}

func TestStyler(t *testing.T) {
	s, none := NewStyler(true), Styler{}
	for _, c := range []struct{ got, want string }{
		{s.Red("x"), "\x1b[31mx\x1b[0m"}, {s.Green("x"), "\x1b[32mx\x1b[0m"}, {s.Yellow("x"), "\x1b[33mx\x1b[0m"},
		{s.Bold("x"), "\x1b[1mx\x1b[0m"}, {s.Dim("x"), "\x1b[2mx\x1b[0m"}, {s.Red(""), ""},
		{none.Red("x"), "x"}, {none.Bold("x"), "x"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
		if Clean(c.got) != Clean(c.want) {
			t.Errorf("Clean(%q)", c.got)
		}
	}
}

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Ethernet0 höhe 日本\n\tx", "Ethernet0 höhe 日本\n\tx"},
		{"colour", "a\x1b[31;1mred\x1b[0mb", "aredb"},
		{"colon parameters", "a\x1b[38:2::1:2:3mb", "ab"},
		{"clear screen", "\x1b[2J\x1b[Hok", "ok"},
		{"title", "a\x1b]0;owned\x07b", "ab"},
		{"title with ST", "a\x1b]0;owned\x1b\\b", "ab"},
		{"hyperlink", "\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"device control string", "a\x1bP+q544e\x1b\\b", "ab"},
		{"unterminated title hides nothing", "a\x1b]0;rest of the line\nnext", "a0;rest of the line\nnext"},
		{"charset", "a\x1b(0b", "ab"},
		{"reset", "a\x1bcb", "ab"},
		{"lone escape", "a\x1b", "a"},
		{"escape before newline", "a\x1b\nb", "a\nb"},
		{"cut sequence", "a\x1b[31", "a"},
		{"sequence holding an escape", "a\x1b[3\x1b[31mb", "ab"},
		{"C1 control sequence", "a\u009b31mb", "ab"},
		{"C1 string", "a\u009d0;owned\u009cb", "ab"},
		{"C1 next line", "a\u0085b", "ab"},
		{"raw C1 byte is not UTF-8", "a\x9b31mb", "a\ufffd31mb"},
		{"crlf", "a\r\nb", "a\nb"},
		{"printing over", "password: secret\rok", "password: secret\nok"},
		{"backspace", "abc\b\b\bxyz", "abcxyz"},
		{"bell, null, delete", "a\a\x00\x7fb", "ab"},
		{"bidi override", "a\u202ecba\u202c", "acba"},
		{"bidi isolate, zero width, BOM", "a\u2066b\u200bc\ufeffd", "abcd"},
		{"line separators", "a\u2028b\u2029c", "a\nb\nc"},
		{"not UTF-8", "a\xff\xfeb", "a\ufffd\ufffdb"},
		{"replacement character itself", "a\ufffdb", "a\ufffdb"},
	} {
		if got := Clean(c.in); got != c.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
	if got := CleanLine("  a\r\n\tb\x1b[2J\rc "); got != "a b c" {
		t.Errorf("CleanLine = %q", got)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x1b[31mb", "\x1b]0;x\x07", "\u009b1m", "\xff\x1b", "\x1b\x1b[\x1b]", "a\r\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Clean(s)
		if !utf8.ValidString(out) {
			t.Fatalf("not UTF-8: %q", out)
		}
		for _, r := range out {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("Clean(%q) = %q holds %U", s, out, r)
			}
		}
		if again := Clean(out); again != out {
			t.Fatalf("Clean twice: %q, then %q", out, again)
		}
	})
}

// screen is a minimal terminal: it interprets carriage return and erase-to-end-of-line, and keeps
// the finished lines.
type screen struct {
	mu  sync.Mutex
	raw bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.Write(p)
}

func (s *screen) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for l := range strings.SplitSeq(s.raw.String(), "\n") {
		if i := strings.LastIndex(l, "\r\x1b[K"); i >= 0 {
			l = l[i+len("\r\x1b[K"):]
		}
		out = append(out, l)
	}
	return out
}

func TestProgressOnTerminal(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := &screen{}
	clock, ticks := time.Unix(1000, 0), make(chan time.Time)
	var mu sync.Mutex
	width := 100
	p := NewProgress(s, ProgressOptions{Label: "plan", Total: 10, Animate: true, Events: true,
		Width: func() int { mu.Lock(); defer mu.Unlock(); return width },
		now:   func() time.Time { mu.Lock(); defer mu.Unlock(); return clock }, ticks: ticks})
	tick := func() string {
		// The second tick is accepted only after the first one has drawn its line.
		ticks <- time.Time{}
		ticks <- time.Time{}
		p.mu.Lock()
		defer p.mu.Unlock()
		l := s.lines()
		return l[len(l)-1]
	}
	for range 6 {
		p.Start()
	}
	for range 3 {
		p.Finish("leaf", "", nil)
	}
	p.Finish("leaf4", "", errors.New("no"))
	mu.Lock()
	clock = clock.Add(8 * time.Second)
	mu.Unlock()
	if got, want := tick(), "[########............] plan 4/10, 1 failed, 2 running, 4 waiting, 8s, about 12s left"; got != want {
		t.Errorf("line %q, want %q", got, want)
	}
	mu.Lock()
	width = 10
	mu.Unlock()
	if got := tick(); got != "plan 4/10" {
		t.Errorf("narrow line %q", got)
	}
	p.Close()
	p.Close()
	if l := s.lines(); l[len(l)-1] != "" {
		t.Errorf("Close leaves %q", l[len(l)-1])
	}
}

func TestProgressInPipe(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, c := range []struct {
		events bool
		want   string
	}{
		{false, ""},
		{true, "plan 1/2 leaf1: done\nplan 2/2 leaf2: failed: not a switch\n"},
	} {
		var b bytes.Buffer
		p := NewProgress(&b, ProgressOptions{Label: "plan", Total: 2, Events: c.events})
		p.Start()
		p.Start()
		p.Finish("leaf1", "", nil)
		p.Finish("leaf2", "", errors.New("not a\x1b[31m\nswitch"))
		p.Close()
		if b.String() != c.want {
			t.Errorf("events %v: %q", c.events, b.String())
		}
	}
}

// The line counts the states and shows the bar if there is room. Other output to the terminal
// appears above it.
func TestProgressAboveAndStates(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := &screen{}
	var shared Screen
	above := &Above{&shared, s}
	clock, ticks := time.Unix(1000, 0), make(chan time.Time)
	p := NewProgress(above, ProgressOptions{Label: "write", Total: 48, Animate: true, Width: func() int { return 140 },
		now: func() time.Time { return clock }, ticks: ticks})
	draw := func() []string {
		ticks <- time.Time{}
		ticks <- time.Time{}
		p.mu.Lock()
		defer p.mu.Unlock()
		return s.lines()
	}
	for range 14 {
		p.Start()
	}
	for range 9 {
		p.Finish("leaf", "applied", nil)
	}
	p.Finish("leaf10", "failed", errors.New("no"))
	p.Skip("skipped")
	p.Skip("skipped")
	bar := "[#####...............] write 12/48, 9 applied, 1 failed, 2 skipped, 4 running, 32 waiting, 0s, about 0s left"
	if l := draw(); l[len(l)-1] != bar {
		t.Errorf("line %q, want %q", l[len(l)-1], bar)
	}
	// A line written in two parts is not torn apart.
	_, _ = io.WriteString(above, "leaf11 ")
	draw()
	_, _ = io.WriteString(above, "1/3 a row\n")
	if l := draw(); len(l) != 2 || l[0] != "leaf11 1/3 a row" || l[1] != bar {
		t.Errorf("%q", l)
	}
	p.Close()
	_, _ = io.WriteString(above, "done\n")
	if l := s.lines(); len(l) != 3 || l[1] != "done" || l[2] != "" {
		t.Errorf("%q", l)
	}
}

// Only a terminal has a progress line below other output.
func TestAboveOfPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if out := new(Screen).Above(w); out != io.Writer(w) || File(out) != w || File(&Above{w: w}) != w || File(&Above{w: io.Discard}) != nil {
		t.Error("a pipe is taken for a terminal")
	}
}
