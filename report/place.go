package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/validate"
)

// placeForm is how a finding names a place in the intent, or, without a column, in a
// configuration; words may follow.
var placeForm = lazyre.New(`^(.+?):([0-9]{1,9})(?::([0-9]{1,9}))?(?:$|[ ,;])`)

// parsePlace reads "fabric.yaml:5:3"; ok is false for the text of a rule.
func parsePlace(where string) (pos intent.Pos, ok bool) {
	m := placeForm.FindStringSubmatch(where)
	if m == nil {
		return pos, false
	}
	line, err := strconv.Atoi(m[2])
	if err != nil || line == 0 {
		return pos, false
	}
	col, err := strconv.Atoi(cmp.Or(m[3], "1"))
	if err != nil || col == 0 {
		return pos, false
	}
	return intent.Pos{File: m[1], Line: line, Column: col}, true
}

// whereLabel says what the places of findings are: lines of the intent, or else
// the rule or the other file that a value is from.
func (r Report) whereLabel(wheres ...string) string {
	if r.Alone {
		return "in"
	}
	for _, w := range wheres {
		if pos, ok := parsePlace(w); !ok || r.Intent != nil && !slices.Contains(r.Intent.Files, pos.File) {
			return "from"
		}
	}
	return "intent"
}

// placeOf is where in the intent a finding is shown: the place that it names,
// else its device's, else the beginning of the intent. Its File is "" where the
// intent is no file.
func (r Report) placeOf(f validate.Finding) intent.Pos {
	pos, ok := parsePlace(f.Where)
	if r.Intent == nil {
		if i := slices.IndexFunc(r.Devices, func(d Device) bool { return d.Name == f.Device && d.File != "" }); !ok && i >= 0 {
			pos = intent.Pos{File: r.Devices[i].File, Line: 1, Column: 1}
		}
		return pos
	}
	if ok && slices.Contains(r.Intent.Files, pos.File) {
		return fileOnly(pos)
	}
	if sw := r.Intent.Switch(f.Device); sw != nil {
		return fileOnly(sw.Pos)
	}
	if h := r.Intent.Host(f.Device); h != nil {
		return fileOnly(h.Pos)
	}
	if len(r.Intent.Files) > 0 {
		return fileOnly(intent.Pos{File: r.Intent.Files[0], Line: 1, Column: 1})
	}
	return intent.Pos{}
}

func fileOnly(p intent.Pos) intent.Pos {
	if p.File == intent.Stdin {
		return intent.Pos{}
	}
	return p
}
