package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// resets collects the parts that wait for a reset. Devices with identical rows share them.
type resets struct {
	rows ordered.Groups[string, string]
}

// add adds the parts of a device; parts that differ only in their ports share a row.
func (r *resets) add(device string, parts []drivers.Reset) {
	var alike ordered.Groups[string, string]
	for _, p := range parts {
		settings := slices.Clone(p.Settings)
		if n := len(p.Others); n > 0 {
			settings = append(settings, fmt.Sprintf("not of the intent: %s", strings.Join(p.Others, ", ")))
		}
		how := cmp.Or(p.Does, p.How)
		if len(p.Also) > 0 {
			how += "; takes " + natural.Fold(p.Also) + " down as well"
		}
		if p.Blocked != "" {
			how = "blocked: " + p.Blocked
		}
		for _, port := range p.Ports {
			alike.Add(term.CleanLine(strings.Join(settings, ", "))+"\t"+term.CleanLine(how), port)
		}
	}
	var rows []string
	for what, ports := range alike.All() {
		rows = append(rows, term.CleanLine(spaced(natural.Fold(ports)))+"\t"+what)
	}
	if len(rows) > 0 {
		r.rows.Add(strings.Join(rows, "\n"), device)
	}
}

// table formats a headline and the rows; "" if nothing waits for a reset.
func (r *resets) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "  HOST\tNICS\tSETTINGS\tRESET")
	devices := 0
	for rows, names := range r.rows.All() {
		devices += len(names)
		for row := range strings.SplitSeq(rows, "\n") {
			fmt.Fprintf(w, "  %s\t%s\n", spaced(natural.Fold(names)), row)
		}
	}
	if devices == 0 {
		return ""
	}
	_ = w.Flush() // cannot fail: w writes to a string
	return fmt.Sprintf("%s for a reset:\n%s", words.Plural(devices, "host waits", "hosts wait"), b.String())
}

// Resets writes which parts wait for a reset and how each is reset.
func (c *Console) Resets(w io.Writer, plans []fleet.ResetPlan) {
	var r resets
	t := Text{W: w, S: c.styler(w)}
	for _, p := range plans {
		switch {
		case p.Error != nil:
			t.printf("%s  %s %s\n", t.S.Bold(p.Device), t.S.Red("failed:"), term.CleanLine(p.Error.Text))
			continue
		case p.Blocked != "":
			t.printf("%s  %s %s\n", t.S.Bold(p.Device), t.S.Red("blocked:"), term.CleanLine(p.Blocked))
		}
		r.add(p.Device, p.Resets)
	}
	text := r.table()
	if text == "" {
		text = "no host waits for a reset\n"
	}
	t.printf("%s", text)
}
