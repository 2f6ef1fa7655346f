package gnmi

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roce-fabric/roce-fabric/internal/term"
)

// The kinds of errors, for [errors.Is].
var (
	ErrUnreachable = errors.New("device is unreachable")
	ErrTLS         = errors.New("TLS failed")
	ErrAuth        = errors.New("login refused")
	ErrTimeout     = errors.New("no answer in time")
	// ErrNotFound reports that the device has nothing at a path.
	ErrNotFound = errors.New("not found")
	// ErrTooLarge reports that a message exceeds the limit of either side.
	ErrTooLarge = errors.New("message too large")
	// errPlaintextPassword reports that a password would have been sent in clear text.
	errPlaintextPassword = errors.New("password without TLS")
	// errUnverifiedPassword reports that a password would have been sent to an unverified server.
	errUnverifiedPassword = errors.New("the password would be sent to a server whose certificate is not verified")
	// ErrConfig reports that the Config is invalid; nothing was sent.
	ErrConfig = errors.New("gNMI settings are wrong")
	// ErrAnswer reports that the device's answer makes no sense.
	ErrAnswer = errors.New("unusable answer")
)

// maxMsg is how many bytes of a device's error text are kept.
const maxMsg = 8 << 10

// RPCError is a failed call. It wraps one of the sentinels if the cause is known, and the
// context's error if the caller ended the call.
type RPCError struct {
	Code codes.Code // gRPC status; OK if the failure is not the device's
	Op   string     // "connect", "capabilities", "get", "set", "subscribe"
	Addr string
	Msg  string // the device's message or ours, shortened, safe to print

	kind  error
	cause error
	hint  string
}

// Error returns one line with the operation, address, kind, code and message.
func (e *RPCError) Error() string {
	s := e.Op + " " + e.Addr
	if e.kind != nil {
		s += ": " + e.kind.Error()
	} else if e.Code != codes.OK {
		s += ": " + e.Code.String()
	}
	if m := term.CleanLine(e.Msg); m != "" {
		s += ": " + m
	}
	return s
}

// Unwrap returns the sentinel and the cause, if known.
func (e *RPCError) Unwrap() []error {
	var l []error
	for _, err := range []error{e.kind, e.cause} {
		if err != nil {
			l = append(l, err)
		}
	}
	return l
}

// Hint returns advice about the failure; may be "".
func (e *RPCError) Hint() string { return e.hint }

// rpcError converts the error of a call into an RPCError.
func (c *Client) rpcError(ctx context.Context, op string, err error) *RPCError {
	st, _ := status.FromError(err)
	e := &RPCError{Code: st.Code(), Op: op, Addr: c.addr}
	msg := st.Message()
	e.Msg = term.Clean(msg[:min(len(msg), maxMsg)])
	switch e.Code {
	case codes.Unauthenticated, codes.PermissionDenied:
		e.kind = ErrAuth
		e.hint = "check the user name and password; SONiC with user_auth cert needs a client certificate instead"
	case codes.NotFound:
		// SONiC also reports a path that it cannot read at all as NotFound, with the actual code
		// inside the text.
		if !strings.HasPrefix(msg, "rpc error: code = ") {
			e.kind = ErrNotFound
		}
	case codes.ResourceExhausted:
		if strings.Contains(msg, "larger than max") {
			e.kind = ErrTooLarge
		}
	case codes.DeadlineExceeded:
		e.kind, e.cause = ErrTimeout, context.DeadlineExceeded
		if cause := dialCause(msg); cause != "" {
			e.Msg = cause
		}
	case codes.Canceled:
		if cerr := ctx.Err(); cerr != nil {
			e.cause = cerr
		}
	case codes.Unavailable:
		c.unavailable(e, msg)
	}
	return e
}

// unavailable determines the kind of an error that gRPC calls Unavailable. The texts are from
// google.golang.org/grpc/internal/transport/http2_client.go.
func (c *Client) unavailable(e *RPCError, msg string) {
	has := func(s string) bool { return strings.Contains(msg, s) }
	e.kind = ErrUnreachable
	if cause := dialCause(msg); cause != "" {
		e.Msg = cause
	}
	seen := c.verifier.lastHandshake()
	handshake := has("authentication handshake failed")
	// A broken connection may also be reported as the bare error of the socket.
	broken := has("connection error: desc = ") || has("write tcp ") || has("read tcp ")
	switch {
	case has("Error while dialing"):
		if has("i/o timeout") {
			e.kind, e.cause = ErrTimeout, context.DeadlineExceeded
		}
	case handshake && seen.err != nil:
		e.distrusted(seen, c.verifier)
	case handshake && has("context deadline exceeded"):
		e.kind, e.cause = ErrTimeout, context.DeadlineExceeded
	case has("reading server preface") && has("use of closed network connection"):
		// gRPC closes a connection on which the server has not said anything in time.
		e.kind, e.cause, e.Msg = ErrTimeout, context.DeadlineExceeded, ""
	case (handshake || broken) && seen.asked && !seen.used:
		// With TLS 1.3 the server rejects a certificate after the handshake, and the alert may be
		// lost when the connection closes.
		e.withoutCertificate()
	case has("first record does not look like a TLS handshake"):
		e.kind, e.Msg = ErrTLS, "the device does not speak TLS on this port"
	case handshake && (has("connection reset by peer") || has("broken pipe") || has("EOF")):
		// The error says nothing about certificates: the device is probably restarting.
		e.Msg = "the connection broke in the TLS handshake: " + e.Msg
	case handshake:
		e.kind = ErrTLS
	case c.verifier == nil && has("reading server preface"):
		e.hint = "the device may expect TLS on this port"
	}
}

// distrusted sets the error for a server whose certificate was rejected.
func (e *RPCError) distrusted(seen handshake, v *verifier) {
	e.kind, e.cause, e.Msg = ErrTLS, seen.err, term.Clean(seen.err.Error())
	e.hint = fmt.Sprintf("the server's key is %s: after checking it on the device, set it as the pin", seen.key)
	switch {
	case v.pin != "":
		e.hint = "if the device got a new key on purpose, check it there and change the pin; otherwise the connection is intercepted"
	case errors.As(seen.err, new(x509.HostnameError)):
		e.hint = "set tls.serverName to a name in the certificate; or: " + e.hint
	}
}

// withoutCertificate sets the error for a server that closed the connection because it requires a
// client certificate.
func (e *RPCError) withoutCertificate() {
	e.kind, e.Msg = ErrAuth, "the device asked for a client certificate and broke off: "+e.Msg
	e.hint = "set a client certificate and key that the device trusts"
}

// dialCause extracts the cause from gRPC's wrapping, or returns "".
func dialCause(msg string) string {
	for _, mark := range []string{"Error while dialing: ", "authentication handshake failed: ", "error reading server preface: ", "connection error: desc = "} {
		if _, after, ok := strings.Cut(msg, mark); ok {
			return strings.Trim(term.Clean(after[:min(len(after), maxMsg)]), `"`)
		}
	}
	return ""
}
