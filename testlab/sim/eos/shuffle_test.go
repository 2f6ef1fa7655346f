package eos

import "testing"

// A different switch of the same kind prints the same configuration differently: each text, typed
// into a switch without shuffling, gives the same running-config.
func TestShuffledTextSaysTheSame(t *testing.T) {
	for _, c := range []struct{ file, model string }{{"strata.cfg", "DCS-7060DX5-64S"}, {"sand.cfg", "DCS-7280CR3-32P4"}} {
		e := newEOS(t, Options{Model: c.model, Config: readFile(t, c.file)})
		plain := e.Running()
		if e.Running() != plain {
			t.Fatal("without a seed two texts differ")
		}
		texts := map[string]bool{}
		for seed := uint64(1); seed <= 32; seed++ {
			e.Shuffle(seed)
			text := e.Running()
			texts[text] = true
			if again := newEOS(t, Options{Model: c.model, Config: text}); again.Running() != plain {
				t.Fatalf("%s, seed %d: it prints\n%s\nwhich is\n%s", c.file, seed, text, again.Running())
			}
			// A diff on the box shows no difference.
			if d := e.unsaved(); d != "" {
				t.Fatalf("%s, seed %d: unsaved\n%s", c.file, seed, d)
			}
		}
		if len(texts) < 16 {
			t.Errorf("%s: 32 seeds make %d texts", c.file, len(texts))
		}
	}
}
