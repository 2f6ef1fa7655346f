package sonic

import (
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// The rows are taken from public tables (sonic-buildimage device/*/pg_profile_lookup.ini).
func TestParseLookupReadsATableAsTheSwitchDoes(t *testing.T) {
	rows, err := ParseLookup([]byte("# PG lossless profiles.\n# speed cable size xon xoff threshold xon_offset\n\n" +
		"   400000     40m   2540     2540    201930    -2       2540\r\n" +
		" 100000  300m  3584\t78400  198688  1\n" + // no xon_offset
		"#200000 5m 1 1 1 1\n" +
		"400000 40m 2540 2540 201931 -2 0 more words\n")) // the later row counts
	if err != nil || len(rows) != 2 {
		t.Fatalf("got %v, %v", rows, err)
	}
	want := qos.HeadroomRow{Speed: 400e9, Cable: 40, Headroom: qos.Headroom{Size: 2540, XON: 2540, XOFF: 201931, Threshold: -2}}
	if rows[0].HeadroomRow != want || !rows[0].HasOffset {
		t.Errorf("got %+v, want %+v", rows[0], want)
	}
	if r := rows[1]; r.Speed != 100e9 || r.Cable != 300 || r.XON != 78400 || r.HasOffset {
		t.Errorf("got %+v", r)
	}
}

func TestParseLookupNamesTheLinesThatItCannotRead(t *testing.T) {
	for text, want := range map[string]string{
		"400000 40m 2540 2540":             "line 1: 4 columns, not 6 or 7",
		"\n400000 40 1 2 3 4":              `line 2: "400000" and "40" are not a speed in Mb/s and a cable length`,
		"400000 05m 1 2 3 4":               "are not a speed in Mb/s and a cable length", // the switch compares text and would never find it
		"400000 5m 1 2 0x3 4":              `"0x3" is not a number of bytes`,
		"400000 5m 1 2 -3 4":               `"-3" is not a number of bytes`,
		"400000 5m 1 2 9000000000000000 4": "is not a number of bytes",
	} {
		rows, err := ParseLookup([]byte(text + "\n100000 5m 1 2 3 4\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want one with %q", text, err, want)
		}
		if len(rows) != 1 || rows[0].Speed != 100e9 {
			t.Errorf("%q: the row that can be read is lost: %v", text, rows)
		}
	}
	if _, err := ParseLookup(make([]byte, MaxLookup+1)); err == nil {
		t.Error("a table of a megabyte is read")
	}
}

func FuzzParseLookup(f *testing.F) {
	f.Add([]byte("# c\n400000 40m 2540 2540 201930 -2 2540\n"))
	f.Add([]byte("100000 300m 3584 78400 198688 1"))
	f.Add([]byte("\x00 \xff 1 2 3 4 5\r\n\n#"))
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := ParseLookup(text)
		if len(rows) > maxLookupRows || err != nil && len(err.Error()) > 8*200 {
			t.Fatalf("%d rows, error %v", len(rows), err)
		}
		seen := map[string]bool{}
		for _, r := range rows {
			k := qos.LookupKey(r.Speed, r.Cable)
			if seen[k] || r.Speed <= 0 || r.Cable < 0 || r.XOFF < 0 || !r.HasOffset && r.XONOffset != 0 {
				t.Fatalf("%q: row %+v", text, r)
			}
			seen[k] = true
		}
	})
}
