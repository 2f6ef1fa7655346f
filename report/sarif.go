package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Limits of GitHub code scanning: 25,000 results per run and 1,000 locations per result. A file
// must stay below 20 MB; the rules and the frame use the part above maxResultBytes.
const (
	maxResults        = 25000
	maxLocations      = 1000
	maxResultBytes    = 18 << 20
	sourceRoot        = "%SRCROOT%"
	sarifSchema       = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	informationURI    = "https://github.com/roce-fabric/roce-fabric"
	language          = "en-US"
	githubFingerprint = "primaryLocationLineHash" // the only fingerprint that code scanning reads
)

// writeSARIF writes one rule per check and one result per cause: a fault on many devices is one
// alert.
func writeSARIF(w io.Writer, r Report, o Options) error {
	s := sarifWriter{r: r, o: o, seen: map[string]int{}, rule: map[string]int{}}
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: toolName, Version: r.Version, URI: informationURI, Language: language, Rules: s.rules()}},
		Automation: sarifAutomation{strings.Join([]string{toolName, strings.ReplaceAll(r.Command, " ", "-"), term.CleanLine(r.Fabric), ""}, "/")},
		BaseIDs:    map[string]sarifBase{sourceRoot: {sarifText{Text: "the top of the repository with the intent"}}},
		ColumnKind: "unicodeCodePoints",
		Language:   language,
		Newlines:   []string{"\r\n", "\n"},
		Results:    []sarifResult{},
	}
	notes := append(s.unread(), s.inconclusive()...)
	size := 0
	causes := checks.Causes(r.Findings)
	for i, c := range causes {
		res, left := s.result(c)
		text, err := json.MarshalIndent(res, "        ", "  ")
		if err != nil {
			return err
		}
		if size += len(text); i == maxResults || size > maxResultBytes {
			notes = append(notes, sarifNotification{Level: "warning", Message: sarifText{
				Text: fmt.Sprintf("the file would be too large: %s left out, the least severe; the json form has all", words.Are(len(causes)-i, "result"))}})
			break
		}
		run.Results = append(run.Results, res)
		if left > 0 {
			notes = append(notes, sarifNotification{Level: "warning", Message: sarifText{
				Text: fmt.Sprintf("a result of %s has more than %d places in the intent: %s left out; the json form has all", c.ID, maxLocations, words.Are(left, "finding"))}})
		}
	}
	run.Invocations = []sarifInvocation{{Successful: len(r.Failed()) == 0 && validate.Inconclusive(r.Findings) == nil, End: r.Time.UTC().Format(time.RFC3339), Notifications: notes}}
	return WriteJSON(w, sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

type sarifWriter struct {
	r    Report
	o    Options
	rule map[string]int // rule index by check ID
	seen map[string]int // number of results per fingerprint
}

var sarifLevels = map[checks.Severity]string{checks.Error: "error", checks.Warning: "warning", checks.Info: "note"}

// rules describes the checks that were made, and those that have findings.
func (s *sarifWriter) rules() []sarifRule {
	byID := map[string]*checks.Check{}
	for _, c := range s.r.Checks() {
		byID[c.ID] = c
	}
	for _, f := range s.r.Findings {
		for _, id := range append([]string{f.ID}, f.Covers...) {
			if byID[id] == nil {
				byID[id] = validate.Lookup(id)
			}
		}
	}
	out := []sarifRule{}
	for i, id := range natural.Keys(byID) {
		s.rule[id] = i
		out = append(out, ruleOf(id, byID[id]))
	}
	return out
}

// ruleOf describes a check; c is nil if the catalogue has no check with this ID.
func ruleOf(id string, c *checks.Check) sarifRule {
	if c == nil {
		text := sarifText{Text: term.CleanLine(id)}
		return sarifRule{ID: id, Short: text, Full: text, Help: text, Default: sarifDefault{"warning"}, Properties: sarifTags{Severity: "warning"}}
	}
	level := sarifLevels[c.Worst()]
	severity := level
	if c.Worst() == checks.Info {
		severity = "recommendation"
	}
	plain := []string{"Why: " + c.Why + ".", "Fix: " + c.Fix + ".", "Severity: " + c.Rule() + "."}
	marked := []string{"**Why:** " + markdownText(c.Why), "**Fix:** " + markdownText(c.Fix), "**Severity:** " + markdownText(c.Rule())}
	if len(c.Sources) > 0 {
		plain = append(plain, "Sources: "+strings.Join(c.Sources, "; ")+".")
		list := "**Sources:**\n"
		for _, src := range c.Sources {
			list += "\n- " + markdownText(src)
		}
		marked = append(marked, list)
	}
	family, _, _ := strings.Cut(strings.ToLower(c.ID), "-")
	return sarifRule{
		ID: id, Name: pascal(c.Title),
		Short: sarifText{Text: c.Title}, Full: sarifText{Text: c.Title + ": " + c.Why},
		Help:    sarifText{Text: strings.Join(plain, "\n"), Markdown: strings.Join(marked, "\n\n")},
		Default: sarifDefault{level}, Properties: sarifTags{Tags: slices.Compact([]string{family, string(c.Scope)}), Severity: severity},
	}
}

// pascal converts a title to a PascalCase rule name.
func pascal(title string) string {
	var b strings.Builder
	for _, w := range strings.FieldsFunc(title, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return b.String()
}

// result converts a cause; left is the number of findings that exceed the location limit.
func (s *sarifWriter) result(c checks.Cause) (res sarifResult, left int) {
	places, more := shortPlaces(c, maxPlaces)
	text := c.What
	if at := strings.Join(places, "; "); at != "" {
		if more > 0 {
			at += " and " + words.Count(more, "more place")
		}
		text = at + ": " + text
	}
	if c.Fix != "" {
		text += ". Fix: " + c.Fix
	}
	locations, left := s.locations(c)
	res = sarifResult{
		RuleID: c.ID, RuleIndex: s.rule[c.ID], Level: sarifLevels[c.Severity],
		Message: sarifText{Text: sarifMessage(text)}, Locations: locations, Fingerprints: s.fingerprints(c),
		Properties: sarifFound{What: term.CleanLine(c.What), Fix: term.CleanLine(c.Fix)},
	}
	for _, id := range c.Covers() {
		res.Taxa = append(res.Taxa, sarifTaxon{id})
	}
	if f := c.Findings[0]; f.Unchecked != "" {
		res.Properties.Unchecked, res.Properties.Because, res.Properties.NotMade = f.Unchecked, f.Because, f.NotMade
		// A result that is not a failure has level "none" (SARIF 2.1.0, 3.27.9 and 3.27.10).
		if c.Severity == checks.Info {
			res.Kind, res.Level = "open", "none"
		}
	}
	if q := c.Suppressed; q != nil {
		why := term.CleanLine(q.Reason)
		if q.Until != "" {
			why += " (until " + q.Until + ")"
		}
		mark := sarifSuppression{Kind: "external", Status: "accepted", Justification: why}
		if pos, ok := parsePlace(q.Where); ok {
			if p := s.physical(fileOnly(pos)); p != nil {
				mark.Location = &sarifLocation{Physical: p}
			}
		}
		res.Suppressions = []sarifSuppression{mark}
	}
	return res, left
}

// sarifMessage converts text to a SARIF message. Braces become parentheses, because they mark
// placeholders and not all readers support escaping them.
func sarifMessage(text string) string {
	return strings.NewReplacer("{", "(", "}", ")").Replace(term.CleanLine(text))
}

// fingerprints identifies a cause in every run, even if its intent line moves or more devices
// are affected.
func (s *sarifWriter) fingerprints(c checks.Cause) map[string]string {
	h := sha256.New()
	for _, part := range []string{s.r.Fabric, c.ID, string(c.Severity), c.What, c.Fix} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	sum := hex.EncodeToString(h.Sum(nil)[:16])
	s.seen[sum]++
	return map[string]string{githubFingerprint: fmt.Sprintf("%s:%d", sum, s.seen[sum])}
}

// locations lists the intent lines, each with its devices and ports; left is the number of
// findings that exceed the limit.
func (s *sarifWriter) locations(c checks.Cause) (out []sarifLocation, left int) {
	out = []sarifLocation{}
	at := map[intent.Pos]int{}
	seen := map[string]bool{}
	for _, f := range c.Findings {
		pos := s.r.placeOf(f)
		i, ok := at[pos]
		if !ok {
			if len(out) == maxLocations {
				left++
				continue
			}
			i = len(out)
			at[pos] = i
			out = append(out, sarifLocation{Physical: s.physical(pos)})
		}
		for _, l := range logical(f) {
			if id := fmt.Sprint(i, " ", l.Full); !seen[id] {
				seen[id] = true
				out[i].Logical = append(out[i].Logical, l)
			}
		}
	}
	return out, left
}

func logical(f checks.Finding) []sarifLogical {
	if f.Device == "" {
		return nil
	}
	device := term.CleanLine(f.Device)
	if len(f.Ports) == 0 {
		return []sarifLogical{{Name: device, Full: device, Kind: "device"}}
	}
	var out []sarifLogical
	for _, p := range f.Ports {
		p = term.CleanLine(p)
		out = append(out, sarifLogical{Name: p, Full: device + "/" + p, Kind: "port"})
	}
	return out
}

// physical returns a place in a file, relative to the repository root if the file is in the
// repository; nil if p names no file.
func (s *sarifWriter) physical(p intent.Pos) *sarifPhysical {
	if p.File == "" || p.Line == 0 {
		return nil
	}
	art := sarifArtifact{URI: (&url.URL{Path: filepath.ToSlash(filepath.Clean(p.File))}).String(), Base: sourceRoot}
	file := p.File
	if !filepath.IsAbs(file) && s.o.Dir != "" {
		file = filepath.Join(s.o.Dir, file)
	}
	if filepath.IsAbs(file) {
		rel, err := filepath.Rel(s.o.Root, file)
		if s.o.Root != "" && err == nil && filepath.IsLocal(rel) {
			art.URI = (&url.URL{Path: filepath.ToSlash(rel)}).String()
		} else {
			art = sarifArtifact{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()}
		}
	}
	return &sarifPhysical{Artifact: art, Region: sarifRegion{p.Line, p.Column}}
}

// unread reports the devices that could not be read.
func (s *sarifWriter) unread() []sarifNotification {
	var out []sarifNotification
	for _, d := range s.r.Failed() {
		name := term.CleanLine(d.Name)
		out = append(out, sarifNotification{
			Level: "error", Message: sarifText{Text: sarifMessage(name + " could not be read: " + d.Error)},
			Locations: []sarifLocation{{Physical: s.physical(s.r.placeOf(checks.Finding{Device: d.Name})), Logical: []sarifLogical{{Name: name, Full: name, Kind: "device"}}}},
		})
	}
	return out
}

// inconclusive reports that the window proves nothing, or else what was not checked. It quotes
// only the first such finding; all of them are results.
func (s *sarifWriter) inconclusive() []sarifNotification {
	f := validate.Inconclusive(s.r.Findings)
	if f == nil {
		if s.r.Status() == Inconclusive {
			return []sarifNotification{{Level: "warning", Message: sarifText{Text: sarifMessage(s.r.Verdict())}}}
		}
		return nil
	}
	at := sarifLocation{Physical: s.physical(s.r.placeOf(*f)), Logical: logical(*f)}
	return []sarifNotification{{
		Level: "error", Message: sarifText{Text: sarifMessage("inconclusive: not enough counters to call it a pass: " + f.Told())},
		Locations: []sarifLocation{at},
	}}
}
