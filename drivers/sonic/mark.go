package sonic

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/internal/mark"
)

// markFile is the mark of a run on the switch. It is a dangling symbolic link, because a link is
// created atomically with its whole text.
const markFile = "/run/" + mark.Name

const (
	// markLife is far longer than the time between two steps of a run, or between the last step and
	// the confirmation, not counting the gate.
	markLife = 2 * time.Hour
	// markMost is the longest life that is accepted from a mark.
	markMost = 24 * time.Hour
	// markEvery is the interval at which a run renews its mark, between steps.
	markEvery = time.Minute
	// markWait limits the time spent on a mark when the run itself is done.
	markWait = 5 * time.Second
)

// Inherit sets the runs that have ended; their marks are taken over.
func (d *driver) Inherit(runs []string) { d.ended = runs }

// hold marks the switch for a run whose confirmation may take as long as away. If the mark belongs
// to another run that may be active, the error is ErrBusy. Nothing on the switch outlives a
// command, so only the age of a mark, by the clock of the switch, shows that its run is gone. The
// note is for the user; a switch that cannot be marked is not an error.
func (d *driver) hold(ctx context.Context, run string, away time.Duration) (note string, err error) {
	if d.marked != "" {
		return "", nil
	}
	k := mark.New(run)
	k.Life = int((markLife + away).Seconds())
	text := k.Text()
	for try := range 3 {
		out, err := d.exec(ctx, "sudo ln -sT -- "+quote(text)+" "+markFile, nil)
		if err != nil {
			d.marked = text // the command may have reached the switch
			d.release(ctx)
			return "", fmt.Errorf("mark the switch: %w", err)
		}
		if out.Status == 0 {
			d.marked, d.alive = text, time.Now()
			return note, nil
		}
		seen, age, err := d.seenMark(ctx)
		if err != nil {
			return "", fmt.Errorf("read the mark of the switch: %w", err)
		}
		other := mark.Parse([]byte(seen))
		switch {
		case seen == "" && try > 0:
			return "cannot mark the switch, so a run on another machine does not notice this one: " + errorText(out), nil
		case seen == "":
			continue // it may have just been removed
		case seen == text, run != "" && other.Run == run:
			d.marked, d.alive = seen, time.Now()
			return "", nil
		case slices.Contains(d.ended, other.Run):
			note = fmt.Sprintf("took over the mark of %s, which has ended", other)
		case age > min(max(time.Duration(other.Life)*time.Second, markLife), markMost):
			note = fmt.Sprintf("took over the mark of %s, which has been silent for %s", other, drivers.Spell(age))
		default:
			return "", fmt.Errorf("%w: %s: wait until it ends, or, if it is gone, remove its mark on the switch (sudo rm %s)", drivers.ErrBusy, other, markFile)
		}
		if err := d.dropMark(ctx, seen); err != nil {
			return "", fmt.Errorf("take over the mark of the switch: %w", err)
		}
	}
	return "", fmt.Errorf("%w: its mark on the switch keeps changing (%s)", drivers.ErrBusy, markFile)
}

// seenMark returns the text of the mark, "" if there is none, and its age.
func (d *driver) seenMark(ctx context.Context) (text string, age time.Duration, err error) {
	out, err := d.exec(ctx, "date +%s; stat -c %Y "+markFile+"; readlink "+markFile, nil)
	if err != nil {
		return "", 0, err
	}
	lines := strings.SplitN(strings.TrimSpace(string(out.Stdout)), "\n", 3)
	if len(lines) < 3 || out.Status != 0 {
		return "", 0, nil
	}
	now, err1 := strconv.ParseInt(lines[0], 10, 40)
	then, err2 := strconv.ParseInt(lines[1], 10, 40)
	if err1 == nil && err2 == nil {
		age = max(0, time.Duration(now-then)*time.Second)
	}
	return lines[2], age, nil
}

// dropMark removes the mark with the given text. If two machines do so at once, one of them may
// move the other's new mark aside, and puts it back.
func (d *driver) dropMark(ctx context.Context, text string) error {
	aside := markFile + "." + rand.Text()
	if out, err := d.exec(ctx, "sudo mv -T "+markFile+" "+aside, nil); err != nil || out.Status != 0 {
		return err
	}
	out, err := d.exec(ctx, "readlink "+aside, nil)
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(out.Stdout)) == text {
		_, err = d.exec(ctx, "sudo rm -f "+aside, nil)
	} else {
		_, err = d.exec(ctx, "sudo mv -nT "+aside+" "+markFile, nil)
	}
	return err
}

// live renews the mark. A failure is ignored, because it is no reason to stop in the middle of a
// run.
func (d *driver) live(ctx context.Context) {
	if d.marked == "" || d.sh == nil || time.Since(d.alive) < markEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, markWait)
	defer cancel()
	_, _ = d.exec(ctx, "sudo touch -h "+markFile, nil)
	d.alive = time.Now()
}

// release removes the mark of this run from the switch, even if ctx has ended. A mark that stays
// expires.
func (d *driver) release(ctx context.Context) {
	text := d.marked
	if d.marked = ""; text == "" {
		return
	}
	ctx, cancel := fence.Outlive(ctx, markWait)
	defer cancel()
	if d.wakeSSH(ctx) != nil {
		return
	}
	if seen, _, err := d.seenMark(ctx); err == nil && seen == text {
		_, _ = d.exec(ctx, "sudo rm -f "+markFile, nil)
	}
}
