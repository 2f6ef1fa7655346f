package docs

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// go-api.md must list the API of package fleet and contain the example program unchanged.
func TestAPI(t *testing.T) {
	program, err := os.ReadFile("../examples/program/main.go")
	if err != nil {
		t.Fatal(err)
	}
	generated(t, "go-api.md", "program", "\n```go\n"+string(program)+"```\n\n")
	generated(t, "go-api.md", "package fleet", api(t))
}

func api(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob("../fleet/*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(set, files, "github.com/roce-fabric/roce-fabric/fleet")
	if err != nil || len(p.Types) < 10 {
		t.Fatalf("%d types of package fleet, %v", len(p.Types), err)
	}
	first := func(text string) string {
		return cell(strings.Join(strings.Fields(p.Synopsis(text)), " "))
	}
	var b strings.Builder
	b.WriteString("\n### Functions\n\n| function | |\n|---|---|\n")
	funcs := p.Funcs
	for _, typ := range p.Types {
		funcs = append(funcs, typ.Funcs...)
	}
	for _, f := range funcs {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Name, first(f.Doc))
	}
	b.WriteString("\n### Types\n\n| type | | methods |\n|---|---|---|\n")
	for _, typ := range p.Types {
		var methods []string
		for _, m := range typ.Methods {
			methods = append(methods, "`"+m.Name+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", typ.Name, first(typ.Doc), strings.Join(methods, ", "))
	}
	b.WriteString("\n")
	return b.String()
}
