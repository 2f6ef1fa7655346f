package ssh

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/skeema/knownhosts"
	xssh "golang.org/x/crypto/ssh"
	xknown "golang.org/x/crypto/ssh/knownhosts"

	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// KnownHosts is a set of trusted host keys. Any number of connections may share it.
type KnownHosts struct {
	path string
	db   *knownhosts.HostKeyDB
}

// LoadKnownHosts reads a known_hosts file; "" means ~/.ssh/known_hosts. If the file does not
// exist, no key is trusted and no error is returned.
func LoadKnownHosts(path string) (*KnownHosts, error) {
	if path == "" {
		path = "~/.ssh/known_hosts"
	}
	full, err := secret.ExpandHome(path)
	if err != nil {
		return nil, err
	}
	files := []string{full}
	switch st, err := os.Stat(full); {
	case errors.Is(err, os.ErrNotExist) || full == os.DevNull:
		files = nil
	case err == nil && !st.Mode().IsRegular():
		return nil, fmt.Errorf("cannot read known hosts: %s is not a regular file", path)
	}
	db, err := knownhosts.NewDB(files...)
	if err != nil {
		return nil, fmt.Errorf("cannot read known hosts: %w", err)
	}
	return &KnownHosts{full, db}, nil
}

// algorithms returns the host key algorithms to negotiate with addr. The types of its known keys
// come first, so that a host with several keys presents one that can be checked. The others
// follow, so that a host without any of these types still presents a key that the error can name.
func (k *KnownHosts) algorithms(addr string) []string {
	known := k.db.HostKeyAlgorithms(addr)
	if len(known) == 0 {
		return nil
	}
	for _, a := range xssh.SupportedAlgorithms().HostKeys {
		if !slices.Contains(known, a) {
			known = append(known, a)
		}
	}
	return known
}

// check returns nil if key is trusted for addr.
func (k *KnownHosts) check(addr string, remote net.Addr, key xssh.PublicKey) error {
	err := k.db.HostKeyCallback()(addr, remote, key)
	if err == nil {
		return nil
	}
	shown := fmt.Sprintf("%s %s", key.Type(), xssh.FingerprintSHA256(key))
	e := &Error{Op: "connect", Addr: addr, cause: err}
	var revoked *xknown.RevokedError
	var mismatch *xknown.KeyError
	switch {
	case errors.As(err, &revoked):
		e.kind, e.Msg = ErrHostKeyChanged, fmt.Sprintf("%s is revoked at %s:%d", shown, revoked.Revoked.Filename, revoked.Revoked.Line)
	case errors.As(err, &mismatch) && len(mismatch.Want) > 0:
		var want []string
		for _, w := range mismatch.Want {
			want = append(want, fmt.Sprintf("%s %s at %s:%d", w.Key.Type(), xssh.FingerprintSHA256(w.Key), w.Filename, w.Line))
		}
		e.kind, e.Msg = ErrHostKeyChanged, shown+", known is "+strings.Join(want, ", ")
		e.hint = "if the host got a new key on purpose, check the fingerprint on it and replace the line; otherwise someone intercepts the connection"
	case errors.As(err, &mismatch):
		e.kind, e.Msg = ErrHostKeyUnknown, fmt.Sprintf("%s is not in %s", shown, k.path)
		e.hint = fmt.Sprintf("after checking the fingerprint on the host, add this line to %s: %s", k.path, knownhosts.Line([]string{addr}, plainKey(key)))
	default:
		e.kind, e.Msg = ErrHostKeyUnknown, shown+": "+err.Error()
	}
	return e
}

// plainKey returns the key inside a certificate, because known_hosts lists plain keys for hosts.
func plainKey(k xssh.PublicKey) xssh.PublicKey {
	if c, ok := k.(*xssh.Certificate); ok {
		return c.Key
	}
	return k
}
