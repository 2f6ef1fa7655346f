package gnmi

import (
	"context"
	"errors"
	"fmt"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Get reads paths under an origin in one call and returns their values in order, as JSON text. The
// value is nil for a path that the device omits, or answers with an empty value as NX-OS does. If
// the device rejects the whole call because one path is absent, as SONiC does, the error wraps
// [ErrNotFound]; [Client.GetPresent] then reads each path alone.
//
// The text is returned as received. It is not checked: SONiC does not escape quotes inside a
// field.
func (c *Client) Get(ctx context.Context, origin string, paths ...Path) ([][]byte, error) {
	return c.get(ctx, &gpb.Path{Origin: origin}, paths)
}

// GetOne reads one path. The error wraps [ErrNotFound] if there is nothing at the path.
func (c *Client) GetOne(ctx context.Context, origin string, path Path) ([]byte, error) {
	vs, err := c.Get(ctx, origin, path)
	if err != nil {
		return nil, err
	}
	if vs[0] == nil {
		return nil, &RPCError{Op: "get", Addr: c.addr, Msg: path.String(), kind: ErrNotFound}
	}
	return vs[0], nil
}

// GetPresent is Get for paths that may be absent, whose values are then nil. If the device rejects
// the joint call because a path is absent, each path is read in a call of its own.
func (c *Client) GetPresent(ctx context.Context, origin string, paths ...Path) ([][]byte, error) {
	vs, err := c.Get(ctx, origin, paths...)
	if !errors.Is(err, ErrNotFound) {
		return vs, err
	}
	vs = make([][]byte, len(paths))
	if len(paths) == 1 {
		return vs, nil
	}
	for i, p := range paths {
		v, err := c.GetOne(ctx, origin, p)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		vs[i] = v
	}
	return vs, nil
}

// GetTarget reads SONiC's older telemetry paths, which have no origin and use the database as the
// target: "COUNTERS_DB", {"COUNTERS", "Ethernet*"}.
func (c *Client) GetTarget(ctx context.Context, target string, paths ...Path) ([][]byte, error) {
	return c.get(ctx, &gpb.Path{Target: target}, paths)
}

func (c *Client) get(ctx context.Context, prefix *gpb.Path, paths []Path) ([][]byte, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	req := &gpb.GetRequest{Prefix: prefix, Type: gpb.GetRequest_ALL, Encoding: c.encoding}
	for _, p := range paths {
		req.Path = append(req.Path, p.wire())
	}
	resp, err := c.exchange(ctx, req)
	if err != nil {
		return nil, err
	}
	vs, err := match(req, resp)
	if err != nil {
		return nil, c.badAnswer(err)
	}
	return vs, nil
}

// exchange sends a Get request; all Gets go through it.
func (c *Client) exchange(ctx context.Context, req *gpb.GetRequest) (*gpb.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	resp, err := c.target.Get(ctx, req)
	if err != nil {
		return nil, c.rpcError(ctx, "get", err)
	}
	c.verifier.markAnswered()
	return resp, nil
}

// badAnswer returns the error for an answer that makes no sense.
func (c *Client) badAnswer(err error) *RPCError {
	return &RPCError{Op: "get", Addr: c.addr, Msg: err.Error(), kind: ErrAnswer, cause: err}
}

// match assigns the values of an answer to the requested paths. Servers echo the paths. If one
// spells them differently, values are assigned by order, provided there is one value per path.
func match(req *gpb.GetRequest, resp *gpb.GetResponse) ([][]byte, error) {
	type answer struct {
		key string
		val *gpb.TypedValue
	}
	var answers []answer
	for _, n := range resp.GetNotification() {
		for _, u := range n.GetUpdate() {
			answers = append(answers, answer{pathKey(n.GetPrefix(), u.GetPath()), u.GetVal()})
		}
	}
	values := make([][]byte, len(req.Path))
	byKey := make(map[string]*gpb.TypedValue, len(answers))
	for _, a := range answers {
		byKey[a.key] = a.val
	}
	if len(byKey) != len(answers) {
		return nil, errors.New("the answer contains a path twice")
	}
	found := 0
	for i, p := range req.Path {
		v, ok := byKey[pathKey(req.Prefix, p)]
		if !ok {
			continue
		}
		found++
		b, err := jsonValue(v)
		if err != nil {
			return nil, err
		}
		values[i] = b
	}
	switch {
	case found == len(answers):
		return values, nil
	case found > 0 || len(answers) != len(req.Path):
		return nil, fmt.Errorf("%d of %d values are for paths that were not requested", len(answers)-found, len(answers))
	}
	for i, a := range answers {
		b, err := jsonValue(a.val)
		if err != nil {
			return nil, err
		}
		values[i] = b
	}
	return values, nil
}
