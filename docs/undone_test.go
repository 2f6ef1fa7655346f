package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// One build of a test contains both the fixed code and all faults: each function with a fix has a
// copy with the fault, and calls the copy if the environment variable selects that fault.
// Separate builds would take most of the time.

// undoneVariable is the environment variable that selects a fault by its index.
const undoneVariable = "ROCE_FABRIC_UNDONE"

// errAlone means that a fault cannot be part of the shared build.
var errAlone = errors.New("outside of a function with named parameters")

// copied is a copy of a function with a fault.
type copied struct {
	mend int
	call string // statement that calls the copy
	at   int    // offset of the call in the file, after the opening brace of the body
	text string
}

// copies returns copies of the functions in a file that a fault changes.
func copies(mend int, text, undone string) (out []copied, err error) {
	was, err := functions(text)
	if err != nil {
		return nil, err
	}
	is, err := functions(undone)
	if err != nil {
		return nil, err
	}
	rest := func(text string, all map[string]*ast.FuncDecl) string {
		var b strings.Builder
		at := 0
		for _, f := range slices.SortedFunc(maps.Values(all), func(a, b *ast.FuncDecl) int { return int(a.Pos() - b.Pos()) }) {
			b.WriteString(text[at : f.Pos()-1])
			at = int(f.End() - 1)
		}
		// Ignore imports: the shared file keeps those of the fixed code.
		return importLine.ReplaceAllString(b.String()+text[at:], "")
	}
	if rest(text, was) != rest(undone, is) || len(was) != len(is) {
		return nil, errAlone
	}
	for name, f := range was {
		a, b := text[f.Pos()-1:f.End()-1], ""
		if g := is[name]; g != nil {
			b = undone[g.Pos()-1 : g.End()-1]
		}
		if a == b {
			continue
		}
		c, ok := copyOf(mend, f, is[name], undone)
		if !ok {
			return nil, errAlone
		}
		out = append(out, c)
	}
	return out, nil
}

var importLine = regexp.MustCompile(`(?m)^\t(\w+ )?"[\w./-]+"\n`)

// functions returns the functions of a file by receiver and name. Positions are offsets from 1.
func functions(text string) (map[string]*ast.FuncDecl, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	all := map[string]*ast.FuncDecl{}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			key := fn.Name.Name
			if fn.Recv != nil {
				r := fn.Recv.List[0].Type
				key = text[r.Pos()-1:r.End()-1] + "." + key
			}
			all[key] = fn
		}
	}
	return all, nil
}

// copyOf returns the copy of function f with the body of g, whose source is text.
func copyOf(mend int, f, g *ast.FuncDecl, text string) (c copied, ok bool) {
	if g == nil || f.Body == nil || f.Name.Name == "init" || f.Name.Name == "main" {
		return c, false
	}
	name := fmt.Sprintf("%s_undone%d", f.Name.Name, mend)
	call := name
	if f.Recv != nil {
		r := f.Recv.List[0]
		if len(r.Names) == 0 || r.Names[0].Name == "_" {
			return c, false
		}
		call = r.Names[0].Name + "." + name
	}
	var args []string
	if f.Type.TypeParams != nil {
		for _, p := range f.Type.TypeParams.List {
			for _, n := range p.Names {
				args = append(args, n.Name)
			}
		}
		call += "[" + strings.Join(args, ", ") + "]"
		args = nil
	}
	for _, p := range f.Type.Params.List {
		_, more := p.Type.(*ast.Ellipsis)
		if len(p.Names) == 0 {
			return c, false
		}
		for _, n := range p.Names {
			switch {
			case n.Name == "_":
				return c, false
			case more:
				args = append(args, n.Name+"...")
			default:
				args = append(args, n.Name)
			}
		}
	}
	call += "(" + strings.Join(args, ", ") + ")"
	if f.Type.Results != nil {
		call = "return " + call
	} else {
		call += "; return"
	}
	at := int(g.Name.Pos() - 1)
	return copied{
		mend: mend, at: int(f.Body.Lbrace),
		call: fmt.Sprintf(" if undoneMend == %q { %s }; ", strconv.Itoa(mend), call),
		text: text[g.Pos()-1:at] + name + text[at+len(g.Name.Name):g.End()-1] + "\n",
	}, true
}

// shared is a build of tests with copies of functions.
type shared struct {
	dir, overlay string
	// alone maps faults that are not part of the build to the reason.
	alone map[int]error
	// lines maps each overlay file to the first line of each fault's copies.
	lines map[string][]copyAt
}

type copyAt struct{ line, mend int }

// share writes the overlay for all faults except those in alone.
func share(dir string, all []*mend, alone map[int]error) (*shared, error) {
	s := &shared{dir: dir, overlay: filepath.Join(dir, "shared.json"), alone: alone, lines: map[string][]copyAt{}}
	files, packages := map[string][]copied{}, map[string]string{}
	for i, m := range all {
		if len(m.Undo) == 0 || alone[i] != nil {
			continue
		}
		undone, err := m.undone()
		own := map[string][]copied{}
		for path, text := range undone {
			b, rerr := os.ReadFile(path)
			found, cerr := copies(i, string(b), text)
			own[path], err = found, errors.Join(err, rerr, cerr)
		}
		if err != nil {
			alone[i] = err
			continue
		}
		for path, found := range own {
			files[path] = append(files[path], found...)
		}
	}
	replace := map[string]string{}
	add := func(path, text string) (string, error) {
		to := filepath.Join(dir, fmt.Sprint("shared", len(replace), ".go"))
		replace[path] = to
		return to, os.WriteFile(to, []byte(text), 0o600)
	}
	for _, path := range natural.Keys(files) {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		text := string(b)
		calls := slices.Clone(files[path])
		slices.SortStableFunc(calls, func(a, b copied) int { return b.at - a.at })
		for _, c := range calls {
			text = text[:c.at] + c.call + text[c.at:]
		}
		var at []copyAt
		for _, c := range files[path] {
			text += "\n"
			at = append(at, copyAt{strings.Count(text, "\n") + 1, c.mend})
			text += c.text
		}
		to, err := add(path, text)
		if err != nil {
			return nil, err
		}
		s.lines[to] = at
		name := regexp.MustCompile(`(?m)^package (\w+)`).FindStringSubmatch(text)
		packages[filepath.Dir(path)] = name[1]
	}
	for _, folder := range natural.Keys(packages) {
		if _, err := add(filepath.Join(folder, "undone_mend.go"), fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar undoneMend = os.Getenv(%q)\n", packages[folder], undoneVariable)); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal(struct{ Replace map[string]string }{replace})
	return s, errors.Join(err, os.WriteFile(s.overlay, b, 0o600))
}

var compileError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: (.*)$`)

// blame returns the faults whose copies do not compile, with the compiler's message.
func (s *shared) blame(out []byte) map[int]error {
	bad := map[int]error{}
	for _, m := range compileError.FindAllStringSubmatch(string(out), -1) {
		line, _ := strconv.Atoi(m[2])
		path := m[1]
		if !filepath.IsAbs(path) {
			path = filepath.Join("..", path)
			if abs, err := filepath.Abs(path); err == nil {
				path = abs
			}
		}
		mend := -1
		for _, c := range s.lines[path] {
			if c.line <= line {
				mend = c.mend
			}
		}
		if mend >= 0 {
			bad[mend] = errors.New(m[3])
		}
	}
	return bad
}

// build builds the test program of a package. It returns the faults whose copies do not compile.
func (s *shared) build(pkg string) (program string, bad map[int]error, err error) {
	program = filepath.Join(s.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", s.overlay, "-o", program, "./"+pkg)
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", s.blame(out), fmt.Errorf("%w: %s", err, out)
	}
	return program, nil, nil
}

// bench builds and runs the tests of faults. It is safe for concurrent use.
type bench struct {
	all []*mend
	dir string

	mu       sync.Mutex
	s        *shared
	programs map[string]string // by package; "" if it cannot be built
	passes   map[string]func() bool
}

func newBench(t *testing.T, all []*mend) *bench {
	t.Helper()
	b := &bench{all: all, dir: t.TempDir(), programs: map[string]string{}, passes: map[string]func() bool{}}
	var err error
	if b.s, err = share(b.dir, all, map[int]error{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// program returns the test program of a fault's package with all faults; "" if the fault is not
// part of it.
func (b *bench) program(t *testing.T, mend int, pkg string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.s.alone[mend] == nil {
		if program, ok := b.programs[pkg]; ok {
			return program
		}
		program, bad, err := b.s.build(pkg)
		if len(bad) == 0 {
			if b.programs[pkg] = program; err != nil {
				t.Logf("each mend of %s has a build of its own: %v", pkg, err)
			}
			continue
		}
		for i, err := range bad {
			b.s.alone[i] = err
		}
		if b.s, err = share(b.dir, b.all, b.s.alone); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a build of its own: %v", b.s.alone[mend])
	return ""
}

// found reports whether the test of a fault fails with the fault and passes without it. out is
// the test's output.
func (b *bench) found(t *testing.T, mend int, m *mend) (found bool, out string) {
	pkg, _ := m.place()
	program := b.program(t, mend, pkg)
	if program == "" {
		return m.found(t)
	}
	key := fmt.Sprint(m.Test, m.args())
	b.mu.Lock()
	passes := b.passes[key]
	if passes == nil {
		passes = sync.OnceValue(func() bool { failed, _ := run(program, m, ""); return !failed })
		b.passes[key] = passes
	}
	b.mu.Unlock()
	if !passes() {
		return false, "the test fails with the mend as well"
	}
	return run(program, m, strconv.Itoa(mend))
}

// run runs the test of a fault, with the fault selected if undone is set. failed reports whether
// the test itself failed: a program that does not start or finish proves nothing.
func run(program string, m *mend, undone string) (failed bool, out string) {
	pkg, name := m.place()
	args := append([]string{"-test.count=1", "-test.failfast", "-test.timeout=2m", "-test.run", pattern(name)}, m.args()...)
	cmd := exec.Command(program, args...)
	cmd.Dir = filepath.Join("..", pkg)
	cmd.Env = append(testEnvironment(), undoneVariable+"="+undone)
	b, err := cmd.CombinedOutput()
	return err != nil && testFailed(b), string(b)
}

// pattern returns the -run pattern of a test and its subtests.
func pattern(name string) string {
	var levels []string
	for level := range strings.SplitSeq(name, "/") {
		levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
	}
	return strings.Join(levels, "/")
}

// testEnvironment returns the environment without the nightly mode, so that tests run at their
// usual size.
func testEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "ROCE_FABRIC_NIGHTLY=") || strings.HasPrefix(v, undoneVariable+"=")
	})
}

// testFailed reports whether a test failed or panicked. A compile error does not count, because
// no test ran, and neither does a timeout, because the machine may be slow.
func testFailed(out []byte) bool {
	return failure.Match(out) && !bytes.Contains(out, []byte("panic: test timed out"))
}

var failure = regexp.MustCompile(`(?m)^(\s*--- FAIL: |panic: )`)
