package sonic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// readRunning parses a configuration in the format of config_db.json or of `show
// runningconfiguration all`. Text after the object is ignored, and for several namespaces the first
// one with ports counts.
func readRunning(config []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(config, []byte("\xef\xbb\xbf"))))
	dec.UseNumber()
	var doc map[string]any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("the running configuration is not CONFIG_DB: %w", err)
	}
	if _, plain := doc["PORT"]; plain {
		return doc, nil
	}
	if tables := byTable(doc); tables["PORT"] != nil {
		return tables, nil
	}
	for _, ns := range sortedKeys(doc) {
		inner, _ := doc[ns].(map[string]any)
		if ports, _ := inner["PORT"].(map[string]any); len(ports) > 0 && (ns == "localhost" || strings.HasPrefix(ns, "asic")) {
			return inner, nil
		}
	}
	return doc, nil
}

// byTable returns the tables of a document that holds rows by their keys of Redis ("PORT|Ethernet0"),
// alone or as sonic-db-dump prints them.
func byTable(doc map[string]any) map[string]any {
	out := map[string]any{}
	for at, v := range doc {
		table, key, ok := strings.Cut(at, "|")
		row, isRow := v.(map[string]any)
		if !ok || !isRow {
			continue
		}
		if value, dumped := row["value"].(map[string]any); dumped && row["ttl"] != nil {
			row = value
		}
		rows, _ := out[table].(map[string]any)
		if rows == nil {
			rows = map[string]any{}
			out[table] = rows
		}
		rows[key] = row
	}
	return out
}

// runningTables returns the tables of a running configuration. References to rows, "[TABLE|key]",
// become names, as db_migrator converts them at boot (sonic-utilities:scripts/db_migrator.py).
func (s *Switch) runningTables() (tables, error) {
	doc, err := readRunning(s.o.Running)
	if err != nil {
		return nil, fmt.Errorf("switch %s: %w", s.o.Name, err)
	}
	for _, body := range doc {
		rows, _ := body.(map[string]any)
		for _, entry := range rows {
			fields, _ := entry.(map[string]any)
			for f, v := range fields {
				if t, ok := v.(string); ok {
					fields[f] = migrated(t)
				}
			}
		}
	}
	t := s.tablesOf(doc)
	if s.o.HWSKU == "" {
		s.o.HWSKU = t["DEVICE_METADATA"]["localhost"]["hwsku"]
	}
	if s.o.Model == nil {
		if s.o.Model, _ = catalog.Lookup(s.o.HWSKU); s.o.Model != nil && s.o.Headroom == nil {
			s.o.Headroom = s.o.Model.Headroom
		}
	}
	return t, nil
}

func migrated(v string) string {
	if !strings.HasPrefix(v, "[") || !strings.HasSuffix(v, "]") {
		return v
	}
	refs := strings.Split(v, ",")
	for i, ref := range refs {
		_, name, ok := strings.Cut(strings.Trim(ref, "[]"), "|")
		if !ok {
			return v
		}
		refs[i] = name
	}
	return strings.Join(refs, ",")
}

// Refuses returns the parts of a configuration that a switch of the newest release rejects: rows
// that its YANG models do not accept ("TABLE|key: why"), and errors that its daemons log at
// startup. model is the hwsku; "" takes the one that the configuration names.
func Refuses(model string, config []byte) []string {
	s, err := New(Options{Name: "sonic", HWSKU: model, Running: config, NoSSH: true, Plaintext: true})
	if err != nil {
		return []string{err.Error()}
	}
	defer s.cancel()
	doc := s.doc(s.cfg)
	c := &yangCheck{rel: s.rel, doc: doc, models: modelsOf(s.rel)}
	var out []string
	for _, table := range sortedKeys(doc) {
		m := c.models[table]
		body, _ := doc[table].(map[string]any)
		if m == nil {
			continue
		}
		for _, key := range naturalKeys(body) {
			if err := c.entry(table, m, key, body[key]); err != nil {
				out = append(out, table+"|"+key+": "+err.why())
			}
		}
	}
	if err := c.lanes(); err != nil {
		out = append(out, "PORT: "+err.first)
	}
	for _, l := range s.Syslog() {
		if strings.HasPrefix(l, "ERR ") {
			out = append(out, l)
		}
	}
	return out
}

// why returns only the rule, without the path in libyang's tree.
func (e *yangError) why() string {
	text := strings.TrimPrefix(e.cause, "failed to parse data tree: ")
	text, _, _ = strings.Cut(text, ": Data path: ")
	if text == "" {
		return e.first
	}
	return text
}
