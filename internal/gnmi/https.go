package gnmi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/roce-fabric/roce-fabric/internal/fence"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// HTTP is a client for an API over HTTPS, for devices that are not managed by gNMI. It uses a
// [Config], verifies the server as strictly as [Dial], and returns the same errors. It is safe for
// concurrent use.
type HTTP struct {
	cfg      Config
	verifier *verifier
	client   *http.Client
	pool     *http.Transport
	base     string
}

// NewHTTP returns a client. It does no I/O.
func NewHTTP(cfg Config) (*HTTP, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	h := &HTTP{cfg: cfg, base: "http://" + cfg.Address, pool: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
			defer cancel()
			return cfg.Dial.Dial(ctx, network, addr)
		},
		MaxConnsPerHost: 4, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute,
	}}
	if !cfg.TLS.Plaintext {
		tc, v, err := newTLS(cfg.TLS)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		h.base, h.verifier, h.pool.TLSClientConfig = "https://"+cfg.Address, v, tc
	}
	// Do not follow redirects, which would send the password elsewhere.
	h.client = &http.Client{Transport: h.pool, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return h, nil
}

// Addr returns the device's host:port.
func (h *HTTP) Addr() string { return h.cfg.Address }

// Close closes the idle connections.
func (h *HTTP) Close() error {
	h.pool.CloseIdleConnections()
	return nil
}

// Do sends one request, with JSON as its body unless body is nil, and returns the status and the
// answer for every status except 401. The configured timeout limits it.
func (h *HTTP) Do(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	op := strings.ToLower(method)
	call := h.cfg.Log.Begin("https "+op, func() string { return strings.TrimSpace(method + " " + path + " " + string(body)) })
	defer func() { call.End(func() string { return string(answer) }, err) }()
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timeout)
	defer cancel()
	if err := fence.Err(ctx); err != nil {
		return 0, nil, h.failure(ctx, op, err)
	}
	req, err := http.NewRequestWithContext(ctx, method, h.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, &RPCError{Op: op, Addr: h.cfg.Address, Msg: err.Error(), kind: ErrConfig}
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if !h.cfg.TLS.Plaintext && !h.cfg.TLS.Insecure {
		req.SetBasicAuth(h.cfg.Username, h.cfg.Password.Reveal())
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return 0, nil, h.failure(ctx, op, err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(io.LimitReader(resp.Body, int64(h.cfg.MaxMessage)+1)); err != nil {
		return 0, nil, h.failure(ctx, op, err)
	}
	if len(answer) > h.cfg.MaxMessage {
		return 0, nil, &RPCError{Op: op, Addr: h.cfg.Address, Msg: fmt.Sprintf("more than %d bytes", h.cfg.MaxMessage), kind: ErrTooLarge}
	}
	h.verifier.markAnswered()
	if resp.StatusCode == http.StatusUnauthorized {
		return 0, nil, &RPCError{Code: codes.Unauthenticated, Op: op, Addr: h.cfg.Address, kind: ErrAuth, hint: "check the user name and password"}
	}
	return resp.StatusCode, answer, nil
}

// failure returns the error for a request without an answer.
func (h *HTTP) failure(ctx context.Context, op string, err error) *RPCError {
	e := &RPCError{Op: op, Addr: h.cfg.Address, kind: ErrUnreachable, cause: err, Msg: term.Clean(reason(err))}
	seen := h.verifier.lastHandshake()
	switch timeout, _ := errors.AsType[net.Error](err); {
	case seen.err != nil && !seen.used:
		e.distrusted(seen, h.verifier)
	case seen.asked && !seen.used:
		e.withoutCertificate()
	case errors.Is(err, context.Canceled):
		e.kind, e.cause = nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded) || timeout != nil && timeout.Timeout():
		e.kind, e.cause, e.Msg = ErrTimeout, context.DeadlineExceeded, ""
	case strings.Contains(err.Error(), "first record does not look like a TLS handshake") || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.kind, e.Msg = ErrTLS, "the device does not speak TLS on this port"
	}
	return e
}

// reason returns the text of an error without the address, which the text of an [RPCError] already
// contains.
func reason(err error) string {
	for _, in := range []string{": dial tcp ", "\": "} {
		if _, after, ok := strings.Cut(err.Error(), in); ok {
			return after
		}
	}
	return err.Error()
}
