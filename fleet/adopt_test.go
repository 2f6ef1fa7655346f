package fleet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/render"
)

var mutants = flag.Int("mutants", sharedtest.Sized(200, 0), "how many mutations of each system's corpus are tried; 0 for all")

// corpusCase is a configuration as operators write them, with the expected result of its
// import. The comment says what the case shows. A line of it that begins with "unsound:" says
// why a plan of the intent is not empty, or what is wrong with the configuration.
type corpusCase struct {
	name, system, file string
	comment            string
	config             []byte
	archive            *txtar.Archive
}

func corpus(t testing.TB, system string) (out []corpusCase) {
	files, err := filepath.Glob("testdata/adopt/" + system + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		if testing.Short() && !*update && i%8 != 0 {
			continue // a sample is enough for the race detector: all cases run the same code
		}
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := corpusCase{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), system: system, file: file, comment: string(a.Comment), archive: a}
		for _, f := range a.Files {
			if f.Name == "config" {
				c.config = f.Data
			}
		}
		out = append(out, c)
	}
	return out
}

// adopted imports one configuration.
func adopted(t testing.TB, system string, config []byte) (*fleet.Imported, error) {
	file := filepath.Join(t.TempDir(), "running.cfg")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := fleet.FindSources(t.Context(), fleet.SourceOptions{Switches: []fleet.Source{{Name: "sw1", OS: system, File: file}}})
	if err != nil {
		return nil, err
	}
	got, err := fleet.Import(t.Context(), s, &fleet.Access{}, fleet.ImportOptions{})
	if err == nil {
		return got, nil
	}
	for _, f := range got.Failed {
		err = errors.Join(err, f)
	}
	return nil, errors.New(strings.ReplaceAll(err.Error(), file, "running.cfg"))
}

// accountText returns the result of an import as text for the golden files.
func accountText(r *fleet.Imported, err error) []byte {
	var b bytes.Buffer
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
		return b.Bytes()
	}
	count := map[render.Fate]int{}
	for _, a := range r.Accounts {
		for _, l := range a.Lines {
			count[l.Fate]++
		}
	}
	for _, fate := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&b, "%s: %d\n", fate, count[fate])
	}
	for _, a := range r.Accounts {
		for _, l := range a.Lines {
			if l.Fate != render.Represented {
				fmt.Fprintf(&b, "%s: %s [%s]: %s %s\n", l.Fate, l.Place(), l.Text, l.Why, l.Check)
			}
		}
	}
	for _, n := range r.LeftOut {
		fmt.Fprintf(&b, "left out: %s: %s\n", n.Where, n.What)
	}
	for _, n := range r.Assumed {
		fmt.Fprintf(&b, "assumed: %s: %s\n", n.Where, n.What)
	}
	for _, d := range r.Differs {
		for _, c := range d.Changes {
			fmt.Fprintf(&b, "differs: %s %s -> %s\n", c.Path(), c.Old, c.New)
		}
	}
	return b.Bytes()
}

var systems = []string{"cumulus", "eos", "nxos", "sonic"}

// The import of each configuration of the corpus matches the reviewed golden file, and a sound
// configuration, also one without QoS, gives an empty plan.
func TestCorpus(t *testing.T) {
	for _, system := range systems {
		for _, c := range corpus(t, system) {
			t.Run(system+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				got, err := adopted(t, system, c.config)
				text := accountText(got, err)
				intent := []byte{}
				if err == nil {
					intent = got.Text
				}
				if *update {
					a := &txtar.Archive{Comment: c.archive.Comment, Files: []txtar.File{{Name: "config", Data: c.config}, {Name: "account", Data: text}, {Name: "intent", Data: intent}}}
					if err := os.WriteFile(c.file, txtar.Format(a), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				for _, f := range c.archive.Files {
					have, is := map[string][]byte{"account": text, "intent": intent}[f.Name]
					if is && !*update && !bytes.Equal(have, f.Data) {
						t.Errorf("%s is now\n%s\nwas\n%s", f.Name, have, f.Data)
					}
				}
				if len(c.archive.Files) != 3 && !*update {
					t.Error("the golden account is missing: go test ./fleet -run TestCorpus -update")
				}
				if strings.Contains("\n"+c.comment, "\nunsound:") {
					return
				}
				if err != nil || len(got.Differs) > 0 {
					t.Errorf("a sound configuration gives a plan that is not empty:\n%s", text)
				}
			})
		}
	}
}

// signature returns all that an import reports, without line numbers.
func signature(t testing.TB, system string, config []byte) string {
	got, err := adopted(t, system, config)
	text := string(accountText(got, err))
	if err == nil {
		text += string(got.Text)
	}
	return placeNumbers.ReplaceAllString(text, "")
}

// placeNumbers matches line numbers, which change when lines are removed.
var placeNumbers = regexp.MustCompile(`,? ?line \d+`)

// mutation is a configuration with one line or field altered or removed.
type mutation struct {
	what string
	// config makes the configuration; few of them are needed.
	config func() []byte
}

// trial is a mutation of a configuration.
type trial struct {
	c corpusCase
	mutation
}

// stepOf returns which of so many mutations are tried: each n-th, so that about -mutants are.
func stepOf(all int) int {
	if *mutants <= 0 {
		return 1
	}
	return max(1, all / *mutants)
}

// No line that concerns QoS, PFC, ECN, buffers or the MTU is silently lost: if it is removed or
// has another value, the intent or the account changes.
func TestNoQoSLineIsSilentlyLost(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of configurations")
	}
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			var all []trial
			for _, c := range corpus(t, system) {
				if _, err := adopted(t, system, c.config); err != nil {
					continue
				}
				mutate := map[string]func(testing.TB, []byte) []mutation{"cumulus": nvueMutations, "sonic": fieldMutations}[system]
				if mutate == nil {
					mutate = lineMutations
				}
				for _, m := range mutate(t, c.config) {
					all = append(all, trial{c, m})
				}
			}
			step := stepOf(len(all))
			before := map[string]string{}
			tried := 0
			for i := 0; i < len(all); i += step {
				m := all[i]
				if before[m.c.name] == "" {
					before[m.c.name] = signature(t, system, m.c.config)
				}
				tried++
				if signature(t, system, m.config()) == before[m.c.name] {
					t.Errorf("%s: lost in silence: %s", m.c.name, m.what)
				}
			}
			t.Logf("%d of %d mutations of %d configurations", tried, len(all), len(before))
		})
	}
}

// altered returns a line with its last number changed or, if it has none, its last word.
func altered(l string) string {
	if at := number.FindAllStringIndex(l, -1); len(at) > 0 {
		last := at[len(at)-1]
		n, err := strconv.Atoi(l[last[0]:last[1]])
		if err != nil {
			return l
		}
		if n++; n == 8 || n == 64 || n == 101 {
			n -= 2
		}
		return l[:last[0]] + strconv.Itoa(n) + l[last[1]:]
	}
	switch word := l[strings.LastIndexByte(l, ' ')+1:]; word {
	case "on":
		return l[:len(l)-len(word)] + "off"
	case "off":
		return l[:len(l)-len(word)] + "on"
	default:
		return l + "-other"
	}
}

// qosTables matches the tables that the import must account for, and qosFields holds such
// fields of other tables.
var (
	qosTables = regexp.MustCompile(`^(BUFFER_.*|QUEUE|SCHEDULER|WRED_PROFILE|PORT_QOS_MAP|.*_TO_.*_MAP|MAP_PFC_PRIORITY_TO_QUEUE|PFC_WD|CABLE_LENGTH|DEFAULT_LOSSLESS_BUFFER_PARAMETER|LOSSLESS_TRAFFIC_PATTERN)$`)
	qosFields = map[string][]string{"PORT": {"mtu", "pfc_asym"}, "PORTCHANNEL": {"mtu"}}
)

// fieldMutations returns mutations that remove or alter each field of CONFIG_DB that the import
// must account for: in tables, in tables of a namespace, and in rows by their keys of Redis.
func fieldMutations(t testing.TB, config []byte) []mutation {
	return objectMutations(t, config, func(path []string) bool {
		return slices.ContainsFunc(path[:len(path)-1], func(name string) bool {
			table, _, _ := strings.Cut(name, "|")
			return qosTables.MatchString(table) || slices.Contains(qosFields[table], path[len(path)-1])
		})
	})
}

// objectMutations returns mutations that remove or alter each value of a JSON object whose path is
// about QoS.
func objectMutations(t testing.TB, config []byte, about func(path []string) bool) (out []mutation) {
	from, to := bytes.IndexByte(config, '{'), bytes.LastIndexByte(config, '}')+1
	parse := func() (doc map[string]any) {
		if err := json.Unmarshal(config[from:to], &doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	// change applies a change to the object that holds the last key of a path.
	change := func(what string, path []string, change func(row map[string]any, field string)) {
		out = append(out, mutation{strings.Join(path, " ") + what, func() []byte {
			doc := parse()
			row := doc
			for _, key := range path[:len(path)-1] {
				row = row[key].(map[string]any)
			}
			change(row, path[len(path)-1])
			text, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			return slices.Concat(config[:from], text, config[to:])
		}})
	}
	var walk func(v map[string]any, path []string)
	walk = func(v map[string]any, path []string) {
		if row, dumped := v["value"].(map[string]any); dumped && v["ttl"] != nil { // a row in the output of sonic-db-dump
			walk(row, append(path[:len(path):len(path)], "value"))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := append(path[:len(path):len(path)], key)
			if below, is := v[key].(map[string]any); is {
				walk(below, at)
				continue
			}
			if !about(at) {
				continue
			}
			change(" taken away", at, func(row map[string]any, field string) { delete(row, field) })
			was, ok := v[key].(string)
			if !ok {
				continue
			}
			to := altered(" " + was)[1:]
			if n, err := strconv.Atoi(was); err == nil && key == "weight" {
				to = strconv.Itoa((n+5)%100 + 1) // one more may be the same share in whole percents
			}
			if to != was {
				change(" altered: "+to+", was "+was, at, func(row map[string]any, field string) { row[field] = to })
			}
		}
	}
	walk(parse(), nil)
	return out
}

// Patterns for the commands and keys of NVUE that the import must account for.
var (
	nvueCommand = regexp.MustCompile(`^(?:[^#*\s]\S*[$#>] ?|[$>] ?|ssh \S+ ')?nv (?:set|unset) .*\b(?:qos|mtu|dscp|packet-trim|adaptive-routing)\b`)
	nvueAsRoot  = regexp.MustCompile(`^# nv set .*\b(?:qos|mtu)\b`)
	nvueValue   = regexp.MustCompile(`^( *)(['"]?[\w,-]+['"]?):(?: (.+))?$`)
	nvueAfter   = regexp.MustCompile(`(?:\s+#.*|\s*2>.*|'|&& nv config save)$`)
)

// nvueMutations returns mutations that remove or alter each command, or each value, that is about
// QoS.
func nvueMutations(t testing.TB, config []byte) (out []mutation) {
	if bytes.HasPrefix(config, []byte("{")) {
		return objectMutations(t, config, func(path []string) bool { return slices.Contains(path, "qos") || slices.Contains(path, "mtu") })
	}
	lines := strings.Split(string(config), "\n")
	about := nvueCommand
	if !slices.ContainsFunc(lines, about.MatchString) {
		about = nvueAsRoot
	}
	var path []string // the keys above a value of YAML, by indentation
	for i, l := range lines {
		is := about.MatchString(l)
		if m := nvueValue.FindStringSubmatch(l); m != nil {
			depth := len(m[1]) / 2
			path = append(path[:min(depth, len(path))], slices.Repeat([]string{""}, max(0, depth-len(path)))...)
			path = append(path, m[2])
			is = is || m[3] != "" && (slices.Contains(path, "qos") || m[2] == "mtu")
		}
		if !is {
			continue
		}
		out = append(out, mutation{fmt.Sprintf("line %d taken away: %s", i+1, l), replaced(lines, i, i+1)})
		after := nvueAfter.FindString(l)
		body := strings.TrimSuffix(l, after)
		before, command, _ := strings.Cut(body, "nv ")
		to := altered(body)
		if command != "" {
			to = before + "nv " + altered(command)
		}
		if to != body && !strings.HasSuffix(body, "{}") {
			out = append(out, mutation{fmt.Sprintf("line %d altered: %s, was %s", i+1, to, l), replaced(lines, i, i+1, to+after)})
		}
	}
	return out
}
