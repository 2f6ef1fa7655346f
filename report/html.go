package report

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// assets are the page, its style and its script, which is in parts by meaning.
//
//go:embed html/page.html html/style.css html/*.js
var assets embed.FS

// scripts are the parts of the script, in order. They share one scope.
var scripts = []string{"data.js", "page.js", "filter.js", "layout.js", "pauses.js", "bundles.js", "draw.js", "keys.js", "list.js", "details.js", "heat.js", "timeline.js", "main.js"}

func asset(name string) string {
	b, err := assets.ReadFile("html/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

func script() string {
	var b strings.Builder
	b.WriteString("(() => {\n\"use strict\";\n")
	for _, name := range scripts {
		b.WriteString(asset(name))
	}
	b.WriteString("})();\n")
	return b.String()
}

// portCounters names the counters of ports for the heat map.
func portCounters(counted []gate.PortWindow) []PortCounters {
	out := make([]PortCounters, 0, len(counted))
	for _, c := range counted {
		values := make(map[string]uint64, len(c.Growth))
		for id, n := range c.Growth {
			values[id.String()] = n
		}
		out = append(out, PortCounters{Device: c.Device, Port: c.Port, Values: values})
	}
	return out
}

// writeHTML writes a page that stands alone: it holds its style, its script and
// all data, and is forbidden to load anything else. Text from devices and files
// is data only: it is escaped, and the policy names the one script and the one
// style that may run by their hashes. Without counters, the heat map is of findings.
//
// The page is no html/template: with one, the linker keeps every method of every type.
func writeHTML(w io.Writer, r Report, counters ...PortCounters) error {
	style, script := asset("style.css"), script()
	headline, _, rest := r.headline()
	counts := r.Counts()
	slots := map[string]string{
		"Headline": text(headline), "Command": text(r.Command), "Version": text(r.Version),
		"Status": text(string(r.Status())), "Rest": text(rest), "Mark": mark(r),
		"Errors": counted(counts.Error, "error", "errors"), "Warnings": counted(counts.Warning, "warning", "warnings"),
		"Infos": counted(counts.Info, "info", "info"), "Accepted": counted(counts.Suppressed, "accepted", "accepted"), "Checks": strconv.Itoa(len(r.Checks())), "When": "",
		"ScriptHash": hash(script), "StyleHash": hash(style), "Style": style, "Script": script,
	}
	if !r.Time.IsZero() {
		when := r.Time.Format(time.RFC3339)
		slots["When"] = `, <time datetime="` + when + `">` + when + "</time>"
	}
	out := bufio.NewWriter(w)
	for part := range strings.SplitSeq(asset("page.html"), "{{") {
		slot, rest, ok := strings.Cut(part, "}}")
		switch {
		case !ok:
			rest = part // before the first slot
		case slot == "Data":
			// Its "<", ">" and "&" are escaped, so that no text ends the element.
			if err := json.NewEncoder(out).Encode(pageOf(r, counters)); err != nil {
				return err
			}
		default:
			out.WriteString(slots[slot]) //nolint:errcheck // Flush returns it
		}
		out.WriteString(rest) //nolint:errcheck // Flush returns it
	}
	return out.Flush()
}

// text is a text from outside as HTML, in a line without control characters.
func text(s string) string { return html.EscapeString(clean(s)) }

func mark(r Report) string {
	switch {
	case r.Passed():
		return "✓"
	case r.Status() == Inconclusive:
		return "?"
	}
	return "✕"
}

// counted is a number in bold, and its noun.
func counted(n int, one, many string) string {
	number, noun, _ := strings.Cut(words.Plural(n, one, many), " ")
	return "<b>" + number + "</b> " + noun
}

// hash is what a content security policy calls an inline script or style by.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
