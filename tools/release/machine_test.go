//go:build linux

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// machine is a folder that programs see as the root of their file system. They run as an
// unprivileged user.
type machine struct {
	t    *testing.T
	root string
}

func newMachine(t *testing.T, root string) *machine {
	t.Helper()
	m := &machine{t, root}
	for _, name := range []string{"dev", "tmp", "home/op"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "dev/null"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	probe := exec.Command("/proc/self/exe", "-test.run=^$")
	probe.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	if err := probe.Run(); err != nil {
		t.Skipf("no user namespaces here: %v", err)
	}
	return m
}

// command returns a command of the machine that runs as user 1000.
func (m *machine) command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Path, c.Err, c.Dir, c.Env = name, nil, "/", env
	c.SysProcAttr = &syscall.SysProcAttr{
		Chroot: m.root, Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: os.Getgid(), Size: 1}},
	}
	return c
}

func (m *machine) run(env []string, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := m.command(ctx, env, name, args...).CombinedOutput()
	return string(out), err
}

// publish puts the last commit, as a version of the module, into a folder with the layout of a
// module proxy.
func publish(t *testing.T, path, version, proxy string) {
	t.Helper()
	r := &release{source: filepath.Join(t.TempDir(), "source")}
	if err := r.checkout(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(proxy, path, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := zip.CreateFromVCS(&archive, module.Version{Path: path, Version: version}, r.source, "HEAD", ""); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": []byte(`{"Version":"` + version + `","Time":"2026-01-01T00:00:00Z"}`),
		version + ".mod":  read(t, filepath.Join(r.source, "go.mod")),
		version + ".zip":  archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
