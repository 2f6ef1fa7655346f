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

// The bounds of an intent.
const (
	// maxFileBytes is the size of the largest file that Load reads.
	maxFileBytes = 16 << 20
	// maxTotalBytes bounds all files of a folder together.
	maxTotalBytes = 64 << 20
)

// Stdin is the name of standard input in Fabric.Files and in places.
const Stdin = "<stdin>"

// Options are the surroundings of a Load.
type Options struct {
	// Stdin is read for the path "-"; without it that path is an error.
	Stdin io.Reader
	// Name stands for standard input in Fabric.Files and in places; "" is
	// [Stdin].
	Name string
	// Below is a folder, without a slash at its end, that is left out of the names of files
	// below it, in Fabric.Files and in places; "" is none.
	Below string
	// NoClasses accepts an intent without classes, for one that only says which
	// devices there are and how they are reached and joined. No switch can be
	// compiled from it.
	NoClasses bool
	// Set are changes to read the intent with, as if the files said them: PATH=VALUE, such
	// as links[0].cable=30m. What they set is from "--set PATH".
	Set []string

	// limits bounds what ranges and links expand to; nil takes defaultLimits.
	limits *limits
}

// limits bounds the size of a fabric, so that a few lines cannot ask for
// terabytes.
type limits struct{ devices, ports, links, expand int }

var defaultLimits = limits{devices: 100_000, ports: 1_000_000, links: 500_000, expand: 8_000_000}

// Load reads an intent: a file, a folder, or standard input for "-".
//
// In a folder it reads every *.yaml and *.yml that is directly in it and does
// not begin with a dot, in the order of their names. Each file states
// apiVersion and kind; name may be repeated if it is the same. Maps of the top
// level merge entry by entry, links follow one another, and anything stated in
// two files is an error that names both places.
//
// Faults of the intent come as [Errors], all that could be found at once. Any
// other error means that a file could not be read.
func Load(path string, opts Options) (*Fabric, error) {
	files, err := readFiles(path, opts)
	if err != nil {
		return nil, err
	}
	p := &problems{order: map[string]int{}}
	roots := parse(files, p)
	if len(roots) < len(files) {
		return nil, p.err() // what a broken file should hold is missing everywhere
	}
	raw := decodeAll(roots, opts.Set, p)
	if raw == nil {
		return nil, p.err()
	}
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, f.Name)
	}
	r := &resolver{problems: p, raw: raw, limits: *cmp.Or(opts.limits, &defaultLimits), noClasses: opts.NoClasses, start: Pos{File: names[0], Line: 1, Column: 1}}
	f := r.fabric()
	if err := p.err(); err != nil {
		return nil, err
	}
	f.Files, f.Hash = names, hashOf(files)
	return f, nil
}

// Document returns the text of an intent as one tree, that of a folder merged. It looks
// no further than at its form: [Load] says whether it is an intent.
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

// parse returns the trees of the files that can be read as YAML.
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

// Files reads the files that [Load] reads for a path, without a look at what they say.
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
	defer f.Close() // opened for reading: nothing is lost if closing fails
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

// hashOf is the SHA-256 of a single file's content, as sha256sum prints it,
// and otherwise that of the names, sizes and contents in order. The path of
// the folder does not matter.
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

// decodeAll merges the roots and reads the result; nil where one is no map,
// because what it should hold would be missing everywhere.
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

// mergeAll merges the roots; nil where one is no map.
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

// merge adds one top-level entry of a file to those of the files before.
func merge(into *yaml.Node, pair yaml.Pair, f *field, d *decoder) {
	have := into.Get(pair.Key.Value)
	switch {
	case have == nil:
		into.Pairs = append(into.Pairs, yaml.Pair{Key: pair.Key, Value: shallowCopy(pair.Value)})
	case f != nil && (f.req || f.key == "name") && have.Value == pair.Value.Value && have.Kind == pair.Value.Kind:
		// the same header again
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

// shallowCopy lets merge append without changing a node that an alias shares.
func shallowCopy(n *yaml.Node) *yaml.Node {
	c := *n
	c.Pairs, c.Items = slices.Clone(n.Pairs), slices.Clone(n.Items)
	return &c
}
