package sonic

import (
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Compared returns the rows in which two configurations differ, as text: TABLE|key, followed by one
// line per field.
func Compared(before, after Config) (was, is string) {
	var a, b strings.Builder
	tables := map[string]bool{}
	for _, c := range []Config{before, after} {
		for table := range c {
			tables[table] = true
		}
	}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		keys := map[string]bool{}
		for _, t := range []Table{before[table], after[table]} {
			for key := range t {
				keys[key] = true
			}
		}
		for _, key := range natural.Keys(keys) {
			old, now := before.Row(table, key), after.Row(table, key)
			if (old == nil) != (now == nil) || !maps.Equal(old, now) {
				old.write(&a, table, key)
				now.write(&b, table, key)
			}
		}
	}
	return a.String(), b.String()
}

func (r Row) write(b *strings.Builder, table, key string) {
	if r == nil {
		return
	}
	b.WriteString(table + "|" + key + "\n")
	for _, f := range natural.Keys(r) {
		b.WriteString("  " + strings.TrimSuffix(f, "@") + ": " + r[f] + "\n")
	}
}
