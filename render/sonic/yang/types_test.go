package yang

import (
	"strings"
	"testing"

	goyang "github.com/openconfig/goyang/pkg/yang"
)

// TestIntegerBounds checks the minimum and maximum of each integer type, and the values just
// outside (RFC 7950 section 9.2).
func TestIntegerBounds(t *testing.T) {
	for typ, bounds := range map[string][4]string{ // below, least, largest, above
		"int8": {"-129", "-128", "127", "128"}, "uint8": {"-1", "0", "255", "256"},
		"int16": {"-32769", "-32768", "32767", "32768"}, "uint16": {"-1", "0", "65535", "65536"},
		"int32": {"-2147483649", "-2147483648", "2147483647", "2147483648"}, "uint32": {"-1", "0", "4294967295", "4294967296"},
		"int64":  {"-9223372036854775809", "-9223372036854775808", "9223372036854775807", "9223372036854775808"},
		"uint64": {"-1", "0", "18446744073709551615", "18446744073709551616"},
	} {
		m := newModels()
		m.add("x.yang", []byte("module x { namespace n; prefix x; container x { container T { list T_LIST { key k; leaf k { type string; } leaf v { type "+typ+"; } } } } }"))
		m.index()
		for i, v := range bounds {
			valid := i == 1 || i == 2
			if vs := m.Check(config{"T": {"a": {"v": v}}}); (len(vs) == 0) != valid {
				t.Errorf("%s %s: %v, want valid %v", typ, v, vs, valid)
			}
		}
	}
}

func TestDomainName(t *testing.T) {
	label := strings.Repeat("a", 63)
	long := strings.Repeat(label+".", 3) + strings.Repeat("a", 61) // 253 characters
	for s, want := range map[string]bool{
		".": true, "a": true, "a.b": true, "A-1_b.example.": true, label: true, long: true,
		"": false, "..": false, "a..b": false, "-a": false, "a-": false, "a.-b": false, "a b": false, "ä": false, label + "a": false, long + "a": false,
	} {
		if _, err := domainName(s); (err == nil) != want {
			t.Errorf("%.20q: %v, want valid %v", s, err, want)
		}
	}
}

func TestDecimal(t *testing.T) {
	for _, tc := range []struct {
		n    goyang.Number
		fd   int
		want string
	}{
		{goyang.Number{}, 2, "0.0"}, {goyang.FromUint(5), 1, "0.5"}, {goyang.FromUint(5), 2, "0.05"}, {goyang.FromUint(50), 2, "0.5"}, {goyang.FromInt(-150), 2, "-1.5"}, {goyang.FromUint(1234), 3, "1.234"}, {goyang.FromUint(100), 2, "1.0"},
	} {
		if got := decimal(tc.n, tc.fd); got != tc.want {
			t.Errorf("%v of %d digits is %s, want %s", tc.n, tc.fd, got, tc.want)
		}
	}
}

func TestClip(t *testing.T) {
	for s, want := range map[string]string{"abcd": "abcd", "abcde": "abcd...", "äöüßx": "äöüß...", " a\n b ": "a b", "a\xff": "a?"} {
		if got := clip(s, 4); got != want {
			t.Errorf("%q is %q, not %q", s, got, want)
		}
	}
}
