package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tables are the variables of cmd whose keys name systems, one line each: what
// stands behind a system is looked up there and nowhere else.
var tables = []string{"registry", "renderers"}

// systemFaults returns the places where a core file names an operating system.
func systemFaults(src source, fset *token.FileSet, file *ast.File) []string {
	if src.test || src.lab() || !withinAny(src.pkg(), core) {
		return nil
	}
	known := map[ast.Expr]bool{}
	if within(src.pkg(), "cmd") {
		known = tableKeys(file)
	}
	var faults []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && !known[lit] {
			if s, ok := text(lit); ok && slices.Contains(systems, strings.ToLower(s)) {
				faults = append(faults, fmt.Sprintf("%s:%d: %s: core code asks a capability, not the name of a system", src.path, fset.Position(lit.Pos()).Line, lit.Value))
			}
		}
		return true
	})
	return faults
}

// tableKeys returns the keys of the tables that the file declares.
func tableKeys(file *ast.File) map[ast.Expr]bool {
	keys := map[ast.Expr]bool{}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			if len(v.Names) != 1 || len(v.Values) != 1 || !slices.Contains(tables, v.Names[0].Name) {
				continue
			}
			if lit, ok := v.Values[0].(*ast.CompositeLit); ok {
				for _, e := range lit.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						keys[kv.Key] = true
					}
				}
			}
		}
	}
	return keys
}

// text returns the value of a string literal.
func text(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// beside matches a path into the folder beside the checkout. Tests may look
// there, users do not have it.
var beside = regexp.MustCompile(`(^|[/" ])\.\./shared\b`)

// pathFaults returns the places where a file speaks of folders that users do
// not have.
func pathFaults(src source, fset *token.FileSet, file *ast.File) []string {
	if withinAny(src.pkg(), helpers) {
		return nil
	}
	var faults []string
	add := func(pos token.Pos, why string) {
		faults = append(faults, fmt.Sprintf("%s:%d: %s", src.path, fset.Position(pos).Line, why))
	}
	see := func(pos token.Pos, s string) {
		if !src.test && beside.MatchString(s) {
			add(pos, "product code does without the folder beside the checkout")
		}
	}
	for _, g := range file.Comments {
		see(g.Pos(), g.Text())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.BasicLit); ok {
			if s, ok := text(s); ok {
				see(n.Pos(), s)
			}
		}
		if call, ok := n.(*ast.CallExpr); ok && !src.test && joinsShared(call) {
			add(n.Pos(), "product code does without the folder beside the checkout")
		}
		return true
	})
	return faults
}

// joinsShared reports whether a call has the arguments "..", "shared" in
// succession, as filepath.Join would.
func joinsShared(call *ast.CallExpr) bool {
	up := false
	for _, a := range call.Args {
		s, ok := text(a)
		if ok && up && (s == "shared" || strings.HasPrefix(s, "shared/")) {
			return true
		}
		up = ok && (s == ".." || strings.HasSuffix(s, "/.."))
	}
	return false
}
