package main

import (
	"bytes"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the user ID that the program of an image runs as.
const user = 65532

// operator is the Kubernetes operator, which a release provides only as an image.
const operator = "roce-fabric-operator"

// layer is the single layer of a program's image.
type layer struct {
	program string
	target
	v1.Layer
}

// layer builds the content of an image: the program, the root certificates for webhooks and
// stores with public certificates, and the folders that the user may write to.
func (r *release) layer(name string, t target, program []byte) error {
	tree := []file{
		{name: "etc/group", mode: 0o644, body: []byte("root:x:0:\nroce-fabric:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, body: []byte("root:x:0:0:root:/:/sbin/nologin\nroce-fabric:x:65532:65532:roce-fabric:/home/roce-fabric:/sbin/nologin\n")},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, body: roots()},
		{name: "home/roce-fabric/", mode: 0o700, owner: user},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/bin/" + name, mode: 0o755, body: program},
		{name: "work/", mode: 0o755, owner: user},
	}
	for _, f := range r.shared {
		if strings.HasPrefix(f.name, "share/doc/") {
			f.name = "usr/" + f.name
			tree = append(tree, f)
		}
	}
	var b bytes.Buffer
	if err := writeTar(&b, r.time, tree); err != nil {
		return err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.layers = append(r.layers, layer{name, t, l})
	return nil
}

// roots returns Mozilla's root certificates as published by the Go project. It leaves out roots
// that are trusted only for certificates issued before some date, because this format cannot
// express that.
func roots() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}

// image writes the OCI image layout of a program as a tar archive: an index with an image for
// each Linux target.
func (r *release) image(program string) error {
	layers := slices.DeleteFunc(slices.Clone(r.layers), func(l layer) bool { return l.program != program })
	if len(layers) == 0 {
		return nil
	}
	slices.SortFunc(layers, func(a, b layer) int { return strings.Compare(a.arch, b.arch) })
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, l := range layers {
		image, err := r.imageOf(l)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: l.os, Architecture: l.arch}}})
	}
	dir, err := os.MkdirTemp("", "roce-fabric-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	where, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// The names under which podman, docker and containerd load the image.
	named := layout.WithAnnotations(map[string]string{
		"io.containerd.image.name":          "ghcr.io/roce-fabric/" + program + ":" + r.tag(),
		"org.opencontainers.image.ref.name": r.tag(),
	})
	if err := where.AppendIndex(index, named); err != nil {
		return err
	}
	files, err := readTree(dir)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(r.out, program+"_image.tar"), func(w *bytes.Buffer) error { return writeTar(w, r.time, files) })
}

// tag returns the version as an image tag, which must not contain '+'.
func (r *release) tag() string {
	return strings.ReplaceAll(strings.TrimPrefix(r.version, "v"), "+", "-")
}

func (r *release) imageOf(l layer) (v1.Image, error) {
	image, err := mutate.Append(empty.Image, mutate.Addendum{Layer: l.Layer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "tools/release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = l.os, l.arch, v1.Time{Time: r.time}
	config.Config = v1.Config{
		User:       "65532:65532",
		Env:        []string{"PATH=/usr/bin", "HOME=/home/roce-fabric"},
		WorkingDir: "/work",
		Entrypoint: []string{"/usr/bin/" + l.program},
		Labels: map[string]string{
			"org.opencontainers.image.title":    l.program,
			"org.opencontainers.image.source":   homepage,
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.created":  r.time.Format("2006-01-02T15:04:05Z"),
			// MPL-2.0 is the licence of the root certificates.
			"org.opencontainers.image.licenses": "Apache-2.0 AND MPL-2.0",
		},
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON), nil
}

// readTree reads the files below a folder, sorted by name.
func readTree(dir string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		files = append(files, file{name: filepath.ToSlash(rel), mode: 0o644, body: body})
		return err
	})
	return files, err
}
