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

// assets holds the HTML page, its style sheet and its script, which is split into several files.
//
//go:embed html/page.html html/style.css html/*.js
var assets embed.FS

// scripts are the parts of the page's script, in order. They share one scope.
var scripts = []string{"data.js", "page.js", "filter.js", "layout.js", "pauses.js", "bundles.js", "draw.js", "keys.js", "list.js", "details.js", "heat.js", "timeline.js", "main.js"}

func asset(name string) string {
	b, err := assets.ReadFile("html/" + name)
	if err != nil {
		panic(err) // cannot happen: the file is embedded
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

// portCounters converts the window's counters for the heat map.
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

// writeHTML writes a self-contained page: it holds its style, its script and all data, and its
// content security policy forbids loading anything else. Text from devices and files is only
// escaped data; the policy allows exactly one script and one style, by their hashes. Without
// counters, the heat map shows findings.
//
// html/template is not used because the linker then keeps every method of every type.
func writeHTML(w io.Writer, r Report, counters ...PortCounters) error {
	style, script := asset("style.css"), script()
	headline, _, rest := r.headline()
	counts := r.Counts()
	slots := map[string]string{
		"Headline": text(headline), "Command": text(r.Command), "Version": text(r.Version),
		"Status": text(string(r.Status())), "Rest": text(rest), "Mark": mark(r),
		"Errors": boldCount(counts.Error, "error", "errors"), "Warnings": boldCount(counts.Warning, "warning", "warnings"),
		"Infos": boldCount(counts.Info, "info", "info"), "Accepted": boldCount(counts.Suppressed, "accepted", "accepted"), "Checks": strconv.Itoa(len(r.Checks())), "When": "",
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
			rest = part // text before the first slot
		case slot == "Data":
			// The encoder escapes "<", ">" and "&", so no text can close the script element.
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

// text escapes untrusted text for HTML and removes control characters.
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

// boldCount formats a number in bold, followed by its noun.
func boldCount(n int, one, many string) string {
	number, noun, _ := strings.Cut(words.Plural(n, one, many), " ")
	return "<b>" + number + "</b> " + noun
}

// hash returns the hash that a content security policy identifies an inline script or style by.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
