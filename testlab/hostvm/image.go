package hostvm

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// buildTimeout limits Build, which takes about ten seconds.
const buildTimeout = 5 * time.Minute

// layout is incremented when the same input yields different content in the directory.
const layout = 1

//go:embed fakedcb/Makefile fakedcb/*.c fakedcb/*.h
var fakedcb embed.FS

//go:embed init.sh
var initScript []byte

//go:embed run.sh
var runScript []byte

// loaded lists the modules that are loaded when a script begins, in this order.
var loaded = []string{
	"virtio_pci", "virtio_console",
	"configfs", "ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm", "crc32_generic", "rdma_rxe", "8021q", "fakedcb",
}

// present lists the modules that a script may load.
var present = []string{"bonding", "dummy", "veth", "virtio_net"}

// tools are the programs of this machine that are in the VM besides busybox. busybox's own shell is
// not used, because it would prefer busybox's ip and modprobe to any file.
var tools = []string{"dash", "dcb", "ip", "rdma", "ethtool", "kmod"}

// kmods are the command names of kmod.
var kmods = []string{"depmod", "insmod", "lsmod", "modinfo", "modprobe", "rmmod"}

// Image is a kernel with its initrd. Any number of VMs can run from one Image at the same time.
type Image struct {
	// Release is the kernel release, such as "6.1.0-56-amd64".
	Release string
	// Kernel and Initrd are paths of files, which must not be changed.
	Kernel, Initrd string
}

// Build builds the image from the packages installed on this machine, in a subdirectory of dir
// named after the digest of all inputs. If the subdirectory exists, nothing is built. An empty dir
// stands for "roce-fabric/hostvm" in [os.UserCacheDir]. Several processes may build in one dir at
// the same time. Directories of older kernels remain; all of them may be deleted while no VM runs.
// Build stops when ctx ends, and after at most five minutes.
func Build(ctx context.Context, dir string) (*Image, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	if lack := Missing(); lack != "" {
		return nil, errors.New(lack)
	}
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("host VM image: no folder given: %w", err)
		}
		dir = filepath.Join(cache, "roce-fabric", "hostvm")
	}
	img, err := build(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("host VM image: %w", err)
	}
	return img, nil
}

func build(ctx context.Context, dir string) (*Image, error) {
	k, err := findKernel("/")
	if err != nil {
		return nil, err
	}
	base, err := baseTree(ctx)
	if err != nil {
		return nil, err
	}
	sum, err := digest(k, base)
	if err != nil {
		return nil, err
	}
	final := filepath.Join(dir, sum)
	img := &Image{Release: k.release, Kernel: filepath.Join(final, "kernel"), Initrd: filepath.Join(final, "initrd")}
	if _, err := os.Stat(final); err == nil {
		return img, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(dir, ".build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := addModules(ctx, base, k, filepath.Join(work, "stage")); err != nil {
		return nil, err
	}
	made := filepath.Join(work, "image")
	if err := os.Mkdir(made, 0o755); err != nil {
		return nil, err
	}
	if err := writeKernel(ctx, k.image, work, filepath.Join(made, "kernel")); err != nil {
		return nil, err
	}
	if err := writeArchive(base, filepath.Join(made, "initrd")); err != nil {
		return nil, err
	}
	if err := os.Rename(made, final); err != nil {
		// Another process may have been faster.
		if _, there := os.Stat(final); there != nil {
			return nil, err
		}
	}
	return img, nil
}

// baseTree returns the file system without the modules.
func baseTree(ctx context.Context) (tree, error) {
	t := tree{}
	for _, dir := range merged {
		t["/"+dir] = node{mode: fs.ModeSymlink | 0o777, link: "usr/" + dir}
	}
	for _, dir := range []string{
		"/dev", "/proc", "/sys", "/run", "/etc", "/root", "/var/lib", "/var/log", "/mnt",
		"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/local/bin", "/usr/local/sbin",
	} {
		t.put(dir, node{mode: fs.ModeDir | 0o755})
	}
	t.put("/tmp", node{mode: fs.ModeDir | 0o777})
	// The kernel opens the console before the first process mounts anything.
	t.put("/dev/console", node{mode: fs.ModeDevice | fs.ModeCharDevice | 0o600, dev: [2]uint32{5, 1}})
	t.put("/init", node{mode: 0o755, data: initScript})
	t.put("/usr/lib/hostvm/run", node{mode: 0o755, data: runScript})
	t.put("/etc/passwd", node{mode: 0o644, data: []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")})
	t.put("/etc/group", node{mode: 0o644, data: []byte("root:x:0:\nnogroup:x:65534:\n")})
	t.put("/etc/hosts", node{mode: 0o644, data: []byte("127.0.0.1 localhost hostvm\n::1 localhost\n")})
	t.put("/etc/hostvm/modules", node{mode: 0o644, data: []byte(strings.Join(loaded, "\n") + "\n")})

	if err := t.putProgram(ctx, "busybox"); err != nil {
		return nil, err
	}
	for _, p := range tools {
		if err := t.putProgram(ctx, p); err != nil {
			return nil, err
		}
	}
	t.put("/usr/bin/sh", node{mode: fs.ModeSymlink | 0o777, link: "dash"})
	for _, name := range kmods {
		t.put("/usr/sbin/"+name, node{mode: fs.ModeSymlink | 0o777, link: "/usr/bin/kmod"})
	}
	// The applets are added last and never replace one of the programs above.
	applets, err := run(ctx, "busybox", "--list")
	if err != nil {
		return nil, err
	}
	for name := range strings.FieldsSeq(applets) {
		if name != filepath.Base(name) || t.has("/usr/bin/"+name) || t.has("/usr/sbin/"+name) {
			continue
		}
		t.put("/usr/bin/"+name, node{mode: fs.ModeSymlink | 0o777, link: "busybox"})
	}
	return t, nil
}

func (t tree) has(name string) bool {
	_, ok := t[name]
	return ok
}

// putProgram adds a program of this machine to /usr/bin, and the shared libraries that it loads at
// their paths on this machine.
func (t tree) putProgram(ctx context.Context, name string) error {
	src, err := find(name)
	if err != nil {
		return err
	}
	if err := t.putHost("/usr/bin/"+filepath.Base(src), src); err != nil {
		return err
	}
	return t.putLibraries(ctx, src)
}

// putLibraries adds the shared libraries that a program of this machine loads.
func (t tree) putLibraries(ctx context.Context, src string) error {
	libs, err := libraries(ctx, src)
	if err != nil {
		return err
	}
	for _, lib := range libs {
		if err := t.putHost(lib, lib); err != nil {
			return err
		}
	}
	return nil
}

// addModules adds the required modules of the kernel with their dependencies, and fakedcb. It works
// in the directory stage.
func addModules(ctx context.Context, t tree, k kernel, stage string) error {
	fake, err := buildFakeDCB(ctx, k, filepath.Join(stage, "fakedcb"))
	if err != nil {
		return err
	}
	names := slices.Concat(loaded, present)
	names = slices.DeleteFunc(names, func(n string) bool { return n == "fakedcb" })
	files, err := moduleFiles(ctx, k, stage, names)
	if err != nil {
		return err
	}
	modules := filepath.Join(stage, "root", "lib", "modules", k.release)
	for _, f := range files {
		rel, err := filepath.Rel(k.modules, f)
		if err != nil {
			return err
		}
		if err := copyFile(f, filepath.Join(modules, rel)); err != nil {
			return err
		}
	}
	if err := copyFile(fake, filepath.Join(modules, "updates", "fakedcb.ko")); err != nil {
		return err
	}
	// The lists say which modules are built into the kernel; without them, such modules would look
	// as if they were missing.
	for _, list := range []string{"modules.order", "modules.builtin", "modules.builtin.modinfo"} {
		err := copyFile(filepath.Join(k.modules, list), filepath.Join(modules, list))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if _, err := run(ctx, "depmod", "-b", filepath.Join(stage, "root"), k.release); err != nil {
		return err
	}
	return t.putHost("/lib/modules/"+k.release, modules)
}

// moduleFiles returns the files of modules and of their dependencies.
func moduleFiles(ctx context.Context, k kernel, stage string, names []string) ([]string, error) {
	// The modprobe rules of this machine, such as a blacklist, do not apply to the VM.
	none := filepath.Join(stage, "no-rules")
	if err := os.MkdirAll(none, 0o755); err != nil {
		return nil, err
	}
	args := []string{"-C", none, "-S", k.release, "--show-depends", "-a"}
	out, err := run(ctx, "modprobe", append(args, names...)...)
	if err != nil {
		return nil, err
	}
	var files []string
	for line := range strings.Lines(out) {
		// The format is "insmod <path>" or "builtin <name>".
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "insmod" {
			files = append(files, f[1])
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// buildFakeDCB builds the module in a directory and returns its file.
func buildFakeDCB(ctx context.Context, k kernel, dir string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	src, err := fs.Sub(fakedcb, "fakedcb")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, src); err != nil {
		return "", err
	}
	if _, err := run(ctx, "make", "-s", "-C", k.build, "M="+dir, "modules"); err != nil {
		return "", fmt.Errorf("module fakedcb: %w", err)
	}
	return filepath.Join(dir, "fakedcb.ko"), nil
}

// digest identifies an image by its inputs: the kernel, the list of its modules, the file system,
// and the sources of fakedcb.
func digest(k kernel, t tree) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s %q %q\n", layout, k.release, loaded, present)
	for _, f := range []string{k.image, filepath.Join(k.modules, "modules.dep"), filepath.Join(k.build, "Module.symvers")} {
		if err := hashFile(h, f); err != nil {
			return "", err
		}
	}
	src := tree{}
	err := fs.WalkDir(fakedcb, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fakedcb.ReadFile(p)
		src.put(p, node{mode: 0o644, data: data})
		return err
	})
	if err != nil {
		return "", err
	}
	for _, t := range []tree{src, t} {
		if err := t.archive(h); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:32], nil
}

func hashFile(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// copyFile copies content and mode, and creates the parent directories.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func writeArchive(t tree, name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(t.archive(f), f.Close())
}

// run runs a program of this machine and returns its standard output.
func run(ctx context.Context, program string, args ...string) (string, error) {
	path, err := find(program)
	if err != nil {
		return "", err
	}
	res, err := runner.Local{}.Run(ctx, path, args...)
	if err != nil {
		return "", err
	}
	if res.Code != 0 {
		return "", fmt.Errorf("%s ended with status %d: %s", program, res.Code, strings.TrimSpace(string(res.Stderr)))
	}
	return string(res.Stdout), nil
}
