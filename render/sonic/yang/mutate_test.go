package yang

import (
	"math/rand/v2"
	"strings"

	goyang "github.com/openconfig/goyang/pkg/yang"
)

// A mutator makes random changes to a configuration, determined by a seed. It takes the possible
// values of a field from the model under test, so that values on both sides of every bound occur,
// also in fields that the examples do not use.
type mutator struct {
	*rand.Rand
	m *Models
	c config
}

// mutate returns a changed copy of c and a description of the change.
func mutate(m *Models, c config, seed uint64) (config, string) {
	g := &mutator{rand.New(rand.NewPCG(seed, 42)), m, clone(c)}
	var did []string
	for range 1 + g.IntN(2) {
		did = append(did, g.one())
	}
	return g.c, strings.Join(did, "; ")
}

func pick[T any](g *mutator, l []T) T { return l[g.IntN(len(l))] }

func (g *mutator) row() (table, key string) {
	for range 50 {
		table = pick(g, sortedKeys(g.c))
		if ks := sortedKeys(g.c[table]); len(ks) > 0 {
			return table, pick(g, ks)
		}
	}
	return "", ""
}

// schema returns the list or container that a row is an instance of.
func (g *mutator) schema(table, key string) *snode {
	t := g.m.tables[table]
	if t == nil {
		return nil
	}
	s, err := t.compile()
	if err != nil {
		return nil
	}
	if c := s.byName[key]; c != nil && c.kind == kContainer {
		return c
	}
	for _, k := range s.kids {
		if k.kind == kList && len(k.keys) == strings.Count(key, "|")+1 {
			return k
		}
	}
	return nil
}

func (g *mutator) one() string {
	table, key := g.row()
	if table == "" {
		return "nothing"
	}
	fields := g.c[table][key]
	field := ""
	if len(fields) > 0 {
		field = pick(g, sortedKeys(fields))
	}
	at := table + "|" + key
	s := g.schema(table, key)
	switch g.IntN(20) {
	case 0, 1:
		delete(fields, field)
		return "drop " + at + " " + field
	case 2:
		delete(g.c[table], key)
		return "drop " + at
	case 3:
		delete(g.c, table)
		return "drop " + table
	case 4:
		fields["no_such_field"] = "1"
		return "unknown field in " + at
	case 5:
		parts := strings.Split(key, "|")
		switch g.IntN(3) {
		case 0:
			parts = append(parts, g.anyValue())
		case 1:
			parts[g.IntN(len(parts))] = g.anyValue()
		default:
			parts = parts[:len(parts)-1]
		}
		nk := strings.Join(parts, "|")
		delete(g.c[table], key)
		g.c[table][nk] = fields
		return "rename " + at + " to " + nk
	case 6:
		if s == nil || s.kind != kList {
			break
		}
		var parts []string
		for _, k := range s.keys {
			parts = append(parts, g.value(s.byName[k].typ))
		}
		nk := strings.Join(parts, "|")
		g.c[table][nk] = clone(config{"": {"": fields}})[""][""]
		return "copy " + at + " to " + nk
	case 7:
		for _, f := range []string{"switch_type", "buffer_model", "asic_name", "hwsku", "synchronous_mode", "suppress-fib-pending", "hostname"} {
			if dm := g.c["DEVICE_METADATA"]["localhost"]; dm != nil && g.IntN(3) == 0 {
				dm[f] = pick(g, []string{"voq", "npu", "dynamic", "traditional", "asic0", "leaf1", "enable", "disabled", "chassis-packet", "msft_multi_asic_vs"})
			}
		}
		return "metadata"
	case 8:
		all := g.m.Tables()
		t := pick(g, all)
		ts, err := g.m.tables[t].compile()
		if err != nil || len(ts.kids) == 0 {
			break
		}
		k := pick(g, ts.kids)
		nk := k.name
		if k.kind == kList {
			var parts []string
			for _, name := range k.keys {
				parts = append(parts, g.value(k.byName[name].typ))
			}
			nk = strings.Join(parts, "|")
		} else if k.kind != kContainer {
			break
		}
		if g.c[t] == nil {
			g.c[t] = map[string]map[string]string{}
		}
		row := map[string]string{}
		for range 4 {
			g.set(row, k)
		}
		g.c[t][nk] = row
		return "new row " + t + "|" + nk
	case 14:
		// The same name in a different spelling.
		if s != nil && mapList(s) != nil && field != "" {
			f := pick(g, []string{" " + field, field + " ", "+" + field, "0" + field})
			fields[f] = fields[field]
			return "spell " + at + " " + field + " as " + f
		}
	case 9:
		if t2, k2 := g.row(); t2 == table {
			g.c[table][key], g.c[table][k2] = g.c[table][k2], fields
			return "swap " + at + " and " + k2
		}
	case 10:
		if field != "" {
			g.c[table][key] = map[string]string{"NULL": "NULL"}
			return "empty " + at
		}
	case 11, 12, 13:
		if s != nil {
			return "set " + at + " " + g.set(fields, s)
		}
	}
	if field == "" {
		return "nothing"
	}
	v := g.anyValue()
	if s != nil {
		if f := s.byName[strings.TrimSuffix(field, "@")]; f != nil && f.typ != nil && g.IntN(4) > 0 {
			v = g.value(f.typ)
		} else if inner := mapList(s); inner != nil {
			v = g.value(valueLeaf(inner).typ)
			if g.IntN(3) == 0 {
				field = g.value(inner.byName[inner.keys[0]].typ)
			}
		}
	}
	fields[field] = v
	return "set " + at + " " + field + " to " + v
}

// set gives a random field of the model a value.
func (g *mutator) set(row map[string]string, s *snode) string {
	if len(s.kids) == 0 {
		return "nothing"
	}
	k := pick(g, s.kids)
	f := k.name
	switch {
	case mapList(s) != nil:
		inner := mapList(s)
		f = g.value(inner.byName[inner.keys[0]].typ)
		row[f] = g.value(valueLeaf(inner).typ)
	case k.typ == nil:
		row[f] = "x"
	case k.kind == kLeafList:
		var vs []string
		for range g.IntN(3) {
			vs = append(vs, g.value(k.typ))
		}
		if g.IntN(8) > 0 {
			f += "@"
		}
		delete(row, k.name) // one form of the field, not both
		delete(row, k.name+"@")
		row[f] = strings.Join(vs, ",")
	default:
		row[f] = g.value(k.typ)
	}
	return f + " to " + row[f]
}

var oddValues = []string{"", " ", "0", "1", "3", "7", "8", "9", "03", "+5", "-1", "0x10", " 7", "7 ", "1.5", "99999", "64", "63",
	"100", "101", "18446744073709551615", "18446744073709551616", "3,4", "3, 4", "3,9", "3-4", "0-15", "4-16", "true", "True", "false",
	"AZURE", "azure", "AZURE_LOSSLESS", "no.dots", "-lead", "Ethernet0", "Ethernet8", "Ethernet999", "PortChannel1", "global", "GLOBAL",
	"NULL", "NULLS", "up", "down", "on", "all", "40m", "40", "scheduler.0", "scheduler.9", "ingress_lossless_profile",
	"ingress_lossy_profile", "egress_lossy_profile", "ingress_lossless_pool", "enable", "disable", "dynamic", "ecn_all", "DWRR", "bytes",
	"400000", "1600000", "9216", "9217", "200", "5000", "voq", "asic0", "leaf1", "é", "a b", "$", "^x", "Vrf1", "default", "10.0.0.1/31", "2001:db8::1/64", "00:11:22:33:44:55"}

func (g *mutator) anyValue() string { return pick(g, oddValues) }

// value returns a value that the type may accept or reject.
func (g *mutator) value(t *ytype) string {
	if g.IntN(6) == 0 {
		return g.anyValue()
	}
	switch {
	case len(t.members) > 0:
		return g.value(pick(g, t.members))
	case t.base == "leafref":
		var ks []string
		for _, s := range t.path.path {
			if rows := g.c[s.name]; len(rows) > 0 {
				ks = sortedKeys(rows)
			}
		}
		if len(ks) > 0 {
			return pick(g, ks)
		}
	case len(t.names) > 0:
		return pick(g, t.names)
	case t.base == "boolean":
		return pick(g, []string{"true", "false", "TRUE"})
	case len(t.patterns) > 0:
		if words := strings.Split(t.patterns[0].text, "|"); len(words) > 1 && !strings.ContainsAny(t.patterns[0].text, "[({") {
			return pick(g, words)
		}
	case len(t.lengths) > 0:
		r := pick(g, t.lengths[0].spans)
		n := pick(g, []uint64{r.Min.Value, r.Max.Value, r.Max.Value + 1, 5})
		return strings.Repeat("x", int(min(n, 300)))
	default:
		if lim, ok := intRange[t.base]; ok {
			if len(t.ranges) > 0 {
				lim = pick(g, t.ranges[0].spans)
			}
			switch g.IntN(5) {
			case 0:
				return lim.Min.String()
			case 1:
				return lim.Max.String()
			case 2:
				return goyang.Number{Negative: lim.Max.Negative, Value: lim.Max.Value + 1}.String()
			case 3:
				if lim.Min.Value > 0 && !lim.Min.Negative {
					return goyang.FromUint(lim.Min.Value - 1).String()
				}
				return goyang.Number{Negative: true, Value: lim.Min.Value + 1}.String()
			}
			return goyang.FromUint(lim.Min.Value/2 + g.Uint64N(min(lim.Max.Value, 1<<40)+1)).String()
		}
	}
	return g.anyValue()
}
