// Package callout runs a program or calls an https server that the operator configured. Every call
// has a time limit and no redirect is followed. Errors show no more of an address than its host,
// because the rest may be a secret.
package callout

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// MaxAnswer limits how much of an answer is read, and maxCA the size of a certificate file, both
// in bytes.
const (
	MaxAnswer = 64 << 10
	maxCA     = 4 << 20
)

// grace is the time that a command has to exit after SIGTERM, and the time that a child process
// may keep the command's outputs open.
const grace = 2 * time.Second

// To is the target of a call: a Command with its arguments, or else a URL.
type To struct {
	Command []string
	URL     string
	Token   string // reference to the bearer token; "" for none
	CA      string // PEM file; "" uses the system's certificates
	Agent   string // User-Agent of the requests
	Timeout time.Duration
	// Policy limits the targets that an intent may name; nil if the operator named the target.
	Policy *secret.Policy
}

// String returns the command, or the host of the URL.
func (t *To) String() string {
	if len(t.Command) > 0 {
		return t.Command[0]
	}
	if u, err := url.Parse(t.URL); err == nil {
		return u.Host
	}
	return "the webhook"
}

// Run runs the command with the document on its stdin and env added to its environment. It returns
// an [*exec.ExitError] if the command exits with a status other than 0; any other error means that
// the command did not run to its end.
func (t *To) Run(ctx context.Context, document []byte, env []string, stdout, stderr io.Writer) error {
	if t.Policy != nil {
		if err := t.Policy.Program(t.Command); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.Command[0], t.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(append(document, '\n')), stdout, stderr, grace
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // lets the command withdraw what it began
	cmd.Env = append(os.Environ(), env...)
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		return t.timeoutOr(ctx, err)
	}
	return err
}

// Post posts a document to the URL. It returns at most MaxAnswer+1 bytes of the answer, so that
// the caller can detect a longer one.
func (t *To) Post(ctx context.Context, document []byte) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	client, err := t.client()
	if err != nil {
		return 0, nil, err
	}
	defer client.CloseIdleConnections()
	req, err := t.request(ctx, document)
	if err != nil {
		return 0, nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) { // the text of a url.Error repeats the address
			err = u.Err
		}
		return 0, nil, t.timeoutOr(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if answer, err = io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1)); err != nil {
		return 0, nil, t.timeoutOr(ctx, fmt.Errorf("read its answer: %w", err))
	}
	return resp.StatusCode, answer, nil
}

// client returns an HTTP client that trusts the certificates in CA, or the system's if CA is "".
func (t *To) client() (*http.Client, error) {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.MaxResponseHeaderBytes = MaxAnswer
	tr.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		b, err := boundedfile.Read(t.CA, maxCA)
		if err != nil {
			return nil, err
		}
		tr.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !tr.TLSClientConfig.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("%s contains no certificate", t.CA)
		}
	}
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

func (t *To) request(ctx context.Context, document []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(document))
	if err != nil {
		return nil, errors.New("the URL cannot be parsed")
	}
	resolve := secret.Resolve
	if t.Policy != nil {
		if err := t.Policy.Address(req.URL.Hostname()); err != nil {
			return nil, err
		}
		resolve = t.Policy.Resolve
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", t.Agent)
	if t.Token != "" {
		token, err := resolve(ctx, t.Token)
		if err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	return req, nil
}

// timeoutOr returns an error that names the timeout if the context's deadline has passed, and err
// otherwise.
func (t *To) timeoutOr(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", t.Timeout)
	}
	return err
}
