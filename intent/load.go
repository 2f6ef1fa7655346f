package intent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// Limits on the size of an intent.
const (
	// maxFileBytes is the maximum size of a file that Load reads.
	maxFileBytes = 16 << 20
	// maxTotalBytes is the maximum total size of the files in a folder.
	maxTotalBytes = 64 << 20
)

// Stdin stands for standard input in Fabric.Files and in positions.
const Stdin = "<stdin>"

// Options configures Load.
type Options struct {
	// Stdin is read for the path "-"; if it is nil, that path is an error.
	Stdin io.Reader
	// Name replaces [Stdin] in Fabric.Files and in positions; "" keeps [Stdin].
	Name string
	// Below is a folder, without a trailing slash, that is removed from file names in
	// Fabric.Files and in positions; "" removes nothing.
	Below string
	// NoClasses accepts an intent without classes, which only lists devices with their access and
	// links. No switch can be compiled from it.
	NoClasses bool
	// Set overrides values as if the files stated them: PATH=VALUE, such as links[0].cable=30m.
	// The position of such a value is "--set PATH".
	Set []string
	// Without removes devices and cables: names, globs and selections of devices (spine1, leaf*,
	// role:spine), an end of a cable or both ends with " - " between them (leaf1/Ethernet0, leaf1 -
	// spine1), or all cables of an entry (links[4]). Switch ports that lose their cable are
	// removed with it.
	Without []string

	// limits bounds the expansion of ranges and links; nil uses defaultLimits.
	limits *limits
}

// limits bounds the size of a fabric, so that a few lines cannot allocate terabytes.
type limits struct{ devices, ports, links, expand int }

var defaultLimits = limits{devices: 100_000, ports: 1_000_000, links: 500_000, expand: 8_000_000}

// Load reads an intent: a file, a folder, or standard input for "-".
//
// From a folder it reads every *.yaml and *.yml file directly in it whose name does not begin
// with a dot, in name order. Each file states apiVersion and kind; name may be repeated with the
// same value. Top-level maps are merged entry by entry, links are appended, and stating anything
// else in two files is an error that names both positions.
//
// Problems of the intent are returned as [Errors], as many as could be found at once. Any other
// error means that a file could not be read.
func Load(path string, opts Options) (*Fabric, error) {
	files, err := readFiles(path, opts)
	if err != nil {
		return nil, err
	}
	p := &problems{order: map[string]int{}}
	roots := parse(files, p)
	if len(roots) < len(files) {
		return nil, p.err() // without the broken file, everything it declares would be reported as missing
	}
	raw := decodeAll(roots, opts.Set, p)
	if raw == nil {
		return nil, p.err()
	}
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, f.Name)
	}
	r := &resolver{problems: p, raw: raw, limits: *cmp.Or(opts.limits, &defaultLimits), noClasses: opts.NoClasses, removed: opts.Without, start: Pos{File: names[0], Line: 1, Column: 1}}
	f := r.fabric()
	if err := p.err(); err != nil {
		return nil, err
	}
	f.Files, f.Hash = names, hashOf(files)
	return f, nil
}

// Document returns the intent as one YAML tree, with the files of a folder merged. It checks only
// the syntax: [Load] checks whether the tree is a valid intent.
func Document(path string, opts Options) (*yaml.Node, error) {
	files, err := readFiles(path, opts)
	if err != nil {
		return nil, err
	}
	p := &problems{order: map[string]int{}}
	roots := parse(files, p)
	if len(roots) < len(files) {
		return nil, p.err()
	}
	merged := mergeAll(roots, &decoder{problems: p})
	if err := p.err(); err != nil {
		return nil, err
	}
	return merged.Clone(), nil
}

// parse returns the trees of the files that are valid YAML.
func parse(files []File, p *problems) (roots []*yaml.Node) {
	for i, f := range files {
		p.order[f.Name] = i
		root, errs := yaml.Parse(f.Name, f.Data)
		p.ofDocument(errs)
		if root != nil {
			roots = append(roots, root)
		}
	}
	return roots
}

// File is a file of an intent.
type File struct {
	Name string
	Data []byte
}

// Files returns the files that [Load] reads for a path, without parsing them.
func Files(path string, opts Options) ([]File, error) { return readFiles(path, opts) }

func readFiles(path string, opts Options) ([]File, error) {
	files, err := readAll(path, opts)
	if opts.Below != "" {
		for i := range files {
			files[i].Name = strings.TrimPrefix(files[i].Name, opts.Below+string(filepath.Separator))
		}
	}
	return files, err
}

func readAll(path string, opts Options) ([]File, error) {
	if path == "-" {
		if opts.Stdin == nil {
			return nil, errors.New("read the intent: no standard input")
		}
		name := cmp.Or(opts.Name, Stdin)
		data, err := readBounded(name, opts.Stdin)
		return []File{{name, data}}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the intent: %w", err)
	}
	if !info.IsDir() {
		data, err := readFile(path)
		return []File{{path, data}}, err
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("read the intent: %w", err)
	}
	var files []File
	total := 0
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		ext := filepath.Ext(name)
		if strings.HasPrefix(e.Name(), ".") || ext != ".yaml" && ext != ".yml" {
			continue
		}
		if info, err := os.Stat(name); err != nil {
			return nil, fmt.Errorf("read the intent: %w", err)
		} else if info.IsDir() {
			continue
		}
		data, err := readFile(name)
		if err != nil {
			return nil, err
		}
		if total += len(data); total > maxTotalBytes {
			return nil, Errors{{Pos: Pos{File: path}, Msg: fmt.Sprintf("the files are larger than %d MiB together", maxTotalBytes>>20)}}
		}
		files = append(files, File{name, data})
	}
	if len(files) == 0 {
		return nil, Errors{{Pos: Pos{File: path}, Msg: "the folder holds no YAML file", Hint: "it is searched for *.yaml and *.yml, without subfolders"}}
	}
	return files, nil
}

func readFile(name string) ([]byte, error) {
	f, err := boundedfile.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the intent: %w", err)
	}
	defer f.Close() // opened for reading: a failing close loses nothing
	if info, err := f.Stat(); err == nil && info.Size() > maxFileBytes {
		return nil, tooLarge(name)
	}
	return readBounded(name, f)
}

func readBounded(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the intent %s: %w", name, err)
	}
	if len(data) > maxFileBytes {
		return nil, tooLarge(name)
	}
	return data, nil
}

func tooLarge(name string) error {
	return Errors{{Pos: Pos{File: name}, Msg: fmt.Sprintf("the file is larger than %d MiB", maxFileBytes>>20),
		Hint: "ranges and patterns shorten it; a folder of files may hold more"}}
}

// hashOf returns the SHA-256 of a single file's content, as printed by sha256sum, or of the base
// names, sizes and contents of several files in order. The path of the folder does not matter.
func hashOf(files []File) string {
	h := sha256.New()
	for _, f := range files {
		if len(files) > 1 {
			fmt.Fprintf(h, "%q %d\n", filepath.Base(f.Name), len(f.Data))
		}
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// decodeAll merges the roots and decodes the result. It returns nil if a root is not a map,
// because everything declared there would be reported as missing.
func decodeAll(roots []*yaml.Node, sets []string, p *problems) *rawFabric {
	d := &decoder{problems: p}
	merged := mergeAll(roots, d)
	if merged == nil {
		return nil
	}
	merged = setAll(merged, sets, p)
	raw := &rawFabric{}
	d.pairs(merged, reflect.ValueOf(raw).Elem(), structureOf(reflect.TypeFor[rawFabric]()))
	return raw
}

// mergeAll merges the roots into one map; it returns nil if a root is not a map.
func mergeAll(roots []*yaml.Node, d *decoder) *yaml.Node {
	s := structureOf(reflect.TypeFor[rawFabric]())
	merged := &yaml.Node{Kind: yaml.Map, File: roots[0].File, Line: roots[0].Line, Column: roots[0].Column}
	ok := true
	for _, root := range roots {
		if root.Kind != yaml.Map {
			d.problems.addf(posOf(root), "", "the file must be a map, not %s", root.Kind)
			ok = false
			continue
		}
		for _, f := range s.fields {
			if f.req && root.Get(f.key) == nil {
				d.problems.addf(posOf(root), "every file states apiVersion: roce-fabric/v1 and kind: Fabric", "the file has no %s", f.key)
			}
		}
		if len(roots) == 1 {
			merged = root
			break
		}
		for _, pair := range root.Pairs {
			merge(merged, pair, s.byKey[pair.Key.Value], d)
		}
	}
	if !ok {
		return nil
	}
	return merged
}

// merge adds one top-level entry of a file to the entries of earlier files.
func merge(into *yaml.Node, pair yaml.Pair, f *field, d *decoder) {
	have := into.Get(pair.Key.Value)
	switch {
	case have == nil:
		into.Pairs = append(into.Pairs, yaml.Pair{Key: pair.Key, Value: shallowCopy(pair.Value)})
	case f != nil && (f.req || f.key == "name") && have.Value == pair.Value.Value && have.Kind == pair.Value.Kind:
		// the header repeated
	case have.Kind == yaml.List && pair.Value.Kind == yaml.List:
		have.Items = append(have.Items, pair.Value.Items...)
	case have.Kind == yaml.Map && pair.Value.Kind == yaml.Map:
		known := make(map[string]*yaml.Node, len(have.Pairs))
		for _, p := range have.Pairs {
			known[p.Key.Value] = p.Key
		}
		for _, p := range pair.Value.Pairs {
			if first := known[p.Key.Value]; first != nil {
				d.problems.addf(posOf(p.Key), "", "duplicate key %s, first at %s", yaml.Quote(p.Key.Value), posOf(first))
				continue
			}
			have.Pairs = append(have.Pairs, p)
		}
	default:
		d.problems.addf(posOf(pair.Key), "", "duplicate key %s, first at %s", yaml.Quote(pair.Key.Value), posOf(have))
	}
}

// shallowCopy copies a node so that merge does not append to one that an alias shares.
func shallowCopy(n *yaml.Node) *yaml.Node {
	c := *n
	c.Pairs, c.Items = slices.Clone(n.Pairs), slices.Clone(n.Items)
	return &c
}
