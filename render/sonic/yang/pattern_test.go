package yang

import (
	"strings"
	"testing"
)

// TestPatternRefused: an unsupported pattern is listed and not used for validation.
func TestPatternRefused(t *testing.T) {
	m := newModels()
	for text, want := range map[string]string{
		"[]": "empty character class", "[^]": "empty character class", "[a": "class without an end", "[a-z-[b]]": "subtraction", "(?i)a": "a group with flags", "a\\": "a backslash at the end",
		`\p{IsGreek}`: "a named Unicode block", `\p{`: "a named Unicode block", `\pL`: "a named Unicode block", `\p{Lu`: "a named Unicode block", `\q`: `the escape \q`, `\1`: `the escape \1`, `\9`: `the escape \9`, `\0`: `the escape \0`,
		`\A`: `the escape \A`, `\Z`: `the escape \Z`, `\a`: `the escape \a`, `\z`: `the escape \z`, `\é`: `the escape \é`, "a{2,1}": "no Go form", "(a": "no Go form", strings.Repeat("a", 16<<10+1): "too long",
	} {
		if p := m.pattern(text); p.err == nil || !strings.Contains(p.err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", text, p.err, want)
		}
	}
	for text, takes := range map[string]string{
		`[a\]b]`: "]", `[[]`: "[", `[a[]`: "[", `[-a]`: "-", `\.\-\/`: ".-/", `[\^a]`: "^", `\p{Nd}x`: "1x", `x\P{Nd}`: "xa", `[\p{Nd}b][^\P{L}]`: "ba", `(a)`: "a", `a|`: "", `\d\D\s\S\w\W\n\r\t`: "1a xy-\n\r\t",
		strings.Repeat("a", 16<<10): strings.Repeat("a", 16<<10), "a.": "aé", `\{\~\@\[`: "{~@[", `^$`: "^$",
	} {
		p := m.pattern(text)
		if p.err != nil || !p.re.MatchString(takes) {
			t.Errorf("%.20q does not take %.20q: %v", text, takes, p.err)
		}
	}
}
