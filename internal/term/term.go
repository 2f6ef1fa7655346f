// Package term decides how the tool writes to a terminal: when to use color, how to show progress,
// and what to remove from untrusted text before it is printed.
//
// All text from a device or a file must pass through [Clean] or [CleanLine] before a person sees
// it, because even a port description may contain escape sequences. Results on standard output
// never depend on the progress shown by this package.
package term

import (
	"fmt"
	"os"

	xterm "golang.org/x/term"
)

// ColorMode is the value of the --color flag.
type ColorMode string

// The color modes.
const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// String returns the flag's text.
func (m ColorMode) String() string { return string(m) }

// Set parses the flag's text. With String and Type, it makes a ColorMode usable as a flag.
func (m *ColorMode) Set(s string) error {
	switch v := ColorMode(s); v {
	case ColorAuto, ColorAlways, ColorNever:
		*m = v
		return nil
	}
	return fmt.Errorf("color %q is not auto, always or never", s)
}

// Type returns the flag's values for help texts.
func (*ColorMode) Type() string { return "auto|always|never" }

// Color decides whether output has color. The first rule that applies wins: mode always or never;
// NO_COLOR set and not empty: no (no-color.org); CI: no; CLICOLOR_FORCE set and neither empty nor
// 0: yes; TERM=dumb: no; otherwise yes on a terminal. An empty mode means auto. Programs pass
// [os.Getenv] as getenv.
func Color(mode ColorMode, getenv func(string) string, terminal bool) bool {
	switch mode {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	switch {
	case getenv("NO_COLOR") != "", truthy(getenv("CI")):
		return false
	case truthy(getenv("CLICOLOR_FORCE")):
		return true
	case getenv("TERM") == "dumb":
		return false
	}
	return terminal
}

// Animate decides whether output may be rewritten in place, as a progress line is: only on a
// capable terminal, and never with NO_COLOR or CI.
func Animate(getenv func(string) string, terminal bool) bool {
	return terminal && getenv("NO_COLOR") == "" && !truthy(getenv("CI")) && getenv("TERM") != "dumb"
}

func truthy(s string) bool { return s != "" && s != "0" && s != "false" }

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return f != nil && xterm.IsTerminal(int(f.Fd())) }

// Width returns the number of columns of the terminal f, or 80 if unknown.
func Width(f *os.File) int {
	if f != nil {
		if w, _, err := xterm.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

// Styler adds color to text. The zero value returns text unchanged. The text must already be
// clean.
type Styler struct{ on bool }

// NewStyler returns a Styler that adds color if on is set.
func NewStyler(on bool) Styler { return Styler{on} }

// Bold makes text bold.
func (s Styler) Bold(t string) string { return s.wrap("1", t) }

// Dim makes text faint.
func (s Styler) Dim(t string) string { return s.wrap("2", t) }

// Red makes text red.
func (s Styler) Red(t string) string { return s.wrap("31", t) }

// Green makes text green.
func (s Styler) Green(t string) string { return s.wrap("32", t) }

// Yellow makes text yellow.
func (s Styler) Yellow(t string) string { return s.wrap("33", t) }

func (s Styler) wrap(code, t string) string {
	if !s.on || t == "" {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}
