package sonic

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// yangError is a violation of the models. Most clients see only the first line.
type yangError struct {
	first string // "Data Loading Failed", ...
	cause string // libyang's text
}

func (e *yangError) Error() string {
	if e.cause == "" {
		return e.first
	}
	return e.first + "\n" + e.cause
}

// check is a type of the models.
type check struct {
	// fault returns "" for a valid value, else libyang's error.
	fault func(v string) string
	// yang is the type in a model: its name or a union. subs are its restrictions.
	yang string
	subs []string
}

// leaf is a field of an entry.
type leaf struct {
	check check
	// refs lists tables, one of which must contain the value as an entry. The value literal is
	// accepted as well.
	refs    []string
	literal string
	// list requires a JSON array; text also accepts a comma-separated string (or only that string
	// reaches the daemons).
	list, text bool
	mandatory  bool
	def        string // a default that takes part in reference checks
}

// model is one table of one release.
type model struct {
	module string
	// keys are the checks for the parts of an entry's name.
	keys []leaf
	// fields are the fields of an entry; nil, with fieldKey set, for a table whose field names are
	// data.
	fields     map[string]leaf
	fieldKey   *leaf
	fieldValue leaf
	// entries lists the only entries a table may have, each with its own fields.
	entries map[string]map[string]leaf
	must    func(c *yangCheck, key string, e map[string]any) string
	// musts holds the must statements of the model that the must function implements.
	musts []string
	// loose tables have a model that is not checked in depth here.
	loose bool
}

// yangCheck validates one configuration.
type yangCheck struct {
	rel    int
	doc    map[string]any
	models map[string]*model
	// brief checks only whether there is a violation, in any order and without its place.
	brief bool
}

// inOrder yields the keys to check: sorted, unless the check is brief.
func inOrder[V any](c *yangCheck, m map[string]V, sorted func(map[string]V) []string) iter.Seq[string] {
	if c.brief {
		return maps.Keys(m)
	}
	return slices.Values(sorted(m))
}

var modelCache [rMaster + 1]struct {
	once sync.Once
	m    map[string]*model
}

func modelsOf(rel int) map[string]*model {
	c := &modelCache[rel]
	c.once.Do(func() { c.m = buildModels(rel) })
	return c.m
}

// validate checks a whole configuration like the switch's loader; it stops at the first violation.
func validate(doc map[string]any, rel int) *yangError {
	c := &yangCheck{rel: rel, doc: doc, models: modelsOf(rel), brief: true}
	if c.tables() != nil {
		c.brief = false
		return c.tables()
	}
	return c.lanes()
}

// tables checks the entries of all tables.
func (c *yangCheck) tables() *yangError {
	for table := range inOrder(c, c.doc, sortedKeys) {
		m := c.models[table]
		if m == nil {
			continue // cropped before loading
		}
		body, ok := c.doc[table].(map[string]any)
		if !ok {
			return &yangError{"Data Loading Failed", "table " + table + " is not an object"}
		}
		for key := range inOrder(c, body, naturalKeys) {
			if err := c.entry(table, m, key, body[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func loading(where, format string, args ...any) *yangError {
	return &yangError{"Data Loading Failed", fmt.Sprintf("failed to parse data tree: %s: Data path: %s (line 1)", fmt.Sprintf(format, args...), where)}
}

func (c *yangCheck) entry(table string, m *model, key string, v any) *yangError {
	where := ""
	if !c.brief {
		where = fmt.Sprintf("/%s:%s/%s/%s_LIST[name='%s']", m.module, m.module, table, table, key)
	}
	e, ok := v.(map[string]any)
	if !ok {
		return &yangError{"Data Loading Failed", fmt.Sprintf("entry %s|%s is not an object", table, key)}
	}
	if m.loose {
		for f := range inOrder(c, e, sortedKeys) {
			if msg := looseValue(e[f]); msg != "" {
				return loading(where, "%s: %s", f, msg)
			}
		}
		return nil
	}
	fields := m.fields
	if m.entries != nil {
		if fields, ok = m.entries[key]; !ok {
			return loading(where, "Unknown element \"%s\".", key)
		}
	} else {
		parts := strings.Split(key, "|")
		keys := c.keysOf(table, m)
		if len(parts) != len(keys) {
			return loading(where, "%s|%s: key does not match %d parts of the list", table, key, len(keys))
		}
		for i, p := range parts {
			if err := c.scalar(where, keys[i], strings.TrimSpace(p)); err != nil {
				return err
			}
		}
	}
	if m.fieldKey != nil {
		for f := range inOrder(c, e, naturalKeys) {
			if err := c.scalar(where+"/"+table, *m.fieldKey, f); err != nil {
				return err
			}
			if err := c.value(where+"/"+table+"/"+f, m.fieldValue, e[f]); err != nil {
				return err
			}
		}
		return nil
	}
	for f := range inOrder(c, e, sortedKeys) {
		l, ok := fields[f]
		if !ok {
			return loading(where, "Unknown element \"%s\".", f)
		}
		if err := c.value(where+"/"+f, l, e[f]); err != nil {
			return err
		}
	}
	for f := range inOrder(c, fields, sortedKeys) {
		l := fields[f]
		if _, have := e[f]; have {
			continue
		}
		if l.mandatory {
			return loading(where, "Missing required element \"%s\" in \"%s_LIST\".", f, table)
		}
		if l.def != "" && c.refFault(l, l.def) {
			return &yangError{first: "'SonicYangCfgDbGenerator' object has no attribute 'yang_data_file'"}
		}
	}
	if m.must != nil {
		if msg := m.must(c, key, e); msg != "" {
			return loading(where, "%s", msg)
		}
	}
	return nil
}

// keysOf returns the keys of a table: on a VOQ chassis, names of queues include host and ASIC.
func (c *yangCheck) keysOf(table string, m *model) []leaf {
	if (table == "QUEUE" || table == "BUFFER_QUEUE") && c.metadata("switch_type") == "voq" {
		return append([]leaf{{check: length(1, 63)}, {check: pattern(`[Aa][Ss][Ii][Cc][0-9]{1,2}`)}, {check: length(1, 128)}}, m.keys[1:]...)
	}
	return m.keys
}

func (c *yangCheck) metadata(field string) string {
	t, _ := c.doc["DEVICE_METADATA"].(map[string]any)
	e, _ := t["localhost"].(map[string]any)
	v, _ := e[field].(string)
	return v
}

func looseValue(v any) string {
	switch v := v.(type) {
	case string, json.Number:
		return ""
	case []any:
		for _, e := range v {
			switch e.(type) {
			case string, json.Number:
			default:
				return "Invalid value"
			}
		}
		return ""
	case map[string]any: // nested containers exist in these tables
		return ""
	}
	return "Invalid value"
}

func (c *yangCheck) value(where string, l leaf, v any) *yangError {
	switch v := v.(type) {
	case string:
		if !l.list {
			return c.scalar(where, l, v)
		}
		if !l.text {
			return loading(where, "Expected an array")
		}
		return c.list(where, l, strings.Split(v, ","))
	case json.Number:
		if l.list {
			return loading(where, "Expected an array")
		}
		return c.scalar(where, l, v.String())
	case []any:
		if !l.list {
			return loading(where, "Unexpected array")
		}
		vals := make([]string, len(v))
		for i, e := range v {
			if msg := looseValue(e); msg != "" {
				return loading(where, "%s", msg)
			}
			vals[i] = text(e)
		}
		return c.list(where, l, vals)
	}
	return loading(where, "Invalid value %s", py(v))
}

func (c *yangCheck) list(where string, l leaf, vals []string) *yangError {
	seen := map[string]bool{}
	for _, v := range vals {
		v = strings.TrimSpace(v)
		if seen[v] {
			return loading(where, "Duplicated instance of leaf-list (\"%s\").", v)
		}
		seen[v] = true
		if err := c.scalar(where, l, v); err != nil {
			return err
		}
	}
	return nil
}

func (c *yangCheck) scalar(where string, l leaf, v string) *yangError {
	if l.literal != "" && v == l.literal {
		return nil
	}
	if l.check.fault != nil {
		if msg := l.check.fault(v); msg != "" {
			return loading(where, "%s", msg)
		}
	}
	if c.refFault(l, v) {
		return loading(where, "Leafref \"%s\" of value \"%s\" points to a non-existing leaf.", l.refs[0], v)
	}
	return nil
}

func (c *yangCheck) refFault(l leaf, v string) bool {
	if len(l.refs) == 0 {
		return false
	}
	for _, t := range l.refs {
		keys, _ := c.doc[t].(map[string]any)
		if _, ok := keys[v]; ok {
			return false
		}
	}
	return true
}

// sharesLanes lists the platforms whose published layouts use a lane twice and whose config updater
// accepts that, with the first release that does (sonic-utilities
// generic_config_updater/gu_common.py, validate_lanes).
var sharesLanes = map[string]int{
	"x86_64-arista_7050cx3_32s": 0, "x86_64-dellemc_s5232f_c3538-r0": 0, "x86_64-arista_7050cx3_32c": r202505,
}

// lanes implements the extra rule of the config updater: every lane may be used only once.
func (c *yangCheck) lanes() *yangError {
	meta, _ := c.doc["DEVICE_METADATA"].(map[string]any)
	host, _ := meta["localhost"].(map[string]any)
	platform, _ := host["platform"].(string)
	if since, ok := sharesLanes[platform]; ok && c.rel >= since {
		return nil
	}
	ports, _ := c.doc["PORT"].(map[string]any)
	seen := map[string]string{}
	for _, p := range naturalKeys(ports) {
		e, _ := ports[p].(map[string]any)
		lanes, _ := e["lanes"].(string)
		for _, lane := range strings.Split(lanes, ",") {
			lane = strings.TrimSpace(lane)
			if other, dup := seen[lane]; dup && lane != "" && other != p {
				return &yangError{first: fmt.Sprintf("'%s' lane is used multiple times in PORT: {'%s', '%s'}", lane, p, other)}
			}
			seen[lane] = p
		}
	}
	return nil
}

// number parses a field for a must rule; false if it is absent or not a number.
func number(e map[string]any, field string) (uint64, bool) {
	v, ok := e[field]
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(text(v)), "+"), 10, 64)
	return n, err == nil
}

// Constructors for checks of types.

func pattern(re string, msg ...string) check {
	r := lazyre.Of(`^(?:` + re + `)$`)
	return check{func(v string) string {
		switch {
		case r.MatchString(v):
			return ""
		case len(msg) > 0:
			return msg[0]
		}
		return fmt.Sprintf("Unsatisfied pattern - \"%s\" does not conform to \"%s\".", v, re)
	}, "string", []string{fmt.Sprintf("pattern '%s';", re)}}
}

func length(lo, hi int, msg ...string) check {
	return check{func(v string) string {
		switch n := len([]rune(v)); {
		case n >= lo && n <= hi:
			return ""
		case len(msg) > 0:
			return msg[0]
		default:
			return fmt.Sprintf("Unsatisfied length - string \"%s\" length is not allowed.", v)
		}
	}, "string", []string{fmt.Sprintf("length %d..%d;", lo, hi)}}
}

func oneOf(vals ...string) check {
	c := check{func(v string) string {
		if slices.Contains(vals, v) {
			return ""
		}
		return fmt.Sprintf("Invalid enumeration value \"%s\".", v)
	}, "enumeration", nil}
	for _, v := range vals {
		c.subs = append(c.subs, fmt.Sprintf("enum %s;", v))
	}
	return c
}

func integer(lo int64, hi uint64, msg ...string) check {
	c := check{func(v string) string {
		t := strings.TrimSpace(v)
		if neg, ok := strings.CutPrefix(t, "-"); ok {
			n, err := strconv.ParseUint(neg, 10, 63)
			if err != nil {
				return fmt.Sprintf("Invalid value \"%s\".", v)
			}
			if -int64(n) >= lo {
				return ""
			}
		} else {
			n, err := strconv.ParseUint(strings.TrimPrefix(t, "+"), 10, 64)
			if err != nil {
				return fmt.Sprintf("Invalid value \"%s\".", v)
			}
			if n <= hi && (lo <= 0 || n >= uint64(lo)) {
				return ""
			}
		}
		if len(msg) > 0 {
			return msg[0]
		}
		return fmt.Sprintf("Unsatisfied range - value \"%s\" is out of the allowed range.", v)
	}, "uint64", []string{fmt.Sprintf("range %d..%d;", lo, hi)}}
	if lo < 0 {
		c.yang = "int64"
	}
	return c
}

var anyText = check{func(string) string { return "" }, "string", nil}

// allOf returns a type with the restrictions of all given types.
func allOf(checks ...check) check {
	c := check{func(v string) string {
		for _, c := range checks {
			if msg := c.fault(v); msg != "" {
				return msg
			}
		}
		return ""
	}, checks[0].yang, nil}
	for _, one := range checks {
		c.subs = append(c.subs, one.subs...)
	}
	return c
}

func either(checks ...check) check {
	c := check{func(v string) string {
		msg := ""
		for _, c := range checks {
			if msg = c.fault(v); msg == "" {
				return ""
			}
		}
		return msg
	}, "union", nil}
	for _, one := range checks {
		c.subs = append(c.subs, one.statement())
	}
	return c
}

// statement returns the type statement of a model.
func (c check) statement() string {
	if len(c.subs) == 0 {
		return "type " + c.yang + ";"
	}
	return "type " + c.yang + " { " + strings.Join(c.subs, " ") + " }"
}
