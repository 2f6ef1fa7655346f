package tree

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/ygot/ygot"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
)

// Releases print the same value in different forms. All forms give the same result.
func TestFormsOfOneValue(t *testing.T) {
	for _, text := range []string{
		`{"intf": {"mtu": 9214, "up": true, "name": " Ethernet1/1 "}}`,
		`{"intf": {"mtu": "9214", "up": "true", "name": "Ethernet1/1"}}`,
		`{"openconfig-interfaces:intf": [{"oc-x:mtu": "9214", "up": 1, "name": "Ethernet1/1"}]}`,
	} {
		o, more, err := Parse([]byte(" \n" + text + "\n"))
		if err != nil || more {
			t.Fatalf("%s: %v, more %v", text, err, more)
		}
		in := o.At("intf")
		if n := in.Count("mtu"); n != qos.Of(uint64(9214)) || in.Text("mtu") != "9214" || !in.Flag("up") || in.String("name") != "Ethernet1/1" || len(o.List("intf")) != 1 {
			t.Errorf("%s: %v", text, in)
		}
	}
}

// A value that is missing, too long or in another form is not set, and nothing
// panics.
func TestValuesOfAnotherFormAreNotSet(t *testing.T) {
	long := strings.Repeat("x", MaxText+1)
	o, _, err := Parse([]byte(`{"a": [{"x": 1}, {"x": 2}], "n": null, "f": 1.5, "neg": -1, "b": false, "long": "` + long + `", "fits": "` + long[1:] + `", "ctl": "a\u001b[2Jb", "t": "false"}`))
	if err != nil {
		t.Fatal(err)
	}
	if o.At("a") != nil || o.At("n") != nil || o.At("none", "below") != nil || len(o.List("a")) != 2 || o.List("n") != nil {
		t.Error("an object is made of what is none")
	}
	for _, name := range []string{"f", "neg", "n", "a", "long", "none"} {
		if o.Count(name).Set {
			t.Errorf("%s is a count", name)
		}
	}
	if o.String("long") != "" || o.String("fits") != long[1:] || o.String("f") != "" || o.Flag("b") || o.Flag("t") || o.Flag("none") {
		t.Error("a value of another form is taken")
	}
	if o.Name("ctl") != "" || o.Name("long") != "" || o.Name("fits") == "" || strings.ContainsRune(o.String("ctl"), '\x1b') {
		t.Error("a name with control characters is taken")
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]struct {
		more bool
		err  string
	}{
		`{"a": 1}`:             {},
		`{"a": 1} {"b": 2}`:    {more: true},
		`{"a": 1}leaf1#`:       {more: true},
		``:                     {err: "not a JSON object"},
		`[1]`:                  {err: "not a JSON object"},
		"% Invalid \x1b[2Jcmd": {err: `not a JSON object: "% Invalid`},
		`{"a": `:               {err: "not JSON"},
	} {
		_, more, err := Parse([]byte(text))
		if more != want.more || (err == nil) != (want.err == "") || err != nil && (!strings.Contains(err.Error(), want.err) || strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%q: more %v, %v", text, more, err)
		}
	}
	if _, _, err := Parse(append(bytes.Repeat([]byte(" "), MaxInput-1), "{}"...)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("one byte too many: %v", err)
	}
	if _, _, err := Parse(append(bytes.Repeat([]byte(" "), MaxInput-2), "{}"...)); err != nil {
		t.Errorf("as many bytes as are read: %v", err)
	}
}

// The member without a module prefix wins, then the first prefix in order, so that two reads of
// the same response agree.
func TestModuleInFrontOfAName(t *testing.T) {
	o := Object{"b:mtu": "2", "a:mtu": "1", "xmtu": "3"}
	if got := o.String("mtu"); got != "1" {
		t.Errorf("mtu %q", got)
	}
	if o["mtu"] = "0"; o.String("mtu") != "0" {
		t.Errorf("mtu %q", o.String("mtu"))
	}
	if Local("openconfig-if:mtu") != "mtu" || Local("mtu") != "mtu" {
		t.Error("the module stays")
	}
}

func value(t *testing.T, path, json string) gnmi.Value {
	t.Helper()
	p, err := ygot.StringToStructuredPath(path)
	if err != nil {
		t.Fatal(err)
	}
	return gnmi.Value{Path: p, JSON: []byte(json)}
}

// A server may split its response by leaf, by list entry, or not at all. Keys in a path become
// members of the entry, except wildcards.
func TestEachRootsValuesAtTheTop(t *testing.T) {
	want := Object{"interfaces": map[string]any{"interface": map[string]any{"name": "Ethernet1", "state": map[string]any{"mtu": "9214"}}}}
	for _, v := range []gnmi.Value{
		value(t, "/interfaces/interface[name=Ethernet1]/state/mtu", `"9214"`),
		value(t, "/oc-if:interfaces/interface[name=Ethernet1]/state", `{"mtu": "9214"}`),
		value(t, "/interfaces/interface[name=Ethernet1]", `[{"state": {"mtu": "9214"}}]`),
		value(t, "/interfaces/interface[name=*]", `{"name": "Ethernet1", "state": {"mtu": "9214"}}`),
	} {
		var got []Object
		if err := Each([]gnmi.Value{v}, func(o Object) { got = append(got, o) }); err != nil || len(got) != 1 {
			t.Fatalf("%v %v", got, err)
		}
		if d := cmp.Diff(want, got[0]); d != "" {
			t.Errorf("%s %s:\n%s", v.Path, v.JSON, d)
		}
	}
	list := value(t, "/interfaces/interface[name=*]", `{"oc:interface": [{"name": "Ethernet1"}, {"name": "Ethernet2"}]}`)
	if err := Each([]gnmi.Value{list}, func(o Object) {
		if n := len(o.At("interfaces").List("interface")); n != 2 {
			t.Errorf("%d entries", n)
		}
	}); err != nil {
		t.Error(err)
	}
}

func TestEachRejectsInvalidTrees(t *testing.T) {
	most := strings.TrimSuffix(strings.Repeat("1,", MaxEntries), ",")
	for json, want := range map[string]string{
		`{"x": `:                         "/a/b[k=1]: ",
		`{"x": {"y": [1,` + most + `]}}`: fmt.Sprintf("a list has %d entries", MaxEntries+1),
	} {
		err := Each([]gnmi.Value{value(t, "/a/b[k=1]", json)}, func(Object) {})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v", json, err)
		}
	}
	if err := Each([]gnmi.Value{value(t, "/a", `{"y": [`+most+`]}`)}, func(Object) {}); err != nil {
		t.Errorf("as many entries as are read: %v", err)
	}
}

// The parts of a neighbor arrive in any order and in several values. A port that runs LLDP
// without a neighbor has an empty list, which differs from a port that is not shown.
func TestNeighbors(t *testing.T) {
	n := Neighbors{}
	n.See("Ethernet1", "", [4]string{})
	n.See("Ethernet2", "10", [4]string{"", "00:11:22:33:44:55", "", ""})
	n.See("Ethernet2", "10", [4]string{"", "", "Ethernet7", "to leaf1"})
	n.See("Ethernet2", "9", [4]string{"leaf9", "aa", "", "eth0"})
	n.See("Ethernet2", "8", [4]string{})
	o := &drivers.Observation{Ports: map[string]*drivers.PortState{}}
	n.Put(o)
	if got := o.Port("Ethernet1").Neighbors; got == nil || len(got) != 0 {
		t.Errorf("Ethernet1: %#v", got)
	}
	want := []qos.Neighbor{{Device: "leaf9", Port: "eth0"}, {Device: "00:11:22:33:44:55", Port: "Ethernet7"}}
	if got := o.Port("Ethernet2").Neighbors; !slices.Equal(got, want) {
		t.Errorf("Ethernet2: %v", got)
	}
}

func TestKeep(t *testing.T) {
	mtu := qos.Of(9100)
	if Keep(&mtu, qos.Opt[int]{}); mtu != qos.Of(9100) {
		t.Errorf("what is not shown changes it: %v", mtu)
	}
	if Keep(&mtu, qos.Of(1500)); mtu != qos.Of(1500) {
		t.Errorf("MTU %v", mtu)
	}
}
