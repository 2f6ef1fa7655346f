package eos

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// maxPaths is the maximum number of paths in one Get.
const maxPaths = 256

// Get answers show commands, with the origin cli, and OpenConfig state.
func (g *gnmiServer) Get(ctx context.Context, r *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	if err := g.f.Enter(ctx); err != nil {
		return nil, err
	}
	switch n := len(r.GetPath()); {
	case n == 0:
		return nil, status.Error(codes.InvalidArgument, "a Get without a path")
	case n > maxPaths:
		return nil, status.Errorf(codes.InvalidArgument, "a Get of more than %d paths", maxPaths)
	}
	org, err := origin(r.GetPrefix(), r.GetPath())
	if err != nil {
		return nil, err
	}
	if org != "" && org != cliOrigin || g.noModel() {
		return nil, status.Errorf(codes.Unimplemented, "origin %q is not supported", org)
	}
	tree := sync.OnceValue(g.f.tree)
	dice := g.f.e.Dice.Answer()
	resp := &gnmi.GetResponse{}
	for _, p := range r.GetPath() {
		var ns []*gnmi.Notification
		if org == cliOrigin {
			ns, err = g.f.getCLI(r, p)
		} else {
			ns, err = getOpenConfig(r, p, tree())
			sim.Reorder(dice, ns)
		}
		if err != nil {
			return nil, err
		}
		dice.Notifications(ns)
		resp.Notification = append(resp.Notification, ns...)
	}
	return resp, nil
}

// getCLI runs one show command and returns text, or JSON if the command supports it
// (aristanetworks/openmgmt gnmi-clients/gnmic).
func (f *front) getCLI(r *gnmi.GetRequest, p *gnmi.Path) ([]*gnmi.Notification, error) {
	if r.GetPrefix().GetOrigin() != "" || len(r.GetPrefix().GetElem()) > 0 {
		return nil, status.Error(codes.InvalidArgument, "origin cli belongs into the path, without a prefix")
	}
	if len(p.GetElem()) != 1 || len(p.GetElem()[0].GetKey()) > 0 {
		return nil, status.Error(codes.InvalidArgument, "a path of origin cli has one element, the command")
	}
	words := strings.Fields(p.GetElem()[0].GetName())
	if len(words) == 0 || words[0] != "show" {
		return nil, status.Error(codes.InvalidArgument, "only show commands can be read")
	}
	a, refusal := f.ask(words, true)
	if refusal == "" && failed(a.text) && a.value == nil && r.GetEncoding() == gnmi.Encoding_ASCII {
		refusal = a.text
	}
	if refusal != "" {
		return nil, status.Errorf(codes.InvalidArgument, "'%s': %s", cli.Clip(strings.Join(words, " ")), refusal)
	}
	var v *gnmi.TypedValue
	switch e := r.GetEncoding(); e {
	case gnmi.Encoding_ASCII:
		v = &gnmi.TypedValue{Value: &gnmi.TypedValue_AsciiVal{AsciiVal: a.text}}
	case gnmi.Encoding_JSON:
		if a.value == nil {
			return nil, status.Errorf(codes.InvalidArgument, "'%s': unconverted command", cli.Clip(strings.Join(words, " ")))
		}
		text, err := a.json(json.Marshal)
		if err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		v = &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte(text)}}
	default:
		return nil, status.Errorf(codes.InvalidArgument, "encoding %s is not supported for origin cli", e)
	}
	return []*gnmi.Notification{notification(r.GetPrefix(), p, v)}, nil
}

func notification(prefix, p *gnmi.Path, v *gnmi.TypedValue) *gnmi.Notification {
	return &gnmi.Notification{Timestamp: time.Now().UnixNano(), Prefix: prefix, Update: []*gnmi.Update{{Path: p, Val: v}}}
}
