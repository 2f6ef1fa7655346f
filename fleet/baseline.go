package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// maxBaseline is the maximum size of a baseline file in bytes. Reports of large fabrics
// have tens of megabytes.
const maxBaseline = 128 << 20

// baselineFormat is the report version that a baseline must have.
const baselineFormat = 1

// baseline reads an earlier window from the JSON report of a validation; it returns nil if
// file is "". It rejects a report on another fabric, of another version, or without a
// window.
func baseline(file, fabric string, window time.Duration) (*gate.Result, error) {
	if file == "" {
		return nil, nil
	}
	if window == 0 {
		return nil, Wrong("baseline", "add --window 2m", "a baseline is compared with a window, and none is asked for")
	}
	wrong := func(format string, a ...any) error {
		return Wrong("baseline", "make one with --window 2m --report json=FILE", "%s: %w", file, fmt.Errorf(format, a...))
	}
	b, err := boundedfile.Read(file, maxBaseline)
	if err != nil {
		return nil, wrong("%w", err)
	}
	r, err := decodeBaseline(b, fabric)
	if err != nil {
		return nil, wrong("%w", err)
	}
	return r, nil
}

// decodeBaseline decodes the window of a report.
func decodeBaseline(b []byte, fabric string) (*gate.Result, error) {
	var doc struct {
		Format int              `json:"format"`
		Fabric string           `json:"fabric"`
		Window []gate.SavedPort `json:"window"`
	}
	switch err := json.Unmarshal(b, &doc); {
	case err != nil:
		return nil, fmt.Errorf("not a report in JSON: %w", err)
	case doc.Format != baselineFormat:
		return nil, fmt.Errorf("a report of format %d, not %d", doc.Format, baselineFormat)
	case doc.Fabric != fabric:
		return nil, fmt.Errorf("a report on fabric %q, not %q", doc.Fabric, fabric)
	case len(doc.Window) == 0:
		return nil, errors.New("a report without a window")
	}
	return gate.Restore(doc.Window)
}
