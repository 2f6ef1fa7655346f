package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/render/sonic/yang"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
)

type findings struct {
	Format   int                `json:"format"`
	Fabric   string             `json:"fabric"`
	Devices  int                `json:"devices"`
	Findings []validate.Finding `json:"findings"`
}

func (a *app) checkCommand() *cobra.Command {
	var models string
	c := &cobra.Command{
		Use:   "check",
		Short: "Say what is wrong with an intent, without devices",
		Long: `check reads the intent and says what is wrong or will be: the file itself, each
switch, each link. With --yang it also holds what would be rendered against the
YANG models of a switch image (/usr/local/yang-models of a SONiC switch).`,
		Example: "  roce-fabric check -f fabric.yaml\n  roce-fabric check -f fabric/ --yang ./yang-models --output json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.check(models) },
	}
	a.intentFlags(c)
	a.outputFlag(c, "text", "json")
	c.Flags().StringVar(&models, "yang", "", "folder of .yang files to check rendered SONiC configuration against")
	_ = c.MarkFlagDirname("yang")
	return c
}

func (a *app) check(models string) error {
	c, switches, err := a.load()
	if err != nil {
		return err
	}
	y, err := a.loadModels(models)
	if err != nil {
		return err
	}
	found := validate.StaticLinks(c.Fabric())
	for _, sw := range switches {
		d := c.Device(sw)
		found = append(found, validate.Static(d)...)
		r := renderers[sw.OS]
		if r.refused != nil {
			found = append(found, r.refused(d)...)
		}
		if y != nil && r.yang != nil {
			found = append(found, r.yang(y, d)...)
		}
	}
	out := findings{report.Format, c.Fabric().Name, len(switches), validate.Sort(found)}
	return a.findings(out, fmt.Sprintf("nothing wrong with %s: %s, %s", c.Fabric().Name, words.Plural(len(switches), "switch", "switches"), words.Count(len(c.Fabric().Links), "link")))
}

// findings writes findings and turns errors among them into the exit status.
func (a *app) findings(out findings, clean string) error {
	if out.Findings == nil {
		out.Findings = []validate.Finding{}
	}
	var err error
	if a.output == "json" {
		err = report.WriteJSON(a.stdout, out)
	} else {
		t := report.Text{W: a.stdout, S: a.styler(a.stdout)}
		t.Findings(out.Findings, clean)
		err = t.Err()
	}
	if err == nil && validate.Worst(out.Findings) {
		return &statusError{status: exitDiffers}
	}
	return err
}

// loadModels reads a folder of YANG models, and says what of it cannot be
// used; nil where no folder is named.
func (a *app) loadModels(dir string) (*yang.Models, error) {
	if dir == "" {
		return nil, nil
	}
	m, err := yang.Load(dir)
	if err != nil {
		return nil, &statusError{status: exitUsage, err: fmt.Errorf("--yang: %w", err)}
	}
	for _, r := range m.Unevaluated(sonic.Tables()...) {
		a.warn("--yang: a rule is not evaluated: %s", r)
	}
	for _, s := range m.Skipped() {
		a.warn("--yang: %s", s)
	}
	return m, nil
}
