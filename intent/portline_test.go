package intent

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The table of port keys has a row for each value of a line, and for each key of the ports section
// that holds one.
func TestPortKeys(t *testing.T) {
	if n := reflect.TypeFor[PortLine]().NumField(); n != len(portKeys) {
		t.Errorf("a line has %d values, and the table %d", n, len(portKeys))
	}
	raw := reflect.TypeFor[rawPort]()
	for i := range raw.NumField() {
		f := raw.Field(i)
		key := f.Tag.Get("key")
		if strings.HasPrefix(f.Type.Name(), "opt[") && !slices.ContainsFunc(portKeys, func(k portKey) bool { return k.key == key }) {
			t.Errorf("the table lacks the key %s", key)
		}
	}
	for i := range portKeys {
		l := *unstated
		v := reflect.ValueOf(&l).Elem().Field(i).Addr().Interface()
		if d, ok := v.(interface{ IsDefault() bool }); !ok || !d.IsDefault() {
			t.Errorf("%s: a port without an entry states it", reflect.TypeFor[PortLine]().Field(i).Name)
		}
	}
}
