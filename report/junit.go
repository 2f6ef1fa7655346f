package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// The JUnit form has one suite for the fabric and one per device. Each suite has one test case
// for every check that applies to it, so the number of cases depends on the checks and not on
// the findings, and a case keeps its name from run to run. Attributes that the schema of
// Jenkins' xunit plugin rejects, such as the file of a case, are left out.

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	ID         int             `xml:"id,attr"`
	Name       string          `xml:"name,attr"`
	Hostname   string          `xml:"hostname,attr,omitempty"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string       `xml:"name,attr"`
	Class   string       `xml:"classname,attr"`
	Time    string       `xml:"time,attr"`
	Skipped *junitResult `xml:"skipped"`
	Error   *junitResult `xml:"error"`
	Failure *junitResult `xml:"failure"`
	Out     string       `xml:"system-out,omitempty"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// noTime is the duration of every case; the checks are not timed individually.
const noTime = "0"

func writeJUnit(w io.Writer, r Report) error {
	j := junitWriter{r: r, stamp: r.Time.UTC().Format(time.RFC3339)}
	j.findings, j.open = map[junitKey][]checks.Finding{}, map[junitKey]checks.Finding{}
	byID := map[string]*checks.Check{}
	for _, c := range r.Checks() {
		byID[c.ID] = c
	}
	// A check that could not be made still gets a case, marked as skipped.
	for _, f := range r.Findings {
		for _, id := range f.NotMade {
			byID[id] = validate.Lookup(id)
			j.open[junitKey{j.suiteOf(f, byID[f.ID]), id}] = f
		}
	}
	for _, f := range r.Findings {
		for _, id := range append([]string{f.ID}, f.Covers...) {
			k := junitKey{j.suiteOf(f, byID[id]), id}
			j.findings[k] = append(j.findings[k], f)
		}
	}
	out := junitSuites{Name: toolName + " " + r.Command, Time: noTime}
	add := func(s junitSuite) {
		s.ID = len(out.Suites)
		out.Tests, out.Failures, out.Errors = out.Tests+s.Tests, out.Failures+s.Failures, out.Errors+s.Errors
		out.Suites = append(out.Suites, s)
	}
	add(j.suite(nil, byID))
	for i := range r.Devices {
		add(j.suite(&r.Devices[i], byID))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type junitWriter struct {
	r        Report
	stamp    string
	findings map[junitKey][]checks.Finding
	open     map[junitKey]checks.Finding // why a check was not made
}

// junitKey identifies a case by its device, "" for the fabric, and its check.
type junitKey struct{ device, id string }

// looksAt reports whether a check has a case in the suite of d; nil is the fabric.
func looksAt(c *checks.Check, d *Device) bool {
	if c.ID == unreadCheck {
		return d != nil
	}
	switch c.Scope {
	case checks.ScopeSwitch, checks.ScopeLink:
		return d != nil && (d.Kind == SwitchDevice || c.Reads&checks.ReadsNIC != 0)
	case checks.ScopeNIC, checks.ScopeHost:
		return d != nil && (d.Kind == HostDevice || c.Reads&checks.ReadsRunning != 0)
	}
	return d == nil
}

// unreadCheck is the ID of the check that fails if a device cannot be read.
const unreadCheck = "READ"

// suiteOf returns the device whose suite has the finding, "" for the fabric's suite.
func (j *junitWriter) suiteOf(f checks.Finding, c *checks.Check) string {
	if c != nil && looksAt(c, nil) {
		return ""
	}
	if slices.ContainsFunc(j.r.Devices, func(d Device) bool { return d.Name == f.Device }) {
		return f.Device
	}
	return ""
}

// suite builds the suite of a device; nil is the fabric.
func (j *junitWriter) suite(d *Device, byID map[string]*checks.Check) junitSuite {
	name := ""
	s := junitSuite{Name: term.CleanLine(j.r.Fabric), Time: noTime, Timestamp: j.stamp}
	property := func(name, value string) {
		if value != "" {
			s.Properties = append(s.Properties, junitProperty{name, term.CleanLine(value)})
		}
	}
	class := s.Name
	if d == nil {
		property("command", j.r.Command)
		property("version", j.r.Version)
		property("links", fmt.Sprint(j.r.Links))
		property("verdict", j.r.Verdict())
	} else {
		name = d.Name
		s.Name, s.Hostname = term.CleanLine(d.Name), term.CleanLine(d.Name)
		class += "." + s.Name
		property("kind", string(d.Kind))
		property("os", d.OS)
		property("source", string(d.Source))
		property("file", d.File)
	}
	ids := map[string]bool{}
	for id, c := range byID {
		if looksAt(c, d) {
			ids[id] = true
		}
	}
	for k := range j.findings {
		if k.device == name {
			ids[k.id] = true
		}
	}
	for _, id := range natural.Keys(ids) {
		c := j.testcase(d, id, j.findings[junitKey{name, id}])
		if f, open := j.open[junitKey{name, id}]; open && c.Error == nil && c.Failure == nil && c.Skipped == nil {
			c.Skipped = &junitResult{Message: junitOpen(f)}
		}
		c.Class = class
		s.Tests++
		switch {
		case c.Error != nil:
			s.Errors++
		case c.Failure != nil:
			s.Failures++
		case c.Skipped != nil:
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// testcase builds the case of a check on a device. The case fails if a finding counts as an
// error, and is an error if the window proves nothing; warnings and information go to its
// output.
func (j *junitWriter) testcase(d *Device, id string, fs []checks.Finding) junitCase {
	c := junitCase{Name: term.CleanLine(id), Time: noTime}
	if k := validate.Lookup(id); k != nil {
		c.Name += " " + k.Title
	}
	var failing, unproven, accepted, rest []checks.Finding
	for _, f := range fs {
		switch {
		case f.Suppressed != nil:
			accepted = append(accepted, f)
		case (id == unreadCheck || validate.Unproven(f)) && f.Counts(), validate.Inconclusive([]checks.Finding{f}) != nil:
			unproven = append(unproven, f)
		case f.Counts():
			failing = append(failing, f)
		default:
			rest = append(rest, f)
		}
	}
	result := func(fs []checks.Finding) *junitResult {
		return &junitResult{Message: junitMessage(fs), Type: term.CleanLine(id), Text: j.lines(fs)}
	}
	switch {
	case len(unproven) > 0:
		c.Error = result(unproven)
		c.Out = j.lines(slices.Concat(failing, accepted, rest))
	case len(failing) > 0:
		c.Failure = result(failing)
		c.Out = j.lines(append(accepted, rest...))
	case d != nil && d.Error != "":
		c.Skipped = &junitResult{Message: "the device could not be read"}
		c.Out = j.lines(append(accepted, rest...))
	case len(accepted) > 0:
		c.Skipped = &junitResult{Message: "accepted: " + term.CleanLine(accepted[0].Suppressed.Reason), Text: j.lines(accepted)}
		c.Out = j.lines(rest)
	case slices.ContainsFunc(rest, checks.Finding.Inconclusive):
		open := rest[slices.IndexFunc(rest, checks.Finding.Inconclusive)]
		c.Skipped = &junitResult{Message: junitOpen(open), Text: j.lines(rest)}
	default:
		c.Out = j.lines(rest)
	}
	return c
}

// junitOpen says which part of a check could not be made, and why.
func junitOpen(f checks.Finding) string {
	return "not checked: " + term.CleanLine(f.Unchecked) + ": " + term.CleanLine(f.Told())
}

func junitMessage(fs []checks.Finding) string {
	m := strings.TrimSpace(term.CleanLine(fs[0].Place()+" ")) + ": " + term.CleanLine(fs[0].What)
	m = strings.TrimPrefix(m, ": ")
	if len(fs) > 1 {
		m += fmt.Sprintf(" (and %s)", words.Count(len(fs)-1, "more finding"))
	}
	return m
}

// lines formats findings, each starting on a new line.
func (j *junitWriter) lines(fs []checks.Finding) string {
	var b strings.Builder
	for _, f := range fs {
		at := term.CleanLine(f.Place())
		if at != "" {
			at = " " + at
		}
		fmt.Fprintf(&b, "%s %s%s%s: %s\n", f.Severity, term.CleanLine(f.ID), alsoOf(f.Covers), at, term.CleanLine(f.What))
		if f.Where != "" {
			fmt.Fprintf(&b, "  %s: %s\n", j.r.whereLabel(f.Where), term.CleanLine(f.Where))
		}
		if f.Fix != "" {
			fmt.Fprintf(&b, "  fix: %s\n", term.CleanLine(f.Fix))
		}
		if s := f.Suppressed; s != nil {
			fmt.Fprintf(&b, "  %s\n", acceptedBecause(s))
		}
	}
	return b.String()
}

// acceptedBecause returns the reason for a suppression, and its expiry date.
func acceptedBecause(s *checks.Suppressed) string {
	until := ""
	if s.Until != "" {
		until = ", until " + s.Until
	}
	return term.CleanLine(fmt.Sprintf("reason: %s%s (%s)", s.Reason, until, s.Where))
}
