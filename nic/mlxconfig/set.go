package mlxconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// settable matches what may follow the "=" of an argument.
var settable = lazyre.New(`^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$`)

// refused lists settings for which the tool asks a question, which -y would answer without anyone
// reading it.
var refused = map[string]string{
	// "...you will invalidate any warranty" (mlxcfg_ui.cpp).
	"DISABLE_SLOT_POWER_LIMITER": "it lifts the power limit of the slot and voids the warranty: set it by hand",
}

// Set stores the changes of kind [Program], and only those, for the next boot, in one call of the
// tool. It does not reset the card; the new values take effect after a reset.
//
// It reads the card first. If the value for the next boot is neither the one in the plan nor the
// wanted one, it returns ErrStale and writes nothing; values that are already set are not written
// again. Then it writes, and reads the card again: the result is derived from what it reads,
// whatever the tool reported. ErrRejected means that the values for the next boot are unchanged.
// ErrPartial means that some changes are stored, because the card stores settings in groups, or
// that it could not be read which ones are. written holds the stored changes.
//
// If ctx ends, Set stops before it writes. Once begun, the write and the read after it run to
// completion, limited to minutes, because an interrupted firmware write leaves the card locked.
func (t *Tool) Set(ctx context.Context, dev string, changes []Change) (written []Change, err error) {
	todo := slices.DeleteFunc(slices.Clone(changes), func(ch Change) bool { return ch.Kind != Program })
	if dev, err = Device(dev); err != nil {
		return nil, err
	}
	if err := checkSettable(todo); err != nil {
		return nil, fmt.Errorf("%s: %w", dev, err)
	}
	if len(todo) == 0 {
		return nil, nil
	}
	before, err := t.Query(ctx, dev)
	if err != nil {
		return nil, fmt.Errorf("nothing was written: %w", err)
	}
	if todo, err = stillNeeded(before, todo); err != nil {
		return nil, fmt.Errorf("%s: nothing was written: %w", dev, err)
	}
	if len(todo) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: nothing was written: %w", dev, err)
	}
	ctx = context.WithoutCancel(ctx)
	args := []string{"-d", dev, "-y", "set"}
	for _, ch := range todo {
		args = append(args, ch.Name+"="+ch.Want.argument())
	}
	res, failed := t.call(ctx, setTimeout, t.Name, args...)
	if errors.Is(failed, runner.ErrNotFound) {
		return nil, fmt.Errorf("%s: nothing was written: %w", dev, failed)
	}
	if failed == nil && res.Code != 0 {
		failed = failure(t.Name, "set", res)
	}
	if written, err = t.readBack(ctx, dev, todo, failed); err != nil {
		err = fmt.Errorf("%s: %w", dev, err)
	}
	return written, err
}

// checkSettable rejects changes that must not be passed to the tool.
func checkSettable(todo []Change) error {
	seen := map[string]bool{}
	for _, ch := range todo {
		why, no := refused[ch.Name]
		switch {
		case no:
			return fmt.Errorf("%s: %w: %s", ch.Name, ErrUnsupported, why)
		case !paramName.MatchString(ch.Name), !settable.MatchString(ch.Want.argument()), !ch.Want.Known():
			return fmt.Errorf("%q = %q: %w: not a setting", word(ch.Name), word(ch.Want.String()), ErrUnsupported)
		case seen[ch.Name]:
			return fmt.Errorf("%s: %w: wanted twice", ch.Name, ErrUnsupported)
		}
		seen[ch.Name] = true
	}
	return nil
}

// stillNeeded returns the changes that still have to be made on a card.
func stillNeeded(cfg *Config, todo []Change) ([]Change, error) {
	var out []Change
	for _, ch := range todo {
		now := compare(cfg, ch.Name, ch.Want)
		switch {
		case now == nil || now.Kind == ResetPending || now.Kind == unconfirmed:
		case now.Kind != Program:
			return nil, fmt.Errorf("%s: %w: %s", ch.Name, ErrUnsupported, now.Why)
		case !now.Next.Same(ch.Next):
			return nil, fmt.Errorf("%s: %w: the next boot was %s and is %s", ch.Name, ErrStale, ch.Next, now.Next)
		default:
			out = append(out, *now)
		}
	}
	return out, nil
}

// readBack determines the result of changes; failed is the error that the tool returned.
func (t *Tool) readBack(ctx context.Context, dev string, todo []Change, failed error) (written []Change, err error) {
	after, err := t.query(ctx, dev)
	if err != nil {
		return nil, fmt.Errorf("%w: the card could not be read after the write: %w", ErrPartial, errors.Join(err, failed))
	}
	var not, unknown []string
	moved := false
	for _, ch := range todo {
		p := after.Params[ch.Name]
		switch {
		case p.Next.Same(ch.Want):
			ch.Current, ch.Next = p.Current, p.Next
			written = append(written, ch)
		case !p.Next.Known():
			unknown = append(unknown, ch.Name)
		default:
			moved = moved || !p.Next.Same(ch.Next)
			not = append(not, fmt.Sprintf("%s is %s and not %s", ch.Name, p.Next, ch.Want))
		}
	}
	if len(not)+len(unknown) == 0 {
		return written, nil // regardless of what the tool reported
	}
	verdict := ErrRejected
	if len(written) > 0 || len(unknown) > 0 || moved {
		verdict = ErrPartial
	}
	why := "at the next boot " + strings.Join(not, ", ")
	if len(not) == 0 {
		why = "the next boot of " + strings.Join(unknown, ", ") + " could not be read"
	} else if len(unknown) > 0 {
		why += "; of " + strings.Join(unknown, ", ") + " it could not be read"
	}
	if failed == nil {
		return written, fmt.Errorf("%w: %s, though %s reported success", verdict, why, t.Name)
	}
	return written, fmt.Errorf("%w: %s: %w", verdict, why, failed)
}
