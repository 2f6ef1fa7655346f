package host

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
	"syscall"
)

// homeFiles holds the files of the login. It stores only the digest and the first bytes of each
// file, because programs have tens of megabytes.
type homeFiles struct {
	mu    sync.Mutex
	files map[string]*homeFile
}

type homeFile struct {
	dir    bool
	mode   fs.FileMode
	size   int64
	digest string // SHA-256, hexadecimal
	head   []byte
}

// Limits for the files of the login.
const (
	maxHead  = 64 // in bytes: an ELF64 header
	maxFiles = 64
	maxSize  = 1 << 30 // of a file, in bytes
)

func (h *homeFiles) at(name string) (*homeFile, string, error) {
	if !path.IsAbs(name) || len(name) > 1024 {
		return nil, name, fs.ErrNotExist
	}
	name = path.Clean(name)
	f := h.files[name]
	if f == nil {
		return nil, name, fs.ErrNotExist
	}
	return f, name, nil
}

func (h *homeFiles) stat(name string) (homeFile, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, _, err := h.at(name)
	if err != nil {
		return homeFile{}, err
	}
	return *f, nil
}

// room returns an error if no file can be created at the path.
func (h *homeFiles) room(name string) error {
	switch dir := h.files[path.Dir(name)]; {
	case dir == nil:
		return fs.ErrNotExist
	case !dir.dir:
		return syscall.ENOTDIR
	case len(h.files) >= maxFiles:
		return syscall.ENOSPC
	}
	return nil
}

func (h *homeFiles) mkdirAll(name string, mode fs.FileMode) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mkdirs(path.Clean(name), mode)
}

func (h *homeFiles) mkdirs(name string, mode fs.FileMode) error {
	f, name, err := h.at(name)
	switch {
	case err == nil && f.dir:
		return nil
	case err == nil:
		return fs.ErrExist
	case name == "/" || !path.IsAbs(name):
		return fs.ErrPermission
	}
	if err := h.mkdirs(path.Dir(name), mode); err != nil {
		return err
	}
	if err := h.room(name); err != nil {
		return err
	}
	h.files[name] = &homeFile{dir: true, mode: mode}
	return nil
}

func (h *homeFiles) chmod(name string, mode fs.FileMode) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, _, err := h.at(name)
	if err == nil {
		f.mode = mode
	}
	return err
}

// rename moves a file, but not a directory, replacing an existing file.
func (h *homeFiles) rename(from, to string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, from, err := h.at(from)
	if err != nil {
		return err
	}
	old, to, err := h.at(to)
	switch {
	case f.dir:
		return syscall.EINVAL
	case err == nil && old.dir:
		return syscall.EISDIR
	case err != nil:
		if err := h.room(to); err != nil {
			return err
		}
	}
	delete(h.files, from)
	h.files[to] = f
	return nil
}

func (h *homeFiles) remove(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, name, err := h.at(name)
	switch {
	case err != nil:
		return err
	case f.dir:
		return syscall.EISDIR
	}
	delete(h.files, name)
	return nil
}

// names returns all files except directories.
func (h *homeFiles) names() map[string]homeFile {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]homeFile{}
	for name, f := range h.files {
		if !f.dir {
			out[name] = *f
		}
	}
	return out
}

// input is a file opened for reading. Only its digest is known.
type input struct{ homeFile }

// Read implements io.Reader.
func (input) Read([]byte) (int, error) { return 0, syscall.ENOTSUP }

func (h *homeFiles) open(name string) (io.Reader, error) {
	if name == "/dev/null" {
		return strings.NewReader(""), nil
	}
	f, err := h.stat(name)
	switch {
	case err != nil:
		return nil, err
	case f.dir:
		return nil, syscall.EISDIR
	case f.mode&0o400 == 0:
		return nil, fs.ErrPermission
	}
	return input{f}, nil
}

// output is a file opened for writing.
type output struct {
	home *homeFiles
	file *homeFile // nil for /dev/null
	sum  hash.Hash
}

func (h *homeFiles) create(name string, mode fs.FileMode) (*output, error) {
	if name == "/dev/null" {
		return &output{}, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f, name, err := h.at(name)
	switch {
	case err != nil:
		if err := h.room(name); err != nil {
			return nil, err
		}
		f = &homeFile{mode: mode}
		h.files[name] = f
	case f.dir:
		return nil, syscall.EISDIR
	case f.mode&0o200 == 0:
		return nil, fs.ErrPermission
	}
	f.size, f.head = 0, nil
	o := &output{h, f, sha256.New()}
	o.note()
	return o, nil
}

func (o *output) note() { o.file.digest = hex.EncodeToString(o.sum.Sum(nil)) }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	if o.file == nil {
		return len(p), nil
	}
	o.home.mu.Lock()
	defer o.home.mu.Unlock()
	if o.file.size+int64(len(p)) > maxSize {
		return 0, syscall.ENOSPC
	}
	if room := maxHead - len(o.file.head); room > 0 {
		o.file.head = append(o.file.head, p[:min(room, len(p))]...)
	}
	o.file.size += int64(len(p))
	return o.sum.Write(p)
}

func (o *output) close() {
	if o.file == nil {
		return
	}
	o.home.mu.Lock()
	defer o.home.mu.Unlock()
	o.note()
}

// runsOn returns an error if the file is not a program for the processor. Only the header is
// checked, as in the kernel (Linux, fs/binfmt_elf.c).
func (f homeFile) runsOn(machine elf.Machine) error {
	if len(f.head) < 20 || !bytes.HasPrefix(f.head, []byte(elf.ELFMAG)) {
		return syscall.ENOEXEC
	}
	at := f.head[18:20]
	got := elf.Machine(uint16(at[0]) | uint16(at[1])<<8)
	if f.head[elf.EI_DATA] == byte(elf.ELFDATA2MSB) {
		got = elf.Machine(uint16(at[1]) | uint16(at[0])<<8)
	}
	if got != machine {
		return fmt.Errorf("%w: it is for %s", syscall.ENOEXEC, got)
	}
	return nil
}
