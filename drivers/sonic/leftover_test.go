package sonic

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// The IDs of the interrupted run and of the next one.
const (
	firstRun  = "20261125-100000000-ab12"
	secondRun = "20261125-110000000-cd34"
)

// litter puts files on the switch: files of a run that was interrupted long ago, and files of
// others. It returns the latter, which must stay.
func (b *box) litter() (theirs []string) {
	b.t.Helper()
	old := strings.Repeat("A", 26) + ".json"
	foreign := "/tmp/roce-fabric-" + strings.Repeat("B", 26) + ".json"
	b.WriteFile(foreign, []byte("{}")) // of another account
	theirs = []string{foreign, "/tmp/notes.json"}
	for _, name := range []string{"notes", "RUN", strings.Repeat("A", 27), strings.Repeat("a", 26)} {
		theirs = append(theirs, "/tmp/roce-fabric-"+name+".json")
	}
	d := b.open()
	run := func(cmd string) {
		b.t.Helper()
		if err := d.command(b.t.Context(), cmd); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, f := range append(theirs[1:], "/tmp/roce-fabric-"+old) {
		run("cat > " + f)
	}
	for _, name := range []string{"nightly", "roce-fabric-before", "roce-fabric-1", "roce-fabric-20261301-000000000-ab12"} {
		run("sudo config checkpoint " + name)
		theirs = append(theirs, checkpointDir+name+".cp.json")
	}
	run("sudo config checkpoint roce-fabric-20261124-090000000-ff00")
	slices.Sort(theirs)
	return theirs
}

// leftoverWays lists the transports that leave something behind: an upload, or a checkpoint.
var leftoverWays = []leftoverWay{
	{"direct", uploadDir, intent.WriteDirect},
	{"gnmi", checkpointDir, intent.WriteGNMI},
}

type leftoverWay struct {
	name, leaves string
	write        intent.Write
}

func (w leftoverWay) box(t *testing.T) *box {
	b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
	b.target.Write = w.write
	return b
}

// An interrupted run leaves an upload or a checkpoint, and its mark. The next run on the switch
// removes them, whether it resumes, rolls back or has nothing to write. It does not touch files of
// others.
func TestNextRunRemovesWhatACutOffRunLeft(t *testing.T) {
	for _, way := range leftoverWays {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			var n int
			synctest.Test(t, func(t *testing.T) { n, _ = way.cutOff(way.box(t), 0) })
			points := min(n, sharedtest.Sized(4, n))
			if points == 0 {
				t.Fatal("there is never anything to leave")
			}
			for i := range points {
				at := 1 + i*n/points
				t.Run(fmt.Sprint(at), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						b := way.box(t)
						theirs := b.litter()
						_, tok := way.cutOff(b, at)
						if len(b.Files()) < len(theirs)+3 { // an old upload and an old checkpoint, and a current one
							t.Fatalf("the run is not cut off, or leaves nothing: %q", b.Files())
						}
						d := b.open()
						d.Inherit([]string{firstRun})
						d.Resume(drivers.Leftover{Run: firstRun})
						next := b.onward
						if i%2 > 0 {
							next = func(d *driver) error { return d.Revert(t.Context(), tok) }
						}
						if err := next(d); err != nil {
							t.Fatal(err)
						}
						if files := b.Files(); !slices.Equal(files, theirs) {
							t.Errorf("in the end:\n%q, want\n%q", files, theirs)
						}
					})
				})
			}
		})
	}
}

// cutOff kills a run at the given moment, counted among the moments at which the switch holds
// something of the run, and returns how many there were.
func (w leftoverWay) cutOff(b *box, at int) (n int, tok *drivers.Token) {
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	before := b.Files()
	var moments atomic.Int32
	d := b.open()
	snap, st := b.plan(d)
	b.Faults().OnEvent(func(simsonic.Event) {
		left := func(f string) bool { return strings.HasPrefix(f, w.leaves) && !slices.Contains(before, f) }
		if slices.ContainsFunc(b.Files(), left) && int(moments.Add(1)) == at {
			b.Faults().RefuseConnections(true)
			cancel()
		}
	})
	_, err := d.Apply(ctx, snap, st, drivers.ApplyOptions{ID: firstRun, Token: func(made *drivers.Token) error { tok = made; return nil }})
	if err == nil {
		err = d.Confirm(ctx, tok)
	}
	if at == 0 && (err != nil || len(b.Files()) > 0) {
		b.t.Fatalf("a whole run: %v, leaves %q", err, b.Files())
	}
	_ = d.Close() // the connection may already be broken
	b.Faults().Clear()
	return int(moments.Load()), tok
}

// onward applies the desired state, like an apply after an interrupted run.
func (b *box) onward(d *driver) error {
	ctx := b.t.Context()
	if err := d.Settle(ctx); err != nil {
		return err
	}
	snap, st := b.plan(d)
	d.Digest(snap, b.desired)
	if len(st.Items) == 0 {
		_, err := d.Keep(ctx)
		return err
	}
	tok, err := d.Apply(ctx, snap, st, drivers.ApplyOptions{ID: secondRun})
	if err != nil {
		return err
	}
	return d.Confirm(ctx, tok)
}

// A load whose client disconnects leaves no file; a load that never started does.
func TestLoadRemovesItsFile(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(*simsonic.Faults)
		left  bool
	}{
		"after":   {(*simsonic.Faults).DropAfterWrite, false},
		"refused": {func(f *simsonic.Faults) { f.FailAt(0) }, false},
		"before":  {(*simsonic.Faults).DropBeforeWrite, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{model: known, release: "202511", direct: true})
				d := b.open()
				snap, st := b.plan(d)
				c.fault(b.Faults())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b.Faults().OnEvent(func(e simsonic.Event) {
					if b.Loads() > 0 {
						cancel()
					}
				})
				if _, err := d.Apply(ctx, snap, st, drivers.ApplyOptions{ID: firstRun}); err == nil {
					t.Fatal("the run is not cut off")
				}
				// The switch may still be finishing the command.
				ok, _ := drivers.Poll(t.Context(), time.Millisecond, 10*time.Second, func() (bool, error) {
					return slices.ContainsFunc(b.Files(), uploadFile.MatchString) == c.left, nil
				})
				if !ok {
					t.Errorf("files %q", b.Files())
				}
			})
		})
	}
}

// Without its own mark, a run removes nothing, because another run may be active.
func TestFilesOfALiveRunStay(t *testing.T) {
	for _, way := range leftoverWays {
		for _, marked := range []bool{true, false} {
			t.Run(fmt.Sprint(way.name, " marked ", marked), func(t *testing.T) {
				b := way.box(t)
				d, other := b.open(), b.open()
				tok, _ := b.apply(d)
				theirs := b.litter()
				cmd := "sudo rm -f " + markFile
				if marked {
					cmd += "; sudo ln -sT -- " + quote(mark.New("theirs").Text()) + " " + markFile
				}
				if err := other.command(t.Context(), cmd); err != nil {
					t.Fatal(err)
				}
				live := slices.DeleteFunc(b.Files(), func(f string) bool { return strings.Contains(f, "roce-fabric-test") }) // the checkpoint of this run
				if err := d.Confirm(t.Context(), tok); err != nil {
					t.Fatal(err)
				}
				if files := b.Files(); !slices.Equal(files, live) {
					t.Errorf("confirmed, it leaves\n%q, want\n%q", files, live)
				}
				if !marked { // no run is active
					live = theirs
				}
				other.Resume(drivers.Leftover{Run: firstRun})
				if _, err := other.Keep(t.Context()); err != nil {
					t.Fatal(err)
				}
				if files := b.Files(); !slices.Equal(files, live) {
					t.Errorf("with nothing to write, it leaves\n%q, want\n%q", files, live)
				}
			})
		}
	}
}
