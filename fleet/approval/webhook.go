package approval

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// webhook approves with status 200 and {"approved": true}.
type webhook struct {
	to    *intent.Approval
	agent string
}

func (w *webhook) String() string {
	if u, err := url.Parse(w.to.URL); err == nil {
		return u.Host
	}
	return "the webhook"
}

// Approve posts the request and waits for the answer.
func (w *webhook) Approve(ctx context.Context, r fleet.ApprovalRequest) error {
	ctx, cancel := context.WithTimeout(ctx, w.to.Timeout)
	defer cancel()
	client, err := w.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	req, err := w.request(ctx, r)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) { // its text repeats the address
			err = u.Err
		}
		return late(ctx, w.to.Timeout, err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return late(ctx, w.to.Timeout, fmt.Errorf("read its answer: %w", err))
	}
	return verdict(resp.StatusCode, b)
}

// client trusts the authorities of the intent, or those of the system.
func (w *webhook) client() (*http.Client, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxAnswer
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if file := w.to.CA; file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("%s holds no certificate", file)
		}
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

func (w *webhook) request(ctx context.Context, r fleet.ApprovalRequest) (*http.Request, error) {
	body, err := json.Marshal(document{format, r})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.to.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", w.agent)
	if w.to.Token != "" {
		token, err := secret.Resolve(ctx, w.to.Token)
		if err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	return req, nil
}

// verdict reads an answer.
func verdict(status int, body []byte) error {
	var answer struct {
		Approved bool   `json:"approved"`
		Reason   string `json:"reason"`
	}
	bad := json.Unmarshal(body, &answer)
	switch {
	case status >= 300 && status < 400:
		return fmt.Errorf("it redirects elsewhere (status %d)", status)
	case status != http.StatusOK:
		return reason(answer.Reason, fmt.Sprintf("it answers %d %s", status, http.StatusText(status)))
	case len(body) > maxAnswer:
		return errors.New("its answer is too long")
	case bad != nil:
		return errors.New("its answer is not understood")
	case !answer.Approved:
		return reason(answer.Reason, "it says no")
	}
	return nil
}
