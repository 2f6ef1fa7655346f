package sonic

import (
	"slices"
	"strconv"
	"strings"
)

// The field-operation validators of the config updater, sonic-utilities
// generic_config_updater/field_operation_validators.py and its
// gcu_field_operation_validators.conf.json.

const (
	rdmaValidator    = "generic_config_updater.field_operation_validators.rdma_config_update_validator"
	profileValidator = "generic_config_updater.field_operation_validators.buffer_profile_config_update_validator"
	wredValidator    = "generic_config_updater.field_operation_validators.wred_profile_config_update_validator"
	portValidator    = "generic_config_updater.field_operation_validators.port_config_update_validator"
)

var illegalRemovals = []string{"/PFC_WD/GLOBAL", "/PFC_WD/GLOBAL/POLL_INTERVAL", "/LOOPBACK_INTERFACE/Loopback0"}

// scenario is one rule of a table: the operations allowed on fields, by ASIC.
type scenario struct {
	fields []string
	ops    []string
	// never lists ASICs with an empty date; only, if set, lists the sole allowed ASICs.
	never, only []string
}

// asicsOf returns the IDs in the rules of a release. The common ones are taken from the file; it is
// not verified in which branch the newer ones appeared.
func asicsOf(rel int) []string {
	l := []string{"spc1", "spc2", "spc3", "spc4", "td2", "td3", "th", "th2", "th3", "th4", "th5", "j2c+", "cisco-8000"}
	if rel >= r202411 {
		l = append(l, "spc5")
	}
	if rel >= r202511 {
		l = append(l, "spc6", "td4", "th6", "jr2", "q2c+", "q3d", "marvell-teralynx")
	}
	return l
}

// updaterASIC returns the chip of the hwsku according to this release's lists; "" if unknown.
func (s *Switch) updaterASIC() string {
	if m := s.o.Model; m != nil && m.GCUSince != "" && m.GCU == s.o.ASIC {
		if since, err := releaseIndex(m.GCUSince); err == nil && s.rel < since {
			return ""
		}
	}
	return s.o.ASIC
}

// checkFieldOps returns the error for the first operation of the minimal difference that no rule
// allows, "" if there is none.
func (s *Switch) checkFieldOps(old, target map[string]any) string {
	for _, o := range minimalDiff(old, target) {
		if o.op == "remove" && slices.Contains(illegalRemovals, o.path) {
			return "Operation: remove is illegal on field: " + o.path
		}
		parts, err := pointer(o.path)
		if err != nil || len(parts) == 0 {
			continue
		}
		if fn, ok := s.fieldOpAllowed(parts, o); !ok {
			return "Modification of " + parts[0] + " table is illegal- validating function " + fn + " returned False"
		}
	}
	return ""
}

func (s *Switch) fieldOpAllowed(parts []string, o patchOp) (string, bool) {
	replace := []string{"replace"}
	switch parts[0] {
	case "PFC_WD":
		fields := []string{"restoration_time", "detection_time", "action", "global/poll_interval", ""}
		if s.rel >= r202511 {
			fields = append(fields, "pfc_stat_history")
		}
		return rdmaValidator, s.rdma(parts, o, true, scenario{fields: fields, ops: []string{"remove", "add", "replace"}})
	case "BUFFER_POOL":
		if s.rel >= r202511 {
			return rdmaValidator, false
		}
		return rdmaValidator, s.rdma(parts, o, true, scenario{ops: replace, never: []string{"td2"},
			fields: []string{"ingress_lossless_pool/xoff", "ingress_lossless_pool/size", "egress_lossy_pool/size"}})
	case "BUFFER_PROFILE":
		rules := []scenario{{fields: []string{"dynamic_th"}, ops: replace}, {fields: []string{"xoff"}, ops: replace, never: []string{"td2"}}}
		if s.rel < r202511 {
			return rdmaValidator, s.rdma(parts, o, true, rules...)
		}
		if len(parts) <= 2 {
			return profileValidator, slices.Contains([]string{"add", "remove", "replace"}, o.op)
		}
		rules = append(rules, scenario{fields: []string{"packet_discard_action"}, ops: []string{"add", "replace"},
			only: []string{"spc4", "spc5", "spc6", "th5", "th6"}})
		return profileValidator, s.rdma(parts, o, false, rules...)
	case "WRED_PROFILE":
		names := []string{"green_min_threshold", "green_max_threshold", "green_drop_probability"}
		switch {
		case s.rel >= r202511:
			return "", true
		case s.rel == r202505:
			return wredValidator, s.rdma(parts, o, false, scenario{fields: names, ops: replace})
		}
		for i := range names {
			names[i] = "azure_lossless/" + names[i]
		}
		return rdmaValidator, s.rdma(parts, o, true, scenario{fields: names, ops: replace})
	case "PORT":
		return portValidator, s.portOpAllowed(parts, o)
	}
	return "", true
}

// rdma applies the common rule. With exact, path parts that contain a digit (ports, generated
// profiles) are dropped and the rest must equal a listed field; otherwise only the last part
// counts.
func (s *Switch) rdma(parts []string, o patchOp, exact bool, rules ...scenario) bool {
	asic := s.updaterASIC()
	if asic == "" {
		return false
	}
	var kept []string
	for _, p := range parts[1:] {
		if !exact || !strings.ContainsAny(p, "0123456789") {
			kept = append(kept, p)
		}
	}
	cleaned := strings.ToLower(strings.Join(kept, "/"))
	fields := []string{cleaned}
	if m, ok := o.value.(map[string]any); ok && o.op != "move" {
		fields = fields[:0]
		for _, k := range sortedKeys(m) { // not lowercased: GLOBAL/POLL_INTERVAL as a row never matches
			if cleaned != "" {
				k = cleaned + "/" + k
			}
			fields = append(fields, k)
		}
	}
	for _, f := range fields {
		if !exact {
			f = f[strings.LastIndexByte(f, '/')+1:]
		}
		i := slices.IndexFunc(rules, func(r scenario) bool { return slices.Contains(r.fields, f) })
		if i < 0 {
			return false
		}
		r := rules[i]
		if !slices.Contains(asicsOf(s.rel), asic) || slices.Contains(r.never, asic) ||
			(r.only != nil && !slices.Contains(r.only, asic)) || !slices.Contains(r.ops, o.op) {
			return false
		}
	}
	return true
}

// portOpAllowed compares speed and fec with the abilities of the port in STATE_DB.
func (s *Switch) portOpAllowed(parts []string, o patchOp) bool {
	if o.op == "remove" || o.op == "move" {
		return true
	}
	check := func(port, field string, v any) bool {
		val := strings.TrimSpace(text(v))
		s.mu.Lock()
		r := s.database("STATE_DB", "PORT_TABLE")["PORT_TABLE"][port]
		s.mu.Unlock()
		switch field {
		case "fec":
			fecs, ok := r["supported_fecs"]
			switch {
			case !ok || fecs == "":
				return slices.Contains([]string{"rs", "fc", "none", "auto"}, val)
			case fecs == "N/A":
				return false
			}
			for _, f := range strings.Split(fecs, ",") {
				if strings.TrimSpace(f) == val {
					return true
				}
			}
			return false
		case "speed":
			if r["supported_speeds"] == "" {
				return true
			}
			want, err := strconv.Atoi(val)
			for _, sp := range strings.Split(r["supported_speeds"], ",") {
				n, perr := strconv.Atoi(strings.TrimSpace(sp))
				if perr != nil || err != nil {
					return false
				}
				if n == want {
					return true
				}
			}
			return false
		}
		return true
	}
	row := func(port string, v any) bool {
		m, _ := v.(map[string]any)
		for _, f := range []string{"fec", "speed"} {
			if val, ok := m[f]; ok && !check(port, f, val) {
				return false
			}
		}
		return true
	}
	switch len(parts) {
	case 1:
		m, _ := o.value.(map[string]any)
		for p, v := range m {
			if !row(p, v) {
				return false
			}
		}
	case 2:
		return row(parts[1], o.value)
	case 3:
		return check(parts[1], parts[2], o.value)
	}
	return true
}
