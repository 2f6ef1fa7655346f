package catalog

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// packed holds the model files, two megabytes of text, as a sequence of gzip members. The first
// member is an index with one line for each other member: its length, and SYSTEM/MODEL:LENGTH for
// each file in it, in the order of their text. Files in one member are compressed together, and
// reading a file unpacks only its member.
//
//go:embed data/models.gz
var packed []byte

// unpack returns a function to read each file of an archive, by SYSTEM/MODEL.
func unpack(b []byte) (map[string]func() (string, error), error) {
	from := bytes.NewReader(b)
	z, err := gzip.NewReader(from)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	index, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	b = b[len(b)-from.Len():]
	out := map[string]func() (string, error){}
	for line := range strings.Lines(string(index)) {
		f := strings.Fields(line)
		n, err := strconv.Atoi(f[0])
		if err != nil || n > len(b) {
			return nil, fmt.Errorf("no member of %s bytes", f[0])
		}
		member := b[:n]
		b = b[n:]
		text := sync.OnceValues(func() (string, error) { return gunzip(member) })
		begin := 0
		for _, file := range f[1:] {
			name, size, _ := strings.Cut(file, ":")
			n, err := strconv.Atoi(size)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			lo, hi := begin, begin+n
			out[name] = func() (string, error) {
				t, err := text()
				if err == nil && hi > len(t) {
					err = io.ErrUnexpectedEOF
				}
				if err != nil {
					return "", err
				}
				return t[lo:hi], nil
			}
			begin = hi
		}
	}
	return out, nil
}

func gunzip(b []byte) (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(z)
	return string(text), err
}
