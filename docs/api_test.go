package docs

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
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

// api lists the functions and types of package fleet. A type that is an alias is described as in
// the package that defines it.
func api(t *testing.T) string {
	t.Helper()
	p := packageDoc(t, "fleet")
	if len(p.Types) < 10 {
		t.Fatalf("%d types of package fleet", len(p.Types))
	}
	var b strings.Builder
	b.WriteString("\n### Functions\n\n| function | |\n|---|---|\n")
	funcs := p.Funcs
	for _, typ := range p.Types {
		funcs = append(funcs, typ.Funcs...)
	}
	for _, f := range funcs {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Name, synopsis(p, f.Doc))
	}
	b.WriteString("\n### Types\n\n| type | | methods |\n|---|---|---|\n")
	for _, typ := range p.Types {
		of, name := p, typ.Name
		if at, ok := aliasOf(typ); ok {
			of, name = packageDoc(t, "fleet/"+at.X.(*ast.Ident).Name), at.Sel.Name
			i := slices.IndexFunc(of.Types, func(d *doc.Type) bool { return d.Name == name })
			if i < 0 {
				t.Fatalf("fleet.%s: no type %s in %s", typ.Name, name, of.ImportPath)
			}
			typ = of.Types[i]
		}
		var methods []string
		for _, m := range typ.Methods {
			methods = append(methods, "`"+m.Name+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, synopsis(of, typ.Doc), strings.Join(methods, ", "))
	}
	b.WriteString("\n")
	return b.String()
}

// synopsis returns the first sentence of a comment for a cell of a table.
func synopsis(p *doc.Package, text string) string {
	return cell(strings.Join(strings.Fields(p.Synopsis(text)), " "))
}

// aliasOf returns the type of another package that a type is an alias of.
func aliasOf(typ *doc.Type) (*ast.SelectorExpr, bool) {
	spec := typ.Decl.Specs[0].(*ast.TypeSpec)
	at, ok := spec.Type.(*ast.SelectorExpr)
	return at, ok && spec.Assign.IsValid()
}

// packageDoc returns the documentation of a package of this module.
func packageDoc(t *testing.T, path string) *doc.Package {
	t.Helper()
	names, err := filepath.Glob("../" + path + "/*.go")
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
	p, err := doc.NewFromFiles(set, files, "github.com/roce-fabric/roce-fabric/"+path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
