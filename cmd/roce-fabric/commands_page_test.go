package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/roce-fabric/roce-fabric/cmd/roce-fabric/internal/man"
)

//go:generate go test . -run TestCommandsPage -update

var update = flag.Bool("update", false, "rewrite docs/commands.md")

const commandsPage = "../../docs/commands.md"

// docs/commands.md contains the current help of every command.
func TestCommandsPage(t *testing.T) {
	want := commandsText(newPlainApp().root())
	if *update {
		if err := os.WriteFile(commandsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(commandsPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("docs/commands.md is not the help of this program: go generate ./cmd/roce-fabric")
	}
}

func commandsText(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Commands\n\n<!-- made by go generate ./cmd/roce-fabric -->\n\n" +
		"The text of `roce-fabric COMMAND --help`, as it is in this version. `roce-fabric man COMMAND` shows it as a manual page.\n")
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n**%s**\n\n| command | does |\n|---|---|\n", strings.TrimSuffix(g.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && !c.Hidden {
				fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", c.Name(), strings.ReplaceAll(c.CommandPath(), " ", "-"), cellOf(c.Short))
			}
		}
	}
	b.WriteString("\n## Exit status\n\nThe same for every command.\n\n| status | means |\n|---|---|\n")
	_, statuses, _ := strings.Cut(helpText("exit-status"), "\n")
	listOf(&b, statuses)
	b.WriteString("\n## Environment\n\n| variable | |\n|---|---|\n")
	paragraphsOf(&b, helpText("environment"))
	b.WriteString("\n## Files\n\n| file | |\n|---|---|\n")
	paragraphsOf(&b, helpText("files"))
	b.WriteString("\n## Options of every command\n")
	flagsOf(&b, root.PersistentFlags())
	for _, c := range root.Commands() {
		commandText(&b, c)
	}
	return b.String()
}

// commandText writes a command and its subcommands.
func commandText(b *strings.Builder, c *cobra.Command) {
	if c.Hidden {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n```help\nUsage: %s\n", c.CommandPath(), c.Short, c.UseLine())
	if c.Long != "" {
		fmt.Fprintf(b, "\n%s\n", c.Long)
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n%s\n", c.Example)
	}
	b.WriteString("```\n")
	flagsOf(b, c.LocalNonPersistentFlags())
	for _, sub := range c.Commands() {
		commandText(b, sub)
	}
}

func flagsOf(b *strings.Builder, flags *pflag.FlagSet) {
	head := "\n| option | value | |\n|---|---|---|\n"
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		b.WriteString(head)
		head = ""
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, usage := pflag.UnquoteUsage(f)
		switch usual := cmp.Or(strings.Join(f.Annotations[man.Usual], ""), f.DefValue); usual {
		case "", "false", "0", "0s", "[]":
		default:
			usage += " (default " + usual + ")"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, cmp.Or(cellOf(value), " "), cellOf(usage))
	})
}

// listOf writes lines of the form "  WORD  text" as table rows; lines with more indentation
// continue a row.
func listOf(b *strings.Builder, text string) {
	row := ""
	for l := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
		if strings.HasPrefix(l, "   ") {
			row += " " + strings.TrimSpace(l)
			continue
		}
		if row != "" {
			b.WriteString(row + " |\n")
		}
		row = fmt.Sprintf("| %s | %s", word, cellOf(strings.TrimSpace(rest)))
	}
	b.WriteString(row + " |\n")
}

// paragraphsOf writes paragraphs of the form "HEAD\n  text" as table rows.
func paragraphsOf(b *strings.Builder, text string) {
	for p := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		head, rest, _ := strings.Cut(p, "\n")
		name, option, _ := strings.Cut(head, " ")
		if option != "" {
			option = "`" + option + "`: "
		}
		fmt.Fprintf(b, "| `%s` | %s%s |\n", name, option, cellOf(strings.Join(strings.Fields(rest), " ")))
	}
}

// cellOf escapes text for a table cell.
func cellOf(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`, "\n", " ").Replace(s)
}
