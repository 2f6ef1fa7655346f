package arch

import (
	"errors"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tree is the parsed source of the module.
type tree struct {
	fset  *token.FileSet
	files []source
	asts  []*ast.File // parallel to files
}

func parseTree(root string) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipFolder(root, name, d.Name())
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		return t.add(filepath.ToSlash(rel), name)
	})
	return t, err
}

// skipFolder skips the folders that the go command skips: hidden folders, testdata, and nested
// modules.
func skipFolder(root, name, base string) error {
	if name == root {
		return nil
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (t *tree) add(rel, name string) error {
	file, err := parser.ParseFile(t.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if neverBuilt(file) {
		return nil
	}
	src := source{path: rel, test: strings.HasSuffix(rel, "_test.go")}
	for _, imp := range file.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return err
		}
		src.imports = append(src.imports, p)
	}
	t.files, t.asts = append(t.files, src), append(t.asts, file)
	return nil
}

// neverBuilt reports whether build tags exclude the file on every platform. Files for other
// platforms are kept, because the rules apply to them too.
func neverBuilt(file *ast.File) bool {
	for _, g := range file.Comments {
		if g.Pos() > file.Package {
			break
		}
		for _, c := range g.List {
			if expr, err := constraint.Parse(c.Text); err == nil && (expr.String() == "keepdeps" || expr.String() == "ignore") {
				return true
			}
		}
	}
	return false
}

// moduleRoot returns the folder with go.mod above the test.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
	}
}
