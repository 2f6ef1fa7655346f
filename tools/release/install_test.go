//go:build linux

package main

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite testdata/first-day.txt")

// serve serves a folder over HTTP on loopback and returns its URL.
func serve(t *testing.T, dir string) string {
	t.Helper()
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(s.Close)
	return s.URL
}

// tree lists the files below a folder with their permissions.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			list = append(list, info.Mode().String()+" "+strings.TrimPrefix(name, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// installer runs the release's install script. Programs in path take precedence over the
// machine's programs.
type installer struct {
	shell []string
	path  string
	home  string
}

func (i installer) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	shell := i.shell
	if shell == nil {
		shell = []string{"sh"}
	}
	c := exec.Command(shell[0], slices.Concat(shell[1:], []string{filepath.Join(built(t), "install.sh")}, args)...)
	c.Env = []string{"PATH=" + i.path + ":/usr/bin:/bin", "HOME=" + i.home}
	c.Dir = t.TempDir()
	out, err := c.CombinedOutput()
	return string(out), err
}

// The script installs the same files from every kind of source, with every shell, and again over
// an existing installation.
func TestInstall(t *testing.T) {
	dir := built(t)
	url := serve(t, dir)
	var first []string
	for _, c := range []struct {
		name, from string
		shell      []string
	}{
		{"http", url, []string{"sh"}},
		{"file", "file://" + dir, []string{"bash", "--posix"}},
		{"busybox", url + "/", []string{"busybox", "sh"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			need(t, c.shell[0])
			prefix := filepath.Join(t.TempDir(), "a prefix")
			in := installer{shell: c.shell}
			want := "roce-fabric " + version(t) + " is installed: " + prefix + "/bin/roce-fabric\n"
			for range 2 {
				out, err := in.run(t, "--from", c.from, "--prefix", prefix)
				if err != nil || !strings.HasPrefix(out, want) || !strings.Contains(out, "is not in PATH") {
					t.Fatalf("%v: %s", err, out)
				}
			}
			got := tree(t, prefix)
			for _, name := range everywhere {
				if !slices.Contains(got, "-rw-r--r-- "+name) {
					t.Errorf("%s is missing: %q", name, got)
				}
			}
			if !slices.Contains(got, "-rwxr-xr-x bin/roce-fabric") {
				t.Errorf("there is no program: %q", got)
			}
			if first == nil {
				first = got
			} else if !slices.Equal(got, first) {
				t.Errorf("%q is not %q", got, first)
			}
		})
	}
}

// Without --prefix, a user other than root installs to the home folder; a relative prefix is
// relative to the current folder. Pages of removed commands are deleted.
func TestInstallPlaces(t *testing.T) {
	home, fake := t.TempDir(), t.TempDir()
	script(t, fake, "id", "echo 1000")
	old := filepath.Join(home, ".local/share/man/man1/roce-fabric-gone.1")
	if err := os.MkdirAll(filepath.Dir(old), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	in := installer{path: filepath.Join(home, ".local/bin") + ":" + fake, home: home}
	if out, err := in.run(t, "--from", "file://"+built(t)); err != nil || !strings.HasSuffix(out, "\nnext: roce-fabric lab demo\n") || strings.Contains(out, "note:") {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(home, ".local/bin/roce-fabric")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the page of a command that is gone is still there")
	}
}

func script(t *testing.T, dir, name, body string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// On any error, the script reports it and keeps the existing installation.
func TestInstallRefuses(t *testing.T) {
	dir := built(t)
	archive := "roce-fabric_linux_" + runtime.GOARCH + ".tar.gz"
	sums := string(read(t, filepath.Join(dir, "SHA256SUMS")))
	for _, c := range []struct {
		name, want string
		// files replace those of the release; an empty one is missing.
		files map[string]string
		uname string
		args  []string
	}{
		{name: "other bytes", want: archive + " has checksum ", files: map[string]string{archive: "not an archive"}},
		{name: "no checksum", want: "SHA256SUMS has no checksum of " + archive, files: map[string]string{"SHA256SUMS": strings.ReplaceAll(sums, archive, "other.tar.gz")}},
		{name: "no file", want: "cannot download http://127.0.0.1:", files: map[string]string{archive: ""}},
		{name: "other machine", want: "there is no release for linux on riscv64; build it with: go install ", uname: `case $1 in -s) echo Linux ;; *) echo riscv64 ;; esac`},
		{name: "other system", want: "there is no release for FreeBSD", uname: `echo FreeBSD`},
		{name: "foreign program", want: "the program does not run on this machine: nothing was installed", uname: `case $1 in -s) echo Darwin ;; *) echo arm64 ;; esac`},
		{name: "argument", want: "unknown argument --prefx", args: []string{"--prefx", "/tmp"}},
		{name: "value", want: "--version needs a value", args: []string{"--version"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.uname, "Darwin") && !slices.Contains(targetsOf(t), target{"darwin", "arm64"}) {
				t.Skip("the release has no program for macOS")
			}
			from, fake, prefix := t.TempDir(), t.TempDir(), t.TempDir()
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if body, ok := c.files[e.Name()]; !ok {
					err = os.Symlink(filepath.Join(dir, e.Name()), filepath.Join(from, e.Name()))
				} else if body != "" {
					err = os.WriteFile(filepath.Join(from, e.Name()), []byte(body), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if c.uname != "" {
				script(t, fake, "uname", c.uname)
			}
			if err := os.MkdirAll(filepath.Join(prefix, "bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			script(t, filepath.Join(prefix, "bin"), "roce-fabric", "echo old")
			before := tree(t, prefix)
			out, err := installer{path: fake}.run(t, slices.Concat([]string{"--from", serve(t, from), "--prefix", prefix}, c.args)...)
			if err == nil || !strings.Contains(out, "install.sh: ") || !strings.Contains(out, c.want) {
				t.Errorf("%v: %s\nwant %q", err, out, c.want)
			}
			if after := tree(t, prefix); !slices.Equal(before, after) {
				t.Errorf("%q became %q", before, after)
			}
			if body := string(read(t, filepath.Join(prefix, "bin/roce-fabric"))); !strings.Contains(body, "echo old") {
				t.Error("the old program is gone")
			}
		})
	}
}

// prompt matches the start of a command in the transcript.
var prompt = regexp.MustCompile(`(?m)^\$ (.*)\n`)

// The commands of testdata/first-day.txt work on a machine with only a shell, tar and wget: from
// the download to a validated fabric of the lab. Their output in the transcript is for the
// reader; its wording may be outdated.
func TestFirstDay(t *testing.T) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip(err)
	}
	proof := map[string]string{
		"roce-fabric check": `nothing wrong`,
		"roce-fabric apply --plan quickstart.plan --allow traffic-loss --yes 2>apply.log": `(?m)^8 applied$`,
		"roce-fabric plan":     `(?m)^no changes on 8 devices`,
		"roce-fabric validate": `no errors`,
	}
	const page = "testdata/first-day.txt"
	transcript := string(read(t, page))
	commands := prompt.FindAllStringSubmatch(transcript, -1)

	m := newMachine(t, t.TempDir())
	if _, err := stage(m.root, file{name: "bin/busybox", mode: 0o755, body: read(t, busybox)}); err != nil {
		t.Fatal(err)
	}
	// The programs that install.sh uses, and those that a person types.
	for _, name := range []string{"sh", "awk", "cat", "cp", "find", "id", "kill", "mkdir", "mktemp", "mv", "rm", "sha256sum", "sleep", "tail", "tar", "uname", "wget"} {
		if err := os.Symlink("busybox", filepath.Join(m.root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	url := serve(t, built(t))
	var s strings.Builder
	s.WriteString("set -eu\ncd\n")
	for _, c := range commands {
		line := strings.ReplaceAll(c[1], "https://github.com/roce-fabric/roce-fabric/releases/latest/download", url)
		line = regexp.MustCompile(`\| sh$`).ReplaceAllString(line, "| sh -s -- --from "+url)
		s.WriteString("echo \x01\n" + line + "\n")
		if strings.HasSuffix(line, "&") {
			s.WriteString("lab=$!; until [ -s lab/lab.json ]; do kill -0 $lab; sleep 0.1; done\n")
		}
	}
	s.WriteString("kill $lab; wait $lab\n")

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	start := time.Now()
	out, err := m.command(ctx, []string{"PATH=/bin", "HOME=/home/op"}, "/bin/sh", "-c", s.String()).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("from the download to the end of validate: %.1f s", time.Since(start).Seconds())
	parts := strings.Split(string(out), "\x01\n")[1:]
	var got strings.Builder
	for i, c := range commands {
		got.WriteString(c[0] + plain(parts[i]))
		if !regexp.MustCompile(proof[c[1]]).MatchString(parts[i]) {
			t.Errorf("%s prints %s\nwithout %q", c[1], parts[i], proof[c[1]])
		}
		delete(proof, c[1])
	}
	if len(proof) > 0 {
		t.Errorf("the transcript lacks %v", proof)
	}
	if *update {
		if err := os.WriteFile(page, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// plain replaces the parts of an output that differ between runs.
func plain(s string) string {
	for _, r := range [][2]string{
		{`roce-fabric v\d\S*`, "roce-fabric v1.0.0"},
		{`digest [0-9a-f]{64}`, "digest ac0c296a3388c252f795b01fd0edeb140b04e0a95419cbd344d12f2a870e232d"},
		{`n0+1\.\d{8}-\d{9}-[0-9a-f]{4}`, "n000000000001.20270104-091502118-3f7a"},
	} {
		s = regexp.MustCompile(r[0]).ReplaceAllString(s, r[1])
	}
	return s
}
