package sonic

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	slash "path"
	"path/filepath"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/ownfile"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/render/sonic/yang"
)

// modelDir holds the YANG models of an image (sonic-buildimage
// files/build_templates/sonic_debian_extension.j2).
const modelDir = "/usr/local/yang-models"

// Limits for an archive of models from a switch. The models of an image are about 150 files and 2
// MB.
const (
	maxArchive = 8 << 20  // bytes, compressed
	maxModels  = 32 << 20 // bytes, uncompressed
)

// models returns the YANG models of the image, from the switch or from the local cache.
func (d *driver) models(ctx context.Context) (*yang.Models, error) {
	file := ""
	if d.image != "" && d.t.Images != "" {
		sum := sha256.Sum256([]byte(d.image))
		file = filepath.Join(d.t.Images, "sonic-"+hex.EncodeToString(sum[:12])+".tar.gz")
		if kept, err := ownfile.Read(file, maxArchive); err == nil {
			if m, err := modelsOf(kept); err == nil {
				return m, nil
			}
		}
	}
	out, err := d.exec(ctx, "tar -czf - -C "+modelDir+" .", nil)
	switch {
	case err != nil:
		return nil, err
	case out.Status != 0:
		return nil, fmt.Errorf("%s cannot be read: %s", modelDir, errorText(out))
	case len(out.Stdout) > maxArchive:
		return nil, fmt.Errorf("%s is larger than %d MiB", modelDir, maxArchive>>20)
	}
	m, err := modelsOf(out.Stdout)
	if err != nil || file == "" {
		return m, err
	}
	// Without a cache, the models are read again next time.
	if os.MkdirAll(d.t.Images, 0o700) == nil {
		_ = atomicfile.Write(file, out.Stdout, 0o600)
	}
	return m, nil
}

// modelsOf parses an archive of models once for all switches with the same image.
func modelsOf(archive []byte) (*yang.Models, error) {
	return yang.Once(sha256.Sum256(archive), func() (*yang.Models, error) {
		files, err := unpack(archive)
		if err != nil {
			return nil, fmt.Errorf("read the archive of %s: %w", modelDir, err)
		}
		return yang.LoadFiles(modelDir, files)
	})
}

// unpack returns the YANG files of an archive.
func unpack(archive []byte) (map[string][]byte, error) {
	packed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	// A sparse file can be larger than its part of the archive.
	files, room := map[string][]byte{}, int64(maxModels)
	for r := tar.NewReader(io.LimitReader(packed, maxModels)); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return files, nil
		case err != nil:
			return nil, err
		case h.Typeflag != tar.TypeReg || slash.Ext(h.Name) != ".yang" || slash.Dir(slash.Clean(h.Name)) != ".":
			continue
		}
		text, err := io.ReadAll(io.LimitReader(r, room))
		if err != nil {
			return nil, err
		}
		files[slash.Base(h.Name)], room = text, room-int64(len(text))
	}
}

// against returns a function that validates configurations against the models of the image.
func against(m *yang.Models) func(native.Config) []native.Fault {
	return func(c native.Config) (out []native.Fault) {
		for _, v := range m.Check(c.Plain()) {
			out = append(out, native.Fault{Table: v.Table, Key: v.Key, What: v.String()})
		}
		return out
	}
}
