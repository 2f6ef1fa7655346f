// Package nxos translates between [qos.Device] and the configuration text of Cisco Nexus 9000
// switches: it reads running configuration, decodes its meaning, and computes the lines that
// change it to a desired state.
//
// QoS on NX-OS consists of three kinds of policy that only the qos-group number connects: input
// policies classify packets into groups, one network-qos policy sets the MTU and the pauses of
// each group for the whole switch, and queuing policies schedule and mark. In this package a group
// and its queue have the same number, and so has its traffic class, unless the group pauses another
// priority than its number.
//
// The package does no I/O and knows no particular device: what a model or release refuses beyond
// [Refusals] is for the driver to find out. Do not compare configurations as text: NX-OS prints
// the same lines in a different order from release to release. [Decode] both and compare the
// results.
package nxos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/forms"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Types of package lines.
type (
	Config  = lines.Config
	Line    = lines.Line
	Edit    = lines.Edit
	Unknown = lines.Unknown
)

// Parse reads configuration: the output of "show running-config" (also with "all" or "ipqos"),
// checkpoint files, generated text, or a pasted session with prompts, with any indentation. It
// fails on text that cannot be configuration: NUL bytes, lines over 64 KB, more than 16 levels.
// Time and memory are linear in the size of the text.
func Parse(text []byte) (*Config, error) {
	c := Lines.New()
	if err := layout.Parse(c, text); err != nil {
		return nil, err
	}
	return c, nil
}

var layout = &forms.Layout{
	Top:       inGlobal,
	Full:      lines.FullInterface,
	Opens:     opens,
	Table:     func() *forms.Table { return grammar },
	Elsewhere: func() *forms.Table { return elsewhere },
	Keeps: func(at place, line string) bool {
		return slices.Contains(qosPlaces, at) || at == inInterface && !concerned(line) && forms.AboutQoS(line)
	},
	Removes: removes,
	Several: several,
	Inside:  func(mode string) bool { return mode != "config" },
	Raw: func(line string) func(string) bool {
		delimiter, ok := bannerOf(line)
		if !ok {
			return nil
		}
		return func(s string) bool { return strings.IndexByte(s, delimiter) >= 0 }
	},
}

// removes tells what a line that begins with "no" or "default" does to a block. Whether the switch
// removes what another line uses is not documented, and a class-map is removed with its match type.
func removes(section, verb, text, header string) forms.Removal {
	if section != "" {
		if _, name, _ := classOf(text); verb == "no" && !madeBySwitch(name) {
			return forms.RemovesBlock
		}
		return forms.RemovesNothing
	}
	h, _ := headOf(text)
	of, _ := headOf(header)
	switch {
	case h.at == inInterface && verb == "default":
		return forms.EmptiesBlock
	case (h.at == inPolicy || h.at == inClassMap) && verb == "no" && h.match == of.match && !madeBySwitch(h.name):
		return forms.RemovesUnused
	}
	return forms.RemovesNothing
}

// several reports whether the header of an interface names several ports.
func several(header string) bool {
	h, ok := headOf(header)
	return ok && h.at == inInterface && len(rangeOf(h.name)) > 1
}

// madeBySwitch reports whether a policy or class has the name of one that the switch makes itself.
func madeBySwitch(name string) bool {
	return strings.HasPrefix(name, "c-") || builtIn(name) || name == "class-default"
}

// bannerOf returns the delimiter of a multi-line banner: "banner motd #".
func bannerOf(text string) (byte, bool) {
	rest, ok := strings.CutPrefix(text, "banner ")
	if !ok {
		return 0, false
	}
	_, rest, _ = strings.Cut(rest, " ")
	if rest == "" || strings.IndexByte(rest[1:], rest[0]) >= 0 {
		return 0, false
	}
	return rest[0], true
}

// complete reports whether c is a complete running configuration, as far as the text shows: it
// has the version line and at least one interface, no "!Command:" header of a narrower show
// command, no pager prompt, and it ends with a line end or a prompt. NX-OS prints no "end", so a
// text cut exactly between two lines is not detected.
func complete(c *Config) bool {
	version, port := false, false
	for _, l := range c.Lines {
		if cmd, ok := strings.CutPrefix(l.Text, "!Command:"); ok {
			cmd = strings.TrimSpace(cmd)
			if rest, ok := strings.CutPrefix(cmd, "show running-config"); ok && rest != "" && rest != " all" {
				return false
			}
		}
		version = version || strings.HasPrefix(l.Text, "version ")
		h, ok := headOf(l.Text)
		port = port || ok && h.at == inInterface
	}
	return c.Whole && version && port
}

// apart reports whether a blank line is printed between two neighbouring lines: around an
// interface, and after a block that would otherwise absorb the next line.
func apart(a, b *Line) bool {
	ha, blockA := headOf(a.Text)
	hb, blockB := headOf(b.Text)
	return blockA && (!blockB || ha.at == inInterface) || blockB && hb.at == inInterface
}
