package sonic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/render/sonic/yang"
)

// System describes SONiC.
var System = drivers.System{
	System: intent.SONiC,
	Fit:    native.Fit,
	Encode: func(d *render.Device) (string, []byte) {
		return "config_db.json", native.Document(d.Desired, d.Model).AppendJSON(nil)
	},
	Refused:   refused,
	Clues:     []drivers.Clue{drivers.Object(3, native.TMetadata+keyOfRow), drivers.Object(2, tableNames()...), drivers.Object(1, "INTERFACE", "LOOPBACK_INTERFACE", "VLAN", "FEATURE")},
	Identify:  identify,
	Whole:     "config_db.json",
	Shows:     lazyre.New(`^(?:sudo )?sonic-cfggen `),
	Join:      mergeTexts,
	Releases:  native.Releases(),
	Defaults:  native.Defaults,
	Telemetry: subscriptions,
	YANG:      models,
	Open:      Open,
	Saved:     saved,
}

// keyOfRow matches what follows the name of a table in a key of Redis.
const keyOfRow = `(?:\|[^"]*)?`

// tableNames returns patterns for the tables that this tool reads, and for their keys of Redis.
func tableNames() (out []string) {
	for _, t := range native.Tables() {
		out = append(out, t+keyOfRow)
	}
	return out
}

// read parses a saved configuration.
func read(text []byte) (native.Config, error) {
	text, err := document(text)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// document returns the JSON object in a text: the terminal session around it, with its prompts, is
// cut off. For a switch with several ASICs it returns the only namespace with ports.
func document(text []byte) ([]byte, error) {
	if at := bytes.IndexByte(text, '{'); at > 0 && !bytes.ContainsAny(text[:at], `}[]"`) {
		text = text[at:]
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	var object json.RawMessage
	if dec.Decode(&object) == nil && !bytes.ContainsAny(text[dec.InputOffset():], `{}"`) {
		text = object
	}
	var spaces map[string]json.RawMessage
	if json.Unmarshal(text, &spaces) != nil || spaces[native.TPort] != nil {
		return text, nil // the decoder reports what is wrong
	}
	if tables := nested(spaces); tables != nil {
		return tables, nil
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(spaces)) {
		var in map[string]json.RawMessage
		if namespace.MatchString(name) && json.Unmarshal(spaces[name], &in) == nil && in[native.TPort] != nil {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return text, nil
	case 1:
		return spaces[found[0]], nil
	}
	return nil, fmt.Errorf("the text holds the configurations of %s (%s), each with its own ports; pass one at a time, as 'jq .%s' prints it",
		words.Count(len(found), "namespace"), strings.Join(found, ", "), found[0])
}

// nested returns the tables of an object whose names are keys of Redis, "PORT|Ethernet0", with the
// row as value, or as sonic-db-dump prints it. It returns nil for any other object.
func nested(rows map[string]json.RawMessage) []byte {
	out := map[string]map[string]json.RawMessage{}
	for at, row := range rows {
		table, key, ok := strings.Cut(at, "|")
		if !ok {
			continue // such as CONFIG_DB_INITIALIZED
		}
		var dumped struct{ Value json.RawMessage }
		var fields map[string]json.RawMessage
		switch {
		case json.Unmarshal(row, &fields) != nil:
			continue // not a hash
		case fields["type"] != nil && fields["ttl"] != nil && json.Unmarshal(row, &dumped) == nil && dumped.Value != nil:
			row = dumped.Value
		}
		if out[table] == nil {
			out[table] = map[string]json.RawMessage{}
		}
		out[table][key] = row
	}
	if out[native.TPort] == nil {
		return nil
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil // the rows were read from JSON
	}
	return text
}

// namespace matches the name of a section in the output of 'show runningconfiguration all' on a
// switch with several ASICs (sonic-utilities:show/main.py).
var namespace = lazyre.New(`^(localhost|asic[0-9]{1,3})$`)

func refused(d *render.Device) (values []render.Refusal, adapted []string) {
	rel, ok := native.ReleaseOf(d.Switch.Release.V)
	if !ok {
		// The intent does not state the release. Report only values that every release rejects; the
		// plan, which reads the release, rejects the rest.
		rel = native.Newest()
	}
	var why drivers.Why
	switch t := d.Switch.Trimming; {
	case t == nil || t.Off:
	case rel.Trimming:
		why.Trimming = "orchagent does not remove SWITCH_TRIMMING once it is set, so that no revert could undo it"
	default:
		why.Trimming = fmt.Sprintf("SONiC %s has no packet trimming: its models have no packet_discard_action", rel.Name)
	}
	if b := d.Switch.LoadBalancing; b != nil && b.QueuePair.V {
		why.LoadBalancing = "SONiC does not hash over queue pairs: SWITCH_HASH has no field for them"
	}
	adapted = drivers.Unset(d.Switch, "SONiC", why)
	if m := d.Model; m != nil && m.SharedLane() != "" && !native.TakesSharedLanes(m.Platform, rel) {
		adapted = append(adapted, fmt.Sprintf("%s in SONiC's published port layout of %s: a switch with this layout rejects every change until each lane belongs to one port", m.SharedLane(), m.Name))
	}
	return native.Refusals(d.Desired, rel), adapted
}

func identify(text []byte) drivers.Identity {
	if object, err := document(text); err == nil {
		text = object
	}
	var doc struct {
		Metadata map[string]struct {
			Hostname string `json:"hostname"`
			HWSKU    string `json:"hwsku"`
		} `json:"DEVICE_METADATA"`
	}
	// The decoder reports invalid JSON.
	_ = json.Unmarshal(text, &doc)
	m := doc.Metadata["localhost"]
	return drivers.Identity{Hostname: m.Hostname, Model: m.HWSKU}
}

// models loads the YANG models of an image.
func models(dir string) (check func(*render.Device) []drivers.Violation, notes []string, err error) {
	m, err := yang.Load(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range m.Unevaluated(native.Tables()...) {
		notes = append(notes, fmt.Sprintf("a rule is not evaluated: %s", r))
	}
	for _, s := range m.Skipped() {
		notes = append(notes, fmt.Sprint(s))
	}
	return func(d *render.Device) (out []drivers.Violation) {
		for _, v := range m.Check(native.Document(d.Desired, d.Model).Plain()) {
			out = append(out, drivers.Violation{What: v.String(), Where: v.Where})
		}
		return out
	}, notes, nil
}

// mergeTexts merges the rows of later files into those of earlier ones, field by field, as
// "config load" and "sonic-cfggen -j A -j B" do. A table of a golden configuration replaces
// the whole table, as "config override-config-table" does (sonic-utilities config/main.py).
func mergeTexts(files []string, texts [][]byte) ([]byte, error) {
	out := map[string]json.RawMessage{}
	for i, text := range texts {
		var tables map[string]json.RawMessage
		if err := json.Unmarshal(text, &tables); err != nil {
			return nil, fmt.Errorf("%s: not CONFIG_DB: %w", files[i], err)
		}
		golden := strings.HasPrefix(filepath.Base(files[i]), "golden_config")
		for name, table := range tables {
			if was, ok := out[name]; ok && !golden {
				table = drivers.MergeObjects(was, table, 2)
			}
			out[name] = table
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("merge configurations: %w", err)
	}
	return text, nil
}
