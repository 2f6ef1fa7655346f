package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/ownfile"
)

// maxFileBytes is the maximum size of a secret file.
const maxFileBytes = 64 << 10

// The errors of references, for use with [errors.Is].
var (
	// errReference reports that the text is not a reference. Its message never contains the text,
	// which may be a password.
	errReference = errors.New("not a secret reference")
	// errMissing reports that the reference names no secret, or an empty one.
	errMissing = errors.New("secret is missing or empty")
	// errPermissions reports that other users may read the file.
	errPermissions = errors.New("secret file is open to others")
	// errKeyring reports that the OS keyring does not answer, for example on a machine without a
	// desktop session.
	errKeyring = errors.New("keyring is not available")
)

// Error is an error of this package. It keeps the fact apart from the advice.
type Error struct {
	Fact   string // what is wrong, and where
	Advice string // what to do; may be empty
	Err    error  // cause: one of the sentinels or a system error
}

// Error returns the fact.
func (e *Error) Error() string { return e.Fact }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns the advice, which may be empty.
func (e *Error) Hint() string { return e.Advice }

var envName = lazyre.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reference is a parsed reference: the scheme and what follows the colon.
type reference struct{ scheme, rest string }

// user splits a keyring reference into service and user at the last slash, because services are
// often named like URLs and users are not.
func (r reference) user() (service, user string) {
	i := strings.LastIndexByte(r.rest, '/')
	return r.rest[:i], r.rest[i+1:]
}

// parse parses a reference. Its errors never repeat the text, because it may be the secret.
func parse(ref string) (reference, error) {
	const forms = "write env:NAME, file:PATH or keyring:SERVICE/USER, and keep the value there"
	bad := func(fact string) (reference, error) {
		return reference{}, &Error{Fact: fact, Advice: forms, Err: errReference}
	}
	scheme, rest, ok := strings.Cut(ref, ":")
	if !ok {
		return bad("not a secret reference (text not shown)")
	}
	switch scheme {
	case "env":
		if !envName.MatchString(rest) {
			return bad("env: reference has no valid variable name (text not shown)")
		}
	case "file":
		if rest == "" || strings.ContainsRune(rest, 0) {
			return bad("file: reference has no valid path (text not shown)")
		}
	case "keyring":
		if i := strings.LastIndexByte(rest, '/'); i <= 0 || i == len(rest)-1 {
			return bad("keyring: reference is not SERVICE/USER (text not shown)")
		}
	default:
		return bad("not a secret reference (text not shown)")
	}
	return reference{scheme, rest}, nil
}

// Resolve returns the secret that ref points to. A missing or empty secret is an error, and so is
// plain text. A file must be regular, closed to group and others (0600 or 0400) and at most
// [maxFileBytes] long. One trailing newline is not part of the secret, and a leading "~/" is the
// home directory.
//
// ctx limits the wait for the keyring, which may ask a person to unlock it.
func Resolve(ctx context.Context, ref string) (Secret, error) {
	r, err := parse(ref)
	if err != nil {
		return "", err
	}
	switch r.scheme {
	case "env":
		return fromEnv(r.rest)
	case "file":
		b, err := ReadFile(r.rest)
		if err != nil {
			return "", err
		}
		return trimmed(b, "secret file "+r.rest)
	default:
		return fromKeyring(ctx, r)
	}
}

// Username returns the user name that ref points to. Unlike a password, a user name may be written
// out: anything that is not an env:, file: or keyring: reference is the name itself.
func Username(ctx context.Context, ref string) (string, error) {
	switch scheme, _, _ := strings.Cut(ref, ":"); scheme {
	case "env", "file", "keyring":
		s, err := Resolve(ctx, ref)
		return s.Reveal(), err
	}
	if ref == "" {
		return "", &Error{Fact: "user name is empty", Err: errMissing}
	}
	return ref, nil
}

func fromEnv(name string) (Secret, error) {
	v, ok := os.LookupEnv(name)
	if !ok {
		return "", &Error{Fact: "environment variable " + name + " is not set", Err: errMissing}
	}
	if v == "" {
		return "", &Error{Fact: "environment variable " + name + " is empty", Err: errMissing}
	}
	return Secret(v), nil
}

// trimmed returns a secret without the newline that a file or program appends to it.
func trimmed(b []byte, what string) (Secret, error) {
	v := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	if v == "" {
		return "", &Error{Fact: what + " is empty", Err: errMissing}
	}
	return Secret(v), nil
}

// ReadFile reads a private file, such as a secret or a private key. The file must be regular,
// closed to group and others, and at most [maxFileBytes] long. A leading "~/" is the home
// directory. The checks apply to the opened file, not to its name.
func ReadFile(path string) ([]byte, error) {
	full, err := ExpandHome(path)
	if err != nil {
		return nil, err
	}
	return readFile(path, func() (*os.File, error) { return open(full) })
}

// ReadOwn is [ReadFile] for a private file that this program keeps in a folder. It does not follow
// links, and fails if others could replace files in the folder.
func ReadOwn(path string) ([]byte, error) {
	if err := CheckFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return readFile(path, func() (*os.File, error) { return ownfile.Open(path, os.O_RDONLY, 0) })
}

// CheckFolder returns an error if others may put files into the folder.
func CheckFolder(dir string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return &Error{Fact: "cannot stat the folder of a secret file: " + err.Error(), Err: err}
	}
	if m := st.Mode(); m.Perm()&0o022 != 0 && runtime.GOOS != "windows" {
		return &Error{
			Fact:   fmt.Sprintf("folder %s has mode %04o, others may replace the secret files in it", dir, m.Perm()),
			Advice: "chmod go-w " + dir,
			Err:    errPermissions,
		}
	}
	return nil
}

func readFile(path string, open func() (*os.File, error)) ([]byte, error) {
	f, err := open()
	if err != nil {
		cause := err
		if errors.Is(err, os.ErrNotExist) {
			cause = errors.Join(errMissing, err)
		}
		return nil, &Error{Fact: "cannot open secret file: " + err.Error(), Err: cause}
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, &Error{Fact: "cannot stat secret file: " + err.Error(), Err: err}
	}
	if !st.Mode().IsRegular() {
		return nil, &Error{Fact: "secret file " + path + " is not a regular file", Err: errReference}
	}
	if m := st.Mode().Perm(); m&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, &Error{
			Fact:   fmt.Sprintf("secret file %s has mode %04o, others may read it", path, m),
			Advice: "chmod 600 " + path,
			Err:    errPermissions,
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, &Error{Fact: "cannot read secret file: " + err.Error(), Err: err}
	}
	if len(b) > maxFileBytes {
		return nil, &Error{Fact: fmt.Sprintf("secret file %s is larger than %d bytes", path, maxFileBytes), Err: errReference}
	}
	return b, nil
}

// open opens a file without waiting for the writer of a named pipe. A path below the working
// folder, which may be a checkout of someone else's files, must not lead out of it through a link.
func open(name string) (*os.File, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	here, err := os.Getwd()
	if err != nil {
		return os.OpenFile(name, flags, 0)
	}
	below, err := filepath.Rel(here, absolute(name))
	if err != nil || !filepath.IsLocal(below) {
		return os.OpenFile(name, flags, 0)
	}
	root, err := os.OpenRoot(here)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // the opened file stays open
	return root.OpenFile(below, flags, 0)
}

// ExpandHome replaces a leading "~/" with the home directory. It returns other paths unchanged.
func ExpandHome(path string) (string, error) {
	if !strings.HasPrefix(path, "~/") {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &Error{Fact: "cannot expand " + path + ": " + err.Error(), Err: err}
	}
	return filepath.Join(home, path[2:]), nil
}
