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

// Update is a path and the JSON text to put there, sent as JSON_IETF, or as
// JSON to a device that names encodings and JSON_IETF is not among them. On
// SONiC an update replaces what stands under the path, and every leaf has to
// be a JSON string: a number is written and then reported as an error.
type Update struct {
	Path Path
	JSON []byte
}

// SetRequest is one Set. gNMI carries out deletes, then replaces, then
// updates.
type SetRequest struct {
	Origin   string
	Deletes  []Path
	Replaces []Update
	Updates  []Update
	// CLI are lines of the device's own command language, as
	// [Client.SetCLI] sends them. They go alone: all other fields are empty.
	CLI string
}

// Size returns the bytes of the request on the wire, without the few of gRPC.
// A server with gRPC's default limit refuses more than [MaxServerMessage]. The
// encodings do not differ in size.
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

// check refuses what a device would misread.
func (r SetRequest) check() error {
	if r.Empty() {
		return errors.New("set asks for nothing")
	}
	if r.CLI != "" {
		if r.Origin != "" || len(r.Deletes)+len(r.Replaces)+len(r.Updates) > 0 {
			return errors.New("CLI lines go alone in a set")
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

// Set sends a request and waits for the answer, for [Config.SetTimeout] at
// most, and no longer than the device answers anything at all ([Config.Silence]). It is never sent twice. An answer without an error does not say that
// the device does what was asked, and an error does not say that it does not:
// read back.
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
	c.verifier.worked()
	return nil
}
