// Package man generates the manual page of a command from its help.
package man

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Usual is the annotation of a flag whose default depends on the machine; it describes how the
// default is chosen.
const Usual = "man-default"

// Book holds the parts common to all pages.
type Book struct {
	Version string
	Date    string // such as 2026-11-26; "" for none
	Exit    string // exit statuses, one "  0  done" per line
	// Variables and Files are paragraphs: a name, then an indented description. The name of a
	// variable is followed by the flag whose default it sets, if any.
	Variables, Files string
}

// Name returns the name of a command's page.
func Name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// Page returns the page of a command, written with the macros of man(7).
func (b *Book) Page(c *cobra.Command) []byte {
	c.InitDefaultHelpFlag()
	var p page
	// Keep the date as it is, because mandoc(1) parses it. Disable hyphenation, so that flags
	// are not split.
	fmt.Fprintf(&p, ".TH %s 1 \"%s\" \"roce\\-fabric %s\" \"roce\\-fabric manual\"\n.nh\n.ad l\n", escape(strings.ToUpper(Name(c))), b.Date, escape(b.Version))
	p.section("NAME")
	fmt.Fprintf(&p, "%s \\- %s\n", escape(Name(c)), escape(c.Short))
	p.section("SYNOPSIS")
	p.synopsis(c)
	p.section("DESCRIPTION")
	p.text(c.Long)
	p.commands(c)
	p.options("OPTIONS", c.NonInheritedFlags())
	p.options("GLOBAL OPTIONS", c.InheritedFlags())
	if c.Example != "" {
		p.section("EXAMPLES")
		p.asIs(unindent(c.Example))
	}
	p.section("EXIT STATUS")
	p.list(b.Exit)
	p.variables(b.Variables, c)
	if !c.HasParent() {
		p.section("FILES")
		p.paragraphs(b.Files, func(string) bool { return true })
	}
	p.seeAlso(c)
	return p.Bytes()
}

type page struct{ bytes.Buffer }

func (p *page) section(title string) { fmt.Fprintf(p, ".SH %s\n", title) }

// escape escapes text in a line for roff. Hyphens become characters that can be copied to a
// command line.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, `-`, `\-`, "`", `\(ga`, `'`, `\(aq`, `^`, `\(ha`, `~`, `\(ti`).Replace(s)
}

// line writes a line of text, even if it starts with a dot.
func (p *page) line(s string) {
	if strings.HasPrefix(s, ".") {
		p.WriteString(`\&`)
	}
	p.WriteString(escape(s) + "\n")
}

// fill writes text that man(1) fills, in short lines, so that diffs of pages are readable.
func (p *page) fill(s string) {
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(escape(line))+1+len(escape(word)) > 79 {
			p.line(line)
			line = ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	p.line(line)
}

// synopsis writes the command and its arguments; if it has subcommands, it adds a line with
// COMMAND.
func (p *page) synopsis(c *cobra.Command) {
	takes := strings.TrimPrefix(c.UseLine(), c.CommandPath())
	takes = strings.TrimSpace(strings.ReplaceAll(takes, "[flags]", "[OPTION...]"))
	p.WriteString(strings.TrimRight(fmt.Sprintf("\\fB%s\\fR %s", escape(c.CommandPath()), escape(takes)), " ") + "\n")
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(p, ".br\n\\fB%s\\fR COMMAND\n", escape(c.CommandPath()))
	}
}

// text writes paragraphs. Indented lines are kept unfilled.
func (p *page) text(s string) {
	var filled, kept []string
	end := func() {
		if len(filled)+len(kept) > 0 && !bytes.HasSuffix(p.Bytes(), []byte(".SH DESCRIPTION\n")) {
			p.WriteString(".PP\n")
		}
		if len(filled) > 0 {
			p.fill(strings.Join(filled, " "))
		}
		if len(kept) > 0 {
			p.asIs(unindent(strings.Join(kept, "\n")))
		}
		filled, kept = nil, nil
	}
	for l := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		indented := strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t")
		if l == "" || indented && len(filled) > 0 || !indented && len(kept) > 0 {
			end()
		}
		switch {
		case indented:
			kept = append(kept, l)
		case l != "":
			filled = append(filled, l)
		}
	}
	end()
}

// asIs writes indented lines that man(1) does not fill.
func (p *page) asIs(s string) {
	p.WriteString(".nf\n.RS 4\n")
	for l := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		if l == "" {
			p.WriteString(".sp\n")
			continue
		}
		p.line(strings.ReplaceAll(l, "\t", "        "))
	}
	p.WriteString(".RE\n.fi\n")
}

// unindent removes the common indentation of all lines.
func unindent(s string) string {
	lines := strings.Split(s, "\n")
	least := -1
	for _, l := range lines {
		if n := len(l) - len(strings.TrimLeft(l, " \t")); l != "" && (least < 0 || n < least) {
			least = n
		}
	}
	for i, l := range lines {
		if l != "" {
			lines[i] = l[least:]
		}
	}
	return strings.Join(lines, "\n")
}

func (p *page) commands(c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	p.section("COMMANDS")
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n", escape(sub.Name()))
			p.fill(sub.Short)
		}
	}
}

func (p *page) options(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		p.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(p, "\\fB\\-%s\\fR, ", escape(f.Shorthand))
		}
		fmt.Fprintf(p, "\\fB\\-\\-%s\\fR", escape(f.Name))
		if name != "" {
			fmt.Fprintf(p, " \\fI%s\\fR", escape(name))
		}
		p.WriteByte('\n')
		usual := f.DefValue
		if says := f.Annotations[Usual]; len(says) > 0 {
			usual = says[0]
		}
		switch usual {
		case "", "false", "0", "0s", "[]":
		default:
			usage += " (default " + usual + ")"
		}
		p.fill(usage)
	})
}

// list writes entries such as "  0  text", each followed by its continuation lines.
func (p *page) list(s string) {
	for l := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		l, ok := strings.CutPrefix(l, "  ")
		key, text, _ := strings.Cut(l, " ")
		switch {
		case !ok: // the heading
		case key == "":
			p.fill(text)
		default:
			fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n", escape(key))
			p.fill(text)
		}
	}
}

// paragraphs writes the paragraphs whose first line is wanted.
func (p *page) paragraphs(s string, wanted func(head string) bool) {
	for block := range strings.SplitSeq(strings.TrimSpace(s), "\n\n") {
		head, text, _ := strings.Cut(block, "\n")
		if !wanted(head) {
			continue
		}
		fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n", escape(strings.Fields(head)[0]))
		p.fill(text)
	}
}

// variables writes the environment section: for a command, the variables of its flags; for the
// program, all variables.
func (p *page) variables(s string, c *cobra.Command) {
	all := !c.HasParent()
	wanted := func(head string) bool {
		_, flag, of := strings.Cut(head, " --")
		return all || of && c.Flags().Lookup(flag) != nil
	}
	var own page
	own.paragraphs(s, wanted)
	if own.Len() == 0 {
		return
	}
	p.section("ENVIRONMENT")
	_, _ = io.Copy(p, &own)
}

func (p *page) seeAlso(c *cobra.Command) {
	var see []string
	add := func(c *cobra.Command) { see = append(see, fmt.Sprintf("\\fB%s\\fR(1)", escape(Name(c)))) }
	if c.HasParent() {
		add(c.Parent())
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			add(sub)
		}
	}
	if len(see) > 0 {
		p.section("SEE ALSO")
		p.WriteString(strings.Join(see, ",\n") + "\n")
	}
}
