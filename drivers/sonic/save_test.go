package sonic

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// TestFullDisk: nothing is written to a switch that could not save it. If the disk is full at the
// save nevertheless, the error names the file and its state, and the save is not repeated.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", direct: true})
		d := b.open()
		b.Faults().FullDisk(true)
		if _, err := d.Ready(t.Context()); !errors.Is(err, drivers.ErrNoRoom) {
			t.Errorf("ready: %v", err)
		}
		b.Faults().FullDisk(false)
		was := b.Saved()
		tok, _ := b.apply(d)
		b.Faults().FullDisk(true)
		if err := d.Confirm(t.Context(), tok); !errors.Is(err, drivers.ErrNoRoom) || !strings.Contains(err.Error(), startupFile) {
			t.Errorf("confirmed: %v", err)
		}
		if !slices.Equal(b.Saved(), was) {
			t.Error("the startup file was touched")
		}

		// The disk fills up between the check and the save.
		b.Faults().FullDisk(false)
		b.Faults().OnEvent(func(e simsonic.Event) {
			if e == simsonic.Saving {
				b.Faults().FullDisk(true)
			}
		})
		err := d.Confirm(t.Context(), tok)
		if err == nil || !strings.Contains(err.Error(), "cut off after 4096 bytes") || !strings.HasSuffix(err.Error(), "No space left on device") || strings.Contains(err.Error(), "Traceback") {
			t.Errorf("confirmed: %v", err)
		}
		if n := len(b.Saved()); n != 4096 {
			t.Errorf("the startup file has %d bytes", n)
		}
		b.Faults().Clear()
		if err := d.Revert(t.Context(), tok); err == nil || !strings.Contains(err.Error(), "not saved again") {
			t.Errorf("reverted: %v", err)
		}
		if n := len(b.Saved()); n != 4096 {
			t.Errorf("it was saved again: %d bytes", n)
		}
		// Another run finds room, and saves.
		if err := b.open().Revert(t.Context(), tok); err != nil || !slices.Equal(b.startup(), b.state()) {
			t.Errorf("reverted: %v", err)
		}
	})
}

// TestCauseOfATraceback: the cause is in the last line.
func TestCauseOfATraceback(t *testing.T) {
	out := ssh.Result{Status: 1, Stderr: []byte("Traceback (most recent call last):\n  File \"x\", line 1\n    f()\n  File \"y\", line 2\nOSError: [Errno 28] No space left on device\n")}
	if got := failure("x", out).Error(); got != `"x" ended with status 1: OSError: [Errno 28] No space left on device` {
		t.Error(got)
	}
}
