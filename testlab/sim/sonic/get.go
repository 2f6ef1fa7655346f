package sonic

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Get answers reads of the native interface, and of the older interface that a prefix target
// selects.
func (g *gnmiServer) Get(ctx context.Context, r *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	if t := r.GetType(); t != gnmi.GetRequest_ALL {
		return nil, status.Errorf(codes.Unimplemented, "unsupported request type: %s", t)
	}
	switch e := r.GetEncoding(); e {
	case gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF, gnmi.Encoding_PROTO:
	default:
		return nil, status.Errorf(codes.Unimplemented, "unsupported encoding: %s", e)
	}
	org, err := commonOrigin(r.GetPrefix(), r.GetPath())
	if err != nil {
		return nil, err
	}
	if len(r.GetPath()) == 0 {
		return &gnmi.GetResponse{}, nil
	}
	if org == "" && r.GetPrefix().GetTarget() != "" {
		return g.s.legacyGet(r)
	}
	if org != origin {
		es := elems(r.GetPrefix(), r.GetPath()[0])
		first := ""
		if len(es) > 0 {
			first = es[0].GetName()
		}
		return nil, status.Errorf(codes.NotFound, "Node %s not found in the given gnmi path %s: ", first, pathText(org, es))
	}
	db, err := targetOf(r.GetPrefix(), r.GetPath())
	if err != nil {
		return nil, err
	}
	resp := &gnmi.GetResponse{}
	for _, p := range r.GetPath() {
		val, found, err := g.s.read(db, elems(r.GetPrefix(), p), r.GetEncoding() == gnmi.Encoding_PROTO)
		if err != nil {
			return nil, err
		}
		if found {
			resp.Notification = append(resp.Notification, g.s.notification(r.GetPrefix(), p, val))
		}
	}
	g.s.dice.Answer().Notifications(resp.Notification)
	return resp, nil
}

func (s *Switch) notification(prefix, p *gnmi.Path, val []byte) *gnmi.Notification {
	if s.faults.on(&s.faults.truncate) {
		val = val[:len(val)/2]
	}
	return &gnmi.Notification{Timestamp: time.Now().UnixNano(), Prefix: prefix,
		Update: []*gnmi.Update{{Path: p, Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: val}}}}}
}

// read answers one native path. If nothing is found and there is no error, the server leaves out
// the notification.
func (s *Switch) read(db string, es []*gnmi.PathElem, proto bool) ([]byte, bool, error) {
	e := readNames(es[2:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if db == "CONFIG_DB" && s.snapshot != nil {
		if v, ok := walk(s.snapshot, e); ok {
			return encode(v), true, nil
		}
	}
	only := ""
	if len(e) > 0 {
		only = e[0]
	}
	t := s.database(db, only)
	none := status.Errorf(codes.NotFound, "No valid entry found for path %s", pathText(origin, es))
	switch len(e) {
	case 0:
		return s.text(db, "", t.encode), true, nil
	case 1:
		if keys, ok := t[e[0]]; ok {
			return s.text(db, e[0], func() []byte { return appendTable(nil, keys) }), true, nil
		}
		if e[0] != "" {
			for name := range s.database(db, "") {
				if strings.HasPrefix(name, e[0]) {
					return nil, false, nil
				}
			}
		}
		return nil, false, status.Errorf(codes.NotFound, "Failed to find %s %s <nil> []", db, e[0])
	}
	r := t[e[0]][e[1]]
	field := e[2:]
	if hash := t[e[0]][""]; r == nil && hash != nil {
		r, field = hash, e[1:]
	}
	d := r.doc()
	if len(d) == 0 || proto && d["pb"] == nil {
		return nil, false, none
	}
	if len(field) == 0 {
		return encode(d), true, nil
	}
	v, ok := d[field[0]]
	if !ok || len(field) > 2 {
		return nil, false, none
	}
	if len(field) == 1 {
		return encode(v), true, nil
	}
	l, ok := v.([]any)
	if !ok {
		return nil, false, none
	}
	i, err := strconv.Atoi(field[1])
	if err != nil || i < 0 || i >= len(l) {
		parts := make([]string, len(l))
		for j, x := range l {
			parts[j] = text(x)
		}
		return nil, false, status.Errorf(codes.NotFound, "Invalid index %s for [%s]", field[1], strings.Join(parts, " "))
	}
	return encode(l[i]), true, nil
}

// tableDoc returns a table as a JSON tree; a table that is one hash without keys becomes a single
// object.
func tableDoc(keys map[string]row) map[string]any {
	if r, ok := keys[""]; ok && len(keys) == 1 {
		return r.doc()
	}
	d := make(map[string]any, len(keys))
	for k, r := range keys {
		d[k] = r.doc()
	}
	return d
}

// walk looks up a path in the snapshot of a Set in progress.
func walk(v any, e []string) (any, bool) {
	for _, name := range e {
		switch n := v.(type) {
		case map[string]any:
			c, ok := n[name]
			if !ok {
				return nil, false
			}
			v = c
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(n) {
				return nil, false
			}
			v = n[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// encode returns the JSON of a value. Like the server, it puts quotes around a string without
// escaping its contents.
func encode(v any) []byte {
	if s, ok := v.(string); ok {
		return []byte(`"` + s + `"`)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null") // trees of strings always marshal
	}
	return b
}

// legacyGet answers the telemetry interface: the prefix target names the database, and paths start
// at the table.
func (s *Switch) legacyGet(r *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	db := r.GetPrefix().GetTarget()
	if _, ok := databases[db]; !ok {
		return nil, status.Errorf(codes.NotFound, "Invalid target: %s", db)
	}
	resp := &gnmi.GetResponse{}
	for _, p := range r.GetPath() {
		es := elems(r.GetPrefix(), p)
		v, ok := s.legacyRead(db, readNames(es))
		if !ok {
			if s.rel >= r202605 {
				return nil, status.Errorf(codes.NotFound, "No valid entry found for path %s", pathText("", es))
			}
			resp.Notification = append(resp.Notification, &gnmi.Notification{Timestamp: time.Now().UnixNano(), Prefix: r.GetPrefix()})
			continue
		}
		n := s.notification(r.GetPrefix(), p, encode(v))
		if text, ok := v.(string); ok {
			n.Update[0].Val = &gnmi.TypedValue{Value: &gnmi.TypedValue_StringVal{StringVal: text}}
		}
		resp.Notification = append(resp.Notification, n)
	}
	s.dice.Answer().Notifications(resp.Notification)
	return resp, nil
}

func (s *Switch) legacyRead(db string, e []string) (any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(e) == 0 {
		return nil, false
	}
	t := s.database(db, e[0])
	if db == "COUNTERS_DB" && e[0] == "COUNTERS" && len(e) > 1 && !strings.HasPrefix(e[1], "oid:") {
		return s.virtual(t["COUNTERS"], e[1:])
	}
	keys, ok := t[e[0]]
	if !ok {
		return nil, false
	}
	return walk(tableDoc(keys), e[1:])
}

// virtual answers COUNTERS/<port>[/<field>|/Queues|/Pfcwd]. Ports are given by name or alias;
// answers to a wildcard are keyed by alias.
func (s *Switch) virtual(counters map[string]row, e []string) (any, bool) {
	wild := strings.HasSuffix(e[0], "*")
	out := map[string]any{}
	for port, p := range s.cfg["PORT"] {
		alias := p["alias"]
		if alias == "" {
			alias = port
		}
		if wild && !strings.HasPrefix(port, strings.TrimSuffix(e[0], "*")) || !wild && e[0] != port && e[0] != alias {
			continue
		}
		r := counters[oid("PORT", port)]
		switch {
		case len(e) == 1 && !wild:
			return r.doc(), true
		case len(e) == 1:
			out[alias] = r.doc()
		case e[1] == "Queues" || e[1] == "Pfcwd":
			for i := range numQueues {
				name := port + ":" + strconv.Itoa(i)
				q := counters[oid("QUEUE", name)]
				d := map[string]any{}
				for f, v := range q {
					if strings.HasPrefix(f, "PFC_WD") == (e[1] == "Pfcwd") {
						d[f] = v
					}
				}
				if len(d) > 0 {
					out[alias+":"+strconv.Itoa(i)] = d
				}
			}
		case !wild:
			v, ok := r[e[1]]
			return v, ok
		default:
			if v, ok := r[e[1]]; ok {
				out[alias] = map[string]any{e[1]: v}
			}
		}
	}
	return out, len(out) > 0
}
