package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
)

// spelled lists core files that may contain names or syntax of systems, with the reason.
var spelled = map[string]string{
	"render/inventory/avd.go": "the format exists for one system only",
	"report/about.go":         "a key of earlier versions names a system",
	"validate/alone.go":       "reads saved files as text",
	"validate/alone_text.go":  "reads saved files as text",
}

// terms are words that the codec of a system has as well, but that belong to no system.
var terms = []string{"link-pause", "no-drop", "traffic-class"}

// compound matches words of several parts, as keywords, tables and fields have them; code matches
// those that are the ID of a check.
var (
	compound = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)+`)
	code     = regexp.MustCompile(`^[A-Z]{2,5}-\d\d$`)
)

// neutral lists the folders whose words belong to no system.
var neutral = []string{"intent", "internal", "nic"}

// syntax returns the words that only codecs of systems use, with the system of each: the compound
// words in the string literals of render/SYSTEM.
func (t *tree) syntax() map[string]string {
	words := map[string]string{}
	for i, src := range t.files {
		if s := system(src.pkg(), "render"); s != "" && !src.test {
			for _, lit := range literals(t.asts[i]) {
				for _, w := range compound.FindAllString(lit.text, -1) {
					words[strings.ToLower(w)] = s
				}
			}
		}
	}
	for i, src := range t.files {
		if !src.test && (withinAny(src.pkg(), neutral) || src.pkg() == "render" || src.pkg() == "drivers") && src.path != "intent/systems.go" && src.path != "drivers/recognise.go" {
			for _, lit := range literals(t.asts[i]) {
				for _, w := range compound.FindAllString(lit.text, -1) {
					delete(words, strings.ToLower(w))
				}
			}
		}
	}
	for _, w := range terms {
		delete(words, w)
	}
	return words
}

// literal is a string literal.
type literal struct {
	pos  token.Pos
	text string
}

// literals returns the string literals of a file, without imports, tags and citations: the field
// Sources, and constants whose name begins with src.
func literals(file *ast.File) (out []literal) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.KeyValueExpr:
			if k, ok := n.Key.(*ast.Ident); ok && k.Name == "Sources" {
				return false
			}
		case *ast.ValueSpec:
			return !strings.HasPrefix(n.Names[0].Name, "src")
		case *ast.BasicLit:
			if s, ok := text(n); ok {
				out = append(out, literal{n.Pos(), s})
			}
		}
		return true
	})
	return out
}

// names matches the names of systems in a text.
var names = func() *regexp.Regexp {
	list := []string{"nvue", "config_db", "nexus"}
	for _, s := range intent.Systems() {
		list = append(list, regexp.QuoteMeta(s), regexp.QuoteMeta(intent.SystemOf(s).Title))
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(list, "|") + `)\b`)
}()

// syntaxFaults returns the places where a core file uses the name of a system within a text, or one
// of the words.
func syntaxFaults(src source, fset *token.FileSet, file *ast.File, words map[string]string) (faults []string) {
	if src.test || src.lab() || !withinAny(src.pkg(), core) {
		return nil
	}
	for _, lit := range literals(file) {
		at := fmt.Sprintf("%s:%d", src.path, fset.Position(lit.pos).Line)
		if name := names.FindString(lit.text); name != "" {
			faults = append(faults, fmt.Sprintf("%s: %s: a text of core code names no system; its record can have a field for it", at, name))
		}
		for _, w := range compound.FindAllString(lit.text, -1) {
			if s := words[strings.ToLower(w)]; s != "" && !code.MatchString(w) {
				faults = append(faults, fmt.Sprintf("%s: %s is syntax of %s: core code asks the record of the system", at, w, s))
			}
		}
	}
	return faults
}

// Core code contains neither names nor syntax of systems.
func TestSyntax(t *testing.T) {
	tr, err := parseTree(moduleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	words := tr.syntax()
	known := map[string]int{}
	for _, s := range words {
		known[s]++
	}
	for _, s := range systems {
		if known[s] < 10 {
			t.Errorf("%s: only %d words of its syntax are known", s, known[s])
		}
	}
	used := map[string]bool{}
	for i, src := range tr.files {
		faults := append(systemFaults(src, tr.fset, tr.asts[i]), syntaxFaults(src, tr.fset, tr.asts[i], words)...)
		if len(faults) > 0 && spelled[src.path] != "" {
			used[src.path] = true
			continue
		}
		for _, f := range faults {
			t.Error(f)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(spelled)) {
		if !used[p] {
			t.Errorf("%s needs no exception any more", p)
		}
	}
}
