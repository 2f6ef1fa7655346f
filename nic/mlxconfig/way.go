package mlxconfig

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// The levels of mlxfwreset that load settings (Mellanox/mstflint,
// small_utils/mlxfwresetlib/cmd_reg_mfrl.py). 0 patches the running firmware, and 1
// resets the own CPU of a BlueField.
const (
	levelPCI    = 3 // the driver is stopped, the card reset, the driver started
	levelReboot = 4 // the card is told to reset with the reboot of the host that follows
)

// The deadlines of mlxfwreset. A BlueField takes minutes to reset (mstfwreset.py).
const (
	waysTimeout  = time.Minute
	resetTimeout = 10 * time.Minute
)

// Way is how a card is reset: by mlxfwreset at a level, or with level 0 by a reboot of
// the host alone.
type Way struct {
	Level int `json:"level,omitempty"`
	Type  int `json:"type,omitempty"` // of mlxfwreset
}

// Reboots reports whether the host starts again with the card.
func (w Way) Reboots() bool { return w.Level != levelPCI }

// Command is what a Way runs on a card, for people.
func (t *Tool) Command(dev string, w Way) string {
	if w.Level == 0 {
		return "systemctl reboot"
	}
	return t.resetter() + " " + strings.Join(w.args(dev), " ")
}

func (t *Tool) resetter() string { return strings.Replace(t.Name, "config", "fwreset", 1) }

func (w Way) args(dev string) []string {
	return []string{"-d", dev, "-y", "-l", strconv.Itoa(w.Level), "-t", strconv.Itoa(w.Type), "reset"}
}

// Way returns how a card is reset that was read as cfg: by the tool without a reboot where
// it can, else by the reboot that loads the settings of such a card. ErrUnsupported says
// that neither does. dev is a PCI address: mlxfwreset takes no fwctl device. lockedDown
// says that the kernel closes the card's configuration space, without which the tool
// resets nothing.
func (t *Tool) Way(ctx context.Context, dev string, cfg *Config, lockedDown bool) (Way, error) {
	levels, typ, err := map[int]bool(nil), 0, fmt.Errorf("%w: the kernel is locked down", ErrAccess)
	if !lockedDown {
		levels, typ, err = t.ways(ctx, dev)
	}
	switch {
	case ctx.Err() != nil:
		return Way{}, ctx.Err()
	case levels[levelPCI]:
		return Way{levelPCI, typ}, nil
	case warmReboot[cfg.Type]:
		return Way{}, nil
	case levels[levelReboot]:
		return Way{levelReboot, typ}, nil
	case err != nil:
		return Way{}, fmt.Errorf("%w: %s: %w", ErrUnsupported, cfg.reset(), err)
	}
	return Way{}, fmt.Errorf("%w: %s: %s resets this card neither by itself nor with a reboot", ErrUnsupported, cfg.reset(), t.resetter())
}

// wayRow is a row of the tool's tables: "3: Driver restart and PCI reset  -Supported
// (default)". Its description may hold dashes.
var wayRow = lazyre.New(`^([0-9]): .*-(Supported|Not [Ss]upported) *(\(default\))?$`)

// ways asks the tool for the levels that it can reset a card with now, and the type that
// it would take.
func (t *Tool) ways(ctx context.Context, dev string) (levels map[int]bool, typ int, err error) {
	res, err := t.call(ctx, waysTimeout, t.resetter(), "-d", dev, "query")
	if err == nil && res.Code != 0 {
		err = failure(t.resetter(), "query", res)
	}
	if err != nil {
		return nil, 0, err
	}
	levels = map[int]bool{}
	of, types := "", 0
	for _, line := range res.Lines() {
		line = strings.TrimSpace(line)
		m := wayRow.FindStringSubmatch(line)
		switch {
		case m == nil && strings.HasSuffix(line, ":"):
			of, _, _ = strings.Cut(strings.TrimSuffix(line, ":"), " ")
		case m == nil || m[2] != "Supported":
		case of == "Reset-levels":
			n, _ := strconv.Atoi(m[1]) // a digit
			levels[n] = true
		case of == "Reset-types" && m[3] != "":
			typ, _ = strconv.Atoi(m[1])
			types++
		}
	}
	if len(levels) == 0 || types != 1 {
		return nil, 0, fmt.Errorf("%s query: %w: no levels and default type in it", t.resetter(), ErrOutput)
	}
	return levels, typ, nil
}

// Reset resets a card with the tool; a Way without a level is the caller's work. It stops
// what uses the card. Once begun it goes on when ctx ends: a reset that is cut off leaves
// the driver stopped.
func (t *Tool) Reset(ctx context.Context, dev string, w Way) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	res, err := t.call(context.WithoutCancel(ctx), resetTimeout, t.resetter(), w.args(dev)...)
	if err == nil && res.Code != 0 {
		err = failure(t.resetter(), "reset", res)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", dev, err)
	}
	return nil
}
