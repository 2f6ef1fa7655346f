package arch

import (
	_ "embed"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A size says how much code a folder has. Tests and generated files do not count.
type size struct {
	lines     int     // lines that are neither empty nor comments alone
	branches  float64 // branches per function on average; a function without any has 1
	branching int     // functions with more than 15 branches
	long      int     // files with more than 500 lines, comments included
}

const (
	mostBranches = 15
	mostLines    = 500
	// slack is how much lines and branches may exceed the budget.
	slack = 1.02
)

func (s size) String() string {
	return fmt.Sprintf("%6d  %5.2f  %3d  %3d", s.lines, s.branches, s.branching, s.long)
}

//go:embed budget.txt
var budget string

var updateBudget = flag.Bool("budget", false, "lower budget.txt to the code as it is")

// budgets returns the budget of each top-level folder, and the reasons for it, from budget.txt.
func budgets(text string) (map[string]size, map[string]string, error) {
	all, reasons := map[string]size{}, map[string]string{}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var folder string
		var s size
		if _, err := fmt.Sscan(line, &folder, &s.lines, &s.branches, &s.branching, &s.long); err != nil {
			return nil, nil, fmt.Errorf("budget.txt:%d: %w", i+1, err)
		}
		all[folder] = s
		reasons[folder] = strings.Join(strings.Fields(line)[5:], " ")
	}
	return all, reasons, nil
}

// measured returns the size of each top-level folder.
func measured(root string, tr *tree) (map[string]size, error) {
	all, functions := map[string]size{}, map[string]int{}
	for i, src := range tr.files {
		folder, _, nested := strings.Cut(src.path, "/")
		if src.test || !nested || ast.IsGenerated(tr.asts[i]) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(src.path)))
		if err != nil {
			return nil, err
		}
		s := all[folder]
		s.lines += codeLines(b)
		if strings.Count(string(b), "\n") > mostLines {
			s.long++
		}
		for _, d := range tr.asts[i].Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := branches(f)
			s.branches += float64(n)
			functions[folder]++
			if n > mostBranches {
				s.branching++
			}
		}
		all[folder] = s
	}
	for folder, s := range all {
		s.branches /= float64(max(1, functions[folder]))
		all[folder] = s
	}
	return all, nil
}

// codeLines counts the lines of a file that have more than a comment.
func codeLines(src []byte) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	n, last := 0, 0
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		first := file.Line(pos)
		end := first + strings.Count(text, "\n")
		n += end - max(first-1, last)
		last = end
	}
}

// branches counts the branches of a function and of the functions inside it (cyclomatic
// complexity).
func branches(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if node.List != nil {
				n++
			}
		case *ast.CommClause:
			if node.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// overBudget returns what exceeds the budget of a folder.
func overBudget(is, may size) (over []string) {
	if float64(is.lines) > slack*float64(may.lines) {
		over = append(over, fmt.Sprintf("%d lines of code, not %d", is.lines, may.lines))
	}
	if is.branches > slack*may.branches {
		over = append(over, fmt.Sprintf("%.2f branches per function, not %.2f", is.branches, may.branches))
	}
	if is.branching > may.branching {
		over = append(over, fmt.Sprintf("%d functions with more than %d branches, not %d", is.branching, mostBranches, may.branching))
	}
	if is.long > may.long {
		over = append(over, fmt.Sprintf("%d files with more than %d lines, not %d", is.long, mostLines, may.long))
	}
	return over
}

// The code does not grow unnoticed: who adds takes out as much, or raises the budget and writes the
// reason into its line.
func TestBudget(t *testing.T) {
	root := moduleRoot(t)
	tr, err := parseTree(root)
	if err != nil {
		t.Fatal(err)
	}
	is, err := measured(root, tr)
	if err != nil {
		t.Fatal(err)
	}
	may, reasons, err := budgets(budget)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range slices.Sorted(maps.Keys(is)) {
		if _, ok := may[folder]; !ok {
			t.Errorf("budget.txt has no line for %s: %-10s %s", folder, folder, is[folder])
			continue
		}
		if over := overBudget(is[folder], may[folder]); over != nil {
			t.Errorf("%s has %s: take out as much as you add, or raise its line in budget.txt and write the reason into it", folder, strings.Join(over, "; "))
		}
	}
	for folder := range may {
		if _, ok := is[folder]; !ok {
			t.Errorf("budget.txt has a line for %s, which has no code", folder)
		}
	}
	if *updateBudget {
		lowerBudget(t, filepath.Join(root, "internal/arch/budget.txt"), is, may, reasons)
	}
}

// lowerBudget writes budget.txt again, with what the code has where that is less.
func lowerBudget(t *testing.T, path string, is, may map[string]size, reasons map[string]string) {
	t.Helper()
	head, _, _ := strings.Cut(budget, "\n\n")
	var b strings.Builder
	b.WriteString(head + "\n\n")
	for _, folder := range slices.Sorted(maps.Keys(is)) {
		s := is[folder]
		if m, ok := may[folder]; ok {
			s = size{min(s.lines, m.lines), min(s.branches, m.branches), min(s.branching, m.branching), min(s.long, m.long)}
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-10s %s  %s", folder, s, reasons[folder]), " ") + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSizes(t *testing.T) {
	const src = `package p // a package

// f is documented.
func f(a, b bool) string {

	/* a comment
	of two lines */
	switch {
	case a && b:
		return ` + "`two\nlines`" + `
	default:
		for range 3 {
			if a || b {
			}
		}
	}
	return "" // the end
}
`
	if n := codeLines([]byte(src)); n != 14 {
		t.Errorf("%d lines of code, want 14", n)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := branches(file.Decls[0].(*ast.FuncDecl)); n != 6 { // case, &&, for, if, ||, and 1
		t.Errorf("%d branches, want 6", n)
	}
	may := size{1000, 4, 3, 2}
	for _, is := range []size{may, {1020, 4.08, 3, 2}, {1, 1, 0, 0}} {
		if over := overBudget(is, may); over != nil {
			t.Errorf("%v: %q", is, over)
		}
	}
	for _, is := range []size{{1021, 4, 3, 2}, {1000, 4.09, 3, 2}, {1000, 4, 4, 2}, {1000, 4, 3, 3}} {
		if over := overBudget(is, may); len(over) != 1 {
			t.Errorf("%v: %q", is, over)
		}
	}
}
