package gnmi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmic/pkg/api"
	"github.com/openconfig/gnmic/pkg/api/target"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Client is a connection to one device. Its methods may be called from several goroutines, but the
// caller must serialize writes to a device.
type Client struct {
	addr       string
	timeout    time.Duration
	setTimeout time.Duration
	silence    time.Duration
	target     *target.Target
	verifier   *verifier // nil without TLS
	caps       Capabilities
	encoding   gpb.Encoding // encoding of the values in Get and Set
	close      sync.Once
	closeErr   error
}

// Model is a model that a device supports, as it reports.
type Model struct{ Name, Organization, Version string }

// Capabilities is what a device reports about itself.
type Capabilities struct {
	Version   string // gNMI version: "0.7.0"
	Models    []Model
	Encodings []string // "JSON", "JSON_IETF", ...
}

// HasModel reports whether the device lists the model. On SONiC, "sonic-db" means the native paths
// and "openconfig-qos" means Enterprise SONiC.
func (c Capabilities) HasModel(name string) bool {
	return slices.ContainsFunc(c.Models, func(m Model) bool { return m.Name == name })
}

// Dial connects and requests the capabilities, so that a wrong address, certificate or login is
// reported here. The error is an [*RPCError] that wraps ErrUnreachable, ErrTLS, ErrAuth,
// ErrTimeout or ErrConfig. The caller must call Close on the Client.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	fail := func(err error) (*Client, error) {
		return nil, &RPCError{Op: "connect", Addr: cfg.Address, Msg: err.Error(), kind: ErrConfig, cause: err}
	}
	if err := cfg.check(); err != nil {
		return fail(err)
	}
	c := &Client{addr: cfg.Address, timeout: cfg.Timeout, setTimeout: cfg.SetTimeout, silence: cfg.Silence}
	opts := []api.TargetOption{api.Address(cfg.Address), api.Timeout(cfg.Timeout)}
	if cfg.TLS.Plaintext {
		opts = append(opts, api.Insecure(true))
	} else {
		tc, v, err := newTLS(cfg.TLS)
		if err != nil {
			return fail(err)
		}
		c.verifier = v
		opts = append(opts, api.TLSConfig(tc))
		if !cfg.TLS.Insecure {
			opts = append(opts, api.Username(cfg.Username), api.Password(cfg.Password.Reveal()))
		}
	}
	var err error
	if c.target, err = api.NewTarget(opts...); err != nil {
		return fail(err)
	}
	// gnmic would replace the dialer given in the options below with its own, unless the target is
	// reached through a tunnel.
	c.target.Config.TunnelTargetType = "none"
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	err = c.target.CreateGNMIClient(ctx,
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return cfg.Dial.Dial(ctx, "tcp", addr) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(cfg.MaxMessage), grpc.MaxCallSendMsgSize(cfg.MaxMessage)),
		// gRPC still repeats a call that never left this machine, or that the server says it never
		// processed, for example on a connection closed for being idle.
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
		grpc.WithUnaryInterceptor(recorded(cfg.Log)), grpc.WithStreamInterceptor(recordedStream(cfg.Log)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: cfg.Timeout}))
	if err != nil {
		return nil, errors.Join(c.rpcError(ctx, "connect", err), c.Close())
	}
	resp, err := c.target.Capabilities(ctx)
	if err != nil {
		// The connection was never used, so an error of Close does not matter.
		_ = c.Close()
		e := c.rpcError(ctx, "connect", err)
		if e.Code != 0 && e.kind == nil {
			e.Op = "capabilities"
		}
		return nil, e
	}
	c.verifier.markAnswered()
	c.caps, c.encoding = capabilities(resp), jsonEncoding(resp.GetSupportedEncodings())
	return c, nil
}

func capabilities(r *gpb.CapabilityResponse) Capabilities {
	c := Capabilities{Version: r.GetGNMIVersion()}
	for _, m := range r.GetSupportedModels() {
		c.Models = append(c.Models, Model{m.GetName(), m.GetOrganization(), m.GetVersion()})
	}
	for _, e := range r.GetSupportedEncodings() {
		c.Encodings = append(c.Encodings, e.String())
	}
	return c
}

// Addr returns the device's host:port.
func (c *Client) Addr() string { return c.addr }

// Capabilities returns what the device reported at Dial.
func (c *Client) Capabilities() Capabilities { return c.caps }

// ServerKey returns the pin of the key that the device presented in the last handshake,
// "sha256:<hex>"; "" without TLS.
func (c *Client) ServerKey() string {
	return c.verifier.lastHandshake().key
}

// Close closes the connection. It may be called more than once.
func (c *Client) Close() error {
	c.close.Do(func() {
		if err := c.target.Close(); err != nil {
			c.closeErr = fmt.Errorf("close %s: %w", c.addr, err)
		}
	})
	return c.closeErr
}
