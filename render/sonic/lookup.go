package sonic

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// The bounds of a lookup table. Published tables have at most 42 rows.
const (
	MaxLookup     = 1 << 20 // bytes
	maxLookupRows = 4096
)

// LookupRow is a row of pg_profile_lookup.ini, the table that gives buffermgrd the headroom of
// lossless groups in the traditional buffer model.
type LookupRow struct {
	qos.HeadroomRow
	// HasOffset is set if the row has an xon_offset, which may be 0.
	HasOffset bool
}

var (
	lookupSpeed = lazyre.New(`^[1-9][0-9]{0,7}$`)
	lookupCable = lazyre.New(`^(0|[1-9][0-9]{0,6})m$`)
)

// ParseLookup reads a pg_profile_lookup.ini like buffermgrd: words separated by white space, with
// "#" at the start of a line for a comment. The columns are speed (Mb/s), cable, size, xon, xoff,
// threshold and, in some tables, xon_offset (bytes); further words are ignored. If two rows have
// the same speed and cable, the later one counts (sonic-swss:cfgmgr/buffermgr.cpp,
// readPgProfileLookupFile). Malformed rows are skipped and reported in the error, by line. The
// result has the order of the text. Static is not set: it depends on the mode of the pool.
func ParseLookup(text []byte) (rows []LookupRow, err error) {
	if len(text) > MaxLookup {
		return nil, fmt.Errorf("more than %d bytes", MaxLookup)
	}
	type key struct {
		speed units.Rate
		cable units.Length
	}
	at := map[key]int{}
	var faults []error
	no := 0
	for line := range bytes.Lines(text) {
		no++
		if line[0] == '#' {
			continue
		}
		words := strings.Fields(string(line))
		if len(words) == 0 {
			continue
		}
		row, fault := lookupRow(words)
		if fault == nil && len(rows) == maxLookupRows {
			fault = fmt.Errorf("more than %d rows", maxLookupRows)
		}
		if fault != nil {
			if faults = append(faults, fmt.Errorf("line %d: %w", no, fault)); len(faults) == 8 {
				break
			}
			continue
		}
		k := key{row.Speed, row.Cable}
		if i, twice := at[k]; twice {
			rows[i] = row
			continue
		}
		at[k] = len(rows)
		rows = append(rows, row)
	}
	return slices.Clip(rows), errors.Join(faults...)
}

func lookupRow(words []string) (LookupRow, error) {
	const columns = 6
	if len(words) < columns {
		return LookupRow{}, fmt.Errorf("%d columns, not %d or %d", len(words), columns, columns+1)
	}
	// The switch compares text: it does not find "05m".
	if !lookupSpeed.MatchString(words[0]) || !lookupCable.MatchString(words[1]) {
		return LookupRow{}, fmt.Errorf("%q and %q are not a speed in Mb/s and a cable length", brief(words[0]), brief(words[1]))
	}
	mbps, _ := strconv.ParseInt(words[0], 10, 64)
	metres, _ := strconv.ParseInt(strings.TrimSuffix(words[1], "m"), 10, 64)
	row := LookupRow{HeadroomRow: qos.HeadroomRow{Speed: units.Rate(mbps * 1e6), Cable: units.Length(metres)}, HasOffset: len(words) > columns}
	for i, field := range []*int64{&row.Size, &row.XON, &row.XOFF, &row.Threshold, &row.XONOffset} {
		if 2+i == len(words) {
			break
		}
		const most = 1 << 40
		n, err := strconv.ParseInt(words[2+i], 10, 64)
		if err != nil || n > most || n < 0 && field != &row.Threshold || n < -most {
			return LookupRow{}, fmt.Errorf("%q is not a number of bytes", brief(words[2+i]))
		}
		*field = n
	}
	return row, nil
}
