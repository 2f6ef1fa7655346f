package openconfig

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// FuzzDecode checks that decoding any input terminates, returns no text that is unsafe to print,
// and gives the same result if a value is repeated.
func FuzzDecode(f *testing.F) {
	for i := 0; i < len(whole); i += 2 {
		f.Add(uint8(i/2), "Ethernet1/1", []byte(whole[i+1]))
	}
	f.Add(uint8(200), "Ethernet1/1", []byte(`{"interfaces":{"interface":[{"name":"e","state":{"mtu":"1"}}]}}`))
	f.Add(uint8(3), "a\x1b", []byte(`{"a:neighbor":[{"id":1,"state":{"system-name":"\u202e"}}],"b:neighbor":{}}`))
	f.Fuzz(func(t *testing.T, which uint8, key string, json []byte) {
		v := gnmi.Value{JSON: json}
		if int(which) < len(source.Paths) {
			v.Path = path(t, source.Paths[which])
			for _, e := range v.Path.Elem {
				for k := range e.Key {
					e.Key[k] = key
				}
			}
		}
		once, err := decode([]gnmi.Value{v})
		twice, err2 := decode([]gnmi.Value{v, v})
		if (err == nil) != (err2 == nil) {
			t.Fatalf("once %v, twice %v", err, err2)
		}
		if diff := cmp.Diff(once, twice); diff != "" {
			t.Error(diff)
		}
		if err != nil {
			return
		}
		for name, p := range once.Ports {
			for _, n := range append(p.Neighbors, p.Neighbors...) {
				name += n.Device + n.Port
			}
			if name == "" || term.CleanLine(name) != name && !strings.Contains(name, "  ") {
				t.Errorf("text %q", name)
			}
		}
	})
}

// BenchmarkDecode decodes the queues of a chassis that sends each leaf separately.
func BenchmarkDecode(b *testing.B) {
	var vs []gnmi.Value
	for port := range 576 {
		for queue := range 8 {
			for _, leaf := range []string{"transmit-pkts", "transmit-octets", "dropped-pkts", "dropped-octets", "ecn-marked-pkts"} {
				p := fmt.Sprintf("qos/interfaces/interface[interface-id=Ethernet%d/1]/output/queues/queue[name=%d]/state/%s", port, queue, leaf)
				vs = append(vs, gnmi.Value{Path: path(b, p), JSON: []byte(`"12345"`)})
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if o, err := decode(vs); err != nil || len(o.Ports) != 576 {
			b.Fatal(err)
		}
	}
}
