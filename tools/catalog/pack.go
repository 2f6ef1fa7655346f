package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// archive is the file that the product embeds; see unpack in package catalog for its format.
const archive = "models.gz"

// memberSize is the length of the text in one member of the archive, which unpacks in about a
// millisecond.
const memberSize = 128 << 10

// pack packs the model files of all operating systems, SYSTEM/MODEL.json.
func pack(data string) error {
	files, err := filepath.Glob(filepath.Join(data, "*", "*.json"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	var index, members, names, text bytes.Buffer
	flush := func() error {
		b, err := compress(text.Bytes())
		fmt.Fprintf(&index, "%d%s\n", len(b), names.String())
		members.Write(b)
		names.Reset()
		text.Reset()
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(data, strings.TrimSuffix(f, ".json"))
		if err != nil {
			return err
		}
		if text.Len() > 0 && text.Len()+len(b) > memberSize {
			if err := flush(); err != nil {
				return err
			}
		}
		fmt.Fprintf(&names, " %s:%d", filepath.ToSlash(name), len(b))
		text.Write(b)
	}
	if err := flush(); err != nil {
		return err
	}
	head, err := compress(index.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(data, archive), append(head, members.Bytes()...), 0o644)
}

func compress(text []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
