//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// built returns the folder with the files of a release, which `.ci/run release` creates and
// names.
func built(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ROCE_FABRIC_RELEASE")
	if dir == "" {
		t.Skip("ROCE_FABRIC_RELEASE names no folder with the files of a release; .ci/run release does")
	}
	return dir
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// one returns the only file of the release that matches a pattern.
func one(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(built(t), pattern))
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %q, %v", pattern, names, err)
	}
	return names[0]
}

// must runs a program, which must succeed, and returns its output.
func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skip(err)
	}
}

// targetsOf returns the targets that the release was built for.
func targetsOf(t *testing.T) []target {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(built(t), "*.tar.gz"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%q, %v", names, err)
	}
	var list []target
	for _, name := range names {
		m := regexp.MustCompile(`roce-fabric_(\w+?)_(\w+)\.tar\.gz$`).FindStringSubmatch(name)
		list = append(list, target{m[1], m[2]})
	}
	return list
}

// untar reads an archive.
func untar(t *testing.T, r io.Reader) map[string]*file {
	t.Helper()
	files := map[string]*file{}
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(a)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			h.Name = strings.TrimSuffix(h.Name, "/") + "/"
		}
		if h.Uname != "" || h.Gname != "" {
			t.Errorf("%s names the user %q and the group %q of the machine", h.Name, h.Uname, h.Gname)
		}
		files[h.Name] = &file{h.Name, h.Mode, h.Uid, body}
	}
}

func untarGz(t *testing.T, name string) map[string]*file {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	return untar(t, z)
}

// programOf unpacks the program of a target.
func programOf(t *testing.T, of target) string {
	t.Helper()
	f := untarGz(t, filepath.Join(built(t), "roce-fabric_"+of.String()+".tar.gz"))["bin/roce-fabric"]
	if f == nil {
		t.Fatalf("%s: there is no program", of)
	}
	name := filepath.Join(t.TempDir(), "roce-fabric")
	if err := os.WriteFile(name, f.body, os.FileMode(f.mode)); err != nil {
		t.Fatal(err)
	}
	return name
}

func version(t *testing.T) string {
	t.Helper()
	info, err := buildinfo.ReadFile(programOf(t, target{runtime.GOOS, runtime.GOARCH}))
	if err != nil {
		t.Fatal(err)
	}
	return info.Main.Version
}

func TestSums(t *testing.T) {
	dir := built(t)
	sums := map[string]string{}
	for line := range strings.Lines(string(read(t, filepath.Join(dir, "SHA256SUMS")))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "SHA256SUMS" {
			continue
		}
		if want := fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join(dir, e.Name())))); sums[e.Name()] != want {
			t.Errorf("%s: SHA256SUMS says %q, it has %s", e.Name(), sums[e.Name()], want)
		}
		delete(sums, e.Name())
	}
	if len(sums) != 0 {
		t.Errorf("SHA256SUMS names files that are not there: %v", sums)
	}
}

// Programs are static and stripped, and report the last commit.
func TestPrograms(t *testing.T) {
	commit := strings.TrimSpace(must(t, "git", "rev-parse", "HEAD"))
	for _, of := range targetsOf(t) {
		name := programOf(t, of)
		info, err := buildinfo.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, s := range info.Settings {
			got[s.Key] = s.Value
		}
		for key, want := range map[string]string{"GOOS": of.os, "GOARCH": of.arch, "CGO_ENABLED": "0", "-trimpath": "true", "vcs.revision": commit, "vcs.modified": "false"} {
			if got[key] != want {
				t.Errorf("%s: %s is %q, not %q", of, key, got[key], want)
			}
		}
		switch of.os {
		case "linux":
			f, err := elf.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			if f.Section(".symtab") != nil || f.Section(".debug_info") != nil {
				t.Errorf("%s: not stripped", of)
			}
			for _, p := range f.Progs {
				if p.Type == elf.PT_INTERP {
					t.Errorf("%s: not static", of)
				}
			}
		case "darwin":
			f, err := macho.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			if f.Section("__debug_info") != nil || f.Section("__zdebug_info") != nil {
				t.Errorf("%s: not stripped", of)
			}
		}
		if of == (target{runtime.GOOS, runtime.GOARCH}) {
			if out := must(t, name, "version"); !strings.HasPrefix(out, "roce-fabric "+info.Main.Version+" ") || !strings.Contains(out, commit[:12]) && !regexp.MustCompile(`^roce-fabric v\d+\.\d+\.\d+(-\S+)? `).MatchString(out) {
				t.Errorf("version prints %q", out)
			}
		}
	}
}

// everywhere lists files that are installed on every system.
var everywhere = []string{
	"share/bash-completion/completions/roce-fabric", "share/zsh/site-functions/_roce-fabric", "share/fish/vendor_completions.d/roce-fabric.fish",
	"share/man/man1/roce-fabric.1", "share/man/man1/roce-fabric-plan.1", "share/doc/roce-fabric/LICENSE", "share/doc/roce-fabric/NOTICE",
}

func TestArchives(t *testing.T) {
	for _, of := range targetsOf(t) {
		files := untarGz(t, filepath.Join(built(t), "roce-fabric_"+of.String()+".tar.gz"))
		for _, name := range everywhere {
			if f := files[name]; f == nil || len(f.body) == 0 || f.mode != 0o644 || f.owner != 0 {
				t.Errorf("%s: %s is missing, empty or has wrong rights", of, name)
			}
		}
		if f := files["bin/roce-fabric"]; f == nil || f.mode != 0o755 {
			t.Errorf("%s: no program, or it cannot be run", of)
		}
	}
}

// A bill of materials lists each module in the program, with its version and licence.
func TestBillsOfMaterials(t *testing.T) {
	for _, of := range targetsOf(t) {
		info, err := buildinfo.ReadFile(programOf(t, of))
		if err != nil {
			t.Fatal(err)
		}
		bill, listed := billOf(t, "roce-fabric", of)
		if main := bill.Metadata.Component; main == nil || main.Name != info.Main.Path || main.Version != info.Main.Version {
			t.Errorf("%s: the bill is of %+v", of, main)
		}
		for _, m := range info.Deps {
			c, ok := listed[m.Path+" "+m.Version]
			if !ok {
				t.Errorf("%s: %s %s is not in the bill", of, m.Path, m.Version)
			} else if c.Evidence == nil || c.Evidence.Licenses == nil || len(*c.Evidence.Licenses) == 0 {
				t.Errorf("%s: no licence was found of %s", of, m.Path)
			}
		}
		if _, ok := listed["std "+info.GoVersion]; !ok {
			t.Errorf("%s: the standard library %s is not in the bill", of, info.GoVersion)
		}
		if of.os != "linux" {
			continue
		}
		_, listed = billOf(t, operator, of)
		for _, want := range []string{"sigs.k8s.io/controller-runtime", "k8s.io/client-go", info.Main.Path} {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(listed)), func(is string) bool { return strings.HasPrefix(is, want+" ") }) {
				t.Errorf("%s: %s is not in the bill of the operator", of, want)
			}
		}
	}
}

// billOf reads the bill of materials of a program.
func billOf(t *testing.T, program string, of target) (*cdx.BOM, map[string]cdx.Component) {
	t.Helper()
	bill, listed := &cdx.BOM{}, map[string]cdx.Component{}
	text := read(t, filepath.Join(built(t), program+"_"+of.String()+".cdx.json"))
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(bill); err != nil {
		t.Fatal(err)
	}
	for _, c := range *bill.Components {
		listed[c.Name+" "+c.Version] = c
	}
	return bill, listed
}

func TestDeb(t *testing.T) {
	need(t, "dpkg-deb")
	for _, arch := range []string{"amd64", "arm64"} {
		if !slices.Contains(targetsOf(t), target{"linux", arch}) {
			continue
		}
		deb, dir := one(t, "roce-fabric_linux_"+arch+".deb"), t.TempDir()
		list := must(t, "dpkg-deb", "-c", deb)
		for _, want := range packaged("share/zsh/vendor-completions/_roce-fabric", "share/doc/roce-fabric/copyright") {
			if !regexp.MustCompile(`(?m)^\S+ root/root .* \.` + regexp.QuoteMeta(want) + `$`).MatchString(list) {
				t.Errorf("%s lacks %s:\n%s", deb, want, list)
			}
		}
		fields := must(t, "dpkg-deb", "-f", deb)
		for _, want := range []string{"Package: roce-fabric\n", "Architecture: " + arch + "\n", "Version: " + strings.TrimPrefix(strings.Split(version(t), "-")[0], "v")} {
			if !strings.Contains(fields, want) {
				t.Errorf("%s has no field %q:\n%s", deb, want, fields)
			}
		}
		must(t, "dpkg-deb", "-x", deb, dir)
		if arch == runtime.GOARCH {
			if out := must(t, filepath.Join(dir, "usr/bin/roce-fabric"), "--version"); out != "roce-fabric "+version(t)+"\n" {
				t.Errorf("the program of the package prints %q", out)
			}
		}
		unit := string(read(t, filepath.Join(dir, "usr/lib/systemd/system/roce-fabric-watch.service")))
		if !strings.HasPrefix(unit, "[Unit]\n") || !strings.Contains(unit, "ExecStart=/usr/bin/roce-fabric watch") || strings.Contains(unit, "/usr/local") {
			t.Errorf("the unit is not that of a package:\n%s", unit)
		}
	}
}

func TestRPM(t *testing.T) {
	need(t, "rpm")
	for arch, name := range map[string]string{"amd64": "x86_64", "arm64": "aarch64"} {
		if !slices.Contains(targetsOf(t), target{"linux", arch}) {
			continue
		}
		rpm := one(t, "roce-fabric_linux_"+arch+".rpm")
		list := strings.Split(must(t, "rpm", "-qpl", rpm), "\n")
		for _, want := range packaged("share/zsh/site-functions/_roce-fabric", "share/doc/roce-fabric/LICENSE") {
			if !slices.Contains(list, want) {
				t.Errorf("%s lacks %s: %q", rpm, want, list)
			}
		}
		if out := must(t, "rpm", "-qp", "--queryformat", "%{NAME} %{ARCH} %{LICENSE} %{BUILDHOST}", rpm); out != "roce-fabric "+name+" Apache-2.0 localhost" {
			t.Errorf("%s says %q", rpm, out)
		}
		if out, err := exec.Command("rpm", "-K", "--nosignature", rpm).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", rpm, err, out)
		}
	}
}

// packaged returns the files that a package contains on every distribution, followed by own.
func packaged(own ...string) []string {
	list := []string{"/usr/bin/roce-fabric", "/usr/lib/systemd/system/roce-fabric-watch.service", "/usr/lib/systemd/system/roce-fabric-agent.service", "/usr/lib/sysusers.d/roce-fabric.conf"}
	for _, name := range slices.Concat(everywhere, own) {
		switch {
		case strings.HasPrefix(name, "share/man/"):
			name += ".gz"
		case strings.HasPrefix(name, "share/zsh/") || strings.HasSuffix(name, "/LICENSE"):
			if !slices.Contains(own, name) {
				continue
			}
		}
		list = append(list, "/usr/"+name)
	}
	return list
}

// An image is a valid OCI layout with one image per platform, which runs without root and
// without other files, and trusts its own root certificates.
func TestImage(t *testing.T) {
	for _, program := range []string{"roce-fabric", operator} {
		t.Run(program, func(t *testing.T) { testImage(t, program) })
	}
}

func testImage(t *testing.T, program string) {
	dir := t.TempDir()
	for name, f := range untar(t, bytes.NewReader(read(t, one(t, program+"_image.tar")))) {
		if _, err := stage(dir, file{name: name, mode: 0o644, body: f.body}); err != nil {
			t.Fatal(err)
		}
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || !manifest.Manifests[0].MediaType.IsIndex() {
		t.Fatalf("the layout has no one index: %+v, %v", manifest, err)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = index.IndexManifest(); err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := config.OS+"/"+config.Architecture, m.Platform.String(); got != want {
			t.Errorf("an image for %s says it is for %s", want, got)
		}
		if config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.version"] != version(t) {
			t.Errorf("the configuration is %+v", config.Config)
		}
		if m.Platform.Equals(v1.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}) {
			runImage(t, image, config)
		}
	}
	for _, of := range targetsOf(t) {
		if of.os == "linux" && !slices.Contains(platforms, of.os+"/"+of.arch) {
			t.Errorf("there is no image for %s: %q", of, platforms)
		}
	}
}

func runImage(t *testing.T, image v1.Image, config *v1.ConfigFile) {
	t.Helper()
	root := t.TempDir()
	files := untar(t, mutate.Extract(image))
	for name, f := range files {
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
				t.Fatal(err)
			}
		} else if _, err := stage(root, *f); err != nil {
			t.Fatal(err)
		}
	}
	if f := files["work/"]; f == nil || f.owner != user {
		t.Error("the user cannot write to /work")
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"].body) {
		t.Error("the image has no root certificates")
	}
	m := newMachine(t, root)
	entry := config.Config.Entrypoint[0]
	if path.Base(entry) == operator {
		if out, err := m.run(config.Config.Env, entry, "--version"); err != nil || out != operator+" "+version(t)+"\n" {
			t.Errorf("--version: %v: %s", err, out)
		}
		return
	}
	if out, err := m.run(config.Config.Env, entry, "version"); err != nil || !strings.HasPrefix(out, "roce-fabric "+version(t)) {
		t.Errorf("version: %v: %s", err, out)
	}
	for _, args := range [][]string{{"init", "--example", "quickstart", "--out", "/work/fabric.yaml"}, {"check", "-f", "/work/fabric.yaml"}} {
		if out, err := m.run(config.Config.Env, entry, args...); err != nil {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}

// The chart has the version of the release, and contains its CRDs and roles as files.
func TestChart(t *testing.T) {
	tag := strings.ReplaceAll(strings.TrimPrefix(version(t), "v"), "+", "-")
	z, err := gzip.NewReader(bytes.NewReader(read(t, one(t, operator+"-"+tag+".tgz"))))
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, z)
	for name, want := range map[string]string{
		"Chart.yaml": "version: " + tag + "\nappVersion: \"" + tag + "\"\n", "files/roles.yaml": "kind: ClusterRole\n",
		"files/crd/roce-fabric.io_fabrics.yaml": "kind: CustomResourceDefinition\n", "templates/operator.yaml": "kind: Deployment\n",
	} {
		if f := files[operator+"/"+name]; f == nil || !strings.Contains(string(f.body), want) {
			t.Errorf("%s has no %q", name, want)
		}
	}
}

// Two builds in different folders are identical byte for byte. Every run clones the commit into
// its own folder. At night, the second run has an empty build cache.
func TestReproducible(t *testing.T) {
	dir, again := built(t), t.TempDir()
	here := target{runtime.GOOS, runtime.GOARCH}
	targets := here.os + "/" + here.arch
	if os.Getenv("ROCE_FABRIC_NIGHTLY") != "" {
		t.Setenv("GOCACHE", t.TempDir())
		var all []string
		for _, of := range targetsOf(t) {
			all = append(all, of.os+"/"+of.arch)
		}
		targets = strings.Join(all, ",")
	}
	// Settings of the machine must not influence a release.
	t.Setenv("GOFLAGS", "-tags=other")
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("LANG", "de_DE.UTF-8")
	if err := run(again, targets); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(again)
	if err != nil || len(entries) < 6 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		name, other := filepath.Join(dir, e.Name()), filepath.Join(again, e.Name())
		switch {
		case strings.Contains(targets, ",") || strings.HasPrefix(e.Name(), "roce-fabric_"+here.String()) || e.Name() == "install.sh":
			if !bytes.Equal(read(t, name), read(t, other)) {
				t.Errorf("%s differs", e.Name())
			}
		case strings.HasPrefix(e.Name(), operator+"_"+here.String()):
			if !bytes.Equal(read(t, name), read(t, other)) {
				t.Errorf("%s differs", e.Name())
			}
		case strings.HasSuffix(e.Name(), "_image.tar"):
			// Compare the layer, the configuration and the manifest of this target; the index
			// covers all targets.
			all, equal := untar(t, bytes.NewReader(read(t, name))), 0
			for blob := range untar(t, bytes.NewReader(read(t, other))) {
				if strings.HasPrefix(blob, "blobs/") && all[blob] != nil {
					equal++
				}
			}
			if equal < 3 {
				t.Errorf("%d blobs of the image are the same, want 3", equal)
			}
		}
	}
}

// go install accepts the module: its go.mod replaces nothing, and its archive can be built the
// way the module proxy does from a tag.
func TestModule(t *testing.T) {
	built(t)
	var module struct {
		Module  struct{ Path string }
		Replace []any
	}
	root := strings.TrimSpace(must(t, "git", "rev-parse", "--show-toplevel"))
	if err := json.Unmarshal([]byte(must(t, "go", "mod", "edit", "-json", filepath.Join(root, "go.mod"))), &module); err != nil {
		t.Fatal(err)
	}
	if len(module.Replace) > 0 {
		t.Fatalf("go.mod replaces %v: go install refuses it", module.Replace)
	}
	publish(t, module.Module.Path, "v0.0.99", t.TempDir())
}

// The module that go install @latest gets from a module proxy builds and knows its version.
func TestGoInstall(t *testing.T) {
	built(t)
	if os.Getenv("ROCE_FABRIC_NIGHTLY") == "" {
		t.Skip("compiles each package once more: at night, with ROCE_FABRIC_NIGHTLY=1")
	}
	const path, tag = "github.com/roce-fabric/roce-fabric", "v0.0.99"
	proxy := t.TempDir()
	publish(t, path, tag, proxy)
	bin, modules := t.TempDir(), t.TempDir()
	cache := strings.TrimSpace(must(t, "go", "env", "GOMODCACHE"))
	c := exec.Command("go", "install", path+"/cmd/roce-fabric@latest")
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=-modcacherw -trimpath", "GOMODCACHE="+modules,
		"GOPROXY=file://"+proxy+",file://"+cache+"/cache/download", "GOSUMDB=off")
	start := time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	t.Logf("go install took %.1f s", time.Since(start).Seconds())
	if out := must(t, filepath.Join(bin, "roce-fabric"), "--version"); out != "roce-fabric "+tag+"\n" {
		t.Errorf("version prints %q", out)
	}
}
