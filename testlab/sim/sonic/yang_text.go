package sonic

import (
	"fmt"
	"slices"
	"strings"
)

// Models returns the YANG models of the image of a release, by file name, for [Options].Models.
// They contain the rules that this simulator checks in depth, and none of the tables that it
// accepts unchecked. They form a single module, whereas a real image has one for each table.
func Models(release string) map[string][]byte {
	rel, err := releaseIndex(release)
	if err != nil {
		return nil
	}
	w := &moduleWriter{models: modelsOf(rel)}
	w.open("module %s", simulated)
	w.line("namespace %q;", "urn:"+simulated)
	w.line("prefix s;")
	w.open("container %s", simulated)
	for _, table := range sortedKeys(w.models) {
		if m := w.models[table]; !m.loose {
			w.table(table, m)
		}
	}
	w.close()
	w.close()
	return map[string][]byte{simulated + ".yang": []byte(w.b.String())}
}

const simulated = "sonic-simulated"

type moduleWriter struct {
	b      strings.Builder
	depth  int
	models map[string]*model
}

func (w *moduleWriter) line(format string, args ...any) {
	fmt.Fprintf(&w.b, "%s"+format+"\n", append([]any{strings.Repeat("  ", w.depth)}, args...)...)
}

func (w *moduleWriter) open(format string, args ...any) {
	w.line(format+" {", args...)
	w.depth++
}

func (w *moduleWriter) close() {
	w.depth--
	w.line("}")
}

func (w *moduleWriter) table(table string, m *model) {
	w.open("container %s", table)
	for _, key := range sortedKeys(m.entries) {
		w.open("container %s", key)
		w.leaves(m.entries[key])
		w.close()
	}
	if m.entries == nil {
		w.open("list %s_LIST", table)
		names := []string{"name", "index"}[:len(m.keys)]
		w.line("key %q;", strings.Join(names, " "))
		for i, k := range m.keys {
			w.leaf(names[i], k)
		}
		for _, rule := range m.musts {
			w.line("must %q;", rule)
		}
		if m.fieldKey != nil {
			w.open("list %s", table)
			w.line("key from;")
			w.leaf("from", *m.fieldKey)
			w.leaf("to", m.fieldValue)
			w.close()
		}
		w.leaves(m.fields)
		w.close()
	}
	w.close()
}

func (w *moduleWriter) leaves(fields map[string]leaf) {
	for _, name := range sortedKeys(fields) {
		w.leaf(name, fields[name])
	}
}

func (w *moduleWriter) leaf(name string, l leaf) {
	kind := "leaf"
	if l.list {
		kind = "leaf-list"
	}
	w.open("%s %s", kind, name)
	w.line("%s", w.typeOf(l).statement())
	switch {
	case l.mandatory && l.list:
		w.line("min-elements 1;")
	case l.mandatory:
		w.line("mandatory true;")
	}
	if l.def != "" {
		w.line("default %q;", l.def)
	}
	w.close()
}

// typeOf returns the type of a leaf. A leaf that refers to a table without a model is treated as
// text.
func (w *moduleWriter) typeOf(l leaf) check {
	if len(l.refs) == 0 || slices.ContainsFunc(l.refs, func(t string) bool { return w.models[t] == nil || w.models[t].loose }) {
		if l.check.yang == "" {
			return anyText
		}
		return l.check
	}
	var of []check
	for _, t := range l.refs {
		of = append(of, check{yang: "leafref", subs: []string{fmt.Sprintf("path \"/s:%s/s:%s/s:%s_LIST/s:name\";", simulated, t, t)}})
	}
	if l.literal != "" {
		of = append(of, oneOf(l.literal))
	}
	if len(of) == 1 {
		return of[0]
	}
	return either(of...)
}
