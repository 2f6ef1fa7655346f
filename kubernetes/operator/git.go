package operator

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// gitTime is the time limit of a fetch, gitBytes the limit for all data that a server sends in
// it.
const (
	gitTime  = time.Minute
	gitBytes = 32 << 20
)

// The keys of a repository's Secret. They are the keys of the types kubernetes.io/basic-auth,
// kubernetes.io/ssh-auth and kubernetes.io/tls where those types have one.
const (
	gitToken, gitUser, gitPassword, gitCA = "token", "username", "password", "ca.crt"
	gitKey, gitKnownHosts                 = "ssh-privatekey", "known_hosts"
)

// gitServer is a repository's upload-pack service, for one fetch.
type gitServer interface {
	// refs requests the list of references.
	refs(context.Context) (*packp.AdvRefs, error)
	// fetch sends a request and returns the response.
	fetch(context.Context, io.Reader) (io.ReadCloser, error)
	Close() error
}

// clone writes the files of an intent to a folder, and returns their path and the commit.
func (o *Options) clone(ctx context.Context, c client.Reader, f *v1alpha1.Fabric, dir string) (path, revision string, _ error) {
	ctx, cancel := context.WithTimeoutCause(ctx, gitTime, fmt.Errorf("not finished within %s", gitTime))
	defer cancel()
	src := f.Spec.Intent.Git
	l, err := newGitLogin(ctx, c, f, dir+"-login")
	if err != nil {
		return "", "", err
	}
	server, err := l.open(ctx, src.URL)
	if err == nil {
		path, revision, err = checkOut(ctx, server, src, dir)
		err = errors.Join(err, server.Close())
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err = l.withoutSecrets(err); err != nil {
		return "", "", err
	}
	return path, revision, nil
}

// gitLogin holds the credentials for a repository.
type gitLogin struct {
	secret string // name of the Secret; "" if there is none
	keys   map[string][]byte
	dir    string
}

func newGitLogin(ctx context.Context, c client.Reader, f *v1alpha1.Fabric, dir string) (*gitLogin, error) {
	l := &gitLogin{dir: dir}
	ref := f.Spec.Intent.Git.Secret
	if ref == nil {
		return l, nil
	}
	var s corev1.Secret
	if err := c.Get(ctx, types.NamespacedName{Namespace: f.Namespace, Name: ref.Name}, &s); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, wrong("spec.intent.git.secret: there is no Secret %s", ref.Name)
		}
		return nil, fmt.Errorf("read Secret %s: %w", ref.Name, err)
	}
	l.secret, l.keys = ref.Name, s.Data
	return l, nil
}

// text returns the value of a key without surrounding white space, such as a final newline.
func (l *gitLogin) text(key string) string { return strings.TrimSpace(string(l.keys[key])) }

// withoutSecrets returns the error without secrets, which a server may have echoed.
func (l *gitLogin) withoutSecrets(err error) error {
	if err == nil {
		return nil
	}
	text := strings.ReplaceAll(err.Error(), l.dir+"/", "")
	for _, key := range []string{gitToken, gitPassword} {
		if v := l.text(key); v != "" {
			text = strings.NewReplacer(v, "***", url.QueryEscape(v), "***", l.basic(), "***").Replace(text)
		}
	}
	if len(text) > maxText {
		text = shorten(text)
	}
	if errors.As(err, new(*intentError)) {
		return wrong("%s", text)
	}
	return errors.New("git: " + text)
}

// basic returns the credentials for HTTP basic authentication. Servers that take a token as the
// password accept any user name.
func (l *gitLogin) basic() string {
	user := l.text(gitUser)
	if user == "" {
		user = "git"
	}
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + l.text(gitPassword)))
}

func (l *gitLogin) open(ctx context.Context, at string) (gitServer, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, wrong("spec.intent.git.url: %s", err)
	}
	if u.Scheme == "ssh" {
		return l.openSSH(ctx, u)
	}
	return l.openHTTPS(u)
}

// gitHTTP is a repository accessed over HTTPS.
type gitHTTP struct {
	login *gitLogin
	url   string
	http  http.Client
	left  int64 // bytes that the server may still send
}

func (l *gitLogin) openHTTPS(u *url.URL) (gitServer, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca := l.keys[gitCA]; ca != nil {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(ca) {
			return nil, wrong("Secret %s: %s has no certificate", l.secret, gitCA)
		}
		t.RootCAs = pool
	}
	if l.secret != "" && l.text(gitToken) == "" && l.text(gitPassword) == "" && l.keys[gitCA] == nil {
		return nil, wrong("Secret %s has no key %s, %s or %s", l.secret, gitToken, gitPassword, gitCA)
	}
	s := &gitHTTP{login: l, url: strings.TrimSuffix(u.String(), "/"), left: gitBytes}
	s.http.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: t, DisableKeepAlives: true}
	// Do not follow redirects, so that credentials reach only their own server.
	s.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s, nil
}

func (s *gitHTTP) Close() error { return nil }

func (s *gitHTTP) refs(ctx context.Context) (*packp.AdvRefs, error) {
	body, err := s.ask(ctx, http.MethodGet, "/info/refs?service=git-upload-pack", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close() // the body was read; the error does not matter
	out := packp.NewAdvRefs()
	return out, out.Decode(body)
}

func (s *gitHTTP) fetch(ctx context.Context, req io.Reader) (io.ReadCloser, error) {
	return s.ask(ctx, http.MethodPost, "/git-upload-pack", req)
}

func (s *gitHTTP) ask(ctx context.Context, method, at string, body io.Reader) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+at, body)
	if err != nil {
		return nil, wrong("spec.intent.git.url: %s", err)
	}
	kind := "application/x-git-upload-pack-advertisement"
	if body != nil {
		kind = "application/x-git-upload-pack-result"
		req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	}
	// GitHub treats other user agents as browsers.
	req.Header.Set("User-Agent", "git/roce-fabric-operator")
	l := s.login
	switch {
	case l.text(gitToken) != "":
		req.Header.Set("Authorization", "Bearer "+l.text(gitToken))
	case l.text(gitPassword) != "":
		req.Header.Set("Authorization", "Basic "+l.basic())
	}
	resp, err := s.http.Do(req)
	if err != nil {
		if errors.As(err, new(*tls.CertificateVerificationError)) {
			return nil, wrong("%s (for a private CA, set the key %s in the Secret of spec.intent.git.secret)", err, gitCA)
		}
		return nil, err
	}
	if err := s.judge(resp, kind); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	return &bounded{resp.Body, &s.left}, nil
}

// judge returns the error for a failed HTTP response.
func (s *gitHTTP) judge(resp *http.Response, kind string) error {
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if s.login.secret == "" {
			return wrong("%s asks for a login: name its Secret in spec.intent.git.secret", s.url)
		}
		return wrong("%s refuses the login of Secret %s (%s)", s.url, s.login.secret, resp.Status)
	case code == http.StatusNotFound:
		return wrong("%s is not a repository, or the login has no access to it", s.url)
	case code >= 300 && code < 400:
		return wrong("%s redirects to %s: name that in spec.intent.git.url", s.url, resp.Header.Get("Location"))
	case code != http.StatusOK:
		return fmt.Errorf("%s answers %s", s.url, resp.Status)
	case resp.Header.Get("Content-Type") != kind:
		return wrong("%s is not a Git repository: it answers with %q", s.url, resp.Header.Get("Content-Type"))
	}
	return nil
}

// bounded is a response whose size is limited.
type bounded struct {
	io.ReadCloser
	left *int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), *b.left+1)])
	if *b.left -= int64(n); *b.left < 0 {
		return 0, wrong("the server sends more than %d MiB: use a separate repository for intents", gitBytes>>20)
	}
	return n, err
}

// gitSSH is a repository accessed over SSH.
type gitSSH struct {
	c      *ssh.Client
	stream *ssh.Stream
	stop   func() bool
	stderr *bytes.Buffer
	left   int64
}

func (l *gitLogin) openSSH(ctx context.Context, u *url.URL) (_ gitServer, err error) {
	for _, key := range []string{gitKey, gitKnownHosts} {
		if l.text(key) == "" {
			return nil, wrong("%s needs the keys %s and %s in the Secret of spec.intent.git.secret, and there is no %s", u, gitKey, gitKnownHosts, key)
		}
		if err := errors.Join(os.MkdirAll(l.dir, 0o700), os.WriteFile(filepath.Join(l.dir, key), append(l.keys[key], '\n'), 0o600)); err != nil {
			return nil, err
		}
	}
	user, port := u.User.Username(), u.Port()
	if user == "" {
		user = "git"
	}
	if port == "" {
		port = "22"
	}
	s := &gitSSH{stderr: &bytes.Buffer{}, left: gitBytes}
	s.c, err = ssh.Dial(ctx, ssh.Config{Address: net.JoinHostPort(u.Hostname(), port), User: user, KeyFile: filepath.Join(l.dir, gitKey), KnownHosts: filepath.Join(l.dir, gitKnownHosts), Timeout: gitTime})
	switch {
	case errors.Is(err, ssh.ErrHostKeyUnknown) || errors.Is(err, ssh.ErrHostKeyChanged) || errors.Is(err, ssh.ErrAuth):
		return nil, wrong("%s, with Secret %s", err, l.secret)
	case err != nil:
		return nil, err
	}
	// Quote the path as git does, because a shell may interpret it on the server.
	s.stream, err = s.c.Stream(ctx, "git-upload-pack '"+strings.ReplaceAll(u.Path, "'", `'\''`)+"'", &limited{s.stderr})
	if err != nil {
		return nil, errors.Join(err, s.c.Close())
	}
	s.stop = context.AfterFunc(ctx, func() { _ = s.stream.Close() })
	return s, nil
}

// limited keeps only the beginning of what is written.
type limited struct{ *bytes.Buffer }

func (l *limited) Write(b []byte) (int, error) {
	l.Buffer.Write(b[:min(len(b), max(0, maxText-l.Len()))])
	return len(b), nil
}

func (s *gitSSH) Close() error {
	s.stop()
	return errors.Join(s.stream.Close(), s.c.Close())
}

func (s *gitSSH) refs(ctx context.Context) (*packp.AdvRefs, error) {
	out := packp.NewAdvRefs()
	err := out.Decode(&bounded{s.stream, &s.left})
	if err == nil || ctx.Err() != nil || errors.As(err, new(*intentError)) {
		return out, err
	}
	// The command has ended and may have reported the reason.
	if code, e := s.stream.Wait(ctx); e == nil && code != 0 {
		return nil, wrong("git-upload-pack ended with status %d: %s", code, s.text())
	}
	return nil, err
}

// text returns the error output of the command.
func (s *gitSSH) text() string {
	_ = s.c.Close() // ends further output
	return strings.Join(strings.Fields(s.stderr.String()), " ")
}

func (s *gitSSH) fetch(_ context.Context, req io.Reader) (io.ReadCloser, error) {
	if _, err := io.Copy(s.stream, req); err != nil {
		return nil, err
	}
	return &bounded{s.stream, &s.left}, s.stream.CloseWrite()
}
