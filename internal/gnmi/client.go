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

// Client is one connection to one device. Its methods may be called from
// several goroutines; writes to a device are the caller's to put in a row.
type Client struct {
	addr       string
	timeout    time.Duration
	setTimeout time.Duration
	silence    time.Duration
	target     *target.Target
	verifier   *verifier // nil without TLS
	caps       Capabilities
	encoding   gpb.Encoding // of the values of Get and Set
	close      sync.Once
	closeErr   error
}

// Model is a model that a device says it knows.
type Model struct{ Name, Organization, Version string }

// Capabilities are what a device says of itself.
type Capabilities struct {
	Version   string // of gNMI: "0.7.0"
	Models    []Model
	Encodings []string // "JSON", "JSON_IETF", ...
}

// HasModel reports whether the device names the model. On SONiC "sonic-db"
// stands for the native path, "openconfig-qos" for Enterprise SONiC.
func (c Capabilities) HasModel(name string) bool {
	return slices.ContainsFunc(c.Models, func(m Model) bool { return m.Name == name })
}

// Dial connects and asks for the capabilities, so that what is wrong with the
// address, the certificate or the login shows here. The error is an
// [*RPCError] that wraps ErrUnreachable, ErrTLS, ErrAuth, ErrTimeout or
// ErrConfig. Close must be called on the Client.
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
	// gnmic sets a dialer of its own, after the options that it is given, unless the target
	// is reached through a tunnel.
	c.target.Config.TunnelTargetType = "none"
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	err = c.target.CreateGNMIClient(ctx,
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return cfg.Dial.Dial(ctx, "tcp", addr) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(cfg.MaxMessage), grpc.MaxCallSendMsgSize(cfg.MaxMessage)),
		// gRPC still repeats a call only if it never left this machine, or if
		// the server says that it never looked at it, as on a connection closed
		// for being idle.
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
		grpc.WithUnaryInterceptor(recorded(cfg.Log)), grpc.WithStreamInterceptor(recordedStream(cfg.Log)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: cfg.Timeout}))
	if err != nil {
		return nil, errors.Join(c.rpcError(ctx, "connect", err), c.Close())
	}
	resp, err := c.target.Capabilities(ctx)
	if err != nil {
		// The connection never did its work; how it closes adds nothing.
		_ = c.Close()
		e := c.rpcError(ctx, "connect", err)
		if e.Code != 0 && e.kind == nil {
			e.Op = "capabilities"
		}
		return nil, e
	}
	c.verifier.worked()
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

// Capabilities returns what the device said when it was dialed.
func (c *Client) Capabilities() Capabilities { return c.caps }

// ServerKey returns the pin of the key that the device showed on the last
// handshake, "sha256:<hex>"; "" without TLS.
func (c *Client) ServerKey() string {
	return c.verifier.last().key
}

// Close ends the connection and what runs for it. It may be called more than
// once.
func (c *Client) Close() error {
	c.close.Do(func() {
		if err := c.target.Close(); err != nil {
			c.closeErr = fmt.Errorf("close %s: %w", c.addr, err)
		}
	})
	return c.closeErr
}
