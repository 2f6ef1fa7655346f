package formstest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/render"
)

// Removal checks that a text whose line removes a block means the same as another one, that the
// account gives the line the fate want, "" for none, and that all lines of the text which are not in
// the other one are inert if the line takes effect. same is "" for the text without the line.
func Removal(t *testing.T, r Reader, name, text, line, same string, want render.Fate) {
	t.Helper()
	if same == "" {
		same = strings.Replace(text, line+"\n", "", 1)
		if want == render.Default {
			same = ""
		}
	}
	_, got, account := r.Read(text)
	_, other, _ := r.Read(same)
	if diff := cmp.Diff(other, got); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
	fate, inert := render.Fate(""), 0
	for _, l := range account {
		switch {
		case l.Text == line:
			fate = l.Fate
		case l.Fate == render.Inert && strings.HasPrefix(l.Why, "a later line removes it"):
			inert++
		}
	}
	if fate != want {
		t.Errorf("%s: %s is %q, want %q", name, line, fate, want)
	}
	if (inert > 0) != (want == render.Default) {
		t.Errorf("%s: %d lines are inert: %+v", name, inert, account)
	}
}
