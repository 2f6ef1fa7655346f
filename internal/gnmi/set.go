package gnmi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
)

// Update sets a path to a JSON text. The text is sent as JSON_IETF, or as JSON to a device that
// lists encodings without JSON_IETF. On SONiC an update replaces everything below the path, and
// every leaf must be a JSON string: SONiC writes a number but then reports an error.
type Update struct {
	Path Path
	JSON []byte
}

// SetRequest is one Set. gNMI applies deletes first, then replaces, then updates.
type SetRequest struct {
	Origin   string
	Deletes  []Path
	Replaces []Update
	Updates  []Update
	// CLI holds lines in the device's command language, as sent by [Client.SetCLI]. All other
	// fields must then be empty.
	CLI string
}

// Size returns the size of the request in bytes on the wire, without gRPC's small overhead. A
// server with gRPC's default limit rejects more than [MaxServerMessage]. The size does not depend
// on the encoding.
func (r SetRequest) Size() int { return proto.Size(r.wire(gpb.Encoding_JSON_IETF)) }

// Empty reports whether the request asks for nothing.
func (r SetRequest) Empty() bool {
	return len(r.Deletes)+len(r.Replaces)+len(r.Updates) == 0 && strings.TrimSpace(r.CLI) == ""
}

func (r SetRequest) wire(e gpb.Encoding) *gpb.SetRequest {
	if r.CLI != "" {
		return &gpb.SetRequest{Update: []*gpb.Update{{
			Path: &gpb.Path{Origin: cliOrigin},
			Val:  &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: r.CLI}},
		}}}
	}
	w := &gpb.SetRequest{Prefix: &gpb.Path{Origin: r.Origin}}
	for _, p := range r.Deletes {
		w.Delete = append(w.Delete, p.wire())
	}
	for _, u := range r.Replaces {
		w.Replace = append(w.Replace, u.wire(e))
	}
	for _, u := range r.Updates {
		w.Update = append(w.Update, u.wire(e))
	}
	return w
}

func (u Update) wire(e gpb.Encoding) *gpb.Update {
	return &gpb.Update{
		Path: u.Path.wire(),
		Val:  typedJSON(e, u.JSON),
	}
}

// check rejects requests that a device would misread.
func (r SetRequest) check() error {
	if r.Empty() {
		return errors.New("the Set is empty")
	}
	if r.CLI != "" {
		if r.Origin != "" || len(r.Deletes)+len(r.Replaces)+len(r.Updates) > 0 {
			return errors.New("a Set with CLI lines cannot contain other changes")
		}
		return checkCLI(r.CLI, "\n\t")
	}
	for _, us := range [][]Update{r.Replaces, r.Updates} {
		for _, u := range us {
			if !json.Valid(u.JSON) {
				return fmt.Errorf("value of %s is not JSON", u.Path)
			}
		}
	}
	return nil
}

// Set sends a request and waits for the answer, for at most [Config.SetTimeout], and only while
// the device answers other requests ([Config.Silence]). A request is never sent twice. Success
// does not mean that the device does what was requested, and an error does not mean that it does
// not: read the configuration back.
func (c *Client) Set(ctx context.Context, r SetRequest) error {
	if err := r.check(); err != nil {
		return &RPCError{Op: "set", Addr: c.addr, Msg: err.Error(), kind: ErrConfig, cause: err}
	}
	ctx, cancel := context.WithTimeout(ctx, c.setTimeout)
	defer cancel()
	ctx, stop := c.whileAlive(ctx)
	defer stop()
	if _, err := c.target.Set(ctx, r.wire(c.encoding)); err != nil {
		if errors.Is(context.Cause(ctx), errSilent) {
			return c.silentError("set")
		}
		return c.rpcError(ctx, "set", err)
	}
	c.verifier.markAnswered()
	return nil
}
