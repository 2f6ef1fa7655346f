package gnmi

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// maxPEM is the maximum size of a certificate file in bytes. A complete system bundle is smaller
// than 1 MiB.
const maxPEM = 4 << 20

// verifier verifies the server's certificate and records the result, because gRPC turns a
// handshake error into text that does not contain the key.
type verifier struct {
	name  string
	roots *x509.CertPool // nil uses the system's
	pin   string         // hex; "" verifies the chain instead
	any   bool

	mu   sync.Mutex
	seen handshake
}

// handshake is the outcome of the last handshake.
type handshake struct {
	err   error  // result of verifying the server's certificate
	key   string // the server's, "sha256:<hex>"
	asked bool   // the server asked for a client certificate
	used  bool   // a call was answered after the handshake
}

// newTLS returns the TLS configuration and the verifier that it uses. Verification is done in
// VerifyConnection, which also sees resumed sessions.
func newTLS(t TLS) (*tls.Config, *verifier, error) {
	v := &verifier{name: t.ServerName, any: t.Insecure}
	c := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         t.ServerName,
		CurvePreferences:   t.Curves,
		InsecureSkipVerify: true, // VerifyConnection verifies instead
		VerifyConnection:   v.verify,
	}
	if t.Pin != "" {
		hexPin, ok := strings.CutPrefix(t.Pin, "sha256:")
		b, err := hex.DecodeString(hexPin)
		if !ok || err != nil || len(b) != sha256.Size {
			return nil, nil, fmt.Errorf("pin %q is not sha256: and 64 hex digits", t.Pin)
		}
		v.pin = hex.EncodeToString(b)
	}
	if t.CAFile != "" {
		pem, err := boundedfile.Read(t.CAFile, maxPEM)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read CA file: %w", err)
		}
		v.roots = x509.NewCertPool()
		if !v.roots.AppendCertsFromPEM(pem) {
			return nil, nil, fmt.Errorf("CA file %s contains no certificate", t.CAFile)
		}
	}
	pair := tls.Certificate{}
	if t.CertFile != "" {
		cert, err := boundedfile.Read(t.CertFile, maxPEM)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read client certificate: %w", err)
		}
		key, err := secret.ReadFile(t.KeyFile)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read client key: %w", err)
		}
		if pair, err = tls.X509KeyPair(cert, key); err != nil {
			return nil, nil, fmt.Errorf("client certificate %s and key %s: %w", t.CertFile, t.KeyFile, err)
		}
	}
	// The callback sends the certificate even if the server's list of accepted issuers does not
	// contain its issuer, so that the server's refusal shows what is wrong. It also records that
	// the server asked for a certificate.
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.seen.asked = true
		return &pair, nil
	}
	return c, v, nil
}

// pinOf returns the pin of a certificate's public key, "sha256:<hex>".
func pinOf(c *x509.Certificate) string {
	h := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(h[:])
}

func (v *verifier) verify(cs tls.ConnectionState) error {
	key, err := "", errors.New("server presents no certificate")
	if len(cs.PeerCertificates) > 0 {
		key = pinOf(cs.PeerCertificates[0])
		err = v.verifyServer(cs.PeerCertificates, key)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	// The request for a client certificate is answered after this.
	v.seen = handshake{err: err, key: key}
	return err
}

func (v *verifier) verifyServer(certs []*x509.Certificate, key string) error {
	switch {
	case v.any:
		return nil
	case v.pin != "":
		if key != "sha256:"+v.pin {
			return fmt.Errorf("server key is %s, pinned is sha256:%s", key, v.pin)
		}
		return nil
	}
	inter := x509.NewCertPool()
	for _, c := range certs[1:] {
		inter.AddCert(c)
	}
	_, err := certs[0].Verify(x509.VerifyOptions{DNSName: v.name, Roots: v.roots, Intermediates: inter})
	return err
}

// lastHandshake returns the outcome of the last handshake; zero without TLS.
func (v *verifier) lastHandshake() handshake {
	if v == nil {
		return handshake{}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen
}

// markAnswered records that a call was answered on the connection.
func (v *verifier) markAnswered() {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen.used = true
}
