package fleet

import (
	"encoding/json"
	"fmt"

	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// maxBaseline bounds the file of a baseline: the reports of large fabrics have some
// ten megabytes.
const maxBaseline = 512 << 20

// baselineFormat is the version of a report that a baseline is read from.
const baselineFormat = 1

// baseline reads an earlier window from the JSON report of a validation; nil for no
// file. A report of another fabric, of another version, or without a window is refused.
func baseline(file, fabric string) (*gate.Result, error) {
	if file == "" {
		return nil, nil
	}
	wrong := func(format string, a ...any) error {
		return Wrong("baseline", "make one with --window 2m --report json=FILE", "%s: %w", file, fmt.Errorf(format, a...))
	}
	b, err := boundedfile.Read(file, maxBaseline)
	if err != nil {
		return nil, wrong("%w", err)
	}
	var doc struct {
		Format int              `json:"format"`
		Fabric string           `json:"fabric"`
		Window []gate.SavedPort `json:"window"`
	}
	switch err := json.Unmarshal(b, &doc); {
	case err != nil:
		return nil, wrong("not a report in JSON: %w", err)
	case doc.Format != baselineFormat:
		return nil, wrong("a report of format %d, not %d", doc.Format, baselineFormat)
	case doc.Fabric != fabric:
		return nil, wrong("a report on fabric %q, not %q", doc.Fabric, fabric)
	case len(doc.Window) == 0:
		return nil, wrong("a report without a window")
	}
	r, err := gate.Restore(doc.Window)
	if err != nil {
		return nil, wrong("%w", err)
	}
	return r, nil
}
