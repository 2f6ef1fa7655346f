package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// text returns the model's file, with one line for each pool, profile, row and port.
func (m *model) text(commit string) []byte {
	var b bytes.Buffer
	line := func(v any) string {
		var one bytes.Buffer
		enc := json.NewEncoder(&one)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			panic(err) // structs of numbers and text always encode
		}
		return string(bytes.TrimSpace(one.Bytes()))
	}
	sep := "{\n"
	field := func(name string, v any) {
		fmt.Fprintf(&b, "%s  %q: %s", sep, name, line(v))
		sep = ",\n"
	}
	text := func(name, v string) {
		if v != "" {
			field(name, v)
		}
	}
	text("name", m.Name)
	text("platform", m.Platform)
	text("vendor", m.Vendor)
	text("asic", m.ASICID)
	text("asic_from", m.asicFrom)
	text("gcu", m.GCU)
	text("gcu_since", m.GCUSince)
	text("note", m.Note)
	text("from", "sonic-net/sonic-buildimage@"+commit+":"+m.sku.dir)
	field("files", m.files)
	text("template", m.Template)
	lines(&b, "pools", m.Pools, line)
	lines(&b, "profiles", m.Profiles, line)
	if len(m.Pools) > 0 {
		field("bindings", m.Bindings)
	}
	lines(&b, "headroom", m.rows, line)
	lines(&b, "ports", m.ports, line)
	b.WriteString("\n}\n")
	return b.Bytes()
}

func lines[T any](b *bytes.Buffer, name string, list []T, line func(any) string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, ",\n  %q: [", name)
	for i, v := range list {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n    " + line(v))
	}
	b.WriteString("\n  ]")
}

// poolText returns the pools, profiles and bindings as text, for comparison.
func (m *model) poolText() string {
	b, err := json.Marshal([]any{m.Pools, m.Profiles, m.Bindings})
	if err != nil {
		panic(err)
	}
	return string(b)
}
