// Package defaults reads the user's file of flag defaults, which apply if neither the command
// line nor the environment sets a flag.
//
// The file is for flags that a user would otherwise type every time. Flags that each run must be
// given explicitly, such as its allowed impact and its devices, cannot have a default there.
package defaults

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// maxBytes is the largest accepted file size.
const maxBytes = 64 << 10

// Variable is the environment variable that names the file.
const Variable = "ROCE_FABRIC_CONFIG"

// key is a flag that may have a default in the file.
type key struct {
	name     string
	variable string   // environment variable, which overrides the file
	values   []string // allowed values; nil if the flag checks its values itself
	path     bool     // ~/ is expanded to the home folder
	list     bool     // accepts several values
}

var keys = []key{
	{name: "addresses", variable: "ROCE_FABRIC_ADDRESSES", list: true},
	{name: "audit-log", variable: "ROCE_FABRIC_AUDIT_LOG", path: true},
	{name: "color", values: []string{"auto", "always", "never"}},
	{name: "file", variable: "ROCE_FABRIC_FILE", path: true},
	{name: "output", values: []string{"text", "json"}}, // the forms that all commands with this flag support
	{name: "parallel"},
	{name: "programs", variable: "ROCE_FABRIC_PROGRAMS", list: true},
	{name: "secrets", variable: "ROCE_FABRIC_SECRETS", list: true},
	{name: "sign-key", variable: "ROCE_FABRIC_SIGN_KEY"},
	{name: "state", variable: "ROCE_FABRIC_STATE", path: true},
	{name: "strict"},
	{name: "sudo", values: []string{"none", "nopassword", "password"}},
	{name: "verbose"},
}

// Careless lists flags that must be given for each run, because a default would disable a
// safeguard in all of them.
var Careless = []string{"accept-identity", "allow", "cut-off", "force", "gate", "outside-window", "skip-unreachable", "trust-key", "yes"}

// Names returns the flags that may have a default.
func Names() (out []string) {
	for _, k := range keys {
		out = append(out, k.name)
	}
	return out
}

// setting is a default in the file.
type setting struct {
	key
	value string
	items []string // the values of a list key
	pos   intent.Pos
	unset bool // overridden by the environment
}

// File is the user's file of defaults.
type File struct {
	Path   string        // path, whether or not the file exists; "" if the config folder is unknown
	Faults intent.Errors // errors in the file

	settings []setting
	unknown  []setting // settings with an unknown key
	getenv   func(string) string
}

// Read reads the file named by the environment, or the user's file. A missing user's file is not
// an error.
func Read(getenv func(string) string) *File {
	f := &File{Path: getenv(Variable), getenv: getenv}
	named := f.Path != ""
	if base := getenv("XDG_CONFIG_HOME"); !named && base != "" {
		f.Path = filepath.Join(base, "roce-fabric", "config.yaml")
	} else if home := getenv("HOME"); !named && home != "" {
		f.Path = filepath.Join(home, ".config", "roce-fabric", "config.yaml")
	}
	if f.Path == "" {
		return f
	}
	data, err := boundedfile.Read(f.Path, maxBytes)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return f
	}
	switch {
	case err != nil && named:
		f.wrong(intent.Pos{File: Variable}, "write the file, or unset the variable", "%v", err)
	case err != nil:
		f.wrong(intent.Pos{File: "defaults of flags"}, "", "%v", err)
	default:
		f.parse(data)
	}
	return f
}

func (f *File) parse(data []byte) {
	if blank(data) {
		return
	}
	root, faults := yaml.Parse(f.Path, data)
	for _, e := range faults {
		f.wrong(intent.Pos{File: e.File, Line: e.Line, Column: e.Column}, e.Hint, "%s", e.Msg)
	}
	if root == nil {
		return
	}
	at := func(n *yaml.Node) intent.Pos { return intent.Pos{File: n.File, Line: n.Line, Column: n.Column} }
	if root.Kind != yaml.Map {
		f.wrong(at(root), "write a flag and its value on a line: 'parallel: 64'", "the file must be a map, not %s", root.Kind)
		return
	}
	for _, p := range root.Pairs {
		name, value, pos := p.Key.Value, p.Value.Value, at(p.Value)
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		if i < 0 {
			f.unknown = append(f.unknown, setting{key: key{name: name}, pos: at(p.Key)})
			continue
		}
		k := keys[i]
		if k.list && p.Value.Kind != yaml.Map && p.Value.Kind != yaml.Null {
			f.listed(k, p.Value, pos)
			continue
		}
		switch {
		case p.Value.Kind == yaml.Map || p.Value.Kind == yaml.List || p.Value.Kind == yaml.Null:
			f.wrong(pos, "", "%s must be one value, not %s", name, p.Value.Kind)
			continue
		case k.values != nil && !slices.Contains(k.values, value):
			f.wrong(pos, "", "%s must be %s, not %.40q", name, or(k.values), value)
			continue
		}
		if rest, ok := strings.CutPrefix(value, "~/"); ok && k.path {
			value = filepath.Join(f.getenv("HOME"), rest)
		}
		f.settings = append(f.settings, setting{k, value, nil, pos, k.variable != "" && f.getenv(k.variable) != ""})
	}
}

// listed parses a key that accepts a list or a single value.
func (f *File) listed(k key, n *yaml.Node, pos intent.Pos) {
	s := setting{key: k, value: n.Value, items: []string{n.Value}, pos: pos, unset: f.getenv(k.variable) != ""}
	if n.Kind == yaml.List {
		s.items = nil
		for _, item := range n.Items {
			if item.Kind == yaml.Map || item.Kind == yaml.List || item.Kind == yaml.Null {
				f.wrong(intent.Pos{File: item.File, Line: item.Line, Column: item.Column}, "", "an entry of %s must be one value, not %s", k.name, item.Kind)
				return
			}
			s.items = append(s.items, item.Value)
		}
		s.value = strings.Join(s.items, ",")
	}
	f.settings = append(f.settings, s)
}

// blank reports whether a file contains only comments, which is valid although it is no YAML
// document.
func blank(data []byte) bool {
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

func (f *File) wrong(pos intent.Pos, hint, format string, args ...any) {
	f.Faults = append(f.Faults, &intent.Error{Pos: pos, Hint: hint, Msg: fmt.Sprintf(format, args...)})
}

// Apply sets the defaults of the flags of a command and its subcommands.
func (f *File) Apply(root *cobra.Command) {
	flags := map[string][]*pflag.Flag{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		add := func(flag *pflag.Flag) { flags[flag.Name] = append(flags[flag.Name], flag) }
		c.PersistentFlags().VisitAll(add)
		c.LocalNonPersistentFlags().VisitAll(add)
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
	for _, s := range f.unknown {
		f.noKey(s, flags[s.name] != nil)
	}
	f.settings = slices.DeleteFunc(f.settings, func(s setting) bool {
		err := s.set(flags[s.name])
		if err != nil {
			f.wrong(s.pos, "", "%s %v", s.name, err)
		}
		return err != nil
	})
	ordered.Sort(f.Faults, func(a, b *intent.Error) int { return cmp.Compare(a.Pos.Line, b.Pos.Line) })
}

// noKey records the error for a key that is not a flag, or a flag that cannot have a default.
func (f *File) noKey(s setting, flag bool) {
	all := "flags that may have one: " + strings.Join(Names(), ", ")
	near := words.Nearest(s.name, Names())
	switch {
	case slices.Contains(Careless, s.name):
		f.wrong(s.pos, "give it on the command line of each run that needs it", "%s cannot have a default: it would remove a safeguard from every run", s.name)
	case flag:
		f.wrong(s.pos, all, "%s cannot have a default", s.name)
	case near != "":
		f.wrong(s.pos, "did you mean "+near+"?", "unknown key %s", yaml.Quote(s.name))
	default:
		f.wrong(s.pos, all, "unknown key %s", yaml.Quote(s.name))
	}
}

// set sets the default of the flags. A flag for files without a default keeps none, because an
// empty value means that no intent is read.
func (s setting) set(flags []*pflag.Flag) error {
	if n, err := strconv.Atoi(s.value); s.name == "parallel" && (err != nil || n < 1 || n > 1024) {
		return fmt.Errorf("must be 1 to 1024, not %.40q", s.value)
	}
	for _, flag := range flags {
		if s.unset || s.name == "file" && flag.DefValue == "" {
			continue
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok && s.list {
			// A value on the command line replaces the list.
			if err := list.Replace(s.items); err != nil {
				return err
			}
			flag.DefValue = flag.Value.String()
			continue
		}
		if err := flag.Value.Set(s.value); err != nil {
			if flag.Value.Type() == "bool" {
				err = errors.New("must be true or false")
			}
			return fmt.Errorf("%w, not %.40q", err, s.value)
		}
		flag.DefValue = flag.Value.String()
	}
	return nil
}

// Of lists the settings that apply to a command: "--file (line 3)".
func (f *File) Of(c *cobra.Command) (names []string) {
	for _, s := range f.settings {
		if flag := c.Flag(s.name); flag != nil && !s.unset && (s.name != "file" || flag.DefValue == s.value) {
			names = append(names, fmt.Sprintf("--%s (line %d)", s.name, s.pos.Line))
		}
	}
	return names
}

// Flags returns the defaults in effect, by flag.
func (f *File) Flags() map[string]string {
	flags := map[string]string{}
	for _, s := range f.settings {
		if !s.unset {
			flags[s.name] = s.value
		}
	}
	return flags
}

// or joins words with commas and a final "or".
func or(list []string) string {
	n := len(list) - 1
	return strings.Join(list[:n], ", ") + " or " + list[n]
}
