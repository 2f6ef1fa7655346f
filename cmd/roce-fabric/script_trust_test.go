package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/roce-fabric/roce-fabric/fleet/keys"
)

// stolen returns the key of the fabric's state folder; the program checks even files signed with
// it.
func stolen(ts *testscript.TestScript) *keys.Ring {
	ring, err := keys.Open(ts.MkAbs("state/roce-fabric/pod1"))
	ts.Check(err)
	return ring
}

// forge FILE REGEXP TEXT OUT edits a saved plan like an attacker who knows its format and has
// the key: it recreates the last line.
func forge(ts *testscript.TestScript, _ bool, a []string) {
	lines := bytes.SplitAfter(edited(ts, a[0], a[1], a[2]), []byte("\n"))
	body, last := bytes.Join(lines[:len(lines)-2], nil), lines[len(lines)-2]
	var end struct {
		End     bool   `json:"end"`
		Devices int    `json:"devices"`
		SHA256  string `json:"sha256"`
		Sig     string `json:"sig"`
	}
	ts.Check(json.Unmarshal(last, &end))
	sum := sha256.Sum256(body)
	end.SHA256 = hex.EncodeToString(sum[:])
	end.Sig = stolen(ts).Sign("plan", []byte(end.SHA256))
	last, err := json.Marshal(end)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(a[3]), slices.Concat(body, last, []byte("\n")), 0o600))
}

// forgejournal DIR REGEXP TEXT edits the newest journal of a folder in place and signs its
// records again.
func forgeJournal(ts *testscript.TestScript, _ bool, a []string) {
	names, err := filepath.Glob(ts.MkAbs(a[0] + "/*.journal"))
	ts.Check(err)
	if len(names) == 0 {
		ts.Fatalf("no journal in %s", a[0])
	}
	newest := slices.Max(names)
	_, run, _ := strings.Cut(strings.TrimSuffix(filepath.Base(newest), ".journal"), ".")
	var out bytes.Buffer
	for n, line := range bytes.Split(bytes.TrimSuffix(edited(ts, newest, a[1], a[2]), []byte("\n")), []byte("\n")) {
		record := signature.ReplaceAll(line, []byte("}"))
		sig := stolen(ts).Sign(fmt.Sprintf("journal %s %d", run, n), record)
		fmt.Fprintf(&out, "%s,\"sig\":\"%d:%s\"}\n", bytes.TrimSuffix(record, []byte("}")), n, sig)
	}
	ts.Check(os.WriteFile(newest, out.Bytes(), 0o600))
}

var signature = regexp.MustCompile(`,"sig":"[^"]*"}$`)

func edited(ts *testscript.TestScript, file, old, text string) []byte {
	b := []byte(ts.ReadFile(file))
	re, err := regexp.Compile(old)
	ts.Check(err)
	if !re.Match(b) {
		ts.Fatalf("%s has nothing like %s", file, old)
	}
	return re.ReplaceAll(b, []byte(text))
}
