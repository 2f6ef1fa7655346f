package arch

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"testing"
)

// TestRegexps compiles every expression of package lazyre. The program compiles them only at their
// first use.
func TestRegexps(t *testing.T) {
	tr, err := parseTree(moduleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, src := range tr.files {
		names := constants(tr.asts[i])
		ast.Inspect(tr.asts[i], func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 || !isLazy(call) {
				return true
			}
			n++
			at := tr.fset.Position(call.Pos())
			v, err := types.Eval(tr.fset, names, token.NoPos, types.ExprString(call.Args[0]))
			if err != nil || v.Value == nil || v.Value.Kind() != constant.String {
				t.Errorf("%s:%d: the expression is not one literal", src.path, at.Line)
				return true
			}
			if _, err := regexp.Compile(constant.StringVal(v.Value)); err != nil {
				t.Errorf("%s:%d: %v", src.path, at.Line, err)
			}
			return true
		})
	}
	if n < 50 {
		t.Errorf("%d expressions were found", n)
	}
}

// constants returns the string constants that a file declares.
func constants(file *ast.File) *types.Package {
	pkg := types.NewPackage("constants", "constants")
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for i, value := range v.Values {
				if text, ok := value.(*ast.BasicLit); ok && text.Kind == token.STRING {
					c := constant.MakeFromLiteral(text.Value, token.STRING, 0)
					pkg.Scope().Insert(types.NewConst(token.NoPos, pkg, v.Names[i].Name, types.Typ[types.UntypedString], c))
				}
			}
		}
	}
	return pkg
}

func isLazy(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "New" {
		return false
	}
	pkg, ok := f.X.(*ast.Ident)
	return ok && pkg.Name == "lazyre"
}
