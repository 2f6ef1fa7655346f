package sonic

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/mark"
)

// A mark blocks other runs until its run is known to have ended, or has been silent for too long.
func TestMarksOfOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		age        time.Duration
		ended      []string
		says       string // expected text of the note, or of the refusal
		refused    bool
	}{
		{name: "at work", text: `{"run":"r0","by":"ann@ci1","since":"2026-11-24T22:00:05Z"}`, age: time.Hour, says: "run r0 of ann@ci1, since 2026-11-24T22:00:05Z: wait until it ends", refused: true},
		{name: "ended", text: `{"run":"r0","by":"ann@ci1"}`, ended: []string{"r0"}, says: "took over the mark of run r0 of ann@ci1, which has ended"},
		{name: "silent", text: `{"run":"r0","by":"ann@ci1"}`, age: 3 * time.Hour, says: "took over the mark of run r0 of ann@ci1, which has been silent for 3h"},
		{name: "silent at a long gate", text: `{"run":"r0","life":14400}`, age: 3 * time.Hour, says: "run r0: wait", refused: true},
		{name: "for ever", text: `{"run":"r0","life":99999999}`, age: 25 * time.Hour, says: "took over the mark of run r0"},
		{name: "ahead of time", text: `{"run":"r0"}`, age: -time.Hour, says: "run r0", refused: true},
		{name: "hostile", text: "{\"run\":\"\\u001b[2J\\nr0\"}", says: "run r0: wait", refused: true},
		{name: "anything", text: "/etc/passwd\n\x1b[2J", says: "an unidentified run: wait", refused: true},
		{name: "the same run", text: `{"run":"r1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
				d := b.open()
				for _, cmd := range []string{"sudo ln -sT -- " + quote(c.text) + " " + markFile, fmt.Sprintf("sudo touch -h -d @%d %s", time.Now().Add(-c.age).Unix(), markFile)} {
					if err := d.command(t.Context(), cmd); err != nil {
						t.Fatal(err)
					}
				}
				d.Inherit(c.ended)
				snap, st := b.plan(d)
				was := string(b.state())
				note := ""
				tok, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "r1", Note: func(s string) { note = s }})
				if c.refused {
					if !errors.Is(err, drivers.ErrBusy) || !errors.Is(err, drivers.ErrRejected) || !strings.Contains(err.Error(), c.says) || strings.ContainsAny(err.Error(), "\n\x1b") || tok != nil {
						t.Errorf("token %v, error %q", tok, err)
					}
					if string(b.state()) != was || len(b.Files()) != 1 || len(b.Sets()) != 0 {
						t.Errorf("%d requests, files %q", len(b.Sets()), b.Files())
					}
					return
				}
				if err != nil || !strings.Contains(note, c.says) || strings.ContainsAny(note, "\n\x1b") {
					t.Fatalf("note %q, error %v", note, err)
				}
				if err := d.Confirm(t.Context(), tok); err != nil || len(b.Files()) > 0 {
					t.Errorf("%v, files %q", err, b.Files())
				}
			})
		})
	}
}

// A switch that cannot be marked is written nevertheless, and if another run has taken over the
// mark, the mark is left to it.
func TestMarkThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
		d := b.open()
		run := func(cmd string) {
			t.Helper()
			if err := d.command(t.Context(), cmd); err != nil {
				t.Fatal(err)
			}
		}
		tok, _ := b.apply(d)
		theirs := mark.New("theirs").Text()
		run("sudo rm -f " + markFile)
		run("sudo ln -sT -- " + quote(theirs) + " " + markFile)
		if err := d.Confirm(t.Context(), tok); err != nil {
			t.Error(err)
		}
		if seen, _, err := d.seenMark(t.Context()); err != nil || seen != theirs {
			t.Errorf("mark %q, %v", seen, err)
		}
		// The run that is rolled back is not the active one.
		if err := b.open().Revert(t.Context(), tok); !errors.Is(err, drivers.ErrBusy) {
			t.Errorf("revert: %v", err)
		}
		run("sudo rm -f " + markFile)
		if err := b.open().Revert(t.Context(), tok); err != nil {
			t.Error(err)
		}
		// A file blocks the creation of the link.
		run("sudo config save -y " + markFile)
		snap, st := b.plan(d)
		note := ""
		tok, err := d.Apply(t.Context(), snap, st, drivers.ApplyOptions{ID: "r1", Note: func(s string) { note = s }})
		if err != nil || !strings.Contains(note, "cannot mark the switch") || !strings.Contains(note, "File exists") {
			t.Errorf("note %q, %v", note, err)
		}
		if err := d.Revert(context.Background(), tok); err != nil {
			t.Error(err)
		}
	})
}
