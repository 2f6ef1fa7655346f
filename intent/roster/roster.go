// Package roster lists the names in an intent that a person types: of the fabric, its devices
// with their ports, and its roles. It serves command line completion, which must be fast: a
// roster is cached under the hash of its intent.
//
// Nothing else should be read from a roster: [intent.Fabric] holds the rest of an intent.
package roster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/ownfile"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Limits of the cache. A larger roster is not cached.
const (
	maxFile  = 8 << 20
	maxFiles = 16
	maxTotal = 4 * maxFile
)

// magic begins a cache file. Its number is the version of the text format.
const magic = "roce-fabric-roster 1"

// Roster holds the names in an intent, one record per line, with fields separated by tabs:
//
//	fabric  NAME
//	switch  NAME  OS    ROLE
//	host    NAME
//	port    NAME  DEVICE/PORT at the other end, or nothing; belongs to the device above
type Roster struct{ text string }

// Load returns the roster of the intent at path, a file or a folder, from the cache folder dir if
// it is there; dir "" disables the cache. Load reads only regular files, so that it never blocks
// on a pipe, and stops when ctx is done.
func Load(ctx context.Context, path, dir string) (Roster, error) {
	return inTime(ctx, path, func() (Roster, error) { return load(path, dir) })
}

// Paths returns completions of a --set path, see [intent.Paths]. It never blocks either, and is
// not cached.
func Paths(ctx context.Context, path, typed string) ([]string, error) {
	return inTime(ctx, path, func() ([]string, error) {
		doc, err := intent.Document(path, intent.Options{})
		if err != nil {
			return nil, err
		}
		return intent.Paths(doc, typed), nil
	})
}

// inTime calls read if the intent at path consists of regular files, and waits for it until ctx
// is done.
func inTime[T any](ctx context.Context, path string, read func() (T, error)) (none T, _ error) {
	if err := regular(path); err != nil {
		return none, err
	}
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := read()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

func load(path, dir string) (Roster, error) {
	if dir != "" {
		digest, err := intent.Digest(path)
		if err != nil {
			return Roster{}, err
		}
		if r, ok := cached(dir, digest); ok {
			return r, nil
		}
	}
	f, err := intent.Load(path, intent.Options{NoClasses: true})
	if err != nil {
		return Roster{}, err
	}
	r := Of(f)
	if dir != "" {
		_ = r.keep(dir, f.Hash) // without a cache file, the next call is only slower
	}
	return r, nil
}

// regular returns an error if path, or a file of the intent in a folder, is not a regular file.
func regular(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() {
		return err
	}
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" {
			continue
		}
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return fmt.Errorf("%s is not a regular file", name)
		}
	}
	return err
}

// Of returns the roster of a fabric.
func Of(f *intent.Fabric) Roster {
	var b strings.Builder
	line := func(fields ...string) {
		b.WriteString(strings.Join(fields, "\t"))
		b.WriteByte('\n')
	}
	line("fabric", f.Name)
	for _, s := range f.Switches {
		line("switch", s.Name, s.OS, s.Role)
		for _, p := range s.Ports {
			peer := ""
			if e, ok := p.Peer(); ok {
				peer = e.String()
			}
			line("port", p.Name, peer)
		}
	}
	for _, h := range f.Hosts {
		line("host", h.Name)
		for _, n := range h.NICs {
			peer := ""
			if n.Link != nil {
				peer = n.Link.A.String()
				if n.Link.A.Device == h.Name {
					peer = n.Link.B.String()
				}
			}
			line("port", n.Name, peer)
		}
	}
	return Roster{b.String()}
}

// records iterates over the records of these kinds, without the kind. of is the name of the
// device that the record belongs to.
func (r Roster) records(kinds ...string) iter.Seq2[string, string] {
	return func(yield func(of, rest string) bool) {
		of := ""
		for line := range strings.Lines(r.text) {
			kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if kind != "port" {
				of, _, _ = strings.Cut(rest, "\t")
			}
			if slices.Contains(kinds, kind) && !yield(of, rest) {
				return
			}
		}
	}
}

// Fabric returns the name of the fabric; "" for the zero Roster.
func (r Roster) Fabric() string {
	for name := range r.records("fabric") {
		return name
	}
	return ""
}

// Which selects kinds of devices.
type Which int

// Kinds of devices: switches, hosts, or both.
const (
	Switches Which = 1 << iota
	Hosts
	All = Switches | Hosts
)

// Name is a name with a short description.
type Name struct{ Text, About string }

// String formats the name for cobra's completion.
func (n Name) String() string {
	if n.About == "" {
		return n.Text
	}
	return n.Text + "\t" + n.About
}

// Devices returns the devices whose names begin with the typed text.
func (r Roster) Devices(which Which, typed string) (out []Name) {
	if which&Switches != 0 {
		for name, rest := range r.records("switch") {
			if strings.HasPrefix(name, typed) {
				_, about, _ := strings.Cut(rest, "\t")
				out = append(out, Name{name, strings.TrimSuffix(strings.Replace(about, "\t", ", ", 1), ", ")})
			}
		}
	}
	if which&Hosts != 0 {
		for name := range r.records("host") {
			if strings.HasPrefix(name, typed) {
				out = append(out, Name{name, "host"})
			}
		}
	}
	return out
}

// Ports returns the ports or NICs of a device whose names begin with the typed text. The
// description says where the link leads.
func (r Roster) Ports(device, typed string) (out []Name) {
	for of, rest := range r.records("port") {
		name, peer, _ := strings.Cut(rest, "\t")
		if of == device && strings.HasPrefix(name, typed) {
			if peer != "" {
				peer = "to " + peer
			}
			out = append(out, Name{name, peer})
		}
	}
	return out
}

// Patterns completes the last item of a list such as leaf1,!role:spi. It does not offer earlier
// items again. Roles and systems come before names.
func (r Roster) Patterns(which Which, typed string) (out []Name) {
	cut := strings.LastIndexByte(typed, ',') + 1
	before, last := typed[:cut], typed[cut:]
	taken := strings.Split(before, ",")
	if strings.HasPrefix(last, "!") {
		before, last = before+"!", last[1:]
	}
	for _, n := range append(r.kinds(which), r.Devices(which, last)...) {
		if strings.HasPrefix(n.Text, last) && !slices.Contains(taken, n.Text) && !slices.Contains(taken, "!"+n.Text) {
			out = append(out, Name{before + n.Text, n.About})
		}
	}
	return out
}

// kinds returns the patterns role:NAME and os:NAME, each with the number of matching devices.
func (r Roster) kinds(which Which) (out []Name) {
	if which&Switches == 0 {
		return nil // hosts are selected by name only
	}
	count, hosts := map[string]int{}, 0
	for _, rest := range r.records("switch") {
		fields := strings.Split(rest, "\t")
		count["os:"+fields[1]]++
		if fields[2] != "" {
			count["role:"+fields[2]]++
		}
	}
	for kind, n := range count {
		out = append(out, Name{kind, words.Plural(n, "switch", "switches")})
	}
	for range r.records("host") {
		hosts++
	}
	if hosts > 0 && which&Hosts != 0 {
		out = append(out, Name{"role:host", words.Count(hosts, "host")})
	}
	ordered.Sort(out, func(a, b Name) int {
		return cmp.Or(-cmp.Compare(a.Text[:2], b.Text[:2]), natural.Compare(a.Text, b.Text)) // roles first
	})
	return out
}

// cached returns the cached roster for a digest, if its file is intact.
func cached(dir, digest string) (Roster, bool) {
	data, err := ownfile.Read(file(dir, digest), maxFile)
	if err != nil {
		return Roster{}, false
	}
	head, text, _ := strings.Cut(string(data), "\n")
	return Roster{text}, head == header(digest, text)
}

func file(dir, digest string) string { return filepath.Join(dir, digest+".roster") }

// header returns the first line of a cache file, with the intent's digest and a checksum of the
// rest.
func header(digest, text string) string {
	return fmt.Sprintf("%s %s %x", magic, digest, sha256.Sum256([]byte(text)))
}

// keep writes a roster to the cache and removes the oldest files beyond the limits.
func (r Roster) keep(dir, digest string) error {
	data := []byte(header(digest, r.text) + "\n" + r.text)
	if len(data) > maxFile {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return errors.Join(atomicfile.Write(file(dir, digest), data, 0o600), prune(dir))
}

// prune removes the oldest files of the cache beyond the limits, including files of other
// versions and leftovers of killed processes.
func prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	ordered.Sort(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	total := int64(0)
	for i, info := range files {
		if total += info.Size(); i >= maxFiles || total > maxTotal {
			if rerr := os.Remove(filepath.Join(dir, info.Name())); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
				err = errors.Join(err, rerr)
			}
		}
	}
	return err
}
