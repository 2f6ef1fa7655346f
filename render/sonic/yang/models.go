// Package yang checks CONFIG_DB data against the YANG models of a SONiC image, in the form that
// CONFIG_DB has: table, key, field, string.
//
// Only the models in the folder given to [Load] decide: this package knows no releases, tables or
// rules of its own. It gives the same verdicts as the loader on the switch (sonic-buildimage
// src/sonic-yang-mgmt over libyang) on tables, keys, fields, types, references, defaults, mandatory
// fields, must and when. It does not tell whether orchagent or an ASIC accepts a value, or how the
// incremental updater orders a change.
//
// A rule that uses unsupported parts of XPath or of regular expressions never causes a violation,
// and is never skipped silently: [Models.Unevaluated] lists it.
//
// The schema is compiled from goyang's statements rather than its entries, because entries exist
// only after every module of the folder resolves, need process-wide search paths, and keep neither
// the messages nor the positions of rules.
package yang

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/internal/ordered"

	goyang "github.com/openconfig/goyang/pkg/yang"
)

// Limits for a folder of models. The largest public SONiC model is below 200 kB, and an image has
// about 150 of them.
const (
	maxFiles    = 2000
	maxFileSize = 1 << 20
	maxTotal    = 64 << 20
	// maxBlocks limits the braces of a file, and thereby the parser's recursion.
	maxBlocks = 50000
	// maxJoin limits what the parser copies to join strings with "+", which is quadratic: bytes of
	// the file times the number of plus signs.
	maxJoin = 4 << 30
)

// Models is a set of YANG models. It is safe for concurrent use.
type Models struct {
	units    map[string]*unit // modules and submodules by name
	tables   map[string]*table
	idents   map[string]map[string]bool // identity -> its direct bases
	skipped  []Skipped
	patterns sync.Map // pattern text -> *compiledPattern
}

// Skipped is a file, or a part of one, that could not be used.
type Skipped struct {
	File string // base name
	Why  string
}

// String prints "sonic-acl.yang: why".
func (s Skipped) String() string { return s.File + ": " + s.Why }

// Rule is a rule of a model that [Models.Check] does not evaluate.
type Rule struct {
	Table string
	Field string // "" for a rule on a whole row or table
	Kind  string // "must", "when", "pattern", "leafref", "type", "if-feature", "augment" or "deviation"
	Text  string
	Why   string
	Where string // file:line:column
}

// String prints one line about the rule.
func (r Rule) String() string {
	t := r.Table
	if r.Field != "" {
		t += " " + r.Field
	}
	return fmt.Sprintf("%s: %s %q not evaluated: %s (%s)", t, r.Kind, clip(r.Text, 120), r.Why, r.Where)
}

// unit is a module or submodule: one file.
type unit struct {
	name, file, prefix, revision string
	st                           *goyang.Statement
	imports                      map[string]string // prefix -> module name
	includes                     []string
	belongs                      string
}

// Load reads every *.yang file of a folder, such as /usr/local/yang-models on a switch. Files that
// cannot be read or parsed are skipped and listed by [Models.Skipped]; it is an error if no file
// defines a table.
func Load(dir string) (*Models, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read YANG models: %w", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return loadFiles(dir, names, func(name string) ([]byte, error) { return readBounded(filepath.Join(dir, name)) })
}

// LoadFiles is like [Load] but takes the files by base name; from names their source.
func LoadFiles(from string, files map[string][]byte) (*Models, error) {
	return loadFiles(from, slices.Collect(maps.Keys(files)), func(name string) ([]byte, error) {
		if len(files[name]) > maxFileSize {
			return nil, fmt.Errorf("larger than %d KiB", maxFileSize>>10)
		}
		return files[name], nil
	})
}

// once caches the models that this process has read, by the digest of their text.
var once sync.Map // [sha256.Size]byte -> func() (*Models, error)

// Once returns the models whose text has the given digest. Only the first call for a digest runs
// load.
func Once(digest [sha256.Size]byte, load func() (*Models, error)) (*Models, error) {
	f, _ := once.LoadOrStore(digest, sync.OnceValues(load))
	return f.(func() (*Models, error))()
}

func loadFiles(dir string, names []string, read func(name string) ([]byte, error)) (*Models, error) {
	m := newModels()
	n, total := 0, 0
	for _, name := range slices.Sorted(slices.Values(names)) {
		if filepath.Ext(name) != ".yang" {
			continue
		}
		if n++; n > maxFiles {
			return nil, fmt.Errorf("read YANG models: %s holds more than %d files", dir, maxFiles)
		}
		b, err := read(name)
		if err != nil {
			m.skip(name, err.Error())
			continue
		}
		if total += len(b); total > maxTotal {
			return nil, fmt.Errorf("read YANG models: %s holds more than %d MiB", dir, maxTotal>>20)
		}
		m.add(name, b)
	}
	m.index()
	if len(m.tables) == 0 {
		err := fmt.Errorf("read YANG models: no table in the %d YANG files of %s", n, dir)
		if len(m.skipped) > 0 {
			err = fmt.Errorf("%w; first unusable: %s", err, m.skipped[0])
		}
		return nil, err
	}
	return m, nil
}

func readBounded(path string) ([]byte, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err == nil && len(b) > maxFileSize {
		err = fmt.Errorf("larger than %d KiB", maxFileSize>>10)
	}
	return b, err
}

func newModels() *Models {
	return &Models{units: map[string]*unit{}, tables: map[string]*table{}, idents: map[string]map[string]bool{}}
}

func (m *Models) skip(file, why string) {
	m.skipped = append(m.skipped, Skipped{File: file, Why: clip(why, 300)})
}

// add parses one file. If a module has two revisions, the newer one is kept.
func (m *Models) add(file string, b []byte) {
	text := string(b)
	if strings.Count(text, "{") > maxBlocks {
		m.skip(file, fmt.Sprintf("more than %d blocks", maxBlocks))
		return
	}
	if int64(strings.Count(text, "+"))*int64(len(text)) > maxJoin {
		m.skip(file, "too many joined strings")
		return
	}
	sts, err := parse(text, file)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		m.skip(file, line)
		return
	}
	if len(sts) != 1 || sts[0].Keyword != "module" && sts[0].Keyword != "submodule" || sts[0].Argument == "" {
		m.skip(file, "not one module")
		return
	}
	st := sts[0]
	u := &unit{name: st.Argument, file: file, st: st, imports: map[string]string{}, prefix: arg(st, "prefix")}
	for _, s := range st.SubStatements() {
		switch s.Keyword {
		case "import":
			u.imports[arg(s, "prefix")] = s.Argument
		case "include":
			u.includes = append(u.includes, s.Argument)
		case "belongs-to":
			u.belongs, u.prefix = s.Argument, arg(s, "prefix")
		case "revision":
			u.revision = max(u.revision, s.Argument)
		}
	}
	old := m.units[u.name]
	switch {
	case old == nil:
	case old.revision >= u.revision:
		m.skip(file, fmt.Sprintf("module %s is also in %s", u.name, old.file))
		return
	default:
		m.skip(old.file, fmt.Sprintf("module %s is also in %s", u.name, file))
	}
	m.units[u.name] = u
}

// parse turns a panic of the third-party parser, which a file may cause, into an error.
func parse(text, file string) (sts []*goyang.Statement, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: the parser failed: %v", file, r)
		}
	}()
	return goyang.Parse(text, file)
}

// index finds the tables: containers in the container named like its module.
func (m *Models) index() {
	for _, name := range sortedKeys(m.units) {
		u := m.units[name]
		for _, s := range u.st.SubStatements() {
			switch {
			case s.Keyword == "container" && s.Argument == u.name:
				root := &scope{u: u, st: u.st}
				m.indexTables(u, s, &scope{u: u, st: s, up: root}, 0)
			case s.Keyword == "identity":
				bases := m.idents[s.Argument]
				if bases == nil {
					bases = map[string]bool{}
					m.idents[s.Argument] = bases
				}
				for _, b := range all(s, "base") {
					bases[local(b.Argument)] = true
				}
			}
		}
	}
	for _, name := range sortedKeys(m.units) {
		m.indexForeign(m.units[name])
	}
	ordered.Sort(m.skipped, func(a, b Skipped) int { return strings.Compare(a.File, b.File) })
}

func (m *Models) indexTables(u *unit, st *goyang.Statement, sc *scope, depth int) {
	for _, s := range st.SubStatements() {
		switch s.Keyword {
		case "container":
			if old := m.tables[s.Argument]; old != nil {
				m.skip(u.file, fmt.Sprintf("table %s is also in %s", s.Argument, old.u.file))
				continue
			}
			m.tables[s.Argument] = &table{m: m, name: s.Argument, u: u, st: s, sc: sc}
		case "uses":
			g, gsc, err := m.lookup(sc, "grouping", s.Argument)
			if err != nil || depth > 8 {
				m.skip(u.file, fmt.Sprintf("uses %s at the top not resolved", s.Argument))
				continue
			}
			m.indexTables(u, g, &scope{u: gsc.u, st: g, up: gsc}, depth+1)
		}
	}
}

// indexForeign records augments and deviations of another module's tables, which are not applied.
func (m *Models) indexForeign(u *unit) {
	for _, s := range u.st.SubStatements() {
		if s.Keyword != "augment" && s.Keyword != "deviation" {
			continue
		}
		steps := strings.Split(strings.TrimPrefix(s.Argument, "/"), "/")
		if len(steps) < 2 {
			continue
		}
		if t := m.tables[local(steps[1])]; t != nil && t.u.name == local(steps[0]) {
			t.foreign = append(t.foreign, Rule{Table: t.name, Field: local(steps[len(steps)-1]), Kind: s.Keyword,
				Text: s.Argument, Why: "another module changes this one", Where: s.Location()})
		}
	}
}

// Skipped lists the files that are not used, sorted by name.
func (m *Models) Skipped() []Skipped { return append([]Skipped(nil), m.skipped...) }

// Tables returns the names of all tables, sorted. The switch's incremental updater cannot change a
// table without a model.
func (m *Models) Tables() []string { return sortedKeys(m.tables) }

// Unevaluated lists the rules of the given tables that [Models.Check] does not evaluate, or of all
// tables if none is given.
func (m *Models) Unevaluated(tables ...string) []Rule {
	if len(tables) == 0 {
		tables = m.Tables()
	}
	var rs []Rule
	for _, name := range tables {
		if t := m.tables[name]; t != nil {
			t.compile()
			rs = append(rs, t.rules...)
		}
	}
	ordered.Sort(rs, func(a, b Rule) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Field, b.Field), strings.Compare(a.Text, b.Text))
	})
	return rs
}

// scope is a place to look up names: a block, the blocks around it, and the module.
type scope struct {
	u  *unit
	st *goyang.Statement
	up *scope
}

// lookup finds the typedef or grouping that ref names, and its scope.
func (m *Models) lookup(sc *scope, kind, ref string) (*goyang.Statement, *scope, error) {
	u, name := sc.u, ref
	if prefix, rest, ok := strings.Cut(ref, ":"); ok {
		name = rest
		if prefix != u.prefix {
			mod, known := u.imports[prefix]
			if u = m.units[mod]; !known || u == nil {
				return nil, nil, fmt.Errorf("%s %s: no module for the prefix %q", kind, ref, prefix)
			}
			sc = nil
		}
	}
	var where []*scope
	for s := sc; s != nil; s = s.up {
		where = append(where, s)
	}
	for _, f := range m.family(u) {
		where = append(where, &scope{u: f, st: f.st})
	}
	for _, s := range where {
		for _, d := range all(s.st, kind) {
			if d.Argument == name {
				return d, s, nil
			}
		}
	}
	return nil, nil, fmt.Errorf("%s %s not found", kind, ref)
}

// family returns a module and its submodules, given any of them.
func (m *Models) family(u *unit) []*unit {
	if p := m.units[u.belongs]; u.belongs != "" && p != nil {
		u = p
	}
	f := []*unit{u}
	for _, inc := range u.includes {
		if s := m.units[inc]; s != nil {
			f = append(f, s)
		}
	}
	return f
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// local strips the prefix of a name.
func local(s string) string {
	return s[strings.LastIndexByte(s, ':')+1:]
}

func one(st *goyang.Statement, kw string) *goyang.Statement {
	for _, s := range st.SubStatements() {
		if s.Keyword == kw {
			return s
		}
	}
	return nil
}

func all(st *goyang.Statement, kw string) []*goyang.Statement {
	var l []*goyang.Statement
	for _, s := range st.SubStatements() {
		if s.Keyword == kw {
			l = append(l, s)
		}
	}
	return l
}

func arg(st *goyang.Statement, kw string) string {
	if s := one(st, kw); s != nil {
		return s.Argument
	}
	return ""
}

// clip shortens text from outside for a message.
func clip(s string, n int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "..."
	}
	return s
}
