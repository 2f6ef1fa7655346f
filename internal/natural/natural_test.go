package natural

import (
	"slices"
	"testing"
)

func TestOrderAndFold(t *testing.T) {
	in := []string{"Ethernet16", "Ethernet0", "Ethernet8", "PortChannel1", "Ethernet24", "leaf02", "leaf1"}
	want := []string{"Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24", "PortChannel1", "leaf1", "leaf02"}
	if got := Sorted(in); !slices.Equal(got, want) {
		t.Errorf("Sorted = %v", got)
	}
	if got := Fold(in); got != "Ethernet[0-24:8],PortChannel1,leaf1,leaf02" {
		t.Errorf("Fold = %s", got)
	}
	for _, c := range []struct {
		in   []string
		want string
	}{
		{nil, ""},
		{[]string{"a"}, "a"},
		{[]string{"e1", "e2"}, "e1,e2"},
		{[]string{"e1", "e2", "e3", "e5"}, "e[1-3],e5"},
		{[]string{"Ethernet1/1", "Ethernet1/2", "Ethernet1/3"}, "Ethernet1/[1-3]"},
		{[]string{"e1", "e1", "e1"}, "e1,e1,e1"},
		{[]string{"gpu001", "gpu002", "gpu003"}, "gpu[001-003]"},
		{[]string{"gpu08", "gpu09", "gpu10", "gpu11"}, "gpu[08-11]"},
		{[]string{"gpu8", "gpu09", "gpu10", "gpu11"}, "gpu8,gpu[09-11]"},
		{[]string{"gpu99", "gpu100", "gpu101", "gpu0102"}, "gpu[99-101],gpu0102"},
		{[]string{"Ethernet1/1", "Ethernet2/1", "Ethernet3/1"}, "Ethernet[1-3]/1"},
		{[]string{"e1/1", "e1/3", "e1/5", "e2/1", "e2/3", "e2/5", "e3/1", "e3/3", "e3/5"}, "e[1-3]/[1-5:2]"},
		{[]string{"e[1]", "e[2]", "e[3]"}, "e[1],e[2],e[3]"},
	} {
		if got := Fold(c.in); got != c.want {
			t.Errorf("Fold(%v) = %s, want %s", c.in, got, c.want)
		}
	}
}

func TestFoldLists(t *testing.T) {
	for in, want := range map[string]string{
		"QUEUE|Ethernet0,Ethernet4,Ethernet8,Ethernet12,Ethernet16|3": "QUEUE|Ethernet[0-16:4]|3",
		"config_db.json PORT_QOS_MAP|e1,e2,e3,e4,e5":                  "config_db.json PORT_QOS_MAP|e[1-5]",
		"QUEUE|Ethernet0,Ethernet4|3":                                 "QUEUE|Ethernet0,Ethernet4|3",
		"a.yaml:3, b.yaml:4, c.yaml:5, d.yaml:6, e.yaml:7":            "a.yaml:3, b.yaml:4, c.yaml:5, d.yaml:6, e.yaml:7",
	} {
		if got := FoldLists(in); got != want {
			t.Errorf("FoldLists(%q) = %q, want %q", in, got, want)
		}
	}
}
