package keys

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func open(t *testing.T, dir string) *Ring {
	t.Helper()
	r, err := Open(dir)
	if err := errors.Join(err, r.Ensure()); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSignatures(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	r, theirs := open(t, filepath.Join(dir, "state")), open(t, other)
	text := []byte("a plan")
	sig := r.Sign("plan", text)
	for _, c := range []struct {
		name, kind, text, sig string
		want                  error
	}{
		{"own", "plan", "a plan", sig, nil},
		{"unsigned", "plan", "a plan", "", ErrUnsigned},
		{"edited", "plan", "a plam", sig, ErrBad},
		{"of another kind", "journal", "a plan", sig, ErrBad},
		{"another's", "plan", "a plan", theirs.Sign("plan", text), ErrUnknown},
		{"another's with the own key's name", "plan", "a plan", strings.Split(sig, ":")[0] + ":" + strings.Split(theirs.Sign("plan", text), ":")[1], ErrBad},
		{"no base64", "plan", "a plan", "x:y", ErrBad},
		{"half", "plan", "a plan", strings.Split(sig, ":")[0], ErrBad},
	} {
		if err := r.Verify(c.kind, []byte(c.text), c.sig); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if err := r.Trust(filepath.Join(other, publicFile)); err != nil {
		t.Fatal(err)
	}
	if err := r.Verify("plan", text, theirs.Sign("plan", text)); err != nil {
		t.Errorf("trusted: %v", err)
	}
	again := open(t, filepath.Join(dir, "state"))
	if err := again.Verify("plan", text, sig); err != nil {
		t.Errorf("the key is not kept: %v", err)
	}
	if st, err := os.Stat(filepath.Join(dir, "state", privateFile)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v, %v", st.Mode(), err)
	}
}

// Open does not write to the folder, and processes that create a key at once share one key.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); err != nil {
		t.Fatal(err)
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) > 0 {
		t.Fatalf("a look makes %v, %v", es, err)
	}
	var wg sync.WaitGroup
	sigs := make([]string, 8)
	for i := range sigs {
		wg.Go(func() {
			r, err := Open(dir)
			if err := errors.Join(err, r.Ensure()); err != nil {
				t.Error(err)
				return
			}
			sigs[i] = r.Sign("x", nil)
		})
	}
	wg.Wait()
	for _, s := range sigs {
		if s != sigs[0] {
			t.Fatal("two keys were made")
		}
	}
	for _, bad := range []string{"", "rubbish", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if err := os.WriteFile(filepath.Join(dir, privateFile), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), privateFile) {
			t.Errorf("%q is a key: %v", bad, err)
		}
		if err := None().Trust(filepath.Join(dir, privateFile)); err == nil {
			t.Errorf("%q is a public key", bad)
		}
	}
}

// The package reads keys of openssl, and openssl reads keys of this package.
func TestOpenSSL(t *testing.T) {
	bin, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("no openssl: keys are not compared with its")
	}
	dir := t.TempDir()
	private, public := filepath.Join(dir, privateFile), filepath.Join(dir, publicFile)
	for _, args := range [][]string{{"genpkey", "-algorithm", "ed25519", "-out", private}, {"pkey", "-in", private, "-pubout", "-out", public}} {
		if out, err := exec.Command(bin, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	theirs, ours := open(t, dir), open(t, t.TempDir())
	if err := ours.Trust(public); err != nil {
		t.Fatal(err)
	}
	if err := ours.Verify("plan", nil, theirs.Sign("plan", nil)); err != nil {
		t.Error(err)
	}
	own := t.TempDir()
	open(t, own)
	if out, err := exec.Command(bin, "pkey", "-in", filepath.Join(own, privateFile), "-noout").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Open rejects a key that others may read or replace, a symbolic link and a pipe, and
// Ensure creates no key where others could replace it.
func TestOpenPrivate(t *testing.T) {
	for name, spoil := range map[string]func(dir, key string) error{
		"others may read it": func(_, key string) error { return os.Chmod(key, 0o666) },
		"may replace":        func(dir, _ string) error { return os.Chmod(dir, 0o777) },
		"symbolic link": func(dir, key string) error {
			return errors.Join(os.Rename(key, filepath.Join(dir, "other")), os.Symlink("other", key))
		},
		"a pipe": func(_, key string) error { return errors.Join(os.Remove(key), syscall.Mkfifo(key, 0o600)) },
	} {
		dir := t.TempDir()
		open(t, dir)
		if err := spoil(dir, filepath.Join(dir, privateFile)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err == nil {
		err = r.Ensure()
	}
	if err == nil || !strings.Contains(err.Error(), "may replace") {
		t.Errorf("a key in a folder of a group: %v", err)
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) > 0 {
		t.Errorf("it has %v, %v", es, err)
	}
}
