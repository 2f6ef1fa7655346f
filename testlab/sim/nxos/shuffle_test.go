package nxos

import (
	"strings"
	"testing"
)

// Shuffled switches print the same configuration in different orders. Each text, typed into a
// switch that does not shuffle, creates the same policies and ports.
func TestShuffledTextSaysTheSame(t *testing.T) {
	n := newBox(t, Options{Config: readFile(t, "double.cfg")})
	plain := n.body(n.running)
	texts := map[string]bool{}
	for seed := uint64(1); seed <= 32; seed++ {
		n.Shuffle(seed)
		text := n.Running()
		texts[text[strings.Index(text, "\nversion "):]] = true
		again := newBox(t, Options{Config: text})
		got := again.body(again.running)
		if strings.ReplaceAll(got, "  class class-default\n", "") != strings.ReplaceAll(plain, "  class class-default\n", "") {
			t.Fatalf("seed %d: it prints\n%s\nwhich is\n%s", seed, text, got)
		}
	}
	if len(texts) < 16 {
		t.Errorf("32 seeds make %d texts", len(texts))
	}
}
