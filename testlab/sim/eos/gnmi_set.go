package eos

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Set executes updates with the CLI origin in its own configuration session, which is committed as
// a whole (openconfig/featureprofiles cli_origin_test, aristanetworks/openmgmt
// configuration/openconfig.md). It finishes even if the client leaves.
func (g *gnmiServer) Set(ctx context.Context, r *gnmi.SetRequest) (*gnmi.SetResponse, error) {
	if err := g.f.Enter(ctx); err != nil {
		return nil, err
	}
	lines, err := g.commands(r)
	if err != nil {
		g.f.e.Attempt()
		return nil, err
	}
	done := make(chan error, 1)
	g.f.Go(func() { done <- g.f.set(lines) })
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	resp := &gnmi.SetResponse{Prefix: r.GetPrefix(), Timestamp: time.Now().UnixNano()}
	for range r.GetUpdate() {
		resp.Response = append(resp.Response, &gnmi.UpdateResult{Path: &gnmi.Path{Origin: cliOrigin}, Op: gnmi.UpdateResult_UPDATE})
	}
	return resp, nil
}

// commands returns the lines of a request, or an error if the request is not of the documented
// kind. How a real box answers other kinds is not documented.
func (g *gnmiServer) commands(r *gnmi.SetRequest) ([]string, error) {
	switch {
	case g.noModel():
		return nil, status.Error(codes.Unimplemented, "origin cli is not supported")
	case len(r.GetReplace()) > 0 || len(r.GetUnionReplace()) > 0:
		return nil, status.Error(codes.Unimplemented, "replace is not supported")
	case len(r.GetDelete()) > 0:
		return nil, status.Error(codes.Unimplemented, "delete is not supported")
	case len(r.GetUpdate()) == 0:
		return nil, status.Error(codes.InvalidArgument, "a Set without an update")
	case r.GetPrefix().GetOrigin() != "" || len(r.GetPrefix().GetElem()) > 0:
		return nil, status.Error(codes.InvalidArgument, "origin cli belongs into the path of an update, without a prefix")
	case len(r.GetExtension()) > 0:
		return nil, status.Error(codes.Unimplemented, "extensions are not supported")
	}
	paths := make([]*gnmi.Path, len(r.GetUpdate()))
	for i, u := range r.GetUpdate() {
		paths[i] = u.GetPath()
	}
	org, err := origin(nil, paths)
	if err != nil {
		return nil, err
	}
	if org != cliOrigin {
		return nil, status.Errorf(codes.Unimplemented, "a Set of origin %q is not supported", org)
	}
	var lines []string
	for _, u := range r.GetUpdate() {
		v, ok := u.GetVal().GetValue().(*gnmi.TypedValue_AsciiVal)
		switch {
		case len(u.GetPath().GetElem()) > 0:
			return nil, status.Error(codes.InvalidArgument, "a path of origin cli has no elements in a Set")
		case !ok:
			return nil, status.Error(codes.InvalidArgument, "a value of origin cli is ascii_val")
		}
		lines = append(lines, cli.SplitLines(v.AsciiVal)...)
	}
	return lines, nil
}

// set executes one Set. The box executes them one at a time.
func (f *front) set(lines []string) error {
	select {
	case f.setLock <- struct{}{}:
	case <-f.Context().Done():
		return status.Error(codes.Unavailable, "the switch is going down")
	}
	var result error // result of do, if it ends before or with the commit
	committed := false
	words, end := f.write("configure", func() string {
		result = f.apply(lines, &committed)
		if result != nil && !committed {
			f.e.Attempt()
		}
		return ""
	})
	// A write that is held back by GiveUp waits outside the lock, as if the box had forgotten it.
	<-f.setLock
	switch end {
	case cli.Denied:
		return status.Error(codes.PermissionDenied, words)
	case cli.Rejected:
		return status.Error(codes.Aborted, words)
	case cli.FailedAnyway:
		return status.Error(codes.Internal, words)
	case cli.Gone:
		return status.Error(codes.Unavailable, "transport is closing")
	case cli.Silent:
		return status.Error(codes.DeadlineExceeded, "context deadline exceeded")
	}
	return result
}

// apply executes the lines in a session and commits it. committed is set once the commit begins.
func (f *front) apply(lines []string, committed *bool) error {
	name := "session" + strconv.FormatInt(time.Now().UnixNano(), 10)
	s, err := f.e.openSession(name, f.o.Username)
	if err != nil {
		return status.Error(codes.Aborted, err.Error())
	}
	if out := f.lines(s, lines); out != "" {
		return status.Error(codes.InvalidArgument, joined(out, f.e.abort(name)))
	}
	*committed = true
	if out := f.e.commit(name, 0); failed(out) {
		return status.Error(codes.Aborted, joined(out, f.e.abort(name)))
	}
	if f.o.Persist {
		f.e.save()
	}
	return nil
}

// joined appends an error of the cleanup to the error that caused it.
func joined(out, abort string) string {
	if failed(abort) {
		return out + "\n" + abort
	}
	return out
}

// lines executes configuration lines until one is rejected, and returns the rejection.
func (f *front) lines(s *session, lines []string) string {
	left := false
	for i, l := range lines {
		l = strings.TrimSpace(l)
		out := ""
		switch {
		case l == "" || l[0] == '!':
			out = s.line(l)
		case i == 0 && (l == "configure" || l == "configure terminal"):
		case left:
			// After "end" there is no configuration mode any more.
			out = invalid(l, 0)
		case l == "end":
			left = true
		case l == "exit":
			left = s.exit()
		default:
			out = f.configLine(s, l)
		}
		if failed(out) {
			return "line " + strconv.Itoa(i+1) + ": '" + cli.Clip(l) + "': " + out
		}
	}
	return ""
}
