package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate"
)

// reportFlags adds --output with all forms of a report, and --report.
func (a *app) reportFlags(c *cobra.Command) {
	var forms []string
	for _, f := range report.Forms {
		forms = append(forms, string(f))
	}
	a.outputFlag(c, forms...)
	c.Long = helpText("reports")
	c.Flags().BoolVar(&a.strict, "strict", false, "end with status 3 also where something could not be checked")
	c.Flags().StringArrayVar(&a.reports, "report", nil, "FORM=FILE: write the result to a file as well; may be repeated")
	_ = c.RegisterFlagCompletionFunc("report", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		if strings.Contains(typed, "=") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		var out []string
		for _, f := range forms {
			out = append(out, f+"=")
		}
		return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
	pre := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if pre != nil {
			if err := pre(cmd, args); err != nil {
				return err
			}
		}
		_, err := a.reportFiles()
		return err
	}
}

// reportFile is a report that is written to a file.
type reportFile struct {
	form report.Form
	path string
}

// reportFiles reads --report. A value that cannot work is refused before
// devices are read.
func (a *app) reportFiles() ([]reportFile, error) {
	var out []reportFile
	for _, arg := range a.reports {
		form, path, ok := strings.Cut(arg, "=")
		switch {
		case !ok || path == "":
			return nil, usageHint("write --report sarif=roce.sarif", "--report %q names no form and file", arg)
		case !slices.Contains(report.Forms, report.Form(form)):
			return nil, usageHint("the forms are "+formNames(", "), "--report %s: there is no form %q", arg, form)
		case slices.ContainsFunc(out, func(f reportFile) bool { return filepath.Clean(f.path) == filepath.Clean(path) }):
			return nil, usage("--report: %s is named twice", path)
		}
		if _, err := atomicfile.CheckOutput(path); err != nil {
			return nil, usage("--report %s: %w", arg, err)
		}
		out = append(out, reportFile{report.Form(form), path})
	}
	return out, nil
}

func formNames(sep string) string {
	var out []string
	for _, f := range report.Forms {
		out = append(out, string(f))
	}
	return strings.Join(out, sep)
}

// report writes what a run found, in every form that was asked for, and turns
// errors among the findings into the exit status. A file that cannot be written
// does not keep the other forms from being.
func (a *app) report(r report.Report) error {
	r.Version, r.Time = version, time.Now()
	o := report.OptionsHere(r)
	files, err := a.reportFiles()
	if err != nil {
		return err
	}
	var failed []error
	for _, f := range files {
		var b bytes.Buffer
		err := report.Write(&b, f.form, r, o)
		if err == nil {
			err = atomicfile.WriteOutput(f.path, b.Bytes(), 0o644)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("write the %s report: %w", f.form, err))
		}
	}
	o.S = a.styler(a.stdout)
	if err := report.Write(a.stdout, report.Form(a.output), r, o); err != nil {
		failed = append(failed, err)
	}
	switch {
	case len(failed) > 0:
		return errors.Join(failed...)
	case len(r.Failed()) > 0:
		return &statusError{status: exitFailed}
	case validate.Worst(r.Findings), a.strict && r.Status() == report.Inconclusive:
		return &statusError{status: exitDiffers}
	}
	return nil
}
