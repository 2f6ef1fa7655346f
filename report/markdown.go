package report

import (
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// A GitHub comment holds 65,536 characters; 1,024 are reserved for the text that a CI job adds
// around the report.
const (
	maxMarkdown = 65536 - 1024
	// Up to openCauses causes per severity are shown; the others are collapsed.
	openCauses = 10
	// Up to openPlaces places are shown in the line of a cause; more are collapsed.
	openPlaces   = 4
	foldedPlaces = 40
)

// writeMarkdown writes the report as a comment for a pull request.
func writeMarkdown(w io.Writer, r Report) error {
	m := markdown{r: r, left: maxMarkdown}
	m.heading()
	causes := checks.Causes(r.Findings)
	written := 0
	for _, s := range checks.Severities {
		written += m.section(title(s), causes, s != checks.Info, func(c checks.Cause) bool { return c.Suppressed == nil && c.Severity == s })
	}
	written += m.section("Accepted", causes, false, func(c checks.Cause) bool { return c.Suppressed != nil })
	if n := len(causes) - written; n > 0 {
		m.left += 1024 // the reserve for this line
		m.appendIfFits(fmt.Sprintf("\n**%s left out of %d:** the comment is full. The text and json forms have all causes.\n", words.Are(n, "cause"), len(causes)))
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

func title(s checks.Severity) string {
	return map[checks.Severity]string{checks.Error: "Errors", checks.Warning: "Warnings", checks.Info: "Information"}[s]
}

// markdown collects text, with room for left more characters.
type markdown struct {
	r    Report
	b    strings.Builder
	left int
}

// appendIfFits appends text if all of it fits, and reports whether it did.
func (m *markdown) appendIfFits(text string) bool {
	n := utf8.RuneCountInString(text)
	if n > m.left {
		return false
	}
	m.left -= n
	m.b.WriteString(text)
	return true
}

func (m *markdown) heading() {
	r := m.r
	counts := r.Counts()
	status := map[Status]string{Passing: "passed", Inconclusive: "is inconclusive", Failing: "failed"}[r.Status()]
	if r.Passed() && counts.Warning > 0 {
		status = "passed with warnings"
	}
	headline, _, rest := r.headline()
	m.appendIfFits(fmt.Sprintf("## %s\n\n%s %s %s; %s.\n", markdownText(brief(headline, 400)), toolName, r.Command, status, markdownText(brief(rest, 2000))))
	if len(r.Findings) > 0 {
		causes := map[string]int{}
		for _, c := range checks.Causes(r.Findings) {
			if c.Suppressed != nil {
				causes["accepted"]++
			} else {
				causes[string(c.Severity)]++
			}
		}
		table := "\n| | findings | causes |\n|---|--:|--:|\n"
		for _, row := range []struct {
			name string
			n    int
		}{{"error", counts.Error}, {"warning", counts.Warning}, {"info", counts.Info}, {"accepted", counts.Suppressed}} {
			table += fmt.Sprintf("| %s | %d | %d |\n", row.name, row.n, causes[row.name])
		}
		m.appendIfFits(table)
	}
	var failed []string
	for _, d := range r.Failed() {
		failed = append(failed, d.Name)
	}
	if len(failed) > 0 {
		m.appendIfFits("\n**Not read:** " + markdownCode(brief(natural.Fold(failed), 2000)) + "\n")
	}
}

// section writes the causes that kind selects and returns how many fitted.
func (m *markdown) section(name string, causes []checks.Cause, open bool, kind func(checks.Cause) bool) int {
	const fold, end = "\n<details><summary>%s</summary>\n\n", "\n</details>\n"
	var mine []checks.Cause
	for _, c := range causes {
		if kind(c) {
			mine = append(mine, c)
		}
	}
	if len(mine) == 0 {
		return 0
	}
	begin := fmt.Sprintf("\n### %s\n\n", name)
	folded := !open
	if folded {
		begin = fmt.Sprintf(fold, fmt.Sprintf("%s: %s", name, words.Count(len(mine), "cause")))
	}
	// Reserve room for the closing tags, so that a section is always closed.
	m.left -= 2 * len(end)
	defer func() { m.left += 2 * len(end) }()
	if !m.appendIfFits(begin) {
		return 0
	}
	written := 0
	for i, c := range mine {
		if !folded && i == openCauses {
			if !m.appendIfFits(fmt.Sprintf(fold, words.Count(len(mine)-i, "more cause"))) {
				break
			}
			folded = true
		}
		if !m.appendIfFits(m.cause(c)) {
			break
		}
		written++
	}
	if folded {
		m.b.WriteString(end)
		m.left -= len(end)
	}
	return written
}

// cause formats a cause as a list item.
func (m *markdown) cause(c checks.Cause) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- **%s**%s %s\n", markdownText(c.ID), markdownText(also(c)), markdownText(brief(c.What, 4000)))
	places, more := shortPlaces(c, foldedPlaces)
	code := make([]string, len(places))
	for i, p := range places {
		code[i] = markdownCode(p)
	}
	switch {
	case len(code) == 0:
	case len(code) <= openPlaces && more == 0:
		fmt.Fprintf(&b, "  - at %s\n", strings.Join(code, ", "))
	default:
		rest := ""
		if more > 0 {
			rest = " and " + words.Count(more, "more place")
		}
		fmt.Fprintf(&b, "  - <details><summary>at %s</summary>%s%s</details>\n", words.Count(len(c.Devices()), "device"), strings.Join(htmlCode(places), ", "), rest)
	}
	if s := c.Suppressed; s != nil {
		fmt.Fprintf(&b, "  - %s\n", markdownText(brief(acceptedBecause(s), 2000)))
		return b.String()
	}
	if where := shortWheres(c); where != "" {
		fmt.Fprintf(&b, "  - %s: %s\n", m.r.whereLabel(c.Wheres()...), markdownCode(brief(where, 1000)))
	}
	if c.Fix != "" {
		fmt.Fprintf(&b, "  - fix: %s\n", markdownText(brief(c.Fix, 2000)))
	}
	return b.String()
}

// brief cuts text to a number of characters, so that one long value does not use up the comment.
func brief(text string, runes int) string {
	rs := []rune(term.CleanLine(text))
	if len(rs) <= runes {
		return string(rs)
	}
	return string(rs[:runes]) + "..."
}

// markdownCode formats text as a code span, which disables all markup in it.
func markdownCode(text string) string {
	text = term.CleanLine(text)
	if text == "" {
		return ""
	}
	longest, run := 0, 0
	for _, r := range text {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// htmlCode formats texts as HTML code elements, for blocks of HTML, where Markdown has no effect
// but mentions do.
func htmlCode(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = "<code>" + html.EscapeString(t) + "</code>"
	}
	return out
}

// markdownText escapes all markup in text: Markdown, HTML, links, mentions and issue references.
func markdownText(text string) string {
	var b strings.Builder
	rs := []rune(term.CleanLine(text))
	for i, r := range rs {
		next := rune(0)
		if i+1 < len(rs) {
			next = rs[i+1]
		}
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_{}[]()|~^$", r),
			i == 0 && strings.ContainsRune("#+-=.!", r):
			b.WriteString("\\" + string(r))
		default:
			b.WriteRune(r)
		}
		// An HTML comment breaks what the platform would turn into a reference or a link.
		if strings.ContainsRune("@#!%$~&", r) && word(next) || r == ':' && next == '/' || r == '.' && i >= 3 && strings.EqualFold(string(rs[i-3:i]), "www") {
			b.WriteString("<!-- -->")
		}
	}
	return b.String()
}

func word(r rune) bool {
	return r == '"' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > utf8.RuneSelf
}
