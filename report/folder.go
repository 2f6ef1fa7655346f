package report

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// OptionsHere returns the options for a report written from the working directory. In SARIF,
// paths are relative to the Git work tree that contains the intent, or to the working directory
// outside Git.
func OptionsHere(r Report) Options {
	dir, err := os.Getwd()
	if err != nil || r.Intent == nil || len(r.Intent.Files) == 0 {
		return Options{Dir: dir, Root: dir}
	}
	file := r.Intent.Files[0]
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	for at := filepath.Dir(file); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return Options{Dir: dir, Root: at}
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) || at == filepath.Dir(at) {
			return Options{Dir: dir, Root: dir}
		}
	}
}
