package sonic

import (
	"strings"
	"time"
)

// gcuError is a failure of the generic config updater.
type gcuError struct {
	msg string // all lines, as the command prints them
	// client is the single line that the gNMI server passes on; "" takes it from msg.
	client string
}

func (e *gcuError) line() string {
	if e.client != "" {
		return e.client
	}
	first, _, _ := strings.Cut(e.msg, "\n")
	return "Error: " + first
}

const scopes = "Failed to apply patch on the following scopes:"

func scopeError(cause string) *gcuError {
	return &gcuError{msg: scopes + "\n- localhost: " + cause}
}

type gcuOptions struct {
	dryRun, ignoreNonYANG bool
}

// excluded lists the tables left out of the comparison at the end, because daemons write them.
var excluded = []string{"BUFFER_PG", "BUFFER_PROFILE", "FLEX_COUNTER_TABLE"}

// docNow returns the running configuration as the updater reads it.
func (s *Switch) docNow() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc(s.cfg)
}

// docOf returns another configuration as the updater reads it.
func (s *Switch) docOf(t tables) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc(t)
}

// applyPatch simulates `config apply-patch`.
func (s *Switch) applyPatch(ops []patchOp, o gcuOptions) *gcuError {
	if !s.wait(2.8) {
		return scopeError("the switch is going down")
	}
	old := s.docNow()
	if s.rel >= r202511 {
		ops = addEmptyTables(old, ops)
	}
	target, err := applyOps(old, ops)
	if err != nil {
		return &gcuError{msg: "Validate json patch: " + pyOps(ops) + " failed due to: " + err.Error()}
	}
	if err := validate(target, s.rel); err != nil {
		if strings.Contains(err.first, "lane is used multiple times") {
			line := "apply-patch failed for localhost: Given patch will produce invalid config. Error: " + err.Error()
			return &gcuError{msg: line, client: line}
		}
		return &gcuError{msg: "Validate json patch: " + pyOps(ops) + " failed due to: " + err.Error()}
	}
	return s.toTarget(old, target, o)
}

// replaceConfig simulates `config replace` and `config rollback`.
func (s *Switch) replaceConfig(target map[string]any) *gcuError {
	if !s.wait(2.5) {
		return scopeError("the switch is going down")
	}
	old := s.docNow()
	if err := validate(target, s.rel); err != nil {
		return &gcuError{msg: "Given patch will produce invalid config. Error: " + err.Error()}
	}
	return s.toTarget(old, target, gcuOptions{})
}

// addEmptyTables prepends operations that create the tables that the patch names and the
// configuration lacks (append_emptytables_if_required, from 202511).
func addEmptyTables(doc map[string]any, ops []patchOp) []patchOp {
	var add []patchOp
	have := map[string]bool{}
	for _, o := range ops {
		parts, err := pointer(o.path)
		if err != nil || len(parts) == 0 {
			continue
		}
		if len(parts) == 1 && o.op == "add" {
			have[parts[0]] = true
		}
		if _, ok := doc[parts[0]]; ok || have[parts[0]] || len(parts) == 1 {
			continue
		}
		have[parts[0]] = true
		add = append(add, patchOp{op: "add", path: "/" + escapePart(parts[0]), value: map[string]any{}})
	}
	return append(add, ops...)
}

// toTarget applies the checks that are not in the models, sorts the changes, writes them and
// compares the result.
func (s *Switch) toTarget(old, target map[string]any, o gcuOptions) *gcuError {
	models := modelsOf(s.rel)
	for _, t := range []map[string]any{old, target} {
		for _, name := range sortedKeys(t) {
			if models[name] == nil && !o.ignoreNonYANG && !equal(old[name], target[name]) {
				return scopeError("Given patch is not valid because it has changes to tables without YANG models")
			}
		}
	}
	if msg := s.checkFieldOps(old, target); msg != "" {
		return scopeError(msg)
	}
	var empty []string
	for _, name := range sortedKeys(target) {
		if m, ok := target[name].(map[string]any); ok && len(m) == 0 {
			empty = append(empty, name)
		}
	}
	if len(empty) > 0 {
		label := "Table"
		if len(empty) > 1 {
			label = "Tables"
		}
		return scopeError("localhost: given patch is not valid because it will result in empty tables which is not allowed in ConfigDb. " +
			label + ": " + strings.Join(empty, ", "))
	}
	moves, search := sortMoves(old, target)
	if o.dryRun {
		return nil
	}
	if !s.wait(search) {
		return scopeError("the switch is going down")
	}
	if err := s.writeMoves(moves); err != nil {
		return err
	}
	now := s.docNow()
	for _, t := range excluded {
		delete(now, t)
	}
	for name := range now {
		if !equal(now[name], target[name]) {
			return scopeError("localhost: after applying patch to config, there are still some parts not updated")
		}
	}
	for name := range target {
		if _, ok := now[name]; !ok && !isExcluded(name) {
			return scopeError("localhost: after applying patch to config, there are still some parts not updated")
		}
	}
	return nil
}

func isExcluded(table string) bool {
	for _, t := range excluded {
		if t == table {
			return true
		}
	}
	return false
}

// writeMoves writes one change after the other. Nothing is reverted: what was written before a
// failure stays.
func (s *Switch) writeMoves(moves []move) *gcuError {
	failAt, restartAt := s.faults.takeStep(&s.faults.failAt), s.faults.takeStep(&s.faults.restartAt)
	for i, m := range moves {
		if i == failAt {
			return scopeError("localhost: change failed")
		}
		if i == restartAt {
			_ = s.Restart() // a startup file that does not load leaves the switch as it is
			return scopeError("localhost: connection lost")
		}
		s.faults.event(Changing)
		s.mu.Lock()
		var err *gcuError
		for _, w := range m {
			if err = s.writeMove(w); err != nil {
				break
			}
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if !s.wait(1) {
			return scopeError("the switch is going down")
		}
	}
	if failAt >= len(moves) || s.faults.take(&s.faults.failApplied) {
		return &gcuError{msg: scopes + "\n- localhost: localhost: after applying patch to config, there are still some parts not updated"}
	}
	if restartAt >= len(moves) {
		_ = s.Restart()
		return scopeError("localhost: connection lost")
	}
	return nil
}

func (s *Switch) writeMove(w rowWrite) *gcuError {
	have := s.cfg[w.table][w.key]
	if state, ok := w.r[adminOnly]; ok {
		r := copyRow(have)
		if len(r) == 0 {
			return nil
		}
		r["admin_status"] = state
		s.writeRow(w.table, w.key, r)
		return nil
	}
	if w.r == nil && have == nil {
		// A daemon has removed it in the meantime (generic_config_updater/change_applier.py applies
		// each change to its latest read, with python-jsonpatch).
		return scopeError("can't remove a non-existent object '" + w.key + "'")
	}
	s.writeRow(w.table, w.key, w.r)
	return nil
}

// wait waits for seconds of simulated time; it returns false when the switch closes.
func (s *Switch) wait(seconds float64) bool {
	d := time.Duration(seconds * s.o.TimeScale * float64(time.Second))
	if d <= 0 {
		return s.ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}
