package term

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from a device or a file safe to print. It removes escape sequences, control
// characters, and invisible format characters that reorder or hide text; it keeps newlines and
// tabs. A carriage return becomes a newline, because a terminal would otherwise overwrite the text
// before it. Invalid UTF-8 becomes U+FFFD.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x1b || r >= 0x80 && r <= 0x9f:
			i += escape(s[i:], r, n)
			continue
		case r == '\r':
			if i+1 >= len(s) || s[i+1] != '\n' {
				b.WriteByte('\n')
			}
		case r == '\u2028' || r == '\u2029':
			b.WriteByte('\n')
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
		case harmless(r):
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// CleanLine is [Clean] for text that must stay on one line: each run of white space becomes one
// space, and leading and trailing space is removed.
func CleanLine(s string) string {
	return strings.Join(strings.Fields(Clean(s)), " ")
}

// Clip is [CleanLine] for at most the given number of bytes. It appends "..." to text that was
// cut.
func Clip(s string, most int) string {
	// Clean a multiple of the limit, because cleaning may remove much of the text. Do not clean
	// everything, because a host may send any amount.
	if s = CleanLine(s[:min(len(s), 8*most)]); len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

func harmless(r rune) bool {
	return r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r)
}

func isClean(s string) bool {
	for i, r := range s {
		if !harmless(r) || r == '\u2028' || r == '\u2029' {
			return false
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
	}
	return true
}

// escape returns the length of the escape sequence at the start of s, whose first character r has
// length n. r is ESC or one of the C1 controls, each of which is short for ESC and a letter
// (ECMA-48). For an unterminated sequence it returns only the length of the introducer, so that
// the sequence cannot hide the rest of the text.
func escape(s string, r rune, n int) int {
	kind, at := r-0x40, n
	if r == 0x1b {
		if len(s) == 1 {
			return 1
		}
		kind, at = rune(s[1]), 2
	}
	switch kind {
	case '[': // control sequence: parameters, intermediates, one final byte
		i := at
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
			i++
		}
		if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
		return i
	case ']', 'P', 'X', '^', '_': // strings, up to BEL or the string terminator
		for i := at; i < len(s) && s[i] != '\n'; i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case strings.HasPrefix(s[i:], "\x1b\\"), strings.HasPrefix(s[i:], "\u009c"):
				return i + 2
			}
		}
		return at
	}
	if r != 0x1b {
		return n
	}
	i := 1
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
		i++
	}
	return i
}
