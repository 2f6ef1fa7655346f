package remote

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
)

// maxBinary bounds the program, in bytes.
const maxBinary = 256 << 20

// maxLoader bounds the name of a loader, in bytes: PATH_MAX.
const maxLoader = 4096

// binary is a program for Linux.
type binary struct {
	path   string
	data   []byte
	digest string // SHA-256, hexadecimal
	target target
	// loader is what the kernel starts in its place, "" for a static program. A host
	// may not have it, or only an older C library than the program was linked with.
	loader string
}

// target is what a program runs on.
type target struct {
	machine elf.Machine
	class   elf.Class
	order   elf.Data
}

// targets are the processors by the name that uname has for them (Linux,
// UTS_MACHINE of arch/*/Makefile).
var targets = map[string]target{
	"x86_64":  {elf.EM_X86_64, elf.ELFCLASS64, elf.ELFDATA2LSB},
	"aarch64": {elf.EM_AARCH64, elf.ELFCLASS64, elf.ELFDATA2LSB},
	"ppc64le": {elf.EM_PPC64, elf.ELFCLASS64, elf.ELFDATA2LSB},
	"riscv64": {elf.EM_RISCV, elf.ELFCLASS64, elf.ELFDATA2LSB},
	"s390x":   {elf.EM_S390, elf.ELFCLASS64, elf.ELFDATA2MSB},
}

func (t target) String() string {
	for name, o := range targets {
		if o == t {
			return name
		}
	}
	return fmt.Sprintf("%s %s", t.machine, t.class)
}

// load reads a program, "" for the running one.
func load(o Options) (*binary, error) {
	read := own
	if o.Binary != "" {
		read = func() (*binary, error) { return loadFile(o.Binary) }
	}
	b, err := read()
	if err == nil && b.loader != "" && !o.Dynamic {
		return nil, fmt.Errorf("%w: %s is not linked statically, it needs %s: it was built with cgo or as a PIE", ErrBinary, b.path, clip(b.loader))
	}
	return b, err
}

// own is the running program, in memory once for all hosts: it has tens of megabytes.
var own = sync.OnceValues(func() (*binary, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%w: the running program cannot be found: %w", ErrBinary, err)
	}
	return loadFile(path)
})

func loadFile(path string) (*binary, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a file", ErrBinary, path)
	}
	data, err := boundedfile.Read(path, maxBinary)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBinary, err)
	}
	e, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBinary, path, err)
	}
	if e.Type != elf.ET_EXEC && e.Type != elf.ET_DYN {
		return nil, fmt.Errorf("%w: %s is of type %s", ErrBinary, path, e.Type)
	}
	loader := ""
	for _, p := range e.Progs {
		if p.Type == elf.PT_INTERP {
			name, err := io.ReadAll(io.LimitReader(p.Open(), maxLoader))
			if err != nil {
				return nil, fmt.Errorf("%w: %s: %w", ErrBinary, path, err)
			}
			loader = cmp.Or(string(bytes.TrimRight(name, "\x00")), "a loader without a name")
		}
	}
	sum := sha256.Sum256(data)
	return &binary{path, data, hex.EncodeToString(sum[:]), target{e.Machine, e.Class, e.Data}, loader}, nil
}

// runsOn refuses a host that cannot run the program.
func (b *binary) runsOn(system, processor string) error {
	if system != "Linux" {
		return fmt.Errorf("%w: it runs %s, and only Linux is supported", ErrArch, clip(system))
	}
	t, ok := targets[processor]
	switch {
	case !ok:
		return fmt.Errorf("%w: processor %s is not known", ErrArch, clip(processor))
	case t != b.target:
		return fmt.Errorf("%w: it is %s, and %s is for %s", ErrArch, processor, b.path, b.target)
	}
	return nil
}
