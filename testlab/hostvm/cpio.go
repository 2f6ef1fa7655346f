package hostvm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// node is one file of a tree: a directory, a symbolic link, a device or a regular file. The content
// of a regular file is src, a path on this machine, or else data.
type node struct {
	mode fs.FileMode
	data []byte
	src  string
	link string
	dev  [2]uint32 // major and minor number of a character device
}

// tree is the content of a file system, by absolute, clean path.
type tree map[string]node

// merged are the directories that are links into /usr.
var merged = []string{"bin", "sbin", "lib", "lib64"}

// guestPath returns the path of a file in a tree.
func guestPath(name string) string {
	name = path.Clean("/" + name)
	first, _, _ := strings.Cut(name[1:], "/")
	if slices.Contains(merged, first) {
		return "/usr" + name
	}
	return name
}

// put adds a file, and its parent directories if they do not exist.
func (t tree) put(name string, n node) {
	name = guestPath(name)
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if _, has := t[dir]; !has {
			t[dir] = node{mode: fs.ModeDir | 0o755}
		}
	}
	if name != "/" {
		t[name] = n
	}
}

// putHost adds a file of this machine, or a directory with everything in it.
func (t tree) putHost(name, src string) error {
	src, err := filepath.EvalSymlinks(src)
	if err != nil {
		return err
	}
	return filepath.WalkDir(src, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, p)
		if err != nil {
			return err
		}
		to := path.Join("/", name, filepath.ToSlash(rel))
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case info.Mode().IsRegular():
			t.put(to, node{mode: info.Mode().Perm(), src: p})
		case info.IsDir():
			t.put(to, node{mode: fs.ModeDir | info.Mode().Perm()})
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(p)
			if err != nil {
				return err
			}
			t.put(to, node{mode: fs.ModeSymlink | 0o777, link: link})
		default:
			return fmt.Errorf("%s: neither a file nor a folder nor a link", p)
		}
		return nil
	})
}

// File types in a cpio header (include/uapi/linux/stat.h).
const (
	typeRegular = 0o100000
	typeDir     = 0o040000
	typeLink    = 0o120000
	typeChar    = 0o020000
)

// archive writes the tree in the format that the kernel reads as initramfs: cpio, "newc"
// (Documentation/driver-api/early-userspace/buffer-format.rst).
func (t tree) archive(w io.Writer) error {
	out := &counter{w: bufio.NewWriterSize(w, 1<<20)}
	for i, name := range slices.Sorted(maps.Keys(t)) {
		if err := t[name].write(out, uint32(i+1), name[1:]); err != nil {
			return fmt.Errorf("archive: %s: %w", name, err)
		}
	}
	if err := record(out, header{links: 1}, "TRAILER!!!", nil); err != nil {
		return err
	}
	return out.w.Flush()
}

func (n node) write(out *counter, inode uint32, name string) error {
	h := header{inode: inode, links: 1, mode: uint32(n.mode.Perm())}
	switch n.mode.Type() {
	case fs.ModeDir:
		h.mode |= typeDir
		return record(out, h, name, nil)
	case fs.ModeSymlink:
		h.mode |= typeLink
		h.size = int64(len(n.link))
		return record(out, h, name, strings.NewReader(n.link))
	case fs.ModeDevice | fs.ModeCharDevice:
		h.mode |= typeChar
		h.dev = n.dev
		return record(out, h, name, nil)
	case 0:
		h.mode |= typeRegular
		if n.src == "" {
			h.size = int64(len(n.data))
			return record(out, h, name, bytes.NewReader(n.data))
		}
		f, err := os.Open(n.src)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		h.size = info.Size()
		return record(out, h, name, f)
	}
	return fmt.Errorf("mode %v has no place in an archive", n.mode)
}

type header struct {
	inode, mode, links uint32
	size               int64
	dev                [2]uint32
}

// record writes one entry with exactly h.size bytes of content.
func record(out *counter, h header, name string, content io.Reader) error {
	if h.size > 1<<32-1 {
		return errors.New("larger than 4 GiB")
	}
	const user, group, mtime, check = 0, 0, 0, 0
	fmt.Fprint(out, "070701")
	for _, v := range []uint32{
		h.inode, h.mode, user, group, h.links, mtime, uint32(h.size),
		0, 0, h.dev[0], h.dev[1], uint32(len(name) + 1), check,
	} {
		fmt.Fprintf(out, "%08x", v)
	}
	fmt.Fprint(out, name, "\x00")
	out.pad()
	if h.size > 0 {
		if _, err := io.CopyN(out, content, h.size); err != nil {
			return err
		}
	}
	out.pad()
	return out.err
}

// counter counts the bytes written and keeps the first error.
type counter struct {
	w   *bufio.Writer
	n   int64
	err error
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

// pad writes zeros up to a multiple of four bytes. The counter keeps an error.
func (c *counter) pad() {
	_, _ = c.Write(make([]byte, -c.n&3))
}
