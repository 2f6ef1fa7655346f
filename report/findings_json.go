package report

import (
	"bufio"
	"errors"
	"io"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
	"github.com/roce-fabric/roce-fabric/validate/whatif"
)

// document is the JSON form of a report. [Schema] is generated from it.
type document struct {
	Format     int                `json:"format" doc:"version of this form; within one, fields are only added"`
	Fabric     string             `json:"fabric" doc:"name of the fabric"`
	Devices    int                `json:"devices" doc:"how many devices were looked at"`
	Findings   []checks.Finding   `json:"findings" doc:"what was found, worst first and accepted ones last"`
	Command    string             `json:"command" doc:"the command that was run" enum:"check,validate,nic validate"`
	Tool       tool               `json:"tool" doc:"the program that made the report"`
	Time       time.Time          `json:"time" doc:"when it was made"`
	Passed     bool               `json:"passed" doc:"whether no finding counts as an error, every device was read and nothing was left open"`
	Status     Status             `json:"status" doc:"how the run ended" enum:"passed,inconclusive,failed"`
	Verdict    string             `json:"verdict" doc:"the same in a sentence, with what was not checked"`
	Counts     checks.Counts      `json:"counts" doc:"numbers of findings; accepted ones count as suppressed alone, inconclusive ones also in their severity"`
	Open       []Open             `json:"open" doc:"what was not judged, and on how many devices"`
	Links      int                `json:"links" doc:"how many links were looked at"`
	Looked     []Device           `json:"looked_at" doc:"the devices, and how each was looked at"`
	Checks     []string           `json:"checks" doc:"ids of the checks that were made"`
	Causes     []causeItem        `json:"causes" doc:"the findings by cause, worst first"`
	Pauses     []gate.Source      `json:"pauses,omitempty" doc:"where the pauses of the window come from, the source that stops most first"`
	Watermarks []gate.Watermark   `json:"watermarks,omitempty" doc:"what each lossless priority group held at most, the fullest headroom first, those without a watermark last"`
	If         *whatif.Comparison `json:"if,omitempty" doc:"with --set or --without: how this fabric differs from the present one"`
	Window     []gate.SavedPort   `json:"window,omitempty" doc:"what each port counted in the window; a later run compares with it by --baseline"`
}

type tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// causeItem describes findings that differ only in their place.
type causeItem struct {
	ID         string             `json:"id" doc:"id of the check"`
	Title      string             `json:"title,omitempty" doc:"what the check finds"`
	Severity   checks.Severity    `json:"severity" enum:"error,warning,info"`
	What       string             `json:"what" doc:"the fact, with the values that disagree"`
	Why        string             `json:"why,omitempty" doc:"what happens to traffic"`
	Fix        string             `json:"fix,omitempty" doc:"what to do"`
	Suppressed *checks.Suppressed `json:"suppressed,omitempty" doc:"why it does not count"`
	Places     []string           `json:"places" doc:"devices and ports, folded"`
	Findings   []int              `json:"findings" doc:"indices in findings"`
}

// toolName is the name of this program in reports.
const toolName = "roce-fabric"

// writeJSON encodes one finding at a time, because the findings of ten thousand switches are
// hundreds of megabytes of text.
func writeJSON(w io.Writer, r Report) error {
	d := document{
		Format: Format, Fabric: r.Fabric, Devices: len(r.Devices),
		Command: r.Command, Tool: tool{toolName, r.Version}, Time: r.Time.UTC().Truncate(time.Second),
		Passed: r.Passed(), Status: r.Status(), Verdict: term.CleanLine(r.Verdict()), Counts: r.Counts(), Open: r.Open(), Links: r.Links, Pauses: r.Pauses, Watermarks: r.Watermarks, Window: gate.Save(r.Counted), Looked: append([]Device{}, r.Devices...),
		Checks: []string{}, Causes: []causeItem{}, If: r.If,
	}
	if r.If != nil {
		d.Fabric = r.Intent.Name
	}
	for _, c := range r.Checks() {
		d.Checks = append(d.Checks, c.ID)
	}
	for _, c := range checks.Causes(r.Findings) {
		item := causeItem{ID: c.ID, Severity: c.Severity, What: c.What, Fix: c.Fix, Suppressed: c.Suppressed, Places: c.Places(), Findings: c.Index}
		if k := validate.Lookup(c.ID); k != nil {
			item.Title, item.Why = k.Title, k.Why
		}
		d.Causes = append(d.Causes, item)
	}
	out := bufio.NewWriter(w)
	l := NewJSONList(out, "findings", Field{"fabric", d.Fabric}, Field{"devices", d.Devices})
	for _, f := range r.Findings {
		l.Add(f)
	}
	return errors.Join(l.Close(fieldsAfter("findings", d)...), out.Flush())
}
