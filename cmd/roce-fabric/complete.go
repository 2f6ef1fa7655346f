package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent/roster"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/validate"
)

// completion is the time limit of a completion, because the user waits for it.
const completion = 5 * time.Second

// Completion directives: no file names, and keep the given order.
const (
	noFile  = cobra.ShellCompDirectiveNoFileComp
	inOrder = noFile | cobra.ShellCompDirectiveKeepOrder
)

// names returns a completion with names from the intent that the command line, the environment
// or the default selects. It completes nothing if the intent cannot be read.
func (a *app) names(of func(r roster.Roster, args []string, typed string) []roster.Name) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) (out []string, _ cobra.ShellCompDirective) {
		for _, n := range of(a.roster(c), args, typed) {
			out = append(out, n.String())
		}
		return out, inOrder
	}
}

// roster returns the names in a command's intent; it is empty if the intent cannot be read in
// time.
func (a *app) roster(c *cobra.Command) (r roster.Roster) {
	a.ofIntent(c, func(ctx context.Context, path string) { r, _ = roster.Load(ctx, path, a.cacheDir()) })
	return r
}

// ofIntent calls do with the path of a command's intent.
func (a *app) ofIntent(c *cobra.Command, do func(ctx context.Context, path string)) {
	path := a.file
	if f := c.Flag("file"); f != nil {
		path = f.Value.String()
	}
	debug.SetGCPercent(800) // the process ends before garbage collection would pay off
	ctx, cancel := context.WithTimeout(c.Context(), completion)
	defer cancel()
	do(ctx, path)
}

// completeSet completes the path argument of --set.
func (a *app) completeSet(c *cobra.Command, _ []string, typed string) (paths []string, _ cobra.ShellCompDirective) {
	a.ofIntent(c, func(ctx context.Context, path string) { paths, _ = roster.Paths(ctx, path, typed) })
	return paths, inOrder | cobra.ShellCompDirectiveNoSpace
}

// completeConfig completes SWITCH=FILE: first the switch, then file names.
func (a *app) completeConfig(c *cobra.Command) {
	a.completes(c, "config", func(c *cobra.Command, _ []string, typed string) (out []string, _ cobra.ShellCompDirective) {
		for _, n := range a.roster(c).Devices(roster.Switches, typed) {
			out = append(out, n.Text+"=\t"+n.About)
		}
		if len(out) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	})
}

// cacheDir returns the folder in which rosters are cached; "" if there is none.
func (a *app) cacheDir() string {
	base := a.Getenv("XDG_CACHE_HOME")
	if home := a.Getenv("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".cache")
	}
	if base == "" {
		return ""
	}
	return filepath.Join(base, "roce-fabric", "completion")
}

// completeOnly completes --only.
func (a *app) completeOnly(c *cobra.Command, which roster.Which) {
	a.completes(c, "only", a.names(func(r roster.Roster, _ []string, typed string) []roster.Name {
		return r.Patterns(which, typed)
	}))
}

// completeHost completes --host.
func (a *app) completeHost(c *cobra.Command) {
	a.completes(c, "host", a.names(func(r roster.Roster, _ []string, typed string) []roster.Name {
		return r.Devices(roster.Hosts, typed)
	}))
}

// completeExplained completes the arguments of explain: DEVICE PORT, blast-radius HOST/NIC, or a
// check.
func completeExplained(r roster.Roster, args []string, typed string) (out []roster.Name) {
	switch {
	case len(args) == 0:
		out = r.Devices(roster.All, typed)
		others := []roster.Name{{Text: "blast-radius", About: "what a stuck NIC can stop"}}
		for _, c := range validate.Checks() {
			others = append(others, roster.Name{Text: c.ID, About: c.Title})
		}
		for _, n := range others {
			if strings.HasPrefix(strings.ToUpper(n.Text), strings.ToUpper(typed)) {
				out = append(out, n)
			}
		}
	case len(args) == 1 && args[0] == "blast-radius":
		host, nic, cut := strings.Cut(typed, "/")
		for _, h := range r.Devices(roster.Hosts, host) {
			if cut && h.Text != host {
				continue
			}
			for _, n := range r.Ports(h.Text, nic) {
				out = append(out, roster.Name{Text: h.Text + "/" + n.Text, About: n.About})
			}
		}
	case len(args) == 1:
		out = r.Ports(args[0], typed)
	}
	return out
}

// completeRun completes the name of a run in the state folder.
func (a *app) completeRun(state *fleet.StoreOptions) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFile
		}
		ctx, cancel := context.WithTimeout(c.Context(), completion)
		defer cancel()
		runs, _ := fleet.RunNames(ctx, state.Where, a.roster(c).Fabric())
		return runs, inOrder
	}
}

// completePlan completes the path of a plan file.
func completePlan(_ *cobra.Command, _ []string, typed string) (out []string, _ cobra.ShellCompDirective) {
	found := fleet.PlanNames(typed)
	directive := noFile | cobra.ShellCompDirectiveNoSpace
	for _, name := range natural.Keys(found) {
		h := found[name]
		if h == nil {
			out = append(out, name)
			continue
		}
		directive = noFile // with only folders, the user types on
		out = append(out, fmt.Sprintf("%s\tof %s, %s", name, h.Fabric, h.Created.Local().Format(time.DateTime)))
	}
	return out, directive
}

// quietly disables cobra's default completion of file names for commands without arguments and
// for numeric or duration flags.
func (a *app) quietly(c *cobra.Command) {
	if takesNone(c) && c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, done := c.GetFlagCompletionFunc(f.Name); !done && slices.Contains([]string{"int", "float64", "duration"}, f.Value.Type()) {
			a.choices(c, f.Name)
		}
	})
	for _, sub := range c.Commands() {
		a.quietly(sub)
	}
}

// bashAlone defines two functions of the bash-completion package that the script calls, for
// systems without that package.
//
//go:embed completion.bash
var bashAlone string

// forBash changes the bash completion script so that it works without the bash-completion
// package and keeps what the user typed: cobra's script compares typed text with escaped
// completions and therefore finds none with a comma or an exclamation mark.
func (a *app) forBash(c *cobra.Command) {
	patch := strings.NewReplacer(
		`COMPREPLY[0]=$(printf "%q" `, `COMPREPLY[0]=$(__roce-fabric_escape `,
		`[[ $comp == "$cur"* ]] || continue`, `[[ $comp == "$cur"* || $compline == "$cur"* ]] || continue`)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		bare, err := cmd.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		var script bytes.Buffer
		if err := cmd.Root().GenBashCompletionV2(&script, !bare); err != nil {
			return err
		}
		_, err = fmt.Fprint(a.Out, bashAlone, patch.Replace(script.String()))
		return err
	}
}

// completeWithout completes --without with devices and selections.
func (a *app) completeWithout(c *cobra.Command) {
	a.completes(c, "without", a.names(func(r roster.Roster, _ []string, typed string) []roster.Name {
		rest, each := strings.CutPrefix(typed, eachPrefix)
		out := r.Patterns(roster.All, rest)
		if each {
			for i := range out {
				out[i].Text = eachPrefix + out[i].Text
			}
		}
		return out
	}))
}
