package words

import "testing"

func TestCounts(t *testing.T) {
	for got, want := range map[string]string{
		Count(0, "port"): "0 ports", Count(1, "port"): "1 port", Plural(2, "switch", "switches"): "2 switches",
		Are(1, "device"): "1 device is", Are(2, "device"): "2 devices are",
		Some(nil, 2): "", Some([]string{"a", "b", "c"}, 2): "a, b, c", Some([]string{"a", "b", "c", "d"}, 2): "a, b and 2 more",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		limit int
		want  int
	}{
		{"", "", 3, 0}, {"clases", "classes", 3, 1}, {"swtiches", "switches", 3, 1}, {"abc", "xyz", 5, 3},
		{"abc", "xyz", 1, 2}, {"a", "abcdef", 2, 3}, {"kitten", "sitting", 9, 3},
	} {
		if got := Distance(c.a, c.b, c.limit); got != c.want {
			t.Errorf("%q to %q is %d, want %d", c.a, c.b, got, c.want)
		}
		if got := Distance(c.b, c.a, c.limit); got != c.want {
			t.Errorf("%q to %q is %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
