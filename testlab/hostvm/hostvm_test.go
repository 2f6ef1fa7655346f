package hostvm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// image returns the image built from this machine's packages; it skips the test if packages are
// missing.
func image(t *testing.T) *Image {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: -short; a machine takes ten seconds to boot")
	}
	if lack := Missing(); lack != "" {
		t.Skip("skipped: " + lack)
	}
	dir := ""
	if _, err := os.UserCacheDir(); err != nil {
		dir = t.TempDir()
	}
	img, err := Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// The second build finds the directory of the first one and creates none.
func TestBuildIsCached(t *testing.T) {
	first := image(t)
	dir := filepath.Dir(filepath.Dir(first.Kernel))
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if *first != *second || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("built %v again: %v", first, second)
	}
	b, err := os.ReadFile(first.Kernel)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(b, []byte("\x7fELF")) {
		t.Error("the kernel is not unpacked: a boot takes twice as long")
	}
}

// goTest matches the end of a test and of a subtest in the output of -test.v.
var goTest = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+)`)

// TestInside runs the tests of internal/inside in a VM.
func TestInside(t *testing.T) {
	t.Parallel()
	img := image(t)
	bin := filepath.Join(t.TempDir(), "inside")
	if err := GoTest(t.Context(), "./internal/inside", bin); err != nil {
		t.Fatal(err)
	}
	res, err := Boot(t.Context(), img, Options{
		Files:  map[string]string{"/usr/local/bin/inside": bin},
		Script: "inside -test.v -test.timeout 0",
	})
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, res.Console, res.Output)
	}
	found := goTest.FindAllSubmatch(res.Output, -1)
	for _, m := range found {
		t.Run(string(m[2]), func(t *testing.T) {
			if string(m[1]) != "PASS" {
				t.Errorf("%s in the machine", m[1])
			}
		})
	}
	if len(found) == 0 || res.Status != 0 {
		t.Errorf("%d tests, status %d", len(found), res.Status)
	}
	if t.Failed() {
		t.Logf("output:\n%s\nconsole:\n%s", res.Output, res.Console)
	}
}

// A second VM with the files of the first one is the first VM after a reboot: the files remain, the
// kernel's state is lost. Then it panics.
func TestReboot(t *testing.T) {
	if !sharedtest.Nightly() {
		t.Skip("skipped: starts a virtual machine; .ci/run boot and make nightly run it")
	}
	t.Parallel()
	img := image(t)
	first, err := Boot(t.Context(), img, Options{
		FakeDCB: "ndev=1",
		Script: `
			! dcb pfc show dev roce1
			dcb app add dev roce0 dscp-prio 26:3
			mkdir -p /etc/keep/empty /opt/bin
			echo kept >/etc/keep/file
			printf '#!/bin/sh\necho ran\n' >/opt/bin/tool
			chmod 750 /opt/bin/tool
			ln -s ../../opt/bin/tool /etc/keep/link
			exit 7`,
		Keep: []string{"/etc/keep", "opt/bin/tool", "/not/there"},
	})
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, first.Console, first.Output)
	}
	if first.Status != 7 {
		t.Errorf("status %d, want 7\n%s", first.Status, first.Output)
	}
	want := map[string]File{
		"/etc/keep":       {Mode: fs.ModeDir | 0o755},
		"/etc/keep/empty": {Mode: fs.ModeDir | 0o755},
		"/etc/keep/file":  {Mode: 0o644, Data: []byte("kept\n")},
		"/etc/keep/link":  {Mode: fs.ModeSymlink | 0o777, Link: "../../opt/bin/tool"},
		"/opt/bin/tool":   {Mode: 0o750, Data: []byte("#!/bin/sh\necho ran\n")},
	}
	for name, f := range want {
		got, ok := first.Kept[name]
		if !ok || got.Mode != f.Mode || string(got.Data) != string(f.Data) || got.Link != f.Link {
			t.Errorf("%s is %+v, want %+v", name, got, f)
		}
	}
	if len(first.Kept) != len(want) {
		t.Errorf("kept %d files, want %d: %v", len(first.Kept), len(want), first.Kept)
	}

	second, err := Boot(t.Context(), img, Options{
		Tree: first.Kept,
		Script: `
			/etc/keep/link
			cat /etc/keep/file
			ls -d /etc/keep/empty
			dcb -j app show dev roce0
			echo c >/proc/sysrq-trigger`,
	})
	if !errors.Is(err, errStopped) {
		t.Errorf("error of a machine that panics: %v", err)
	}
	if got := string(second.Output); got != "ran\nkept\n/etc/keep/empty\n{}\n" {
		t.Errorf("output after the reboot:\n%s", got)
	}
	if !bytes.Contains(second.Console, []byte("sysrq triggered crash")) {
		t.Errorf("console without the panic:\n%s", second.Console)
	}
}

func TestDeadlineKills(t *testing.T) {
	t.Parallel()
	img := image(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	_, err := Boot(ctx, img, Options{Script: "while :; do sleep 1; done"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("ended after %v", d)
	}
}

// childDir is set in the process that TestNoOrphan kills.
const childDir = "ROCE_FABRIC_HOSTVM_CHILD"

// The emulator exits with the process that started it, even if that process is killed.
func TestNoOrphan(t *testing.T) {
	img := image(t)
	if os.Getenv(childDir) != "" {
		_, err := Boot(t.Context(), img, Options{Script: "while :; do sleep 1; done"})
		t.Fatal(err)
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoOrphan$")
	cmd.Env = append(os.Environ(), childDir+"=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	var qemu int
	until(t, "the emulator runs", func() bool { qemu = emulatorOf(cmd.Process.Pid); return qemu != 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	until(t, "the emulator is gone", func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(qemu), "stat"))
		return err != nil || !bytes.Contains(stat, []byte("qemu-system")) || bytes.Contains(stat, []byte(") Z"))
	})
}

// emulatorOf returns the process ID of a process's emulator; 0 if it has none.
func emulatorOf(parent int) int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue // the process has exited
		}
		// The format is "pid (comm) state ppid ...".
		_, rest, ok := strings.Cut(string(b), "(qemu-system")
		_, rest, ok2 := strings.Cut(rest, ") ")
		f := strings.Fields(rest)
		if ok && ok2 && len(f) > 1 && f[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(s)))
			return pid
		}
	}
	return 0
}

func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after 30 s: %s", what)
		}
	}
}

func TestMissing(t *testing.T) {
	if lack := Missing(); strings.Contains(lack, "\n") {
		t.Errorf("more than one line: %q", lack)
	}
	t.Setenv("PATH", t.TempDir())
	if p, err := find("sh"); err != nil || !filepath.IsAbs(p) {
		t.Errorf("sh is at %q, error %v", p, err)
	}
	if _, err := find("no-such-program"); err == nil {
		t.Error("found a program that is not there")
	}
}

func TestFindKernel(t *testing.T) {
	root := t.TempDir()
	put := func(name string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if k, err := findKernel(root); err == nil {
		t.Errorf("found %v in an empty folder", k)
	}
	const rxe = "/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko"
	put("boot/vmlinuz-6.1.0-101-cloud-amd64")
	put("lib/modules/6.1.0-101-cloud-amd64/build/Makefile")
	put("boot/vmlinuz-6.1.0-100-amd64")
	put("lib/modules/6.1.0-100-amd64" + rxe)
	if _, err := findKernel(root); err == nil || !strings.Contains(err.Error(), "the headers of kernel 6.1.0-100-amd64") ||
		!strings.Contains(err.Error(), "rdma_rxe of kernel 6.1.0-101-cloud-amd64") {
		t.Errorf("error %v", err)
	}
	for _, v := range []string{"6.1.0-9-amd64", "6.1.0-10-amd64"} {
		put("boot/vmlinuz-" + v)
		put("lib/modules/" + v + rxe + ".xz")
		put("lib/modules/" + v + "/build/Makefile")
	}
	if k, err := findKernel(root); err != nil || k.release != "6.1.0-10-amd64" {
		t.Errorf("found %q, %v; want the newest that has all", k.release, err)
	}
}

func TestParseLdd(t *testing.T) {
	got, err := parseLdd("p", "\tlinux-vdso.so.1 (0x00007ff9dc0dd000)\n\tlibmnl.so.0 => /lib/libmnl.so.0 (0x00007ff9dc09b000)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007ff9dc0df000)\n")
	if err != nil || strings.Join(got, " ") != "/lib/libmnl.so.0 /lib64/ld-linux-x86-64.so.2" {
		t.Errorf("libraries %q, error %v", got, err)
	}
	if _, err := parseLdd("p", "\tlibx.so => not found\n"); err == nil {
		t.Error("a library that is not found is no error")
	}
}

func TestStreamIsBounded(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := stream{name: "output", limit: 10, r: r}
	go func() {
		defer w.Close()
		b := bufio.NewWriter(w)
		for range 100 {
			_, _ = b.WriteString("0123456789abcdef")
		}
		_ = b.Flush()
	}()
	var full error
	if err := s.read(func(err error) { full = err }); err != nil {
		t.Error(err)
	}
	if !errors.Is(full, errTooMuch) || string(s.bytes()) != "0123456789" {
		t.Errorf("kept %q, error %v", s.bytes(), full)
	}
}

func TestHostileAnswers(t *testing.T) {
	for _, b := range [][]byte{[]byte("x"), bytes.Repeat([]byte{0xff}, 4096)} {
		if kept, err := parseKept(b); err == nil {
			t.Errorf("%.10q gives %v", b, kept)
		}
	}
	if kept, err := parseKept(sparse(t, 0o77777777777)); !errors.Is(err, errTooMuch) {
		t.Errorf("8 GiB in one block give %d files, %v", len(kept), err)
	}
	for _, s := range []string{"", "exit", "exit 256", "exit -1", "3"} {
		if n, err := parseStatus([]byte(s)); !errors.Is(err, errStopped) {
			t.Errorf("status %q gives %d, %v", s, n, err)
		}
	}
}

// sparse returns a GNU tar archive with one file that is a hole of the given size.
func sparse(t *testing.T, size int64) []byte {
	t.Helper()
	b := make([]byte, 3*512)
	for at, field := range map[int]string{
		0: "hole", 100: "0000644", 108: "0000000", 116: "0000000", 124: "00000000000", 136: "00000000000",
		156: "S", 257: "ustar  ",
		386: fmt.Sprintf("%011o", size), 398: "00000000000", 483: fmt.Sprintf("%011o", size),
		148: "        ",
	} {
		copy(b[at:], field)
	}
	sum := 0
	for _, c := range b[:512] {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00", sum))
	return b
}

func TestPayload(t *testing.T) {
	image := make([]byte, 4096)
	image[0x1f1] = 1
	copy(image[0x202:], "HdrS")
	binary.LittleEndian.PutUint32(image[0x248:], 16)
	binary.LittleEndian.PutUint32(image[0x24c:], 104)
	copy(image[1024+16:], "\xfd7zXZ\x00")
	p, err := payload(image)
	if program, _ := decompressor(p); err != nil || len(p) != 100 || program != "xz" {
		t.Errorf("%d bytes for %q, %v; want 100 for xz", len(p), program, err)
	}
	for what, change := range map[string]func([]byte) []byte{
		"cut":      func(b []byte) []byte { return b[:0x24f] },
		"no magic": func(b []byte) []byte { b[0x202] = 0; return b },
		"far":      func(b []byte) []byte { b[0x24b] = 0xff; return b },
		"long":     func(b []byte) []byte { b[0x24f] = 0xff; return b },
		"empty":    func(b []byte) []byte { b[0x24c] = 3; return b },
	} {
		if p, err := payload(change(bytes.Clone(image))); err == nil {
			t.Errorf("%s: %d bytes", what, len(p))
		}
	}
}
