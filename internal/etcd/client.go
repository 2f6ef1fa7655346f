// Package etcd is a client for the part of etcd's API, version 3, that the store of runs needs.
// The official client would make the program 5% larger, and does not recover from a token that
// etcd has forgotten (v3.7.3: it requests a new token with the old one attached until it times
// out).
//
// Like the official client, it sends calls to each member of etcd in turn, waits until a member is
// available or the call times out, and repeats calls that are safe to repeat.
package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
)

// ErrLeaseNotFound reports that a lease has ended.
var ErrLeaseNotFound = errors.New("etcdserver: requested lease not found")

// Config says how to connect to etcd.
type Config struct {
	Endpoints []string    // host:port, at least one
	TLS       *tls.Config // nil for none
	// User and Password are used to log in before the first call and whenever etcd requests it.
	User, Password string
}

// Client is a connection to etcd. It is safe for concurrent use.
type Client struct {
	conn  *grpc.ClientConn
	cfg   Config
	token atomic.Value // a string
}

// New returns a client. It connects at its first call.
func New(cfg Config) (*Client, error) {
	creds := insecure.NewCredentials()
	if cfg.TLS != nil {
		creds = credentials.NewTLS(cfg.TLS)
	}
	members := manual.NewBuilderWithScheme("etcd-endpoints")
	var state resolver.State
	for _, e := range cfg.Endpoints {
		// The certificate of a member must contain the address by which the member is configured
		// here.
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: e, ServerName: e}}})
	}
	members.InitialState(state)
	conn, err := grpc.NewClient("etcd-endpoints:///"+cfg.Endpoints[0], grpc.WithResolvers(members), grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(`{"loadBalancingPolicy":"round_robin"}`),
		// Detect a member that disappeared silently, so that the next call does not wait for it.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5 * time.Second, Timeout: 3 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(message{}), grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, cfg: cfg}, nil
}

// Close closes the connection. It may be called more than once.
func (c *Client) Close() error {
	if err := c.conn.Close(); status.Code(err) != codes.Canceled { // already closed
		return err
	}
	return nil
}

// Login requests a token for the user; without a user it does nothing. Calls log in themselves
// when etcd requests it, but an explicit Login reports a wrong password early.
func (c *Client) Login(ctx context.Context) error {
	if c.cfg.User == "" || c.cfg.Password == "" {
		return nil
	}
	c.token.Store("")
	answer, err := c.try(ctx, true, c.unary("/etcdserverpb.Auth/Authenticate", new(encoder).text(1, c.cfg.User).text(2, c.cfg.Password)))
	if is(err, "etcdserver: authentication is not enabled") {
		return nil
	}
	if err != nil {
		return told(ctx, err)
	}
	var token string
	err = decode(answer, func(f field) error {
		if f.n == 2 {
			token = string(f.bytes)
		}
		return nil
	})
	c.token.Store(token)
	return err
}

// once makes one attempt at a call.
type once func(ctx context.Context) ([]byte, error)

// unary returns a call with one request and one answer.
func (c *Client) unary(method string, request *encoder) once {
	return func(ctx context.Context) (answer []byte, err error) {
		err = c.conn.Invoke(ctx, method, &request.b, &answer)
		return answer, err
	}
}

// call makes a call and logs in if etcd requires a new token for it. If the answer is lost, a
// repeatable call is made again.
func (c *Client) call(ctx context.Context, repeatable bool, do once) ([]byte, error) {
	answer, err := c.try(ctx, repeatable, do)
	for range logins {
		switch {
		// The token is older than the last change of users or rights.
		case is(err, "etcdserver: revision of auth store is old"):
		case c.cfg.User != "" && (is(err, "etcdserver: invalid auth token") || is(err, "etcdserver: user name is empty")):
		default:
			return answer, told(ctx, err)
		}
		if err := c.Login(ctx); err != nil {
			return nil, err
		}
		answer, err = c.try(ctx, repeatable, do)
	}
	return answer, told(ctx, err)
}

const (
	logins  = 10  // maximum number of logins per call
	repeats = 100 // maximum number of attempts per call
	pause   = 25 * time.Millisecond
)

func (c *Client) try(ctx context.Context, repeatable bool, do once) (answer []byte, err error) {
	for range repeats {
		with := ctx
		if token, _ := c.token.Load().(string); token != "" {
			with = metadata.AppendToOutgoingContext(ctx, "token", token)
		}
		answer, err = do(with)
		if !repeatable || status.Code(err) != codes.Unavailable {
			break
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
	return answer, err
}

// is reports whether etcd returned the given error. It compares texts, because many errors share a
// code.
func is(err error, text string) bool { return err != nil && status.Convert(err).Message() == text }

// refusal is an error returned by etcd. Its text is only what etcd reported.
type refusal struct{ *status.Status }

func (r refusal) Error() string              { return r.Message() }
func (r refusal) GRPCStatus() *status.Status { return r.Status }

// told converts an error of a call for the caller. After a timeout it says what the call was
// waiting for.
func told(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	switch {
	case ctx.Err() != nil && s.Code() == codes.DeadlineExceeded && s.Message() != ctx.Err().Error():
		return fmt.Errorf("%w: %s", context.Cause(ctx), s.Message())
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case is(err, ErrLeaseNotFound.Error()):
		return ErrLeaseNotFound
	case strings.HasPrefix(s.Message(), "etcdserver: "):
		return refusal{s}
	}
	return err
}

// Unavailable reports whether an error may be temporary: no member was reachable, or the cluster
// had no leader.
func Unavailable(err error) bool { return status.Code(err) == codes.Unavailable }
