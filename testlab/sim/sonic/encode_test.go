package sonic

import (
	"encoding/json"
	"testing"
)

// The JSON that clients read from a database equals the JSON of its tree.
func TestEncodeIsTheTree(t *testing.T) {
	s, err := New(Options{Model: testModel(4), NoSSH: true, Plaintext: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	s.SetRow("X", "a|b", map[string]string{"list@": "a,b<,\"c\"", "none@": "", "text": "é\x01\\ &>\u2028", "7": "1"})
	s.SetRow("X", "empty", map[string]string{"NULL": "NULL"})
	for _, db := range []string{"CONFIG_DB", "APPL_DB", "STATE_DB", "ASIC_DB", "COUNTERS_DB"} {
		s.mu.Lock()
		all := s.database(db, "")
		s.mu.Unlock()
		tree := map[string]any{}
		for name, keys := range all {
			tree[name] = tableDoc(keys)
		}
		want, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(all.encode()); got != string(want) || len(all) == 0 {
			t.Errorf("%s: %s, want %s", db, got, want)
		}
	}
}
