package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/ownfile"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// StoreOptions say where the runs of a fabric are kept, which key signs them, and which
// other keys are trusted.
type StoreOptions struct {
	// Where is a folder used by that fabric alone, or the URL of etcd; "" is [StateDir].
	Where string
	// SignKey is a reference to a private key in PEM: env:NAME or file:PATH. "" is the key in
	// the folder, or in StateDir with etcd, which is created on first use.
	SignKey string
	// TrustKeys lists files of public keys in PEM, in addition to those of the intent.
	TrustKeys []string
	// ReadOnly is set for a call that changes nothing. OpenStore then continues without the
	// key if this user may not read it.
	ReadOnly bool
	// Wrap is called with the store and returns the store to use instead, such as one for a
	// test; may be nil.
	Wrap func(store.Store) store.Store
}

// Store keeps the runs of a fabric. Its journals are signed.
type Store struct {
	store.Store
	Keys *keys.Ring
}

// OpenStore opens the store of a fabric. It returns an [*OptionError] for an invalid option.
// The caller must close the store.
func OpenStore(ctx context.Context, f *intent.Fabric, o StoreOptions) (*Store, error) {
	dir, err := StateDir(f.Name)
	if o.Where == "" {
		if err != nil {
			return nil, Wrong("", "name a folder with --state", "%w", err)
		}
		o.Where = dir
	}
	s, err := store.Open(ctx, o.Where, f.Name)
	if err != nil {
		return nil, Wrong("state", "", "%w", err)
	}
	if folder, ok := store.Folder(s); ok {
		dir = folder
	}
	ring, err := o.keys(ctx, f, dir)
	if err != nil {
		_ = s.Close() // nothing was done with the store
		return nil, err
	}
	if o.Wrap != nil {
		s = o.Wrap(s)
	}
	return &Store{store.Signed(s, ring), ring}, nil
}

// keys opens the signing key, from SignKey or from dir, and adds the trusted keys of the
// options and of the intent.
func (o StoreOptions) keys(ctx context.Context, f *intent.Fabric, dir string) (ring *keys.Ring, err error) {
	if o.SignKey != "" {
		text, err := secret.Resolve(ctx, o.SignKey)
		if err != nil {
			return nil, Wrong("sign-key", "", "%w", err)
		}
		if ring, err = keys.Parse([]byte(text.Reveal())); err != nil {
			return nil, Wrong("sign-key", "", "%w", err)
		}
	} else if ring, err = keys.Open(dir); err != nil {
		if !o.ReadOnly || !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		ring = keys.None()
	}
	for _, file := range o.TrustKeys {
		if err := ring.Trust(file); err != nil {
			return nil, Wrong("trust-key", "", "%w", err)
		}
	}
	for _, file := range f.Rollout.TrustKeys {
		if err := ring.Trust(file); err != nil {
			return nil, Wrong("", "", "rollout.trustKeys: %w", err)
		}
	}
	return ring, nil
}

// ImageDir returns the folder for [Access.Images], shared by all fabrics of a user and next
// to the folders of [StateDir].
func ImageDir() (string, error) { return StateDir(".images") }

// StateDir returns the folder for the journals and the lock of a fabric:
// $XDG_STATE_HOME/roce-fabric/<fabric>, or ~/.local/state/roce-fabric/<fabric>.
func StateDir(fabric string) (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the state folder: %w", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "roce-fabric", fabric), nil
}

// AuditFile is the file of an audit log. It is opened when the first line is written, which
// happens before the first write to a device.
type AuditFile struct {
	path string
	own  bool // in the folder of the store, not named by the user
	f    io.WriteCloser
}

// AuditFile returns the audit log at path. "" is audit.jsonl in the folder of the store; if
// the store is not a folder, the log is discarded.
func (s *Store) AuditFile(path string) *AuditFile {
	if dir, ok := store.Folder(s.Store); path == "" && ok {
		return &AuditFile{path: filepath.Join(dir, "audit.jsonl"), own: true}
	}
	return &AuditFile{path: path}
}

func (l *AuditFile) Write(b []byte) (_ int, err error) {
	if l.path == "" {
		return len(b), nil
	}
	const add, perm = os.O_WRONLY | os.O_CREATE | os.O_APPEND, 0o600
	switch {
	case l.f != nil:
	case l.own:
		l.f, err = ownfile.Open(l.path, add, perm)
	default:
		l.f, err = atomicfile.Stream(l.path, add, perm)
	}
	if err != nil {
		l.f = nil // not an interface that holds a nil pointer
		return 0, err
	}
	return l.f.Write(b)
}

// Close closes the file if it was opened.
func (l *AuditFile) Close() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
