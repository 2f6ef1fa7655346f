package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// Open opens the store of a fabric. where is a folder used by that fabric alone, or an
// etcd URL as read by [ParseEtcd].
func Open(ctx context.Context, where, fabric string) (Store, error) {
	if !strings.HasPrefix(where, scheme) {
		d := newDir(where)
		d.fabric = fabric
		return d, nil
	}
	cfg, err := ParseEtcd(ctx, where)
	if err != nil {
		return nil, err
	}
	return Etcd(cfg, fabric)
}

// EtcdConfig says how to reach etcd.
type EtcdConfig struct {
	Endpoints []string // host:port
	Prefix    string   // prefix of the keys of all fabrics
	CA        string   // file of trusted CA certificates; "" for the system's
	Cert, Key string   // files of the client certificate and its key
	Plain     bool     // without TLS
	User      string
	Password  secret.Secret
	TTL       time.Duration // time after which a lock expires unless it is renewed
}

// String returns the address without secrets.
func (c EtcdConfig) String() string { return scheme + strings.Join(c.Endpoints, ",") }

const scheme = "etcd://"

// ParseEtcd reads etcd://HOST[:PORT][,HOST...][/PREFIX][?KEY=VALUE&...] with the keys
// ca, cert, key, user, password (a reference, such as env:NAME), ttl and tls=off. Its
// errors never repeat the text, because it may contain a password.
func ParseEtcd(ctx context.Context, text string) (c EtcdConfig, err error) {
	rest, ok := strings.CutPrefix(text, scheme)
	if !ok {
		return c, errors.New("the address of etcd begins with " + scheme)
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, prefix, _ := strings.Cut(rest, "/")
	if strings.Contains(hosts, "@") {
		return c, errors.New("the address of etcd has no user or password before its hosts: write ?user=NAME&password=env:NAME")
	}
	for h := range strings.SplitSeq(hosts, ",") {
		if _, _, err := net.SplitHostPort(h); err != nil {
			h = net.JoinHostPort(strings.Trim(h, "[]"), "2379")
		}
		if strings.HasPrefix(h, ":") {
			return c, errors.New("the address of etcd lacks a host")
		}
		c.Endpoints = append(c.Endpoints, h)
	}
	c.Prefix, c.TTL = "/"+cmp.Or(prefix, "roce-fabric"), TTL
	values, err := url.ParseQuery(query)
	if err != nil {
		return c, errors.New("the address of etcd has a query that cannot be read")
	}
	for key, v := range values {
		if len(v) != 1 {
			return c, errors.New("the address of etcd has a key more than once")
		}
		if err := c.set(ctx, key, v[0]); err != nil {
			return c, fmt.Errorf("the address of etcd: %w", err)
		}
	}
	return c, nil
}

// set sets the field for one key of the address's query.
func (c *EtcdConfig) set(ctx context.Context, key, v string) (err error) {
	switch key {
	case "ca":
		c.CA = v
	case "cert":
		c.Cert = v
	case "key":
		c.Key = v
	case "user":
		if c.User, err = secret.Username(ctx, v); err != nil {
			err = fmt.Errorf("user: %w", err)
		}
	case "password":
		if c.Password, err = secret.Resolve(ctx, v); err != nil {
			err = fmt.Errorf("password: %w", err)
		}
	case "tls":
		if c.Plain = v == "off"; !c.Plain {
			err = errors.New("tls can only be off")
		}
	case "ttl":
		c.TTL, err = time.ParseDuration(v)
		if err != nil || c.TTL < 2*time.Second || c.TTL > time.Hour {
			err = errors.New("ttl is a duration from 2s to 1h")
		}
	default:
		err = errors.New("unknown key; known keys are ca, cert, key, user, password, ttl and tls")
	}
	return err
}

// maxPEM is the maximum size of a certificate file in bytes.
const maxPEM = 1 << 20

// tls returns the TLS configuration, or nil if c.Plain is set.
func (c EtcdConfig) tls() (*tls.Config, error) {
	if c.Plain {
		if c.CA+c.Cert+c.Key != "" {
			return nil, errors.New("the address of etcd has certificates and tls=off")
		}
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		pem, err := boundedfile.Read(c.CA, maxPEM)
		if err != nil {
			return nil, err
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", c.CA)
		}
	}
	if c.Cert != "" || c.Key != "" {
		cert, err := boundedfile.Read(c.Cert, maxPEM)
		if err != nil {
			return nil, fmt.Errorf("load the certificate for etcd: %w", err)
		}
		key, err := secret.ReadFile(c.Key)
		if err != nil {
			return nil, fmt.Errorf("load the key for etcd: %w", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s and key %s for etcd: %w", c.Cert, c.Key, err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
