package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// archive is what the product embeds: the model files, one member each.
const archive = "models.zip"

// pack packs the model files of all systems, SYSTEM/MODEL.json.
func pack(data string) error {
	files, err := filepath.Glob(filepath.Join(data, "*", "*.json"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(data, f)
		if err != nil {
			return err
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: filepath.ToSlash(name), Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(data, archive), b.Bytes(), 0o644)
}
