package unit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// self is the running program, even if its file was replaced or removed (proc(5)).
const self = "/proc/self/exe"

// root returns the directory that contains Etc.
func root(r local.Roots) string { return filepath.Dir(cmp.Or(r.Etc, "/etc")) }

// putProgram copies the running program to [DefaultBinary] unless it is already there.
func putProgram(r local.Roots) (written bool, err error) {
	name := r.Inside(DefaultBinary)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return false, err
	}
	// Check before the copy, because a directory that others may write to is not used at all.
	if err := onlyRoot(r, filepath.Dir(DefaultBinary)); err != nil {
		return false, err
	}
	in, err := os.Open(self)
	if err != nil {
		return false, fmt.Errorf("read this program: %w", err)
	}
	defer in.Close()
	same, err := hasSameContent(name, in)
	if same && usable(r, DefaultBinary) == nil {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("read this program: %w", err)
	}
	out, err := atomicfile.Create(name, 0o755)
	if err != nil {
		return false, err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return false, fmt.Errorf("copy this program to %s: %w", name, err)
	}
	return true, out.Commit()
}

// hasSameContent reports whether a file has the same content as a program. Because the program has
// tens of megabytes, it compares the contents only if the sizes are equal.
func hasSameContent(name string, program *os.File) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	have, err := f.Stat()
	if err != nil {
		return false, err
	}
	want, err := program.Stat()
	if err != nil || have.Size() != want.Size() {
		return false, err
	}
	const piece = 1 << 20
	a, b := make([]byte, piece), make([]byte, piece)
	for {
		n, err := io.ReadFull(f, a)
		m, err2 := io.ReadFull(program, b)
		switch {
		case !bytes.Equal(a[:n], b[:m]):
			return false, nil
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return true, nil
		case err != nil || err2 != nil:
			return false, errors.Join(err, err2)
		}
	}
}

// usable returns an error if root must not run a program at boot: it is not a program, or users
// other than root can replace it.
func usable(r local.Roots, path string) error {
	st, err := os.Stat(r.Inside(path))
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: %w", ErrProgram, err)
	}
	if err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		return fmt.Errorf("%w: %s does not exist or is not a program", ErrProgram, term.CleanLine(path))
	}
	return onlyRoot(r, path)
}

// onlyRoot rejects a path if any part of it, or of its symlink target, belongs to another user or
// is writable by everyone. Below a test root, which is not used at boot, files of the current user
// are accepted too.
func onlyRoot(r local.Roots, path string) error {
	real, err := filepath.EvalSymlinks(r.Inside(path))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProgram, err)
	}
	top := root(r)
	for _, p := range []string{r.Inside(path), real} {
		for {
			st, err := os.Stat(p)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrProgram, err)
			}
			uid, known := owner(st)
			mine := uid == 0 || r.Etc != "" && uid == os.Geteuid()
			if known && !mine || st.Mode()&0o002 != 0 {
				return hint.With(fmt.Errorf("%w: %s can be changed by users other than root", ErrProgram, term.CleanLine(p)),
					"the unit runs the program as root: leave --binary out, or name one that only root can replace")
			}
			if p == top || p == filepath.Dir(p) || !strings.HasPrefix(p, top) {
				break
			}
			p = filepath.Dir(p)
		}
	}
	return nil
}

// permitted adds a hint to a permission error.
func permitted(err error) error {
	if err == nil || !errors.Is(err, fs.ErrPermission) || errors.Is(err, local.ErrPermission) {
		return err
	}
	return hint.With(fmt.Errorf("%w: %w", local.ErrPermission, err), "this needs root: with --local run it as root, over SSH use --sudo")
}
