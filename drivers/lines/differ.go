package lines

import (
	"github.com/roce-fabric/roce-fabric/drivers"
	native "github.com/roce-fabric/roce-fabric/render/lines"
)

// Differences returns the parts of the configuration that a plan changes, before and after.
func (m *Machine) Differences(s *drivers.Snapshot, st *drivers.Steps) (before, after string, err error) {
	if len(st.Items) == 0 {
		return "", "", nil
	}
	edit, err := m.edit(st.Items, nil)
	if err != nil {
		return "", "", err
	}
	cfg, _ := m.Held(s)
	before, after = native.Compared(cfg, edit.Apply(cfg))
	return before, after, nil
}
