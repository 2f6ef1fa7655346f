package sonic

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Configure changes the databases and the daemons without the tool's knowledge, one statement a
// line; * stands for any part of a key:
//
//	TABLE|KEY FIELD=VALUE -FIELD     sets and removes fields of a row of CONFIG_DB
//	-TABLE|KEY                       removes the row
//	kill DAEMON                      stops the daemon until the configuration is loaded again
//	storm PORT QUEUE                 lets the PFC watchdog stop the queue
//	APPL|STATE|COUNTERS TABLE KEY FIELD=VALUE
//	ASIC OBJECT OF FIELD=VALUE       OBJECT is port, queue or pg, or a wred, scheduler, qprofile,
//	                                 pgprofile, pool, epool or dscpmap that one of these uses
func (s *Switch) Configure(lines string) error {
	for line := range strings.SplitSeq(lines, "\n") {
		if f := strings.Fields(line); len(f) > 0 {
			if err := s.do(f); err != nil {
				return fmt.Errorf("%s: %w", line, err)
			}
		}
	}
	return nil
}

// Storm puts a queue of a port into the state that the PFC watchdog brings it into with action drop:
// PFC of the priority is off at the port, and queue and priority group have profiles of zero bytes
// (sonic-swss orchagent/pfcactionhandler.cpp, PfcWdLossyHandler and PfcWdZeroBufferHandler).
func (s *Switch) Storm(port string, queue int) error {
	asic := s.DB("ASIC_DB")["ASIC_STATE"]
	key, err := s.asicKey("port", port)
	if err != nil {
		return err
	}
	mask, _ := strconv.Atoi(asic[key]["SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL"])
	s.SetDBRow("ASIC_DB", "ASIC_STATE", key, row{"SAI_PORT_ATTR_PRIORITY_FLOW_CONTROL": strconv.Itoa(mask &^ (1 << queue))})
	for kind, attr := range map[string]string{"queue": "SAI_QUEUE_ATTR_BUFFER_PROFILE_ID", "pg": "SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE"} {
		at, err := s.asicKey(kind, indexed(port, queue))
		if err != nil {
			return err
		}
		zero := "zero profile of the watchdog, " + kind
		s.SetDBRow("ASIC_DB", "ASIC_STATE", asicKey("BUFFER_PROFILE", zero), row{"SAI_BUFFER_PROFILE_ATTR_BUFFER_SIZE": "0",
			"SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE": "SAI_BUFFER_PROFILE_THRESHOLD_MODE_DYNAMIC", "SAI_BUFFER_PROFILE_ATTR_SHARED_DYNAMIC_TH": "1"})
		s.SetDBRow("ASIC_DB", "ASIC_STATE", at, row{attr: oid("BUFFER_PROFILE", zero)})
	}
	s.SetDBRow("APPL_DB", "PFC_WD_TABLE_INSTORM", port, row{strconv.Itoa(queue): "storm"})
	return nil
}

// do executes one statement on the databases or the daemons.
func (s *Switch) do(f []string) error {
	switch f[0] {
	case "kill":
		if len(f) != 2 {
			return errors.New("kill takes a daemon")
		}
		s.Kill(f[1])
		return nil
	case "storm":
		if len(f) != 3 {
			return errors.New("storm takes a port and a queue")
		}
		queue, err := strconv.Atoi(f[2])
		if err != nil {
			return err
		}
		return s.Storm(f[1], queue)
	case "APPL", "STATE", "COUNTERS":
		row, err := fields(f[3:])
		if err == nil {
			s.SetDBRow(f[0]+"_DB", f[1], f[2], row)
		}
		return err
	case "ASIC":
		key, err := s.asicKey(f[1], f[2])
		if err != nil {
			return err
		}
		row, err := fields(f[3:])
		if err == nil {
			s.SetDBRow("ASIC_DB", "ASIC_STATE", key, row)
		}
		return err
	}
	gone := strings.HasPrefix(f[0], "-")
	table, pattern, ok := strings.Cut(strings.TrimPrefix(f[0], "-"), "|")
	if !ok {
		return fmt.Errorf("%q is not a row", f[0])
	}
	have := s.Config()[table]
	keys := []string{pattern}
	if strings.Contains(pattern, "*") {
		keys = slices.DeleteFunc(natural.Keys(have), func(k string) bool { ok, _ := path.Match(pattern, k); return !ok })
	}
	if len(keys) == 0 || gone && have[keys[0]] == nil {
		return fmt.Errorf("there is no row %s|%s", table, pattern)
	}
	for _, k := range keys {
		if gone {
			s.DelRow(table, k)
			continue
		}
		row := maps.Clone(have[k])
		if row == nil {
			row = map[string]string{}
		}
		delete(row, "NULL")
		for _, arg := range f[1:] {
			if name, ok := strings.CutPrefix(arg, "-"); ok {
				if row[name] == "" {
					return fmt.Errorf("%s has no %s", k, name)
				}
				delete(row, name)
				continue
			}
			more, err := fields([]string{arg})
			if err != nil {
				return err
			}
			maps.Copy(row, more)
		}
		s.SetRow(table, k, row)
	}
	return nil
}

func fields(l []string) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range l {
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not FIELD=VALUE", s)
		}
		out[k] = v
	}
	return out, nil
}

// asicKey finds the key of an object in ASIC_DB as a person does: through the name maps of
// COUNTERS_DB, and from object to object.
func (s *Switch) asicKey(kind, of string) (string, error) {
	counters, asic := s.DB("COUNTERS_DB"), s.DB("ASIC_DB")["ASIC_STATE"]
	at := func(typ, oid string) (string, error) {
		key := "SAI_OBJECT_TYPE_" + typ + ":" + oid
		if asic[key] == nil {
			return "", fmt.Errorf("ASIC_DB has no %s", key)
		}
		return key, nil
	}
	from := map[string]struct{ names, typ string }{
		"port": {"COUNTERS_PORT_NAME_MAP", "PORT"}, "queue": {"COUNTERS_QUEUE_NAME_MAP", "QUEUE"}, "pg": {"COUNTERS_PG_NAME_MAP", "INGRESS_PRIORITY_GROUP"},
	}
	if n, ok := from[kind]; ok {
		return at(n.typ, counters[n.names][""][of])
	}
	via := map[string]struct{ of, attr, typ string }{
		"wred":      {"queue", "SAI_QUEUE_ATTR_WRED_PROFILE_ID", "WRED"},
		"qprofile":  {"queue", "SAI_QUEUE_ATTR_BUFFER_PROFILE_ID", "BUFFER_PROFILE"},
		"pgprofile": {"pg", "SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE", "BUFFER_PROFILE"},
		"pool":      {"pgprofile", "SAI_BUFFER_PROFILE_ATTR_POOL_ID", "BUFFER_POOL"},
		"epool":     {"qprofile", "SAI_BUFFER_PROFILE_ATTR_POOL_ID", "BUFFER_POOL"},
		"dscpmap":   {"port", "SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP", "QOS_MAP"},
	}
	v, ok := via[kind]
	if !ok {
		return "", fmt.Errorf("unknown object %q", kind)
	}
	key, err := s.asicKey(v.of, of)
	if err != nil {
		return "", err
	}
	return at(v.typ, asic[key][v.attr])
}
