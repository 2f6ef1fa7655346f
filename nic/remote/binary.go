package remote

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/elf"
	encoding "encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
)

// maxBinary is the maximum size of the program in bytes.
const maxBinary = 256 << 20

// maxLoader is the maximum length of a loader's name in bytes: PATH_MAX.
const maxLoader = 4096

// binary is a program for Linux.
type binary struct {
	path   string
	data   []byte
	digest string // SHA-256, hexadecimal
	target target
	// loader is the dynamic loader that the program needs; "" for a static program. A host may not
	// have it, or may have an older C library than the program was linked with.
	loader string
}

// target is the platform that a program runs on.
type target struct {
	machine elf.Machine
	class   elf.Class
	order   elf.Data
}

// targets maps processor names, as printed by uname, to platforms (Linux, UTS_MACHINE of
// arch/*/Makefile).
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

// load reads the program to copy: o.Binary, or the running program if that is "".
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

// own reads the running program into memory, once for all hosts, because it has tens of megabytes.
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
	h, order, err := header(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBinary, path, err)
	}
	if t := elf.Type(h.Type); t != elf.ET_EXEC && t != elf.ET_DYN {
		return nil, fmt.Errorf("%w: %s is of type %s", ErrBinary, path, t)
	}
	loader, err := loaderOf(data, h, order)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrBinary, path, err)
	}
	sum := sha256.Sum256(data)
	of := target{elf.Machine(h.Machine), elf.Class(h.Ident[elf.EI_CLASS]), elf.Data(h.Ident[elf.EI_DATA])}
	return &binary{path, data, hex.EncodeToString(sum[:]), of, loader}, nil
}

var errCutOff = errors.New("it is truncated")

// header decodes the ELF header of a program. elf.NewFile would read all sections and pull in code
// for decompressing them. Up to Version, the fields are the same in 32-bit programs.
func header(data []byte) (h elf.Header64, order encoding.ByteOrder, err error) {
	if !bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
		return h, nil, errors.New("it is not a Linux program (ELF)")
	}
	order = encoding.LittleEndian
	if len(data) > elf.EI_DATA && elf.Data(data[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = encoding.BigEndian
	}
	if _, err := encoding.Decode(data, order, &h); err != nil {
		return h, nil, errCutOff
	}
	return h, order, nil
}

// loaderOf returns the loader that a 64-bit program names; "" for a static one. For a 32-bit
// program it returns "", because runsOn rejects those.
func loaderOf(data []byte, h elf.Header64, order encoding.ByteOrder) (string, error) {
	if elf.Class(h.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return "", nil
	}
	for i := range uint64(h.Phnum) {
		at, err := part(data, h.Phoff, i*uint64(h.Phentsize), uint64(encoding.Size(elf.Prog64{})))
		if err != nil {
			return "", err
		}
		var p elf.Prog64
		if _, err := encoding.Decode(at, order, &p); err != nil {
			return "", err
		}
		if elf.ProgType(p.Type) == elf.PT_INTERP {
			name, err := part(data, p.Off, 0, min(p.Filesz, maxLoader))
			return cmp.Or(string(bytes.TrimRight(name, "\x00")), "a loader without a name"), err
		}
	}
	return "", nil
}

// part returns n bytes of a program, starting at from+more.
func part(data []byte, from, more, n uint64) ([]byte, error) {
	size := uint64(len(data))
	if from > size || more > size-from || n > size-from-more {
		return nil, errCutOff
	}
	return data[from+more:][:n], nil
}

// runsOn returns an error if the host cannot run the program.
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
