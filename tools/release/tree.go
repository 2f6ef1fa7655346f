package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// file is one file below a prefix such as /usr. A name that ends in a slash is a folder.
type file struct {
	name  string
	mode  int64
	owner int
	body  []byte
}

// completions maps each shell to the path of its completion script.
var completions = [][2]string{
	{"bash", "share/bash-completion/completions/roce-fabric"},
	{"fish", "share/fish/vendor_completions.d/roce-fabric.fish"},
	{"zsh", "share/zsh/site-functions/_roce-fabric"},
}

// sharedFiles returns the man pages, completions and documents, sorted by name.
func (r *release) sharedFiles(program string) ([]file, error) {
	var files []file
	for _, c := range completions {
		text, err := output(r.source, nil, program, "completion", c[0])
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: c[1], mode: 0o644, body: []byte(text + "\n")})
	}
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "NOTICE", "README.md"} {
		body, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: "share/doc/roce-fabric/" + name, mode: 0o644, body: body})
	}
	folder := filepath.Join(r.source, "bin/man")
	if _, err := output(r.source, []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix())}, program, "man", "--out", folder); err != nil {
		return nil, err
	}
	pages, err := filepath.Glob(filepath.Join(folder, "*.1"))
	if err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		return nil, errors.New("the program wrote no manual page")
	}
	for _, page := range pages {
		body, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: "share/man/man1/" + filepath.Base(page), mode: 0o644, body: body})
	}
	return files, nil
}

// writeTar writes files in the given order, all with the same time and without user names.
func writeTar(w io.Writer, when time.Time, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.body)), ModTime: when, Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := t.Write(f.body); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return t.Close()
}

func writeTarGz(w io.Writer, when time.Time, files []file) error {
	z := gzip.NewWriter(w)
	if err := writeTar(z, when, files); err != nil {
		return err
	}
	return z.Close()
}

// compressed compresses a file as Debian requires for man pages and changelogs.
func compressed(body []byte) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(body); err != nil {
		return nil, err
	}
	return b.Bytes(), z.Close()
}

// stage writes a file below a folder and returns its path.
func stage(folder string, f file) (string, error) {
	name := filepath.Join(folder, filepath.FromSlash(path.Clean("/"+f.name)))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	return name, os.WriteFile(name, f.body, os.FileMode(f.mode))
}
