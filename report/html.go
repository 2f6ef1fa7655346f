package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// assets are the page, its style and its script, which is in parts by meaning.
//
//go:embed html/page.html html/style.css html/*.js
var assets embed.FS

// scripts are the parts of the script, in order. They share one scope.
var scripts = []string{"data.js", "page.js", "filter.js", "layout.js", "pauses.js", "draw.js", "keys.js", "list.js", "details.js", "heat.js", "main.js"}

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
// is data only: the policy names the one script and the one style that may run
// by their hashes. Without counters, the heat map is of findings.
func writeHTML(w io.Writer, r Report, counters ...PortCounters) error {
	r.Fabric, r.Command, r.Version = clean(r.Fabric), clean(r.Command), clean(r.Version)
	when := ""
	if !r.Time.IsZero() {
		when = r.Time.Format(time.RFC3339)
	}
	// Not variables of the package: every other command would pay for them at its start.
	html, err := template.ParseFS(assets, "html/page.html")
	if err != nil {
		return err
	}
	style, script := asset("style.css"), script()
	return html.Execute(w, struct {
		Report
		When, ScriptHash, StyleHash string
		Style                       template.CSS
		Script                      template.JS
		Data                        page
	}{r, when, hash(script), hash(style), template.CSS(style), template.JS(script),
		pageOf(r, counters)})
}

// hash is what a content security policy calls an inline script or style by.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
