// Package sharedtest has helpers for the tests of several packages. It finds public data that lies
// next to the checkout, such as the SONiC YANG models (tests that need the data are skipped
// without it), and decides how large tests are.
//
// Only tests import it.
package sharedtest

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// yangEnv names the environment variable for the folder with the SONiC YANG models: one subfolder
// per release (202311, 202505, ..., master), which contains the *.yang files of that release.
const yangEnv = "ROCE_FABRIC_YANG"

// nightlyEnv names the environment variable that makes tests run at full size. `make nightly` sets
// it to "1".
const nightlyEnv = "ROCE_FABRIC_NIGHTLY"

// Nightly reports whether tests run at full size.
func Nightly() bool { return os.Getenv(nightlyEnv) == "1" }

// Sized returns full in nightly runs and usual otherwise.
func Sized(usual, full int) int {
	if Nightly() {
		return full
	}
	return usual
}

// Sample returns list in nightly runs, and n of its elements otherwise, always the same ones.
func Sample[E any](list []E, n int) []E {
	if Nightly() || n >= len(list) {
		return list
	}
	var out []E
	at := rand.New(rand.NewPCG(Seed(0), 0)).Perm(len(list))[:n]
	slices.Sort(at)
	for _, i := range at {
		out = append(out, list[i])
	}
	return out
}

// Seed returns the seed of a test that makes up its inputs: given, if it is not 0. Otherwise the
// seed is random in nightly runs and fixed in all others, so that a change is not blamed for a
// fault that it did not cause.
func Seed(given uint64) uint64 {
	switch {
	case given != 0:
		return given
	case Nightly():
		return rand.Uint64()
	}
	return 1
}

// Dir returns the path of elem, a file or folder, in the folder "shared" next to the module root.
// It skips the test if the path does not exist.
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

// YANG returns the folder with the SONiC YANG models of a release, from the folder in yangEnv if
// that is set and from next to the checkout otherwise. If the folder in yangEnv has no such
// release, the test is skipped; if that folder does not exist, the test fails.
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

// ModuleRoot returns the folder with go.mod at or above the working folder, which is the package
// folder while a test runs.
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

// Parallel is the flag to raise for tests that mostly wait for devices.
const Parallel = "test.parallel"

// Default sets a test flag in TestMain, unless the command line sets it.
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

// CollectLess makes the garbage collector run a quarter as often, unless GOGC is set. Call it in
// TestMain. Parsers, simulated devices and their clients allocate much and keep little, so this saves
// a fifth of the CPU time.
func CollectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// shm is an in-memory folder on Linux.
const shm = "/dev/shm"

// TempInMemory puts the tests' temporary folders into memory, unless TMPDIR is set or fewer than
// room bytes are free there. Call it in TestMain. A simulated host consists of thousands of small
// files, which take ten times as much CPU time on a disk.
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

// VerifyMain runs the tests of a package and fails if they leave a goroutine behind. It ignores a
// goroutine of glog, which package ygot imports, because that one never ends.
func VerifyMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}
