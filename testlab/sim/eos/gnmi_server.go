package eos

import (
	"context"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// cliOrigin is the origin of paths that contain commands.
const cliOrigin = "cli"

type gnmiServer struct {
	gnmi.UnimplementedGNMIServer
	f *front
}

// noModel reports whether this box pretends not to be an EOS switch.
func (g *gnmiServer) noModel() bool { return g.f.faults.IsNoModel() }

// Capabilities returns the models and encodings.
func (g *gnmiServer) Capabilities(ctx context.Context, _ *gnmi.CapabilityRequest) (*gnmi.CapabilityResponse, error) {
	if err := g.f.Enter(ctx); err != nil {
		return nil, err
	}
	r := &gnmi.CapabilityResponse{GNMIVersion: "0.7.0",
		SupportedEncodings: []gnmi.Encoding{gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF, gnmi.Encoding_ASCII}}
	if g.noModel() {
		r.SupportedModels = []*gnmi.ModelData{{Name: "ietf-interfaces", Organization: "IETF NETMOD (Network Modeling) Working Group", Version: "2018-02-20"}}
		return r, nil
	}
	for _, m := range [][2]string{{"openconfig-interfaces", "3.7.1"}, {"openconfig-lldp", "0.2.1"}, {"openconfig-qos", "0.11.2"}} {
		r.SupportedModels = append(r.SupportedModels, &gnmi.ModelData{Name: m[0], Organization: "OpenConfig working group", Version: m[1]})
	}
	r.SupportedModels = append(r.SupportedModels, &gnmi.ModelData{Name: "arista-cli", Organization: "Arista Networks, Inc.", Version: "1.0.0"})
	g.f.e.Dice.Answer().Capabilities(r)
	return r, nil
}

// origin returns the origin of a request's paths, which is set in the prefix or in each path and
// must be the same for all.
func origin(prefix *gnmi.Path, paths []*gnmi.Path) (string, error) {
	org := ""
	for i, p := range paths {
		o := prefix.GetOrigin()
		if o != "" && p.GetOrigin() != "" {
			return "", status.Error(codes.InvalidArgument, "origin is set in the prefix and in a path")
		}
		if o == "" {
			o = p.GetOrigin()
		}
		if o == "openconfig" {
			o = ""
		}
		if i > 0 && o != org {
			return "", status.Error(codes.InvalidArgument, "paths of several origins in one request")
		}
		org = o
	}
	return org, nil
}
