package hostvm

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// File is a regular file, a directory or a symbolic link, with its content.
type File struct {
	// Mode holds the type and the permissions; the type of a regular file is 0.
	Mode fs.FileMode
	Data []byte
	// Link is the target of a symbolic link.
	Link string
}

func (f File) node() (node, error) {
	switch f.Mode.Type() {
	case 0, fs.ModeDir, fs.ModeSymlink:
		return node{mode: f.Mode.Type() | f.Mode.Perm(), data: f.Data, link: f.Link}, nil
	}
	return node{}, fmt.Errorf("mode %v is neither a file nor a folder nor a link", f.Mode)
}

// parseKept parses the archive of the kept files. It uses names only as keys, and skips what is not
// a [File], such as a socket.
func parseKept(b []byte) (map[string]File, error) {
	kept := map[string]File{}
	if len(b) == 0 {
		return kept, nil
	}
	r := tar.NewReader(bytes.NewReader(b))
	room := int64(maxKept)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return kept, nil
		}
		if err != nil {
			return nil, fmt.Errorf("kept files: %w", err)
		}
		f := File{Mode: h.FileInfo().Mode()}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse:
			// A sparse file is larger than its archive.
			if f.Data, err = io.ReadAll(io.LimitReader(r, room+1)); err != nil {
				return nil, fmt.Errorf("kept files: %s: %w", h.Name, err)
			}
			if room -= int64(len(f.Data)); room < 0 {
				return nil, fmt.Errorf("kept files: %w: more than %d bytes at %s", errTooMuch, maxKept, h.Name)
			}
		case tar.TypeDir:
		case tar.TypeSymlink:
			f.Link = h.Linkname
		default:
			continue
		}
		kept[path.Clean("/"+h.Name)] = f
	}
}
