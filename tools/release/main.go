// Command release builds the files of a release from the last commit: the program for each
// target, archives, deb and rpm packages, OCI images, a Helm chart, bills of materials and
// checksums. Uncommitted changes are not included. The same commit, built with the same Go
// version, gives the same bytes on every machine and in every folder.
//
//	go -C tools run ./release -out ../bin/release
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"golang.org/x/sync/errgroup"
)

// target is a platform for which a release has a program.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

// largest is the largest allowed size of a program for Linux, in bytes. If anything calls a method
// by a name that is unknown at link time, as templates do, the linker keeps every method of every
// type, and the program grows by a sixth.
const largest = 36 << 20

// release holds what all files of one release share.
type release struct {
	source  string    // folder with a clean clone of the commit
	out     string    // folder for the release's files
	commit  string    // hash of the commit
	version string    // version stamped into the program: a tag, or a pseudo-version
	time    time.Time // time of the commit, used for every file in every archive
	shared  []file    // files installed with the program on every platform
	// licences maps the package URL of each module to its licences.
	licences map[string]*cdx.Evidence

	mu     sync.Mutex
	layers []layer // of the images, one per program and Linux target
}

func main() {
	out := flag.String("out", "../bin/release", "the `folder` that the files are written to; what it holds is removed")
	targets := flag.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "the platforms, as `OS/ARCH,...`; that of this machine must be one of them")
	flag.Parse()
	if err := run(*out, *targets); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(out, targets string) error {
	list, err := parseTargets(targets)
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "roce-fabric-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	r := &release{source: filepath.Join(tmp, "source"), out: out}
	if err := r.checkout(); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	// The first target creates the files that the others share.
	if err := r.add(list[0], tmp); err != nil {
		return fmt.Errorf("%s: %w", list[0], err)
	}
	var g errgroup.Group
	for _, t := range list[1:] {
		g.Go(func() error {
			if err := r.add(t, tmp); err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, program := range []string{"roce-fabric", operator} {
		if err := r.image(program); err != nil {
			return fmt.Errorf("image of %s: %w", program, err)
		}
	}
	if err := r.chart(); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	script, err := os.ReadFile(filepath.Join(r.source, "tools/release/install.sh"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "install.sh"), script, 0o755); err != nil {
		return err
	}
	return r.sums()
}

// parseTargets puts the platform of this machine first, because its program writes the man pages
// and completions for all targets.
func parseTargets(s string) ([]target, error) {
	var list []target
	for _, name := range strings.Split(s, ",") {
		os, arch, ok := strings.Cut(name, "/")
		if !ok {
			return nil, fmt.Errorf("target %q is not OS/ARCH", name)
		}
		list = append(list, target{os, arch})
	}
	here := slices.Index(list, target{runtime.GOOS, runtime.GOARCH})
	if here < 0 {
		return nil, fmt.Errorf("the targets do not have %s/%s, which runs here and writes the man pages", runtime.GOOS, runtime.GOARCH)
	}
	first := list[here]
	return slices.Insert(slices.Delete(list, here, here+1), 0, first), nil
}

// checkout clones the commit into its own folder. Go stamps a version into a program only in a
// clone, and marks it as modified if there are uncommitted files.
func (r *release) checkout() error {
	top, err := output(".", nil, "git", "rev-parse", "--show-toplevel", "HEAD")
	if err != nil {
		return fmt.Errorf("a release is built from a git checkout: %w", err)
	}
	dir, commit, _ := strings.Cut(top, "\n")
	r.commit = commit
	if _, err := output(dir, nil, "git", "clone", "--quiet", "--no-checkout", dir, r.source); err != nil {
		return err
	}
	if _, err := output(r.source, nil, "git", "checkout", "--quiet", "--detach", commit); err != nil {
		return err
	}
	seconds, err := output(r.source, nil, "git", "show", "-s", "--format=%ct", commit)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	r.time = time.Unix(n, 0).UTC()
	return nil
}

// add builds the program of a target and the files made from it.
func (r *release) add(t target, tmp string) error {
	start := time.Now()
	folder := filepath.Join(tmp, t.String())
	program := filepath.Join(folder, "roce-fabric")
	// The caller's environment must not change the build.
	env := []string{"GOFLAGS=-buildvcs=true", "GOOS=" + t.os, "GOARCH=" + t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off"}
	if _, err := output(r.source, env, "make", "-s", "build", "OUT="+folder+"/"); err != nil {
		return err
	}
	built := time.Since(start)
	body, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	// Linux programs are copied to hosts, so their size matters.
	if n := len(body); n > largest && t.os == "linux" {
		return fmt.Errorf("the program has %d bytes, more than %d", n, largest)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	if info.Main.Version == "" || info.Main.Version == "(devel)" {
		return fmt.Errorf("go build stamped no version")
	}
	if r.shared == nil {
		r.version = info.Main.Version
		if r.shared, err = r.sharedFiles(program); err != nil {
			return err
		}
	}
	tree := append([]file{{name: "bin/roce-fabric", mode: 0o755, body: body}}, r.shared...)
	archive := filepath.Join(r.out, "roce-fabric_"+t.String()+".tar.gz")
	if err := writeFile(archive, func(w *bytes.Buffer) error { return writeTarGz(w, r.time, tree) }); err != nil {
		return err
	}
	if err := r.bill("roce-fabric", t, program); err != nil {
		return err
	}
	if t.os == "linux" {
		if err := r.packages(t, tree, folder); err != nil {
			return err
		}
		if err := r.layer("roce-fabric", t, body); err != nil {
			return err
		}
		if err := r.operator(t, folder, env); err != nil {
			return fmt.Errorf("%s: %w", operator, err)
		}
	}
	fmt.Printf("%-13s %s %d bytes, built in %.1f s, packed in %.1f s\n", t, r.version, len(body), built.Seconds(), (time.Since(start) - built).Seconds())
	return nil
}

// operator builds the operator for a target and the layer of its image.
func (r *release) operator(t target, folder string, env []string) error {
	if _, err := output(r.source, env, "make", "-s", "operator", "OUT="+folder+"/", "VERSION="+r.version); err != nil {
		return err
	}
	program := filepath.Join(folder, operator)
	body, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := r.bill(operator, t, program); err != nil {
		return err
	}
	return r.layer(operator, t, body)
}

// bill writes the bill of materials: the modules in the program, with their licences.
func (r *release) bill(name string, t target, program string) error {
	bill, err := r.modules(program, r.licences == nil)
	if err != nil {
		return err
	}
	if r.licences == nil {
		r.licences = map[string]*cdx.Evidence{}
		for _, c := range *bill.Components {
			r.licences[c.PackageURL] = c.Evidence
		}
	}
modules:
	for i, c := range *bill.Components {
		found, ok := r.licences[c.PackageURL]
		switch {
		case ok:
		case c.Name == "../": // the main module, which the operator's module replaces with a folder
			c.Name, c.Version, c.PackageURL = "github.com/roce-fabric/roce-fabric", r.version, ""
			c.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
			(*bill.Components)[i] = c
		case name == operator:
			// cyclonedx-gomod looks up licences of modules in groups, and finds none for a group
			// that contains a folder. Modules that the operator shares with the program are
			// already known.
		default: // a module used only by this target
			bill, err = r.modules(program, true)
			break modules
		}
		(*bill.Components)[i].Evidence = found
	}
	if err != nil {
		return err
	}
	// cyclonedx-gomod would look up the licence of this module at the module proxy.
	bill.Metadata.Component.Evidence = nil
	bill.Metadata.Component.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	// Remove the checksums of cyclonedx-gomod itself, which differ between machines.
	if tools := bill.Metadata.Tools; tools != nil && tools.Tools != nil {
		for i := range *tools.Tools {
			(*tools.Tools)[i].Hashes = nil
		}
	}
	return writeFile(filepath.Join(r.out, name+"_"+t.String()+".cdx.json"), func(w *bytes.Buffer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bill)
	})
}

// modules returns the modules of a program. Reading their licences takes most of the time.
func (r *release) modules(program string, licences bool) (*cdx.BOM, error) {
	tool, err := output(".", []string{"GOFLAGS=-trimpath"}, "go", "tool", "-n", "cyclonedx-gomod") // prints the path of the built tool
	if err != nil {
		return nil, err
	}
	args := []string{"bin", "-json", "-std", "-noserial", "-notimestamp", "-version", r.version}
	if licences {
		args = append(args, "-licenses")
	}
	// The build has put the modules into the cache and checked them against go.sum. Outside a
	// module, where cyclonedx-gomod looks them up, Go would query the checksum database.
	text, err := output(".", []string{"GOPROXY=off", "GOSUMDB=off"}, tool, append(args, program)...)
	if err != nil {
		return nil, err
	}
	var bill cdx.BOM
	err = cdx.NewBOMDecoder(strings.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bill)
	return &bill, err
}

// sums writes the checksums of all files.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, e := range entries {
		body, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(body), e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), text.Bytes(), 0o644)
}

// output runs a program in a folder and returns its standard output.
func output(dir string, env []string, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

func writeFile(name string, write func(*bytes.Buffer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}
