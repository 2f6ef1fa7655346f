package main

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate/whatif"
)

// eachPrefix marks a --without value that stands for several failures, one at a time.
const eachPrefix = "each:"

// changeFlags adds the flags that ask about another fabric than the present one.
func (a *app) changeFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&a.changes.Set, "set", nil, "PATH=VALUE: as if the intent said this, such as links[0].cable=30m; may be repeated")
	f.StringArrayVar(&a.changes.Without, "without", nil, "as if a device, its cables included, or a cable were gone: spine1, role:spine, leaf1/Ethernet0, 'leaf1 - spine1', links[4]; may be repeated")
	a.completes(c, "set", a.completeSet)
	a.completeWithout(c)
}

// each takes the pattern of --without each:PATTERN out of the changes; "" if there is none.
func (a *app) each() (pattern string, err error) {
	var without []string
	for _, w := range a.changes.Without {
		p, is := strings.CutPrefix(w, eachPrefix)
		switch {
		case !is:
			without = append(without, w)
		case pattern != "" || p == "":
			return "", usageHint("write --without each:role:spine, each:leaf1 or each:link", "--without takes one each:PATTERN")
		default:
			pattern = p
		}
	}
	a.changes.Without = without
	return pattern, nil
}

// noEach rejects --without each:PATTERN for commands that look at one fabric.
func (a *app) noEach(cmd *cobra.Command) error {
	pattern, err := a.each()
	if err == nil && pattern != "" {
		err = usageHint("'roce-fabric check --without each:"+pattern+"' checks them one at a time; or name one device here", "%s takes no --without each:", cmd.CommandPath())
	}
	return err
}

// keepStdin makes an intent on standard input readable several times.
func (a *app) keepStdin() {
	if a.file != "-" {
		return
	}
	var text bytes.Buffer
	first, in := true, io.TeeReader(a.In, &text)
	a.again = func() io.Reader {
		if first {
			first = false
			return in
		}
		return bytes.NewReader(text.Bytes())
	}
}

// checkIf checks the fabric with the changes of the flags, and compares it with the present one.
func (a *app) checkIf(ctx context.Context, o checkOptions, pattern string) error {
	if len(o.config) > 0 || o.topology != "" {
		return usage("--config and --topology compare what is there with the intent; --set and --without ask about another fabric")
	}
	a.keepStdin()
	var err error
	co := fleet.CheckOptions{}
	if co.Models, err = a.loadModels(o.models); err != nil {
		return err
	}
	if pattern != "" {
		return a.checkEach(ctx, co, pattern)
	}
	now, err := a.load(ctx, fleet.TakeSwitches)
	if err != nil {
		return err
	}
	f := now.Fabric()
	r := report.Report{Command: "check", Fabric: f.Name + " " + a.changes.String(), Intent: f, Links: len(f.Links), Devices: report.DevicesFrom(now.Switches, nil, report.FromIntent, nil)}
	present, err := a.loadWith(ctx, fleet.TakeSwitches, whatif.Changes{})
	if err != nil {
		a.Talk("nothing to compare with; as it is, the intent cannot be checked: %v", err)
		r.Findings, err = fleet.Check(ctx, now, co)
	} else {
		r.Findings, r.If, err = fleet.CheckIf(ctx, present, now, a.changes, co)
	}
	if err != nil {
		return err
	}
	return a.report(r)
}

// checkEach checks the fabric without each of several devices or cables.
func (a *app) checkEach(ctx context.Context, co fleet.CheckOptions, pattern string) error {
	switch {
	case a.Output != "text" && a.Output != "json" || len(a.reports) > 0:
		return usage("check --without each: writes text, json or yaml to standard output")
	case len(a.only) > 0:
		return usageHint("each:leaf* picks devices", "--only and --without each: exclude each other")
	}
	present, err := a.loadWith(ctx, fleet.TakeSwitches, whatif.Changes{})
	if err != nil {
		return err
	}
	show, end := a.Share("check")
	out, err := fleet.CheckEach(ctx, present, a.changes, pattern, co, func(ctx context.Context, w whatif.Changes) (*fleet.Fabric, error) {
		return a.loadWith(ctx, fleet.TakeSwitches, w)
	}, show)
	end()
	if err != nil {
		return err
	}
	failing, err := a.Failures(present.Fabric().Name, eachPrefix+pattern, a.changes, out)
	if err == nil && failing {
		return &statusError{status: exitDiffers}
	}
	return err
}

// onlyShown says that a plan for a changed fabric cannot be carried out.
func (a *app) onlyShown(fabric string) {
	if a.Output == "text" {
		a.Talk("this plan is for %s %s: it is only shown, and apply follows the intent as it is", fabric, a.changes)
	}
}
