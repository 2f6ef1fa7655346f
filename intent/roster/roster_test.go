package roster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const pod = `apiVersion: roce-fabric/v1
kind: Fabric
name: %s
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%%, ecn: auto}
  default: {priority: 0, dscp: rest, bandwidth: 40%%}
pfc: {watchdog: {detect: 400ms, restore: 400ms, action: drop}}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
switches:
  leaf[1-12]: {os: sonic, role: leaf, model: Force10-S6000}
  core: {os: eos}
hosts:
  gpu[1-2]: {nics: {ens1f0np0: {rdma: mlx5_0}}}
links:
  - {a: "leaf[1-2]/Ethernet0", b: "gpu[1-2]/ens1f0np0", cable: 5m, speed: 40G}
  - {a: "leaf1/Ethernet[8,16]", b: "core/Ethernet[1-2]/1", cable: 40m, speed: 40G}
`

// write writes an intent to a path.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t *testing.T, path, dir string) Roster {
	t.Helper()
	r, err := Load(t.Context(), path, dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// texts joins the names, with or without their descriptions.
func texts(names []Name, about bool) string {
	var out []string
	for _, n := range names {
		text := n.Text
		if about {
			text = strings.ReplaceAll(n.String(), "\t", " (") + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fabric.yaml")
	write(t, path, fmt.Sprintf(pod, "pod"))
	r := mustLoad(t, path, "")
	if r.Fabric() != "pod" {
		t.Errorf("the fabric is %q", r.Fabric())
	}
	for _, c := range []struct{ what, got, want string }{
		{"devices in natural order", texts(r.Devices(All, ""), false), "core leaf1 leaf2 leaf3 leaf4 leaf5 leaf6 leaf7 leaf8 leaf9 leaf10 leaf11 leaf12 gpu1 gpu2"},
		{"hosts", texts(r.Devices(Hosts, "gpu2"), true), "gpu2 (host)"},
		{"a switch without a role", texts(r.Devices(Switches, "c"), true), "core (eos)"},
		{"ports", texts(r.Ports("leaf1", ""), true), "Ethernet0 (to gpu1/ens1f0np0) Ethernet8 (to core/Ethernet1/1) Ethernet16 (to core/Ethernet2/1)"},
		{"ports that begin", texts(r.Ports("leaf1", "Ethernet1"), false), "Ethernet16"},
		{"NICs", texts(r.Ports("gpu2", ""), true), "ens1f0np0 (to leaf2/Ethernet0)"},
		{"ports of nothing", texts(r.Ports("leaf", ""), false), ""},
		{"kinds", texts(r.Patterns(All, "ro"), true), "role:host (2 hosts) role:leaf (12 switches)"},
		{"systems behind roles", texts(r.Patterns(Switches, "")[:3], true), "role:leaf (12 switches) os:eos (1 switch) os:sonic (12 switches)"},
		{"hosts have no kinds alone", texts(r.Patterns(Hosts, ""), false), "gpu1 gpu2"},
		{"left out", texts(r.Patterns(All, "!gpu"), false), "!gpu1 !gpu2"},
		{"not twice", texts(r.Patterns(All, "gpu1,!role:leaf,gp"), false), "gpu1,!role:leaf,gpu2"},
		{"not left out and in", texts(r.Patterns(All, "!gpu1,gp"), false), "!gpu1,gpu2"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	if got := texts(Roster{}.Patterns(All, ""), false); got != "" {
		t.Errorf("no intent has %q", got)
	}
}

// files returns the paths of the cache files.
func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// Load returns the cached roster until a file of the intent changes, and rewrites a damaged cache
// file.
func TestCache(t *testing.T) {
	folder, dir := t.TempDir(), filepath.Join(t.TempDir(), "deep", "cache")
	one, two := filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml")
	write(t, one, fmt.Sprintf(pod, "pod"))
	write(t, two, "apiVersion: roce-fabric/v1\nkind: Fabric\nhosts:\n  gpu9: {}\n")
	want := mustLoad(t, folder, dir)
	if texts(want.Devices(Hosts, "gpu9"), false) != "gpu9" {
		t.Fatal("the second file is not read")
	}
	kept := files(t, dir)
	if len(kept) != 1 {
		t.Fatalf("the cache has %q", kept)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, kept[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v (%v)", path, info.Mode(), err)
		}
	}
	digest := strings.TrimSuffix(filepath.Base(kept[0]), ".roster")
	planted := Roster{"fabric\tplanted\n"}
	if err := planted.keep(dir, digest); err != nil {
		t.Fatal(err)
	}
	if got := mustLoad(t, folder, dir); got != planted {
		t.Errorf("the cache was not used: %q", got.Fabric())
	}
	for what, text := range map[string]string{
		"empty": "", "cut short": header(digest, "fabric\tplanted\n") + "\nfabric\tpla", "of another": header("00", "fabric\tplanted\n") + "\nfabric\tplanted\n",
		"changed": header(digest, "fabric\tplanted\n") + "\nfabric\tplinted\n", "binary": "\x00\xff\n\n", "of another form": "roce-fabric-roster 0" + strings.TrimPrefix(header(digest, "fabric\tplanted\n"), magic) + "\nfabric\tplanted\n",
	} {
		write(t, kept[0], text)
		if got := mustLoad(t, folder, dir); got != want {
			t.Errorf("a file that is %s: %q", what, got.Fabric())
		}
		if again, ok := cached(dir, digest); !ok || again != want {
			t.Errorf("a file that is %s is not made anew", what)
		}
	}
	if err := planted.keep(dir, digest); err != nil {
		t.Fatal(err)
	}
	write(t, two, "apiVersion: roce-fabric/v1\nkind: Fabric\nhosts:\n  gpu8: {}\n")
	if got := mustLoad(t, folder, dir); texts(got.Devices(Hosts, "gpu8"), false) != "gpu8" {
		t.Error("a change of the second file is not seen")
	}
}

// If the cache cannot be written, Load still returns the names.
func TestNoCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fabric.yaml")
	write(t, path, fmt.Sprintf(pod, "pod"))
	if r := mustLoad(t, path, filepath.Join(path, "cache")); r.Fabric() != "pod" {
		t.Errorf("%q", r.Fabric())
	}
}

// The cache is limited in number of files and in size: the oldest files are removed.
func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	keep := func(name string, size int, age int) {
		t.Helper()
		if err := (Roster{strings.Repeat("x", size)}).keep(dir, name); err != nil {
			t.Fatal(err)
		}
		at := old.Add(-time.Duration(age) * time.Minute)
		if err := os.Chtimes(file(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, ".roce-fabric-1.tmp"), "what a killed process left")
	if err := os.Chtimes(filepath.Join(dir, ".roce-fabric-1.tmp"), old.AddDate(0, 0, -1), old.AddDate(0, 0, -1)); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		keep(fmt.Sprint(i), 10, 40-i)
	}
	left := files(t, dir)
	if len(left) != maxFiles {
		t.Errorf("%d files: %q", len(left), left)
	}
	for _, name := range []string{"39", "30"} {
		if _, err := os.Stat(file(dir, name)); err != nil {
			t.Errorf("a new one is gone: %v", err)
		}
	}
	for i := range 8 {
		keep(fmt.Sprint("large", i), maxFile-1000, 8-i)
	}
	total := int64(0)
	for _, f := range files(t, dir) {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > maxTotal || total < maxTotal/2 {
		t.Errorf("%d bytes", total)
	}
	if err := (Roster{strings.Repeat("x", maxFile)}).keep(dir, "too-large"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file(dir, "too-large")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("one that is too large is kept: %v", err)
	}
}

// Load never blocks on a pipe, and it returns when ctx is done.
func TestLoadNeverBlocks(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "fabric.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, "-", "", filepath.Join(dir, "nothing.yaml")} {
		if r, err := Load(t.Context(), path, ""); err == nil {
			t.Errorf("%q has %q", path, r.Fabric())
		}
	}
	path := filepath.Join(t.TempDir(), "fabric.yaml")
	write(t, path, fmt.Sprintf(pod, "pod"))
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("late")
	cancel(late)
	for range 100 { // select chooses at random if both cases are ready
		if _, err := Load(ctx, path, ""); errors.Is(err, late) {
			return
		}
	}
	t.Error("the end of the context does not end it")
}
