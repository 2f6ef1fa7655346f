package sharedtest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// recorder is a testing.TB that records whether it was skipped or failed.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// runRecorded calls f with a recorder on a goroutine of its own.
func runRecorded(t *testing.T, f func(testing.TB) string) (path string, r *recorder) {
	r = &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		path = f(r)
	}()
	<-done
	return path, r
}

// checkout creates a module with a shared folder next to it, and changes into one of its packages.
func checkout(t *testing.T, files ...string) (parent string) {
	t.Helper()
	parent = t.TempDir()
	for _, f := range append(files, "main/go.mod", "main/a/b/b.go") {
		f = filepath.Join(parent, f)
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(parent, "main", "a", "b"))
	t.Setenv(yangEnv, "")
	parent, err := filepath.EvalSymlinks(parent)
	if err != nil {
		t.Fatal(err)
	}
	return parent
}

func TestDir(t *testing.T) {
	parent := checkout(t, "shared/data/rows.csv")
	for _, elem := range [][]string{{}, {"data"}, {"data", "rows.csv"}, {"data/rows.csv"}} {
		want := filepath.Join(parent, "shared", filepath.Join(elem...))
		if got := Dir(t, elem...); got != want {
			t.Errorf("Dir(%q) is %s, want %s", elem, got, want)
		}
	}
	_, r := runRecorded(t, func(tb testing.TB) string { return Dir(tb, "data", "other.csv") })
	if !strings.Contains(r.skipped, filepath.Join("shared", "data", "other.csv")) || strings.Contains(r.skipped, "\n") {
		t.Errorf("a missing file skips with %q, want one line with its name", r.skipped)
	}
}

func TestDirOutsideAModule(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, r := runRecorded(t, func(tb testing.TB) string { return Dir(tb, "data") }); !strings.Contains(r.skipped, "go.mod") {
		t.Errorf("skips with %q, want the missing go.mod named", r.skipped)
	}
}

func TestYANG(t *testing.T) {
	parent := checkout(t, "shared/data/yang/sonic/202511/a.yang", "mine/202605/a.yang")
	yang := func(release string) func(testing.TB) string {
		return func(tb testing.TB) string { return YANG(tb, release) }
	}
	if got, want := YANG(t, "202511"), filepath.Join(parent, "shared", "data", "yang", "sonic", "202511"); got != want {
		t.Errorf("next to the checkout: %s, want %s", got, want)
	}
	mine := filepath.Join(parent, "mine")
	t.Setenv(yangEnv, mine)
	if got, want := YANG(t, "202605"), filepath.Join(mine, "202605"); got != want {
		t.Errorf("with %s: %s, want %s", yangEnv, got, want)
	}
	if _, r := runRecorded(t, yang("202511")); !strings.Contains(r.skipped, "202511") {
		t.Errorf("a missing release skips with %q, want its name", r.skipped)
	}
	t.Setenv(yangEnv, filepath.Join(parent, "nowhere"))
	if _, r := runRecorded(t, yang("202511")); r.failed == "" {
		t.Errorf("a folder that is not there: %+v, want a failure", r)
	}
}

func TestSample(t *testing.T) {
	list := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
	t.Setenv(nightlyEnv, "")
	got := Sample(list, 4)
	if len(got) != 4 || !slices.IsSorted(got) || !slices.Equal(got, Sample(list, 4)) || len(slices.Compact(slices.Clone(got))) != 4 {
		t.Errorf("4 of %v: %v", list, got)
	}
	if got := Sample(list[:3], 4); len(got) != 3 {
		t.Errorf("4 of 3: %v", got)
	}
	t.Setenv(nightlyEnv, "1")
	if got := Sample(list, 4); !slices.Equal(got, list) {
		t.Errorf("at night: %v", got)
	}
}
