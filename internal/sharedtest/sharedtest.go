// Package sharedtest is what tests of several packages share. It finds public data
// that lies next to the checkout and not in it, such as the SONiC YANG models (tests
// that need it skip where it is not there), and says how large a test is to be.
//
// Only tests import it.
package sharedtest

import (
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// yangEnv names the environment variable with the folder of the SONiC YANG
// models: one folder a release (202311, 202505, ..., master) with the
// *.yang files of that release.
const yangEnv = "ROCE_FABRIC_YANG"

// nightlyEnv names the environment variable that has tests run at their full size:
// "1" in `make nightly`.
const nightlyEnv = "ROCE_FABRIC_NIGHTLY"

// Nightly reports whether tests run at their full size.
func Nightly() bool { return os.Getenv(nightlyEnv) == "1" }

// Sized is a size of a test: the full one at night.
func Sized(usual, full int) int {
	if Nightly() {
		return full
	}
	return usual
}

// Dir returns the path of elem in the folder "shared" next to the module root,
// a file or a folder. Where it is not there, the test is skipped.
func Dir(t testing.TB, elem ...string) string {
	t.Helper()
	want := filepath.Join(append([]string{"shared"}, elem...)...)
	root, ok := ModuleRoot(t)
	if !ok {
		t.Skipf("skipped: needs %s next to the checkout, and there is no go.mod above the test", want)
	}
	p := filepath.Join(filepath.Dir(root), want)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("skipped: needs %s next to the checkout: %v", want, err)
	}
	return p
}

// YANG returns the folder of the SONiC YANG models of a release: of the folder
// that yangEnv names, where it is set, or of the one next to the checkout. A
// release missing from the folder named by yangEnv skips the test, a missing
// folder fails it.
func YANG(t testing.TB, release string) string {
	t.Helper()
	dir := os.Getenv(yangEnv)
	if dir == "" {
		return Dir(t, "data", "yang", "sonic", release)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("%s: %v", yangEnv, err)
	}
	p := filepath.Join(dir, release)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("skipped: %s has no models of release %s: %v", yangEnv, release, err)
	}
	return p
}

// ModuleRoot is the folder of go.mod at or above the working folder, which is
// the package's while a test runs.
func ModuleRoot(t testing.TB) (dir string, ok bool) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// Parallel is the flag for tests that wait for devices more than they compute.
const Parallel = "test.parallel"

// Default sets a flag of the tests, in TestMain, unless the command line does.
func Default(name, value string) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

// CollectLess makes the garbage collector run a quarter as often, unless GOGC is set. Call it
// in TestMain. Simulated devices and their clients allocate much and keep little, so that this
// saves a fifth of the processor time.
func CollectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// shm is a folder in memory on Linux.
const shm = "/dev/shm"

// TempInMemory puts the temporary folders of tests into memory, unless TMPDIR is set or less
// than room bytes are free there. Call it in TestMain. A simulated host is thousands of small
// files, which take ten times the processor time on a disk.
func TempInMemory(room uint64) {
	var fs syscall.Statfs_t
	const tmpfs = 0x01021994
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(shm, &fs) != nil || fs.Type != tmpfs || fs.Bavail*uint64(fs.Bsize) < room {
		return
	}
	if dir, err := os.MkdirTemp(shm, ""); err == nil && os.Remove(dir) == nil {
		_ = os.Setenv("TMPDIR", shm)
	}
}

// VerifyMain runs the tests of a package, and fails where a goroutine is left
// behind. glog, which package ygot imports, has one for the life of the program.
func VerifyMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}
