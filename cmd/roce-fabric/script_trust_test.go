package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/rogpeppe/go-internal/testscript"
)

// forge FILE REGEXP TEXT OUT edits a saved plan as someone does who knows its
// form: the sum in its last line is made anew.
func forge(ts *testscript.TestScript, _ bool, a []string) {
	lines := bytes.SplitAfter(edited(ts, a[0], a[1], a[2]), []byte("\n"))
	body, last := bytes.Join(lines[:len(lines)-2], nil), lines[len(lines)-2]
	var end struct {
		End     bool   `json:"end"`
		Devices int    `json:"devices"`
		SHA256  string `json:"sha256"`
	}
	ts.Check(json.Unmarshal(last, &end))
	sum := sha256.Sum256(body)
	end.SHA256 = hex.EncodeToString(sum[:])
	last, err := json.Marshal(end)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(a[3]), slices.Concat(body, last, []byte("\n")), 0o600))
}

// forgejournal DIR REGEXP TEXT edits the newest journal of a folder in place.
func forgeJournal(ts *testscript.TestScript, _ bool, a []string) {
	names, err := filepath.Glob(ts.MkAbs(a[0] + "/*.journal"))
	ts.Check(err)
	if len(names) == 0 {
		ts.Fatalf("no journal in %s", a[0])
	}
	newest := slices.Max(names)
	ts.Check(os.WriteFile(newest, edited(ts, newest, a[1], a[2]), 0o600))
}

func edited(ts *testscript.TestScript, file, old, text string) []byte {
	b := []byte(ts.ReadFile(file))
	re, err := regexp.Compile(old)
	ts.Check(err)
	if !re.Match(b) {
		ts.Fatalf("%s has nothing like %s", file, old)
	}
	return re.ReplaceAll(b, []byte(text))
}
