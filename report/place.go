package report

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// placeForm matches the place in a finding: file, line and, in an intent, column. More text may
// follow.
var placeForm = lazyre.New(`^(.+?):([0-9]{1,9})(?::([0-9]{1,9}))?(?:$|[ ,;])`)

// parsePlace parses "fabric.yaml:5:3"; ok is false for other text, such as a rule.
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

// whereLabel returns the label for the places of findings: "intent" for lines of the intent,
// "in" without an intent, and "from" for a rule or another file.
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

// placeOf returns the place at which a finding is shown in the intent: the place that it names,
// or that of its device, or the start of the intent. File is "" if the intent is not a file.
func (r Report) placeOf(f checks.Finding) intent.Pos {
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
