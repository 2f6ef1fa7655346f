package importer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/input"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
)

// ReadFile reads the saved configuration of a switch.
func (s *Source) ReadFile(ctx context.Context) (Switch, error) {
	out := Switch{Switch: s.switchOf()}
	err := s.readFile(ctx, &out)
	return out, err
}

// readFile fills out from the saved configuration of a switch.
func (s *Source) readFile(ctx context.Context, out *Switch) error {
	c, err := readConfig(s.OS, s.File, s.More...)
	if errors.Is(err, drivers.ErrUnclear) {
		return input.Wrong("", fmt.Sprintf("state it: --config %s:OS=%s; systems are %s", s.Name, s.File, strings.Join(systems.All.Names(), ", ")), "%w", err)
	}
	if err != nil {
		return err
	}
	out.Doubt, out.Text = c.doubt, c.text
	system, _ := systems.All.Find(c.os)
	drv, err := system.Saved(c.text, drivers.Target{Name: s.Name, OS: c.os, Model: out.Switch.Model, Release: out.Switch.Release, Whole: true})
	if err != nil {
		return fmt.Errorf("%s: %w", s.File, err)
	}
	read, err := engine.ReadConfiguration(ctx, drv)
	if err != nil {
		return fmt.Errorf("%s: %w", s.File, err)
	}
	run := read.Running
	if len(run.Ports) == 0 {
		return input.Wrong("", "give the whole configuration: "+system.Whole+"; --config NAME=FILE again adds a file",
			"%s holds no ports that %s has; it holds %s", s.File, c.os, contents(c.text))
	}
	id := system.Identify(c.text)
	run.Name = cmp.Or(run.Name, id.Hostname)
	out.Switch.OS, out.Switch.Running, out.plan = c.os, run, read.Plan
	out.Account.File, out.Account.Recognised, out.Account.Lines = s.File, c.why, read.Account()
	c.place(out.Account.Lines)
	out.Switch.Model = cmp.Or(out.Switch.Model, id.Model)
	out.Switch.Release = cmp.Or(out.Switch.Release, id.Release)
	return nil
}

// SavedSwitch is the saved configuration of a switch, with the identity in it.
type SavedSwitch struct {
	Name, OS string
	Text     []byte // content of all files together
	drivers.Identity
}

// ReadSwitches reads the saved configurations of --config arguments, in the order of the
// first argument of each switch. Several files of one switch are combined. It returns an
// [*OptionError] for a wrong argument.
func ReadSwitches(args []string) (out []SavedSwitch, err error) {
	var by ordered.Map[string, Source]
	for _, arg := range args {
		src, err := ParseSource(arg)
		if err != nil {
			return nil, err
		}
		if at := by.At(src.Name); at.Name == "" {
			*at = src
		} else {
			at.OS, at.More = cmp.Or(at.OS, src.OS), append(at.More, src.File)
		}
	}
	for _, src := range by.All() {
		c, err := readConfig(src.OS, src.File, src.More...)
		if err != nil {
			return nil, err
		}
		system, _ := systems.All.Find(c.os)
		out = append(out, SavedSwitch{src.Name, c.os, c.text, system.Identify(c.text)})
	}
	return out, nil
}

// savedConfig is the configuration in the files of a switch, combined.
type savedConfig struct {
	os, why, doubt string
	text           []byte
	files          []string
	begins         []int // for each file but the first, the number of lines of text before it
}

// readConfig reads the files of a switch with operating system os; "" recognises it from the
// files. Later files add to earlier ones as they would on the switch.
func readConfig(os, first string, more ...string) (c savedConfig, err error) {
	c.os, c.files = os, append([]string{first}, more...)
	var texts [][]byte
	for _, file := range c.files {
		text, err := readSaved(file)
		if err != nil {
			return c, err
		}
		texts = append(texts, text)
		by := systems.All.Rate(text)
		found, why := drivers.Recognised(by)
		switch {
		case c.os == "" && why != nil:
			return c, input.Wrong("", "systems are "+strings.Join(systems.All.Names(), ", "), "%s: %w", file, why)
		case c.os == "":
			c.os = found
			c.why = "read as " + by[0].String()
			if len(by) > 1 {
				c.why += "; next is " + by[1].String()
			}
		case why == nil && found != c.os && len(texts) > 1:
			return c, fmt.Errorf("%s looks like a configuration of %s, and %s is one of %s", file, by[0], first, c.os)
		case why == nil && found != c.os:
			c.doubt = fmt.Sprintf("%s looks like a configuration of %s, and is read as one of %s", file, found, c.os)
		}
	}
	if len(texts) == 1 {
		c.text = texts[0]
		return c, nil
	}
	if system, _ := systems.All.Find(c.os); system.Join != nil {
		if c.text, err = system.Join(c.files, texts); err != nil || c.text != nil {
			return c, err
		}
	}
	for i, text := range texts {
		if i > 0 {
			c.begins = append(c.begins, bytes.Count(c.text, []byte("\n")))
		}
		if i < len(texts)-1 {
			text = withoutEndLine(text)
		}
		c.text = append(append(c.text, text...), '\n')
	}
	return c, nil
}

// withoutEndLine removes the line "end" from the end of a configuration.
func withoutEndLine(text []byte) []byte {
	t := bytes.TrimRight(text, " \t\n")
	if bytes.HasSuffix(t, []byte("\nend")) {
		return append(bytes.Clone(t[:len(t)-len("end")]), "!\n"...)
	}
	return text
}

// place adds the name of the file to lines that come from a file other than the first, and
// makes their line numbers relative to it.
func (c *savedConfig) place(lines []render.Line) {
	for i := range lines {
		l := &lines[i]
		at := 0
		for at < len(c.begins) && l.No > c.begins[at] {
			at++
		}
		if at == 0 {
			continue
		}
		l.No -= c.begins[at-1]
		l.Where = strings.TrimSpace(filepath.Base(c.files[at]) + " " + l.Where)
	}
}

func readSaved(path string) ([]byte, error) {
	text, err := input.Config(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return text, nil
}

// contents describes a configuration without ports: its tables, or its number of lines and
// the most frequent kinds of blocks.
func contents(text []byte) string {
	const most = 8
	var tables map[string]json.RawMessage
	if json.Unmarshal(text, &tables) == nil {
		names := natural.Keys(tables)
		if len(names) == 0 {
			return "no tables"
		}
		return "the tables " + words.Some(names, most)
	}
	n, count := 0, map[string]int{}
	for l := range bytes.Lines(text) {
		if l = bytes.TrimRight(l, " \t\n"); len(l) == 0 || l[0] == '!' {
			continue
		}
		n++
		if l[0] == ' ' || l[0] == '\t' {
			continue
		}
		head := strings.Fields(string(l[:min(len(l), 60)]))
		count[strings.Join(head[:min(len(head), 2)], " ")]++
	}
	kinds := natural.Keys(count)
	ordered.Sort(kinds, func(a, b string) int { return count[b] - count[a] })
	s := words.Count(n, "line")
	for i, k := range kinds[:min(len(kinds), most)] {
		s += map[bool]string{true: ": ", false: ", "}[i == 0] + k
		if count[k] > 1 {
			s += fmt.Sprintf(" (%d)", count[k])
		}
	}
	if len(kinds) > most {
		s += ", ..."
	}
	return s
}
