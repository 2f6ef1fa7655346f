// Package etcd is a client of etcd: what the store of runs needs of its API, version 3,
// and no more. The official client would add a twentieth to the program, and does not
// come back from a token that etcd has forgotten (v3.7.3: it asks for a new one with the
// old one attached, until its time is up).
//
// It treats the members of etcd as that client does: calls go to each in turn, wait for
// one to be there until their time is up, and are repeated where that cannot do anything
// twice.
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

// ErrLeaseNotFound says that a lease is over.
var ErrLeaseNotFound = errors.New("etcdserver: requested lease not found")

// Config says how to reach etcd.
type Config struct {
	Endpoints []string    // host:port, one at least
	TLS       *tls.Config // nil for none
	// User and Password log in before the first call, and again when etcd wants it.
	User, Password string
}

// Client is a connection to etcd. It is safe for concurrent use.
type Client struct {
	conn  *grpc.ClientConn
	cfg   Config
	token atomic.Value // a string
}

// New makes a client, which connects with its first call.
func New(cfg Config) (*Client, error) {
	creds := insecure.NewCredentials()
	if cfg.TLS != nil {
		creds = credentials.NewTLS(cfg.TLS)
	}
	members := manual.NewBuilderWithScheme("etcd-endpoints")
	var state resolver.State
	for _, e := range cfg.Endpoints {
		// The certificate of a member has the name that the member is called by here.
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: e, ServerName: e}}})
	}
	members.InitialState(state)
	conn, err := grpc.NewClient("etcd-endpoints:///"+cfg.Endpoints[0], grpc.WithResolvers(members), grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(`{"loadBalancingPolicy":"round_robin"}`),
		// A member that went away without a word must not hold the next call up.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5 * time.Second, Timeout: 3 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(message{}), grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, cfg: cfg}, nil
}

// Close ends the connection. It may be called more than once.
func (c *Client) Close() error {
	if err := c.conn.Close(); status.Code(err) != codes.Canceled { // it was closed before
		return err
	}
	return nil
}

// Login takes a token for the user; without a user it does nothing. A call does it by
// itself when etcd asks for it: to do it first tells a wrong password early.
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

// once makes a call, one time.
type once func(ctx context.Context) ([]byte, error)

// unary is a call with one answer.
func (c *Client) unary(method string, request *encoder) once {
	return func(ctx context.Context) (answer []byte, err error) {
		err = c.conn.Invoke(ctx, method, &request.b, &answer)
		return answer, err
	}
}

// call makes a call, and logs in where etcd wants a new token for it. One that does
// the same when it is done twice is repeated where its answer was lost.
func (c *Client) call(ctx context.Context, repeatable bool, do once) ([]byte, error) {
	answer, err := c.try(ctx, repeatable, do)
	for range logins {
		switch {
		// The token was made before users or rights changed.
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
	logins  = 10  // that one call tries
	repeats = 100 // of one call
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

// is reports whether an error is one of etcd's, by its text: the code is shared by many.
func is(err error, text string) bool { return err != nil && status.Convert(err).Message() == text }

// refusal is an error that etcd answers with. Its text is that of etcd alone.
type refusal struct{ *status.Status }

func (r refusal) Error() string              { return r.Message() }
func (r refusal) GRPCStatus() *status.Status { return r.Status }

// told is an error of a call for a reader: where time was up it says what the call was
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

// Unavailable reports whether an error may pass by itself: no member was there, or they
// have no leader.
func Unavailable(err error) bool { return status.Code(err) == codes.Unavailable }
