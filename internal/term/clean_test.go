package term

import "testing"

func TestClip(t *testing.T) {
	for s, want := range map[string]string{
		"short": "short", "a\nb\x1b[31m c": "a b c", "123456789": "12345678...", "1234567é": "1234567...", " 12345678 ": "12345678",
	} {
		if got := Clip(s, 8); got != want {
			t.Errorf("%q is %q, not %q", s, got, want)
		}
	}
}
