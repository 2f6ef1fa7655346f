// Package roster lists the names in an intent that a person types: of the fabric, its
// devices with their ports, and its roles. It is for the completion of a command
// line, which has a blink of an eye: what was made of an intent once is kept in a cache,
// by the digest of its text.
//
// Nothing else should be read from a roster: what an intent says is in [intent.Fabric].
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

// The bounds of the cache. A larger roster is not kept.
const (
	maxFile  = 8 << 20
	maxFiles = 16
	maxTotal = 4 * maxFile
)

// magic begins a file of the cache. Its number is that of the form of the text.
const magic = "roce-fabric-roster 1"

// Roster is the names in an intent: a record a line, its fields with tabs between.
//
//	fabric  NAME
//	switch  NAME  OS    ROLE
//	host    NAME
//	port    NAME  DEVICE/PORT at the other end, or nothing; of the device above
type Roster struct{ text string }

// Load reads the intent at a path, a file or a folder, or takes what dir has of it: the
// folder of the cache, "" for none. It reads regular files alone, so that it waits for
// nobody; the end of ctx ends it as well.
func Load(ctx context.Context, path, dir string) (Roster, error) {
	return inTime(ctx, path, func() (Roster, error) { return load(path, dir) })
}

// Paths returns how a path of a change to the intent may go on, see [intent.Paths]. It
// waits for nobody either; there is no cache of it.
func Paths(ctx context.Context, path, typed string) ([]string, error) {
	return inTime(ctx, path, func() ([]string, error) {
		doc, err := intent.Document(path, intent.Options{})
		if err != nil {
			return nil, err
		}
		return intent.Paths(doc, typed), nil
	})
}

// inTime reads an intent until ctx ends, if it consists of regular files.
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
		_ = r.keep(dir, f.Hash) // the next one takes as long as this one
	}
	return r, nil
}

// regular is an error where a path, or what a folder holds, is neither file nor folder.
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
			return fmt.Errorf("%s is no file", name)
		}
	}
	return err
}

// Of returns the names of a fabric.
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

// records are the lines of a kind, without it. of is the name of the device above.
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

// Fabric is the name of the fabric, "" in the zero Roster.
func (r Roster) Fabric() string {
	for name := range r.records("fabric") {
		return name
	}
	return ""
}

// Which devices are meant.
type Which int

// Switches, hosts, or both.
const (
	Switches Which = 1 << iota
	Hosts
	All = Switches | Hosts
)

// Name is a name, and in a few words what it is of.
type Name struct{ Text, About string }

// String is the name as cobra's completion takes it.
func (n Name) String() string {
	if n.About == "" {
		return n.Text
	}
	return n.Text + "\t" + n.About
}

// Devices are the names of the devices that begin with what is typed.
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

// Ports are the ports or NICs of a device that begin with what is typed, and where their
// links lead.
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

// Patterns are what may stand at the end of a list such as leaf1,!role:spi: the last
// item is what is typed, and those before it are not offered again. Roles and systems
// come before names.
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

// kinds are role:NAME and os:NAME of the devices, with how many each picks.
func (r Roster) kinds(which Which) (out []Name) {
	if which&Switches == 0 {
		return nil // hosts alone are picked by name
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

// cached returns the roster of a digest, if the cache has it whole.
func cached(dir, digest string) (Roster, bool) {
	data, err := ownfile.Read(file(dir, digest), maxFile)
	if err != nil {
		return Roster{}, false
	}
	head, text, _ := strings.Cut(string(data), "\n")
	return Roster{text}, head == header(digest, text)
}

func file(dir, digest string) string { return filepath.Join(dir, digest+".roster") }

// header is the first line of a file: for which intent it is, and what follows.
func header(digest, text string) string {
	return fmt.Sprintf("%s %s %x", magic, digest, sha256.Sum256([]byte(text)))
}

// keep puts a roster into the cache, and removes the oldest ones beyond its bounds.
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

// prune removes the oldest files of the cache beyond its bounds, also those of another
// version and what a process that was killed left.
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
