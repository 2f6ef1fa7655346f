package hostvm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// emulator is the program that runs the VM.
const emulator = "qemu-system-x86_64"

// needs lists the programs that this package runs or copies into the VM, with the Debian packages
// that contain them.
var needs = []struct{ program, deb string }{
	{emulator, "qemu-system-x86"},
	{"busybox", "busybox-static"},
	{"dash", "dash"},
	{"kmod", "kmod"},
	{"modprobe", "kmod"},
	{"depmod", "kmod"},
	{"ip", "iproute2"},
	{"dcb", "iproute2"},
	{"rdma", "iproute2"},
	{"ethtool", "ethtool"},
	{"gcc", "gcc"},
	{"make", "make"},
	{"xz", "xz-utils"},
	{"ldd", "libc-bin"},
}

// kernelPackages are the Debian packages of the kernel and of what is needed to build a module.
var kernelPackages = []string{"linux-image-amd64", "linux-headers-amd64"}

// Missing says in one line what this machine lacks for [Build] and [Boot], and how to install it;
// "" if nothing is missing.
func Missing() string {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Sprintf("the host VM needs linux/amd64; this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	var lacks, debs []string
	for _, n := range needs {
		if _, err := find(n.program); err != nil {
			lacks = append(lacks, n.program)
			debs = append(debs, n.deb)
		}
	}
	if _, err := findKernel("/"); err != nil {
		lacks = append(lacks, err.Error())
		debs = append(debs, kernelPackages...)
	}
	if len(lacks) == 0 {
		return ""
	}
	slices.Sort(debs)
	return fmt.Sprintf("the host VM lacks %s (Debian: apt-get install %s)",
		strings.Join(lacks, ", "), strings.Join(slices.Compact(debs), " "))
}

// find returns the path of a program. A user's PATH often lacks the directories of system programs.
func find(program string) (string, error) {
	p, err := exec.LookPath(program)
	if err == nil {
		return filepath.Abs(p)
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/bin", "/bin"} {
		if p, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return p, nil
		}
	}
	return "", err
}

// kernel is an installed kernel that a module can be built for.
type kernel struct {
	release string // such as 6.1.0-56-amd64
	image   string // the bzImage
	modules string // directory of its modules
	build   string // directory to build modules against
}

// findKernel returns the newest kernel below root that has its headers and modules, including rxe.
// Cloud kernels come without rxe.
func findKernel(root string) (kernel, error) {
	found, err := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
	if err != nil {
		return kernel{}, err
	}
	if len(found) == 0 {
		return kernel{}, fmt.Errorf("a kernel in %s", filepath.Join(root, "boot"))
	}
	ordered.Sort(found, func(a, b string) int { return natural.Compare(b, a) })
	var why []string
	for _, image := range found {
		k := kernel{release: strings.TrimPrefix(filepath.Base(image), "vmlinuz-"), image: image}
		k.modules = filepath.Join(root, "lib", "modules", k.release)
		k.build = filepath.Join(k.modules, "build")
		lacks := k.lacks()
		if lacks == "" {
			return k, nil
		}
		why = append(why, lacks+" of kernel "+k.release)
	}
	return kernel{}, fmt.Errorf("%s", strings.Join(why, ", "))
}

func (k kernel) lacks() string {
	f, err := os.Open(k.image)
	if err != nil {
		return "a readable image"
	}
	f.Close()
	rxe, err := filepath.Glob(filepath.Join(k.modules, "kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko*"))
	if err != nil || len(rxe) == 0 {
		return "rdma_rxe"
	}
	if _, err := os.Stat(filepath.Join(k.build, "Makefile")); err != nil {
		return "the headers"
	}
	return ""
}
