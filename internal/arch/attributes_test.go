package arch

import (
	"go/ast"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// attributeLists names the declarations that list many attributes by hand, besides the table in
// package qos and the codecs and drivers of the systems, and why each does. Whoever adds an
// attribute looks at these. Everything else derives from the table.
var attributeLists = map[string]string{
	"intent/portline.go portKeys":          "the table of the keys of ports",
	"render/compile.go port":               "gives each attribute its value from the intent",
	"render/reason.go origins":             "says where the intent states each source of attributes",
	"render/derive/origin.go classOrigin":  "the attributes of a class",
	"render/derive/wish.go accepts":        "turns attributes into an intent",
	"render/derive/wish.go keptKinds":      "the keys with which an intent leaves attributes to the switch",
	"validate/alone_text.go <declaration>": "the lines of saved files",
}

// manyKinds and manyFields are the numbers of kinds, or of fields of a port, from which a
// declaration counts as a list.
const manyKinds, manyFields = 5, 6

// portFields holds the names of the attributes among the fields of a port.
var portFields = func() map[string]bool {
	out := map[string]bool{}
	t := reflect.TypeFor[qos.Port]()
	for i := range t.NumField() {
		if f := t.Field(i); strings.HasPrefix(f.Type.Name(), "Opt[") {
			out[f.Name] = true
		}
	}
	return out
}()

// declarations returns the name of each top-level declaration of a file, and its syntax.
func declarations(file *ast.File) map[string][]ast.Node {
	out := map[string][]ast.Node{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			out[d.Name.Name] = append(out[d.Name.Name], d)
		case *ast.GenDecl:
			name := "<declaration>"
			if v, ok := d.Specs[0].(*ast.ValueSpec); ok && len(d.Specs) == 1 {
				name = v.Names[0].Name
			}
			out[name] = append(out[name], d)
		}
	}
	return out
}

// listsAttributes reports whether a declaration names so many attributes that it is a list of them.
func listsAttributes(n ast.Node) bool {
	kinds, fields := map[string]bool{}, map[string]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == "qos" {
			if strings.HasPrefix(s.Sel.Name, "Kind") {
				kinds[s.Sel.Name] = true
			}
		} else if portFields[s.Sel.Name] {
			fields[s.Sel.Name] = true
		}
		return true
	})
	return len(kinds) >= manyKinds || len(fields) >= manyFields
}

// Attributes are listed in the table of package qos. A new list elsewhere would forget the next
// attribute without an error.
func TestAttributeLists(t *testing.T) {
	tr, err := parseTree(moduleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for i, src := range tr.files {
		pkg := src.pkg()
		if src.test || withinAny(pkg, helpers) || withinAny(pkg, []string{"intent/qos", "nic", hosts, "render/lines", "testlab"}) || system(pkg, "render") != "" || system(pkg, "drivers") != "" {
			continue
		}
		for name, nodes := range declarations(tr.asts[i]) {
			if !slices.ContainsFunc(nodes, listsAttributes) {
				continue
			}
			at := src.path + " " + name
			used[at] = true
			if attributeLists[at] == "" {
				t.Errorf("%s lists attributes by hand: derive it from the table in intent/qos/attr.go, for example from a trait", at)
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(attributeLists)) {
		if !used[at] {
			t.Errorf("%s lists no attributes any more", at)
		}
	}
}
