package derive

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

func TestFoldNames(t *testing.T) {
	for list, want := range map[string]string{
		"leaf1":                              "leaf1",
		"leaf1 leaf2 leaf3":                  "leaf[1-3]",
		"leaf1 leaf3":                        "leaf[1,3]",
		"leaf1 leaf3 leaf5":                  "leaf[1-5:2]",
		"Ethernet0 Ethernet8":                "Ethernet[0,8]",
		"Ethernet0 Ethernet4 Ethernet8":      "Ethernet[0-8:4]",
		"gpu08 gpu09 gpu10 gpu11":            "gpu[08-11]",
		"gpu8 gpu9 gpu10":                    "gpu[8-10]",
		"gpu9 gpu010 gpu11":                  "gpu[9,010,11]",
		"a1 a2 b1 b2":                        "a[1-2] b[1-2]",
		"p1-l1 p1-l2 p2-l1 p2-l2":            "p[1-2]-l[1-2]",
		"p1-l1 p1-l2 p2-l1":                  "p1-l[1-2] p2-l1",
		"Ethernet1/1 Ethernet2/1":            "Ethernet[1-2]/1",
		"x1234567890 x1234567891":            "x1234567890 x1234567891", // too large for a range
		"a b":                                "a b",
		"x[1-2]":                             "x[1-2]", // kept even if invalid: the loader checks it
		"eth0 eth1 eth5 eth6 eth7 eth20 lo0": "eth[0-1,5-7,20] lo0",
	} {
		if got := strings.Join(foldNames(strings.Fields(list)), " "); got != want {
			t.Errorf("%s folds to %s, want %s", list, got, want)
		}
	}
}

func TestFoldRowsKeepsStep(t *testing.T) {
	for _, c := range []struct {
		rows []row
		want string
	}{
		{[]row{{"a1", []string{"192.0.2.1:80"}}, {"a2", []string{"192.0.2.2:80"}}}, "a[1-2]=192.0.2.[1-2]:80"},
		{[]row{{"a1", []string{"192.0.2.1:80"}}, {"a2", []string{"192.0.2.9:80"}}, {"a3", []string{"192.0.2.5:80"}}}, "a[1-3]=192.0.2.[1,9,5]:80"},
		{[]row{{"a1", []string{"192.0.2.1:80"}}, {"a2", []string{"192.0.3.2:80"}}}, "a1=192.0.2.1:80 a2=192.0.3.2:80"},
		{[]row{{"a1", []string{""}}, {"a2", []string{""}}}, "a[1-2]="},
		{[]row{{"a1", []string{"x:1"}}, {"a2", []string{""}}}, "a1=x:1 a2="},
		// IPv6 brackets cannot be mixed with ranges.
		{[]row{{"a1", []string{"[2001:db8::1]:80"}}, {"a2", []string{"[2001:db8::2]:80"}}}, "a1=[2001:db8::1]:80 a2=[2001:db8::2]:80"},
	} {
		var got []string
		for _, f := range foldRows(c.rows) {
			got = append(got, f.name+"="+f.steps[0])
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%v folds to %s, want %s", c.rows, s, c.want)
		}
	}
}

// A long unordered list of numbers is split into keys of a length that YAML accepts.
func TestFoldIsBounded(t *testing.T) {
	var names []string
	for i := range 2000 {
		names = append(names, "Ethernet"+strings.Repeat("7", i%5+1)+string(rune('0'+i%10))+"/"+string(rune('0'+(i*i)%7)))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var back []string
	for _, p := range foldNames(names) {
		if len(p) > 1000 {
			t.Errorf("a key of %d characters", len(p))
		}
		l, err := intent.Expand(p)
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, l...)
	}
	if !slices.Equal(natural.Sorted(back), natural.Sorted(names)) {
		t.Error("the names do not come back")
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"leaf1 leaf2", "a01 a02 a3", "[1] [2]", "p1q1 p1q2 p2q1 p2q2", "1 2 3", "a-1 a-2", "é1 é2", "x[1 x[2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list := strings.Fields(s)
		if p, ok := fold(list); ok {
			if back, err := intent.Expand(p); err != nil || !slices.Equal(back, list) {
				t.Errorf("%q folds to %q, which is %q", list, p, back)
			}
		}
		total := 0
		var rows []row
		for _, n := range list {
			rows = append(rows, row{name: n})
		}
		for _, f := range foldRows(rows) {
			total += len(f.rows)
		}
		if total != len(list) {
			t.Errorf("%d names have become %d", len(list), total)
		}
	})
}

// Text that YAML would read as something else is quoted. Characters that YAML rejects or treats
// as line breaks are replaced.
func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"leaf1": "leaf1", "On": `"On"`, "7": `"7"`, "a b": `"a b"`, `a"b\`: `"a\"b\\"`,
		"a\x1f ": `"a? "`, "a\x7e\x7f": "\"a\x7e?\"", "\u0080\u009f\u00a0": "\"??\u00a0\"",
		"\u2027\u2028\u2029\u202a": "\"\u2027??\u202a\"", "\ufefe\ufeff\ufffc\ufffd": "\"\ufefe?\ufffc?\"", "\ufffe\uffff\U00010000": "\"\ufffe\uffff?\"",
	} {
		if got := quoted(in); got != want {
			t.Errorf("%q is written %q, want %q", in, got, want)
		}
	}
}

// The RDMA MTU is the largest whose packets fit, including their headers.
func TestRDMAMTU(t *testing.T) {
	for host, want := range map[int]int{9000: 4096, 4192: 4096, 4191: 2048, 2144: 2048, 2143: 1024, 1120: 1024, 1119: 512, 608: 512, 607: 256} {
		if got := rdmaMTU(host); got != want {
			t.Errorf("a host MTU of %d has an RDMA MTU of %d, want %d", host, got, want)
		}
	}
}
