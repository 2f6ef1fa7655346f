// Command generate writes the SONiC models of package catalog from a checkout of sonic-buildimage.
// It is a developer tool and not part of the product.
//
//	go -C tools run ./catalog -buildimage DIR -commit 086b03bd70f9 -utilities GITDIR
//
// With -pack it only packs the committed files into the archive that the product embeds. Every
// other run does that at its end as well.
//
// It needs python3 with jinja2 (Debian: python3-jinja2) for the buffer templates. Review its diff
// like code.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.tree, "buildimage", "", "work tree of sonic-buildimage: device, files/build_templates, platform")
	flag.StringVar(&o.commit, "commit", "", "its commit, for the files")
	flag.StringVar(&o.utilities, "utilities", "", "git folder of sonic-utilities with the release branches")
	flag.StringVar(&o.data, "data", "../render/catalog/data", "folder of the data files; those of SONiC that no model is written to are deleted")
	packing := flag.Bool("pack", false, "pack the files of -data and generate none")
	flag.Parse()
	err := error(nil)
	if !*packing {
		err = run(o)
	}
	if err == nil {
		err = pack(o.data)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

type options struct{ tree, commit, utilities, data string }

func run(o options) error {
	if o.tree == "" || o.commit == "" {
		return errors.New("-buildimage and -commit are needed")
	}
	files, notes, err := generate(o)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(os.Stderr, n)
	}
	out := filepath.Join(o.data, "sonic")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(out, "*.json"))
	if err != nil {
		return err
	}
	for _, f := range old {
		if _, ok := files[filepath.Base(f)]; !ok {
			if err := os.Remove(f); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil {
			return err
		}
	}
	fmt.Println(len(files), "models")
	return nil
}

// generate returns the text of each model file, and notes about the run.
func generate(o options) (files map[string][]byte, notes []string, err error) {
	skus, err := find(o.tree)
	if err != nil {
		return nil, nil, err
	}
	chips, err := readChips(o.tree)
	if err != nil {
		return nil, nil, err
	}
	up, err := readUpdater(o)
	if err != nil {
		return nil, nil, err
	}
	byName := map[string][]*model{}
	var all []*model
	for _, s := range skus {
		m, err := s.read(o.tree)
		if err != nil {
			notes = append(notes, fmt.Sprintf("left out: %s: %v", s.dir, err))
			continue
		}
		chips.of(m, up)
		byName[m.Name] = append(byName[m.Name], m)
		all = append(all, m)
	}
	siblings(all)
	if err := buffers(o.tree, all); err != nil {
		return nil, nil, err
	}
	files = map[string][]byte{}
	for name, same := range byName {
		m := same[0]
		for _, other := range same[1:] {
			if d := m.differs(other); d != "" {
				m.note("%s lists other %s under this name", other.Platform, d)
			}
		}
		slices.Sort(m.notes)
		m.Note = strings.Join(slices.Compact(m.notes), "; ")
		m.GCU, m.GCUSince = up.of(m)
		files[name+".json"] = m.text(o.commit)
	}
	slices.Sort(notes)
	return files, notes, nil
}
