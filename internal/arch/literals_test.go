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

// systemFaults returns the places where a core file names an operating system.
func systemFaults(src source, fset *token.FileSet, file *ast.File) []string {
	if src.test || src.lab() || !withinAny(src.pkg(), core) {
		return nil
	}
	var faults []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			if s, ok := text(lit); ok && slices.Contains(systems, strings.ToLower(s)) {
				faults = append(faults, fmt.Sprintf("%s:%d: %s: core code must ask for a capability, not compare the name of a system", src.path, fset.Position(lit.Pos()).Line, lit.Value))
			}
		}
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "intent" && slices.Contains(systems, strings.ToLower(sel.Sel.Name)) {
				faults = append(faults, fmt.Sprintf("%s:%d: intent.%s: core code must ask for a capability, not compare with one system", src.path, fset.Position(sel.Pos()).Line, sel.Sel.Name))
			}
		}
		return true
	})
	return faults
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

// sharedPath matches a path into the folder shared next to the checkout. Tests may use that
// folder; users do not have it.
var sharedPath = regexp.MustCompile(`(^|[/" ])\.\./shared\b`)

// pathFaults returns the places where a file names folders that users do not have.
func pathFaults(src source, fset *token.FileSet, file *ast.File) []string {
	if withinAny(src.pkg(), helpers) {
		return nil
	}
	var faults []string
	add := func(pos token.Pos, why string) {
		faults = append(faults, fmt.Sprintf("%s:%d: %s", src.path, fset.Position(pos).Line, why))
	}
	see := func(pos token.Pos, s string) {
		if !src.test && sharedPath.MatchString(s) {
			add(pos, "product code must not use the folder next to the checkout")
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
			add(n.Pos(), "product code must not use the folder next to the checkout")
		}
		return true
	})
	return faults
}

// joinsShared reports whether a call has the consecutive arguments "..", "shared", as a call of
// filepath.Join would.
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
