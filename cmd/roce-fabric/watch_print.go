package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/watch"
	"github.com/roce-fabric/roce-fabric/watch/webhook"
)

// round tells everybody of a round that is over, or of an update of it.
func (w *watching) round(r *watch.Round) {
	if err := w.print(r.Events()); err != nil {
		// Nobody reads what is printed: the watch ends, as others do then.
		w.failed = err
		w.cancel()
		return
	}
	if r.N == 1 && r.Update == nil {
		n := r.Counts()
		open := ""
		if n.Inconclusive > 0 {
			open = fmt.Sprintf(", %d inconclusive", n.Inconclusive)
		}
		w.talk("first round: %s, %s, %s%s; %d of %s read", r.Verdict, words.Count(n.Error, "error"), words.Count(n.Warning, "warning"), open, r.Read, words.Count(r.Devices, "device"))
	}
	if w.o.history != "" && r.Update == nil {
		w.warnOnce("history", watch.AppendHistory(w.o.history, r.Record()))
	}
	if w.sender != nil && r.Changed() {
		w.sender.Send(webhook.Of(r))
	}
}

func (w *watching) talk(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.a.talk(format, args...)
}

// warnOnce warns of what begins to fail, and is silent while it goes on to.
func (w *watching) warnOnce(what string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil && !w.down[what] {
		w.a.warn("%v", err)
	}
	w.down[what] = err != nil
}

// print writes the changes of a round: a line each, or a JSON document each.
func (w *watching) print(events []watch.Event) error {
	enc := json.NewEncoder(w.a.stdout)
	enc.SetEscapeHTML(false)
	st := w.a.styler(w.a.stdout)
	for _, e := range events {
		var err error
		switch {
		case w.a.output == "json":
			err = enc.Encode(e)
		case e.Type != watch.Turned:
			_, err = fmt.Fprintln(w.a.stdout, eventLine(e, st))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eventLine is a change on one line: "2026-11-21T19:20:10Z + error PFC-01 leaf1
// Ethernet8: what".
func eventLine(e watch.Event, st term.Styler) string {
	sign, severity := "+", string(e.Severity)
	switch {
	case e.Type == watch.Cleared:
		sign, severity = st.Green("-"), st.Green(severity)
	case e.Severity == validate.Error:
		severity = st.Red(severity)
	case e.Severity == validate.Warning:
		severity = st.Yellow(severity)
	}
	at := e.ID
	if len(e.Places) > 0 {
		at += " " + strings.Join(e.Places, ", ")
	}
	return fmt.Sprintf("%s %s %s %s: %s", st.Dim(e.Time.Format(time.RFC3339)), sign, severity, term.CleanLine(at), term.CleanLine(e.What))
}
