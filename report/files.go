package report

import (
	"bufio"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
)

// File is a file that a report is written to, and its form.
type File struct {
	Form Form
	Path string
}

// ParseFiles parses FORM=FILE arguments. An invalid argument is an [*fleet.OptionError], so that
// it is rejected before any device is read.
func ParseFiles(args []string) ([]File, error) {
	var out []File
	for _, arg := range args {
		form, path, ok := strings.Cut(arg, "=")
		switch {
		case !ok || path == "":
			return nil, fleet.Wrong("", "write --report sarif=roce.sarif", "--report %q is not FORM=FILE", arg)
		case !slices.Contains(Forms, Form(form)):
			return nil, fleet.Wrong("", "the forms are "+strings.Join(FormNames(), ", "), "--report %s: unknown form %q", arg, form)
		case slices.ContainsFunc(out, func(f File) bool { return filepath.Clean(f.Path) == filepath.Clean(path) }):
			return nil, fleet.Wrong("", "", "--report: %s is named twice", path)
		}
		if _, err := atomicfile.CheckOutput(path); err != nil {
			return nil, fleet.Wrong("", "", "--report %s: %w", arg, err)
		}
		out = append(out, File{Form(form), path})
	}
	return out, nil
}

// FormNames returns the names of [Forms].
func FormNames() (out []string) {
	for _, f := range Forms {
		out = append(out, string(f))
	}
	return out
}

// Report writes a report as the command's result, and to files. It writes the other forms even
// if one file cannot be written.
func (c *Console) Report(r Report, files []File) error {
	o := OptionsHere(r)
	var failed []error
	for _, f := range files {
		if err := f.write(r, o); err != nil {
			failed = append(failed, fmt.Errorf("write the %s report: %w", f.Form, err))
		}
	}
	o.S = c.Styler()
	return errors.Join(append(failed, Write(c.Out, Form(c.Output), r, o))...)
}

func (f File) write(r Report, o Options) error {
	out, err := atomicfile.Output(f.Path, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	text := bufio.NewWriter(out)
	if err := errors.Join(Write(text, f.Form, r, o), text.Flush()); err != nil {
		return err
	}
	return out.Commit()
}
