package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// client returns a client for etcd. It connects at its first call.
func (cfg EtcdConfig) client() (*clientv3.Client, *etcdUser, error) {
	names, err := cfg.tls()
	if err != nil {
		return nil, nil, err
	}
	user := &etcdUser{name: cfg.User, password: cfg.Password.Reveal()}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: cfg.Endpoints, TLS: names, Logger: zap.NewNop(),
		// Detect a member that disappeared silently, so that the next call does not wait for it.
		DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithPerRPCCredentials(user), grpc.WithChainUnaryInterceptor(user.call)},
	})
	return c, user, err
}

// authenticate is the call that returns a token.
const authenticate = "/etcdserverpb.Auth/Authenticate"

// etcdUser attaches the token of a user to calls, and requests a new one whenever etcd demands
// it. The client's own login (v3.7.3) requests a new token with the old one attached, which etcd
// rejects until the call times out.
type etcdUser struct {
	name, password string // "" for no user
	token          atomic.Pointer[string]
}

func (u *etcdUser) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	to, _ := credentials.RequestInfoFromContext(ctx)
	if token := u.token.Load(); token != nil && to.Method != authenticate {
		return map[string]string{rpctypes.TokenFieldNameGRPC: *token}, nil
	}
	return nil, nil
}

// RequireTransportSecurity returns false: whether etcd is reached by TLS is the operator's choice.
func (u *etcdUser) RequireTransportSecurity() bool { return false }

// login requests a token for the user; without a user it does nothing. Calls log in themselves when
// etcd demands it, but an explicit login reports a wrong password early.
func (u *etcdUser) login(ctx context.Context, c *clientv3.Client) error {
	if u.name == "" || u.password == "" {
		return nil
	}
	answer, err := c.Authenticate(ctx, u.name, u.password)
	switch {
	case errors.Is(err, rpctypes.ErrAuthNotEnabled):
		return nil
	case err != nil:
		return err
	}
	u.token.Store(&answer.Token)
	return nil
}

// logins is the maximum number of logins per call.
const logins = 10

// call makes a call, and logs in if etcd demands a new token for it. The error after a timeout says
// what the call was waiting for.
func (u *etcdUser) call(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
	err := invoke(ctx, method, request, reply, conn, o...)
	for range logins {
		is := rpctypes.Error(err)
		stale := errors.Is(is, rpctypes.ErrAuthOldRevision) ||
			u.name != "" && (errors.Is(is, rpctypes.ErrInvalidAuthToken) || errors.Is(is, rpctypes.ErrUserEmpty))
		if !stale || method == authenticate {
			break
		}
		var answer etcdserverpb.AuthenticateResponse
		if u.name != "" {
			if err = invoke(ctx, authenticate, &etcdserverpb.AuthenticateRequest{Name: u.name, Password: u.password}, &answer, conn); err != nil {
				break
			}
			u.token.Store(&answer.Token)
		}
		err = invoke(ctx, method, request, reply, conn, o...)
	}
	if s := status.Convert(err); ctx.Err() != nil && s.Code() == codes.DeadlineExceeded && s.Message() != ctx.Err().Error() {
		return fmt.Errorf("%w: %s", context.Cause(ctx), s.Message())
	}
	return err
}
