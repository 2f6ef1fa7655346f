package main

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// chart packs the operator's Helm chart with the version of the release.
func (r *release) chart() error {
	var files []file
	// The roles and the CRDs are symbolic links, which os.Stat and os.ReadFile follow.
	var add func(dir, name string) error
	add = func(dir, name string) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			from, to := filepath.Join(dir, e.Name()), path.Join(name, e.Name())
			st, err := os.Stat(from)
			if err != nil {
				return err
			}
			if st.IsDir() {
				if err := add(from, to); err != nil {
					return err
				}
				continue
			}
			body, err := os.ReadFile(from)
			if err != nil {
				return err
			}
			if to == operator+"/Chart.yaml" {
				body = bytes.ReplaceAll(body, []byte("0.0.0"), []byte(r.tag()))
			}
			files = append(files, file{name: to, mode: 0o644, body: body})
		}
		return nil
	}
	if err := add(filepath.Join(r.source, "kubernetes/chart"), operator); err != nil {
		return err
	}
	name := strings.Join([]string{operator, r.tag()}, "-") + ".tgz" // the name used by helm package
	return writeFile(filepath.Join(r.out, name), func(w *bytes.Buffer) error { return writeTarGz(w, r.time, files) })
}
