package localtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/roce-fabric/roce-fabric/nic/local"
)

// tree stores the kernel files of a Host, on disk or in memory. Names are absolute.
type tree interface {
	local.FS
	// put writes a file, creating it and its directories as needed.
	put(name, content string)
	link(target, name string)
	mkdirs(name string)
	removeAll(name string)
}

// has reports whether a file, directory or link exists.
func (h *Host) has(name string) bool {
	if _, err := h.tree.ReadDir(name); err == nil {
		return true
	}
	_, err := h.tree.ReadFile(name)
	return err == nil
}

// disk is a tree of real files.
type disk struct{ local.OS }

func (disk) put(name, content string) {
	must(os.MkdirAll(filepath.Dir(name), 0o755))
	must(os.WriteFile(name, []byte(content), 0o644))
}

func (disk) link(target, name string) {
	must(os.MkdirAll(filepath.Dir(name), 0o755))
	must(os.Symlink(target, name))
}

func (disk) mkdirs(name string)    { must(os.MkdirAll(name, 0o755)) }
func (disk) removeAll(name string) { must(os.RemoveAll(name)) }

// memory is a tree held only in memory, for tests with hundreds of hosts.
type memory struct {
	mu   sync.Mutex
	root *node
}

// node is a file, a link or, if it has children, a directory.
type node struct {
	parent   *node
	children map[string]*node
	target   string // of a link
	content  string // of a file
}

var _ tree = (*memory)(nil)

func newMemory() *memory {
	m := &memory{root: &node{children: map[string]*node{}}}
	m.root.parent = m.root
	return m
}

// maxLinks limits how many links are followed for one file, as in Linux (MAXSYMLINKS).
const maxLinks = 40

// walk finds a file; follow says whether to follow a link at the end of the path.
func (m *memory) walk(name string, follow bool) (*node, error) {
	at := m.root
	todo := strings.Split(name, "/")
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch {
		case part == "" || part == ".":
			continue
		case at.children == nil:
			return nil, syscall.ENOTDIR
		case part == "..":
			at = at.parent
			continue
		}
		next := at.children[part]
		if next == nil {
			return nil, syscall.ENOENT
		}
		if next.target != "" && (follow || len(todo) > 0) {
			if links++; links > maxLinks {
				return nil, syscall.ELOOP
			}
			todo = append(strings.Split(next.target, "/"), todo...)
			continue
		}
		at = next
	}
	return at, nil
}

// folder returns the directory for a new file, and the file's base name. With make set, it creates
// missing directories.
func (m *memory) folder(name string, make bool) (*node, string, error) {
	dir, base := filepath.Split(filepath.Clean(name))
	at, err := m.walk(dir, true)
	if err != nil && make {
		up, last, uerr := m.folder(filepath.Clean(dir), true)
		if uerr != nil {
			return nil, "", uerr
		}
		at = &node{parent: up, children: map[string]*node{}}
		up.children[last] = at
		err = nil
	}
	if err == nil && at.children == nil {
		err = syscall.ENOTDIR
	}
	return at, base, err
}

// ReadFile implements local.FS.
func (m *memory) ReadFile(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(name, true)
	if err == nil && n.children != nil {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, refuse("open", name, err)
	}
	return []byte(n.content), nil
}

// WriteFile implements local.FS.
func (m *memory) WriteFile(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(name, true)
	if err == nil && n.children != nil {
		err = syscall.EISDIR
	}
	if err != nil {
		return refuse("open", name, err)
	}
	n.content = string(data)
	return nil
}

// Mkdir implements local.FS.
func (m *memory) Mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.folder(name, false)
	if err == nil && dir.children[base] != nil {
		err = syscall.EEXIST
	}
	if err != nil {
		return refuse("mkdir", name, err)
	}
	dir.children[base] = &node{parent: dir, children: map[string]*node{}}
	return nil
}

// Remove implements local.FS.
func (m *memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.folder(name, false)
	switch {
	case err != nil:
	case dir.children[base] == nil:
		err = syscall.ENOENT
	case len(dir.children[base].children) > 0:
		err = syscall.ENOTEMPTY
	}
	if err != nil {
		return refuse("remove", name, err)
	}
	delete(dir.children, base)
	return nil
}

// ReadDir implements local.FS.
func (m *memory) ReadDir(name string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(name, true)
	if err == nil && n.children == nil {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, refuse("open", name, err)
	}
	names := make([]string, 0, len(n.children))
	for c := range n.children {
		names = append(names, c)
	}
	slices.Sort(names)
	return names, nil
}

// Readlink implements local.FS.
func (m *memory) Readlink(name string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.walk(name, false)
	if err == nil && n.target == "" {
		err = syscall.EINVAL
	}
	if err != nil {
		return "", refuse("readlink", name, err)
	}
	return n.target, nil
}

func (m *memory) put(name, content string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, err := m.walk(name, true); err == nil {
		n.content = content
		return
	}
	dir, base, err := m.folder(name, true)
	must(err)
	dir.children[base] = &node{parent: dir, content: content}
}

func (m *memory) link(target, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.folder(name, true)
	must(err)
	dir.children[base] = &node{parent: dir, target: target}
}

func (m *memory) mkdirs(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.folder(name, true)
	must(err)
	if dir.children[base] == nil {
		dir.children[base] = &node{parent: dir, children: map[string]*node{}}
	}
}

func (m *memory) removeAll(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if dir, base, err := m.folder(name, false); err == nil {
		delete(dir.children, base)
	}
}

// refuse returns an error in the form of package os.
func refuse(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }
