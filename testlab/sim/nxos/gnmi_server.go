package nxos

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// nativeModel is the module name of the native model.
const nativeModel = "Cisco-NX-OS-device"

// maxPaths limits the paths of one Get.
const maxPaths = 256

type gnmiServer struct {
	gnmi.UnimplementedGNMIServer
	f *front
}

// Capabilities returns the models and encodings (Cisco Nexus 9000 Programmability Guide 10.4(x),
// gNMI).
func (g *gnmiServer) Capabilities(ctx context.Context, _ *gnmi.CapabilityRequest) (*gnmi.CapabilityResponse, error) {
	if err := g.f.Enter(ctx); err != nil {
		return nil, err
	}
	r := &gnmi.CapabilityResponse{GNMIVersion: "0.5.0", SupportedEncodings: []gnmi.Encoding{gnmi.Encoding_JSON, gnmi.Encoding_PROTO}}
	if g.f.faults.IsNoModel() {
		r.SupportedModels = []*gnmi.ModelData{{Name: "ietf-interfaces", Organization: "IETF NETMOD (Network Modeling) Working Group", Version: "2018-02-20"}}
		return r, nil
	}
	r.SupportedModels = []*gnmi.ModelData{{Name: nativeModel, Organization: "Cisco Systems, Inc.", Version: "2024-03-26"}}
	for _, m := range [][2]string{{"openconfig-interfaces", "2.5.0"}, {"openconfig-lldp", "0.2.1"}, {"openconfig-qos", "0.2.3"}, {"openconfig-system", "0.10.1"}} {
		r.SupportedModels = append(r.SupportedModels, &gnmi.ModelData{Name: m[0], Organization: "OpenConfig working group", Version: m[1]})
	}
	g.f.n.Dice.Answer().Capabilities(r)
	return r, nil
}

// Get returns values of the native model, in one notification with one update per path. A
// missing path has an empty value, and a single list entry is returned in an array
// (ironcore-dev/network-operator gnmiext/v2 client.go).
func (g *gnmiServer) Get(ctx context.Context, r *gnmi.GetRequest) (*gnmi.GetResponse, error) {
	if err := g.f.Enter(ctx); err != nil {
		return nil, err
	}
	switch n := len(r.GetPath()); {
	case g.f.faults.IsNoModel():
		return nil, status.Error(codes.InvalidArgument, "the model is not supported")
	case n == 0:
		return nil, status.Error(codes.InvalidArgument, "a Get without a path")
	case n > maxPaths:
		return nil, status.Errorf(codes.InvalidArgument, "a Get of more than %d paths", maxPaths)
	case r.GetEncoding() != gnmi.Encoding_JSON:
		return nil, status.Errorf(codes.Unimplemented, "encoding %s is not supported by this simulator", r.GetEncoding())
	}
	root := map[string]any{"System": g.f.system()}
	resp := &gnmi.GetResponse{}
	for _, p := range r.GetPath() {
		v, err := readNative(root, r.GetPrefix(), p)
		if err != nil {
			return nil, err
		}
		resp.Notification = append(resp.Notification, &gnmi.Notification{Timestamp: time.Now().UnixNano(), Prefix: r.GetPrefix(),
			Update: []*gnmi.Update{{Path: p, Val: v}}})
	}
	g.f.n.Dice.Answer().Notifications(resp.Notification)
	return resp, nil
}

// readNative returns the value at one path.
func readNative(root map[string]any, prefix, p *gnmi.Path) (*gnmi.TypedValue, error) {
	for _, o := range []string{prefix.GetOrigin(), p.GetOrigin()} {
		if o != "" && o != "device" && o != "DME" {
			return nil, status.Errorf(codes.Unimplemented, "origin %q is not supported by this simulator", cli.Clip(o))
		}
	}
	elems := slices.Concat(prefix.GetElem(), p.GetElem())
	if len(elems) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the root cannot be read")
	}
	v, ok := follow(root, elems)
	if !ok {
		return &gnmi.TypedValue{}, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "json: %v", err)
	}
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonVal{JsonVal: b}}, nil
}

// follow returns the value at a path below v. Keys select list entries; a path can only continue
// below a list if exactly one entry is selected.
func follow(v any, path []*gnmi.PathElem) (any, bool) {
	for i, el := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		_, name, spelt := strings.Cut(el.GetName(), ":") // clients may prefix the module name
		if !spelt {
			name = el.GetName()
		}
		if v, ok = object[name]; !ok {
			return nil, false
		}
		list, isList := v.([]any)
		if !isList {
			if len(el.GetKey()) > 0 {
				return nil, false
			}
			continue
		}
		var found []any
		for _, e := range list {
			if hasKeys(e, el.GetKey()) {
				found = append(found, e)
			}
		}
		if len(found) == 0 {
			return nil, false
		}
		v = found
		if i < len(path)-1 {
			if len(found) != 1 {
				return nil, false
			}
			v = found[0]
		}
	}
	return v, true
}

// hasKeys reports whether a list entry has the given keys.
func hasKeys(e any, keys map[string]string) bool {
	m, _ := e.(map[string]any)
	for k, want := range keys {
		have, ok := m[k]
		if !ok || want != "*" && text(have) != want {
			return false
		}
	}
	return true
}

// Set always fails: this simulator accepts QoS only over the command line.
func (g *gnmiServer) Set(ctx context.Context, _ *gnmi.SetRequest) (*gnmi.SetResponse, error) {
	if err := g.f.Enter(ctx); err != nil {
		return nil, err
	}
	return nil, status.Error(codes.PermissionDenied, "Set is not implemented by this simulator")
}
