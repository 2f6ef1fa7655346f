package sonic

import (
	"context"
	"crypto/subtle"
	"strings"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// idle is the default --idle_conn_duration of the telemetry server.
const idle = 5 * time.Second

type gnmiServer struct {
	gnmi.UnimplementedGNMIServer
	s *Switch
}

func (s *Switch) newGRPCServer() *grpc.Server {
	opts := []grpc.ServerOption{
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idle}),
		grpc.WaitForHandlers(true),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			defer s.inUse(ctx)()
			return handler(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			defer s.inUse(stream.Context())()
			return handler(srv, stream)
		}),
	}
	if s.tlsConf != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(s.tlsConf)))
	}
	srv := grpc.NewServer(opts...)
	gnmi.RegisterGNMIServer(srv, &gnmiServer{s: s})
	return srv
}

// clientOf returns the client's address for a request.
func clientOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}

// inUse records that a request has started. The returned function records that it was answered.
func (s *Switch) inUse(ctx context.Context) (answered func()) {
	from := clientOf(ctx)
	s.gnmiLn.Used(from)
	return func() { s.gnmiLn.Used(from) }
}

// auth checks the account in the metadata.
func (g *gnmiServer) auth(ctx context.Context) error {
	if g.s.o.Username == "" {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	u, p := md.Get("username"), md.Get("password")
	if len(u) != 1 || len(p) != 1 || !same(u[0], g.s.user) || !same(p[0], g.s.pass) {
		return status.Error(codes.Unauthenticated, "Unauthenticated")
	}
	return nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (g *gnmiServer) enter(ctx context.Context) error {
	g.s.faults.event(Asked)
	if err := g.s.faults.hold(ctx); err != nil {
		return status.FromContextError(err).Err()
	}
	if err := g.s.dice.Answer().Pause(ctx); err != nil {
		return status.FromContextError(err).Err()
	}
	return g.auth(ctx)
}

// Capabilities lists the models of a community image, or of Enterprise SONiC.
func (g *gnmiServer) Capabilities(ctx context.Context, _ *gnmi.CapabilityRequest) (*gnmi.CapabilityResponse, error) {
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	models := []*gnmi.ModelData{
		{Name: "openconfig-acl", Organization: "OpenConfig working group", Version: "1.0.2"},
		{Name: "openconfig-lldp", Organization: "OpenConfig working group", Version: "1.0.2"},
		{Name: "openconfig-platform", Organization: "OpenConfig working group", Version: "1.0.2"},
		{Name: "openconfig-system", Organization: "OpenConfig working group", Version: "1.0.2"},
		{Name: "ietf-yang-library", Organization: "IETF NETCONF (Network Configuration) Working Group", Version: "2016-06-21"},
	}
	switch {
	case strings.Contains(g.s.o.Version, "Enterprise"):
		models = append(models, &gnmi.ModelData{Name: "openconfig-qos", Organization: "OpenConfig working group", Version: "0.2.1"})
	case !g.s.faults.on(&g.s.faults.noSonicDB):
		models = append(models, &gnmi.ModelData{Name: origin, Organization: "SONiC", Version: "0.1.0"})
	}
	r := &gnmi.CapabilityResponse{
		SupportedModels:    models,
		SupportedEncodings: []gnmi.Encoding{gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF, gnmi.Encoding_PROTO},
		GNMIVersion:        "0.7.0",
		Extension: []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_RegisteredExt{
			RegisteredExt: &gnmi_ext.RegisteredExtension{Id: 701}}}},
	}
	g.s.dice.Answer().Capabilities(r)
	return r, nil
}
