package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet/importer"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// Judged summarizes a saved configuration that was checked.
type Judged struct {
	Name, OS, File string
	Ports          int
	// Lossless is the number of ports with PFC, Paused the priorities with PFC on any port.
	Lossless int
	Paused   qos.PrioritySet
	// Lines is the number of QoS lines, Unknown the number of those not understood.
	Lines, Unknown int
	// Doubt explains why the file may be from another operating system; "" if there is no doubt.
	Doubt string
}

// String returns the summary in one line, such as "leaf1.cfg: eos, 32 ports, 28 lossless
// for priorities {3}, 4 of 212 QoS lines not understood".
func (j Judged) String() string {
	text := fmt.Sprintf("%s: %s, %s", j.File, j.OS, words.Count(j.Ports, "port"))
	if j.Lossless == 0 {
		text += ", none lossless"
	} else {
		text += fmt.Sprintf(", %d lossless for priorities %s", j.Lossless, j.Paused)
	}
	switch {
	case j.Lines == 0:
		return text
	case j.Unknown > 0:
		return fmt.Sprintf("%s, %d of %s not understood", text, j.Unknown, words.Count(j.Lines, "QoS line"))
	}
	return fmt.Sprintf("%s, %s understood", text, words.Count(j.Lines, "QoS line"))
}

// CheckSaved checks saved configurations by themselves, without an intent. Each argument is
// FILE, NAME=FILE or NAME:OS=FILE. Without NAME, the switch gets the host name in the
// configuration, or else the name of the file. CheckSaved returns an [*OptionError] if an
// argument or its file is wrong.
func CheckSaved(ctx context.Context, args []string) ([]checks.Finding, []Judged, error) {
	var cs []validate.Config
	var looked []Judged
	taken := map[string]bool{}
	for _, arg := range args {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		src := Source{File: arg}
		if strings.Contains(arg, "=") {
			var err error
			if src, err = importer.ParseSource(arg); err != nil {
				return nil, nil, err
			}
		}
		c, j, err := checkSource(ctx, src)
		if err != nil {
			return nil, nil, err
		}
		if taken[c.Name] && src.Name == "" {
			c.Name = src.File // two configurations have the same host name
		}
		if taken[c.Name] {
			return nil, nil, Wrong("config", "", "%s is named twice", c.Name)
		}
		taken[c.Name], j.Name = true, c.Name
		cs, looked = append(cs, c), append(looked, j)
	}
	return validate.Alone(cs), looked, nil
}

// checkSource reads and summarizes one configuration.
func checkSource(ctx context.Context, src Source) (c validate.Config, j Judged, err error) {
	named := src.Name != ""
	if !named {
		src.Name = strings.TrimSuffix(filepath.Base(src.File), filepath.Ext(src.File))
	}
	got, err := src.ReadFile(ctx)
	if err != nil {
		if wrong := (*OptionError)(nil); !errors.As(err, &wrong) {
			err = &OptionError{Option: "config", Err: err}
		}
		return c, j, err
	}
	if !named {
		src.Name = cmp.Or(got.Running.Name, src.Name)
	}
	c = validate.Config{Name: src.Name, File: src.File, Text: got.Text, Running: got.Running, Account: got.Account.Lines}
	j = Judged{OS: got.OS, File: src.File, Ports: len(c.Running.Ports), Lines: len(c.Account), Doubt: got.Doubt}
	for _, p := range c.Running.Ports {
		if set := p.PFC.Or(0); set != 0 {
			j.Lossless++
			j.Paused |= set
		}
	}
	for i := range c.Account {
		if c.Account[i].Fate == render.Unknown {
			j.Unknown++
		}
	}
	return c, j, nil
}
