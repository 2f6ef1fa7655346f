package intent

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkLoad loads 1,000 switches with 64 ports each, with one line per link and with ranges.
func BenchmarkLoad(b *testing.B) {
	var long strings.Builder
	long.WriteString(good + "switches:\n")
	for i := range 1000 {
		fmt.Fprintf(&long, "  s%d: {os: sonic, role: leaf, address: 10.0.%d.%d:8080}\n", i, i/250, i%250+1)
	}
	long.WriteString("links:\n")
	for i := range 500 {
		for p := range 64 {
			fmt.Fprintf(&long, "  - {a: s%d/Ethernet%d, b: s%d/Ethernet%d, cable: 5m, speed: 400G}\n", i, p*8, i+500, p*8)
		}
	}
	short := good + "switches: {\"s[0-999]\": {os: sonic, role: leaf}}\n" +
		"links: [{a: \"s[0-499]/Ethernet[0-504:8]\", b: \"s[500-999]/Ethernet[0-504:8]\", cable: 5m, speed: 400G}]\n"
	for name, text := range map[string]string{"written-out": long.String(), "ranges": short} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				f, err := Load("-", Options{Stdin: strings.NewReader(text)})
				if err != nil {
					b.Fatal(err)
				}
				if len(f.Links) != 32000 || len(f.Switches[999].Ports) != 64 {
					b.Fatal("not the fabric")
				}
			}
		})
	}
}
