package sonic

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func unknown(format string, args ...any) error { return status.Errorf(codes.Unknown, format, args...) }

// Set writes through the native interface. As on a real switch, the work continues if the client
// disconnects.
func (g *gnmiServer) Set(ctx context.Context, r *gnmi.SetRequest) (*gnmi.SetResponse, error) {
	s := g.s
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	s.gnmiLn.Wrote(clientOf(ctx))
	s.mu.Lock()
	if len(s.sets) >= maxSets {
		s.sets = append(s.sets[:0], s.sets[1:]...)
	}
	s.sets = append(s.sets, r)
	s.mu.Unlock()
	db, err := s.admit(r)
	if err != nil {
		return nil, err
	}
	if s.faults.take(&s.faults.dropBefore) {
		s.dropConnections()
		return nil, status.Error(codes.Unavailable, "connection lost")
	}
	if db == "APPL_DB" {
		if err := s.directWrite(r); err != nil {
			return nil, err
		}
		return setResponse(r), nil
	}
	s.faults.event(Queued)
	done := make(chan error, 1)
	s.wg.Go(func() { done <- s.set(r) })
	late, stop := s.faults.overdue()
	defer stop()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
		return setResponse(r), nil
	case <-late:
		return nil, status.FromContextError(context.DeadlineExceeded).Err()
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// admit does the checks before any work; it returns the database.
func (s *Switch) admit(r *gnmi.SetRequest) (string, error) {
	if s.faults.on(&s.faults.readOnly) {
		return "", status.Error(codes.Unimplemented, "GNMI is in read-only mode")
	}
	paths := append([]*gnmi.Path(nil), r.GetDelete()...)
	for _, u := range append(append([]*gnmi.Update(nil), r.GetReplace()...), r.GetUpdate()...) {
		paths = append(paths, u.GetPath())
	}
	org, err := commonOrigin(r.GetPrefix(), paths)
	if err != nil {
		return "", err
	}
	if org != origin || len(paths) == 0 {
		return "", status.Error(codes.Unimplemented, "Translib write is disabled")
	}
	db, err := targetOf(r.GetPrefix(), paths)
	if err != nil {
		return "", err
	}
	if db != "CONFIG_DB" && db != "APPL_DB" {
		return "", unknown("Set RPC does not support %s", db)
	}
	return db, nil
}

func setResponse(r *gnmi.SetRequest) *gnmi.SetResponse {
	resp := &gnmi.SetResponse{Prefix: r.GetPrefix()}
	for _, p := range r.GetDelete() {
		resp.Response = append(resp.Response, &gnmi.UpdateResult{Path: p, Op: gnmi.UpdateResult_DELETE})
	}
	for _, u := range r.GetReplace() {
		resp.Response = append(resp.Response, &gnmi.UpdateResult{Path: u.GetPath(), Op: gnmi.UpdateResult_REPLACE})
	}
	for _, u := range r.GetUpdate() {
		resp.Response = append(resp.Response, &gnmi.UpdateResult{Path: u.GetPath(), Op: gnmi.UpdateResult_UPDATE})
	}
	return resp
}

// set carries out one Set on CONFIG_DB; the host service handles them one at a time.
func (s *Switch) set(r *gnmi.SetRequest) error {
	select {
	case s.gcuLock <- struct{}{}:
	case <-s.ctx.Done():
		return status.Error(codes.Unavailable, "the switch is going down")
	}
	var apply func() *gcuError
	var release <-chan struct{}
	if target, whole, err := s.wholeConfig(r); err != nil || whole && target == nil {
		<-s.gcuLock
		return err
	} else if whole {
		s.faults.hook()
		apply = func() *gcuError { return s.replaceConfig(target) }
	} else {
		s.faults.hook()
		ops, err := s.collect(r)
		if err != nil || len(ops) == 0 {
			s.endSet()
			return err
		}
		apply = func() *gcuError { return s.applyPatch(ops, gcuOptions{}) }
	}
	s.faults.event(Writing)
	if s.faults.take(&s.faults.pretend) {
		apply = func() *gcuError { return nil }
	}
	release = s.faults.takeTimeout()
	return s.underLimit(apply, release)
}

// endSet removes the checkpoint and lets the next Set start.
func (s *Switch) endSet() {
	s.mu.Lock()
	s.snapshot = nil
	s.mu.Unlock()
	<-s.gcuLock
}

// underLimit runs apply and saves after a success. The server's call to the host gives up after 600
// s; the work then continues by itself, without a save.
func (s *Switch) underLimit(apply func() *gcuError, release <-chan struct{}) error {
	done := make(chan error, 1)
	var late atomic.Bool
	s.wg.Go(func() {
		if release != nil {
			select {
			case <-release:
			case <-s.ctx.Done():
			}
		}
		err := apply()
		s.faults.event(Saving)
		if err == nil && !late.Load() {
			s.mu.Lock()
			s.save()
			s.mu.Unlock()
		}
		s.faults.event(Answer)
		s.endSet()
		if err != nil {
			done <- unknown("%s", err.line())
			return
		}
		done <- nil
	})
	if release != nil {
		late.Store(true)
		return unknown("Timeout 600")
	}
	var limit <-chan time.Time
	if s.o.TimeScale > 0 {
		t := time.NewTimer(time.Duration(600 * s.o.TimeScale * float64(time.Second)))
		defer t.Stop()
		limit = t.C
	}
	select {
	case <-limit:
		late.Store(true)
		return unknown("Timeout 600")
	case err := <-done:
		if err == nil && s.faults.take(&s.faults.dropAfter) {
			s.dropConnections()
			err = status.Error(codes.Unavailable, "connection lost")
		}
		return err
	}
}

// wholeConfig recognizes a replacement of the whole configuration: a single replace of the root,
// from 202505 on. A root delete with a root update is only validated.
func (s *Switch) wholeConfig(r *gnmi.SetRequest) (target map[string]any, whole bool, err error) {
	root := func(p *gnmi.Path) bool { return len(elems(r.GetPrefix(), p)) == 2 }
	del, rep, upd := r.GetDelete(), r.GetReplace(), r.GetUpdate()
	var val *gnmi.TypedValue
	checkOnly := false
	switch {
	case len(rep) == 1 && len(del)+len(upd) == 0 && root(rep[0].GetPath()) && s.rel >= r202505:
		val = rep[0].GetVal()
	case len(del) == 1 && len(upd) == 1 && len(rep) == 0 && root(del[0]) && root(upd[0].GetPath()):
		val, checkOnly = upd[0].GetVal(), true
	default:
		return nil, false, nil
	}
	raw := string(val.GetJsonIetfVal())
	if err := decodeJSON([]byte(raw), &target); err != nil || target == nil {
		return nil, true, unknown("Fail to parse %s", raw)
	}
	if checkOnly {
		if err := validate(target, s.rel); err != nil {
			return nil, true, unknown("Yang validation failed!")
		}
		return nil, true, nil
	}
	return target, true, nil
}

// collect takes the operations in the server's order (deletes, replaces, updates), tries each on a
// copy of the checkpoint and makes the patch.
func (s *Switch) collect(r *gnmi.SetRequest) ([]patchOp, error) {
	if !s.wait(1) {
		return nil, status.Error(codes.Unavailable, "the switch is going down")
	}
	if s.faults.on(&s.faults.full) {
		return nil, unknown("Error: [Errno 28] No space left on device: '/etc/sonic/config.cp.json'")
	}
	s.mu.Lock()
	s.snapshot = s.doc(s.cfg)
	doc := s.doc(s.cfg)
	s.mu.Unlock()
	c := checkpoint{doc: doc}
	for _, p := range r.GetDelete() {
		if err := c.remove(names(elems(r.GetPrefix(), p)[2:])); err != nil {
			return nil, err
		}
	}
	for i, u := range append(append([]*gnmi.Update(nil), r.GetReplace()...), r.GetUpdate()...) {
		es := elems(r.GetPrefix(), u.GetPath())
		if u.GetVal() == nil {
			return nil, unknown("Invalid update path:{%s}", pathText(origin, es))
		}
		var v any
		raw, ok := u.GetVal().GetValue().(*gnmi.TypedValue_JsonIetfVal)
		if !ok {
			return nil, unknown("Fail to parse ")
		}
		if err := decodeJSON(raw.JsonIetfVal, &v); err != nil {
			return nil, unknown("Fail to parse %s", raw.JsonIetfVal)
		}
		if err := c.put(names(es[2:]), v, i < len(r.GetReplace())); err != nil {
			return nil, err
		}
	}
	return c.ops, nil
}

// checkpoint is the copy of the configuration on which operations are tried.
type checkpoint struct {
	doc map[string]any
	ops []patchOp
}

func (c *checkpoint) remove(e []string) error {
	if len(e) == 0 {
		return nil
	}
	if len(e) > 4 {
		return unknown("Invalid db table Path %v", e)
	}
	if len(e) == 4 {
		if _, err := strconv.Atoi(e[3]); err != nil {
			return unknown("Invalid index %s", e[3])
		}
	}
	if _, ok := walk(c.doc, decoded(e)); !ok {
		return nil
	}
	c.apply("remove", e, nil)
	return nil
}

// put is a replace or an update.
func (c *checkpoint) put(e []string, v any, replace bool) error {
	if len(e) == 0 || len(e) > 4 {
		return unknown("Invalid db table Path %v", e)
	}
	switch _, object := v.(map[string]any); {
	case len(e) == 1 && !object:
		return unknown("Invalid table %s", goText(v))
	case len(e) == 2 && !object:
		return unknown("Invalid entry %s", goText(v))
	case len(e) >= 3:
		_, str := v.(string)
		_, list := v.([]any)
		if !str && !list {
			return unknown("Invalid field %s", goText(v))
		}
	}
	if len(e) == 4 {
		if _, err := strconv.Atoi(e[3]); err != nil {
			return unknown("Invalid index %s", e[3])
		}
	}
	op := "add"
	if replace {
		op = "replace"
		d := decoded(e)
		for i := range d {
			parent, _ := walk(c.doc, d[:i])
			if _, ok := walk(c.doc, d[:i+1]); ok {
				continue
			}
			switch i {
			case 0:
				return unknown("Invalid database %s -> %s", e[0], goText(parent))
			case 3:
				return unknown("Invalid index %s", e[3])
			}
			return unknown("Invalid entry %s", goText(parent))
		}
	}
	c.apply(op, e, v)
	return nil
}

// apply records the operation and applies it to the copy. Missing parents are created, because only
// the config updater rejects them.
func (c *checkpoint) apply(op string, e []string, v any) {
	c.ops = append(c.ops, patchOp{op: op, path: "/" + strings.Join(e, "/"), value: v})
	d := decoded(e)
	if op != "remove" {
		node := c.doc
		for _, name := range d[:min(len(d)-1, 2)] {
			child, ok := node[name].(map[string]any)
			if !ok {
				child = map[string]any{}
				node[name] = child
			}
			node = child
		}
	}
	if root, err := edit(c.doc, d, 0, patchOp{op: op, value: v}); err == nil {
		c.doc, _ = root.(map[string]any)
	}
}

// decoded turns ~1 into a slash.
func decoded(e []string) []string {
	d := make([]string, len(e))
	for i, p := range e {
		d[i] = unescape(p)
	}
	return d
}

// goText formats a value like Go's %v, which the server uses.
func goText(v any) string { return fmt.Sprint(v) }

// directWrite changes APPL_DB immediately, without any checks.
func (s *Switch) directWrite(r *gnmi.SetRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range r.GetDelete() {
		if e := names(elems(r.GetPrefix(), p)[2:]); len(e) >= 2 && s.overlay["APPL_DB"] != nil {
			s.overlay["APPL_DB"].del(e[0], e[1])
		}
	}
	for _, u := range append(append([]*gnmi.Update(nil), r.GetReplace()...), r.GetUpdate()...) {
		e := decoded(names(elems(r.GetPrefix(), u.GetPath())[2:]))
		var v any
		if err := decodeJSON(u.GetVal().GetJsonIetfVal(), &v); err != nil {
			return unknown("Fail to parse %s", u.GetVal().GetJsonIetfVal())
		}
		m, object := v.(map[string]any)
		switch {
		case len(e) == 2 && object:
			s.mergeRow("APPL_DB", e[0], e[1], rowOf(m))
		case len(e) == 3:
			s.mergeRow("APPL_DB", e[0], e[1], row{e[2]: text(v)})
		default:
			return unknown("Invalid db table Path %v", e)
		}
	}
	return nil
}
