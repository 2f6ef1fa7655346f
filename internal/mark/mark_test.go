package mark

import (
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/term"
)

func TestMark(t *testing.T) {
	m := New("20261124-220005123-abcd")
	if m.Since = time.Date(2026, 11, 24, 22, 0, 5, 0, time.UTC); Parse([]byte(m.Text())) != m || len(m.Text()) > Max {
		t.Errorf("%s is read as %+v", m.Text(), Parse([]byte(m.Text())))
	}
	m.By = "ann@ci1"
	if got := m.String(); got != "run 20261124-220005123-abcd of ann@ci1, since 2026-11-24T22:00:05Z" {
		t.Error(got)
	}
	for _, bad := range []string{"", "{", "null", `{"run":"` + strings.Repeat("x", Max) + `"}`, `{"since":"never"}`} {
		if got := Parse([]byte(bad)).String(); got != "an unidentified run" {
			t.Errorf("%.20q: %s", bad, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"run":"\u001b[2Ja\nb","by":"\u202ex@y","since":"2026-11-24T22:00:05Z","life":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s := Parse(text).String(); s != term.CleanLine(s) || len(s) > 400 {
			t.Errorf("%q", s)
		}
	})
}
