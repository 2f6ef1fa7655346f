package mlxconfig

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

// Levels of mlxfwreset that load settings (Mellanox/mstflint,
// small_utils/mlxfwresetlib/cmd_reg_mfrl.py). Level 0 patches the running firmware, and level 1
// resets the CPU of a BlueField.
const (
	levelPCI    = 3 // stops the driver, resets the card, starts the driver
	levelReboot = 4 // makes the card reset with the following reboot of the host
)

// Time limits for mlxfwreset. A BlueField takes minutes to reset (mstfwreset.py).
const (
	waysTimeout  = time.Minute
	resetTimeout = 10 * time.Minute
)

// Way is a method of resetting a card: mlxfwreset at a level or, with level 0, a plain reboot of
// the host.
type Way struct {
	Level int `json:"level,omitempty"`
	Type  int `json:"type,omitempty"` // reset type of mlxfwreset
}

// Reboots reports whether the host reboots with the reset.
func (w Way) Reboots() bool { return w.Level != levelPCI }

// Command returns the command that a Way runs on a card, for display.
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

// Way returns how to reset the card that was read as cfg: with the tool and without a reboot if
// possible, or else with a reboot that loads the settings of such a card. It returns ErrUnsupported
// if neither works. dev is a PCI address, because mlxfwreset accepts no fwctl device. lockedDown
// says that the kernel blocks access to the card's configuration space, without which the tool
// cannot reset the card.
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
	return Way{}, fmt.Errorf("%w: %s: %s cannot reset this card, not even with a reboot", ErrUnsupported, cfg.reset(), t.resetter())
}

// wayRow matches a row of the tool's tables: "3: Driver restart and PCI reset  -Supported
// (default)". The description may contain dashes.
var wayRow = lazyre.New(`^([0-9]): .*-(Supported|Not [Ss]upported) *(\(default\))?$`)

// ways queries the levels at which the tool can reset a card now, and the default type.
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
			n, _ := strconv.Atoi(m[1]) // a single digit
			levels[n] = true
		case of == "Reset-types" && m[3] != "":
			typ, _ = strconv.Atoi(m[1])
			types++
		}
	}
	if len(levels) == 0 || types != 1 {
		return nil, 0, fmt.Errorf("%s query: %w: it contains no reset levels or no default type", t.resetter(), ErrOutput)
	}
	return levels, typ, nil
}

// Reset resets a card with the tool; the caller handles a Way without a level. The reset interrupts
// everything that uses the card. Once begun, it continues when ctx ends, because an interrupted
// reset leaves the driver stopped.
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
