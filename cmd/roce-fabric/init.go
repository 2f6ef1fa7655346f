package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render/starter"
	"github.com/roce-fabric/roce-fabric/report"
)

func (a *app) initCommand() *cobra.Command {
	var out, example string
	o := starter.New()
	c := &cobra.Command{
		Use:  "init",
		Args: cobra.NoArgs,
		Long: report.Fill("Examples: " + strings.Join(examples.Names(), ", ")),
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen := slices.DeleteFunc(slices.Clone(o.Fields()), func(f *starter.Field) bool { return !cmd.Flags().Changed(f.Name) })
			if cmd.Flags().Changed("example") {
				if len(chosen) > 0 {
					return usage("--example and --%s exclude each other: an example is written as it is", chosen[0].Name)
				}
				return a.writeNew(out, func() ([]byte, error) { return exampleOf(example) })
			}
			return a.writeNew(out, func() ([]byte, error) { return a.starter(cmd.Context(), o, chosen) })
		},
	}
	f := c.Flags()
	for _, field := range o.Fields() {
		f.Var(field, field.Name, field.Help)
		_ = f.SetAnnotation(field.Name, choice, field.Fixed())
		a.completes(c, field.Name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return field.Values(), cobra.ShellCompDirectiveNoFileComp
		})
	}
	f.StringVar(&example, "example", "", "write this example")
	a.choices(c, "example", examples.Names()...)
	f.StringVar(&out, "out", "fabric.yaml", "file to write, which must not exist, or - for standard output")
	_ = c.MarkFlagFilename("out", "yaml", "yml")
	return c
}

// writeNew writes a new file, or standard output if out is "-". It fails if the file exists.
func (a *app) writeNew(out string, text func() ([]byte, error)) error {
	if out == "-" {
		b, err := text()
		if err == nil {
			_, err = a.Out.Write(b)
		}
		return err
	}
	if err := isNew(out); err != nil {
		return err
	}
	b, err := text()
	if err != nil {
		return err
	}
	// The questions take time, so check again.
	if err := isNew(out); err != nil {
		return err
	}
	if err := atomicfile.WriteOutput(out, b, 0o644); err != nil {
		return err
	}
	a.Talk("%s is written", out)
	a.Hint("next: roce-fabric check -f " + words.Shell(out))
	return nil
}

func isNew(out string) error {
	there, err := atomicfile.CheckOutput(out)
	switch {
	case err != nil:
		return usage("--out: %w", err)
	case there:
		return usageHint("name another file with --out", "%s already exists; it was not changed", out)
	}
	return nil
}

// exampleOf returns the intent of an example.
func exampleOf(name string) ([]byte, error) {
	text, err := examples.Intent(name)
	if err != nil {
		return nil, usageHint(suggestion(name, examples.Names(), "the examples are "+strings.Join(examples.Names(), ", ")), "there is no example %q", name)
	}
	return text, nil
}

// starter returns the intent for the options. If a required flag is missing, it asks the user
// for everything that was not given as a flag.
func (a *app) starter(ctx context.Context, o *starter.Options, chosen []*starter.Field) ([]byte, error) {
	var missing []string
	for _, f := range o.Fields() {
		if f.Required && !slices.Contains(chosen, f) {
			missing = append(missing, "--"+f.Name)
		}
	}
	switch {
	case len(missing) == 0:
	case !a.CanAsk():
		return nil, usageHint("--example writes a complete intent: "+strings.Join(examples.Names(), ", "),
			"%s must be given: stdin is not a terminal; cannot ask", strings.Join(missing, ", "))
	default:
		if err := a.askFor(ctx, o, chosen); err != nil {
			return nil, err
		}
	}
	for _, f := range chosen {
		if !f.Asked() {
			return nil, usage("--%s does not apply to a fabric of shape %s", f.Name, o.Shape)
		}
	}
	text, err := o.Intent()
	if err != nil {
		return nil, usageHint(hint.Of(err), "%w", err)
	}
	return text, nil
}

// askFor asks for each option not given as a flag, and again after an invalid answer.
func (a *app) askFor(ctx context.Context, o *starter.Options, chosen []*starter.Field) error {
	for _, f := range o.Fields() {
		if slices.Contains(chosen, f) || !f.Asked() {
			continue
		}
		for {
			answer, err := a.Ask(ctx, f.Question(), f.Usual())
			if err != nil {
				return usage("%w; nothing was written", err)
			}
			err = f.Answer(answer)
			if err == nil {
				break
			}
			a.Error(err)
		}
	}
	return nil
}
