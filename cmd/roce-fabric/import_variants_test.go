package main

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// variant is another way to write a configuration, or a change of its content.
type variant struct {
	name   string
	change func(*rand.Rand, []byte) []byte
}

// variants maps each system to its variants.
var variants = map[string][]variant{
	"eos": append(slices.Clone(lineVariants), without("switchport"), without("mtu")), "nxos": append(slices.Clone(lineVariants), without("switchport"), without("mtu")),
	"cumulus": {blankLines, trailing, dosLines}, "sonic": rowVariants,
}

var (
	blankLines = variant{"blank lines", func(r *rand.Rand, text []byte) []byte {
		return editLines(text, func(lines []string) []string {
			for range 1 + r.IntN(5) {
				lines = slices.Insert(lines, r.IntN(len(lines)+1), "")
			}
			return lines
		})
	}}
	trailing = variant{"trailing blanks", func(r *rand.Rand, text []byte) []byte {
		return editLines(text, func(lines []string) []string {
			for i := range lines {
				if r.IntN(3) == 0 {
					lines[i] += "  "
				}
			}
			return lines
		})
	}}
	dosLines = variant{"CR LF", func(_ *rand.Rand, text []byte) []byte {
		return []byte(strings.ReplaceAll(strings.ReplaceAll(string(text), "\r", ""), "\n", "\r\n"))
	}}
	lineVariants = []variant{
		blankLines, trailing, dosLines,
		{"comments", func(r *rand.Rand, text []byte) []byte {
			return editLines(text, func(lines []string) []string {
				for range 1 + r.IntN(5) {
					at := r.IntN(len(lines) + 1)
					lines = slices.Insert(lines, at, []string{"!", "! a note"}[r.IntN(2)])
				}
				return lines
			})
		}},
		{"two lines the other way round", func(r *rand.Rand, text []byte) []byte {
			return editLines(text, func(lines []string) []string {
				for range 20 {
					i := r.IntN(len(lines))
					last := i+2 >= len(lines) || indented(lines[i+2]) <= indented(lines[i])
					if i+1 < len(lines) && last && indented(lines[i]) > 0 && indented(lines[i]) == indented(lines[i+1]) {
						lines[i], lines[i+1] = lines[i+1], lines[i]
						break
					}
				}
				return lines
			})
		}},
		{"a line less", func(r *rand.Rand, text []byte) []byte {
			return editLines(text, func(lines []string) []string {
				for range 20 {
					if i := r.IntN(len(lines)); indented(lines[i]) > 0 && (i+1 == len(lines) || indented(lines[i+1]) <= indented(lines[i])) {
						return slices.Delete(lines, i, i+1)
					}
				}
				return lines
			})
		}},
	}
	rowVariants = []variant{
		dosLines,
		rows("several ports in one row", func(r *rand.Rand, db dbTables) {
			table := []string{"PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "BUFFER_QUEUE"}[r.IntN(4)]
			var joined []string
			var one dbRow
			rest := ""
			for _, key := range slices.Sorted(maps.Keys(db[table])) {
				port, index, _ := strings.Cut(key, "|")
				if one != nil && (index != rest || !maps.Equal(one, db[table][key])) || !strings.HasPrefix(port, "Ethernet") {
					continue
				}
				one, rest = db[table][key], index
				joined = append(joined, port)
				delete(db[table], key)
			}
			if one == nil {
				return
			}
			key := strings.Join(joined, ",")
			if rest != "" {
				key += "|" + rest
			}
			db[table][key] = one
		}),
		rows("no derived groups", func(_ *rand.Rand, db dbTables) {
			for key, g := range db["BUFFER_PG"] {
				if name, _ := g["profile"].(string); strings.HasPrefix(name, "pg_lossless_") {
					delete(db["BUFFER_PG"], key)
				}
			}
		}),
		rows("no derived profiles", func(_ *rand.Rand, db dbTables) {
			maps.DeleteFunc(db["BUFFER_PROFILE"], func(name string, _ dbRow) bool { return strings.HasPrefix(name, "pg_lossless_") })
			maps.DeleteFunc(db["BUFFER_PG"], func(_ string, g dbRow) bool {
				name, _ := g["profile"].(string)
				return strings.HasPrefix(name, "pg_lossless_")
			})
		}),
		rows("a table less", func(r *rand.Rand, db dbTables) {
			delete(db, []string{"BUFFER_PG", "BUFFER_POOL", "BUFFER_PROFILE", "CABLE_LENGTH", "QUEUE", "PFC_WD", "PORT_QOS_MAP"}[r.IntN(7)])
		}),
		rows("a field less", func(r *rand.Rand, db dbTables) {
			table := db[pick(r, db)]
			if key := pick(r, table); key != "" {
				delete(table[key], pick(r, table[key]))
			}
		}),
		rows("a row less", func(r *rand.Rand, db dbTables) {
			table := db[pick(r, db)]
			delete(table, pick(r, table))
		}),
		rows("a port that is down", func(r *rand.Rand, db dbTables) {
			if port := pick(r, db["PORT"]); port != "" {
				db["PORT"][port]["admin_status"] = "down"
			}
		}),
	}
)

type (
	dbRow    = map[string]any
	dbTables = map[string]map[string]dbRow
)

func pick[V any](r *rand.Rand, of map[string]V) string {
	keys := slices.Sorted(maps.Keys(of))
	if len(keys) == 0 {
		return ""
	}
	return keys[r.IntN(len(keys))]
}

// rows returns a variant of CONFIG_DB; it leaves other texts unchanged.
func rows(name string, change func(*rand.Rand, dbTables)) variant {
	return variant{name, func(r *rand.Rand, text []byte) []byte {
		var db dbTables
		if json.Unmarshal(text, &db) != nil {
			return text
		}
		change(r, db)
		out, err := json.MarshalIndent(db, "", []string{"", " ", "\t"}[r.IntN(3)])
		if err != nil {
			return text
		}
		return out
	}}
}

// without removes a line that starts with a word, or with "no" and the word.
func without(word string) variant {
	return variant{"no " + word, func(r *rand.Rand, text []byte) []byte {
		return editLines(text, func(lines []string) []string {
			var at []int
			for i, l := range lines {
				if t := strings.TrimPrefix(strings.TrimSpace(l), "no "); indented(l) > 0 && (t == word || strings.HasPrefix(t, word+" ")) {
					at = append(at, i)
				}
			}
			if len(at) == 0 {
				return lines
			}
			i := at[r.IntN(len(at))]
			return slices.Delete(lines, i, i+1)
		})
	}}
}

func editLines(text []byte, change func([]string) []string) []byte {
	return []byte(strings.Join(change(strings.Split(string(text), "\n")), "\n"))
}

func indented(l string) int { return len(l) - len(strings.TrimLeft(l, " \t")) }
