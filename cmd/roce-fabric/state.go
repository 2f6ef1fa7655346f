package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// stateFlags say where lock and journals are, and which keys sign and are believed.
type stateFlags struct {
	where string // --state
	sign  string // --sign-key
	trust []string
	audit string // --audit-log
}

// stateFlag adds --state, and the flags of keys.
func (a *app) stateFlag(c *cobra.Command, o *stateFlags) {
	f := c.Flags()
	f.StringVar(&o.where, "state", a.getenv("ROCE_FABRIC_STATE"), "folder for journal and lock, or etcd://HOST:2379 (or ROCE_FABRIC_STATE; default ~/.local/state/roce-fabric/FABRIC)")
	_ = c.MarkFlagDirname("state")
	f.StringVar(&o.sign, "sign-key", a.getenv("ROCE_FABRIC_SIGN_KEY"), "reference to the private key that signs plans and journals, PEM: env:NAME, file:PATH (or ROCE_FABRIC_SIGN_KEY; default: one made in the state folder)")
	f.StringArrayVar(&o.trust, "trust-key", nil, "file of a public key, PEM: plans and journals signed with it are believed, too; may be repeated")
	_ = c.MarkFlagFilename("trust-key", "pub", "pem")
}

// state is where runs over a fabric are kept, and who is believed.
type state struct {
	store.Store
	ring *keys.Ring
}

// openState opens the store of --state, in which journals are signed. A command that
// changes nothing goes on without a key that it cannot read. Close must be called on it.
func openState(ctx context.Context, o stateFlags, f *intent.Fabric, changes bool) (*state, error) {
	dir, err := fleet.StateDir(f.Name)
	where := o.where
	if where == "" {
		if err != nil {
			return nil, usageHint("name a folder with --state", "%w", err)
		}
		where = dir
	}
	s, err := store.Open(ctx, where, f.Name)
	if err != nil {
		return nil, usage("--state: %w", err)
	}
	if folder, ok := store.Folder(s); ok {
		dir = folder
	}
	ring, err := openKeys(ctx, o, f, dir, changes)
	if err != nil {
		_ = s.Close() // nothing was done with it
		return nil, err
	}
	return &state{store.Signed(s, ring), ring}, nil
}

// openKeys opens the keys of --sign-key and --trust-key, of the intent and of a folder.
func openKeys(ctx context.Context, o stateFlags, f *intent.Fabric, dir string, changes bool) (*keys.Ring, error) {
	var ring *keys.Ring
	if o.sign != "" {
		text, err := secret.Resolve(ctx, o.sign)
		if err != nil {
			return nil, usage("--sign-key: %w", err)
		}
		if ring, err = keys.Parse([]byte(text.Reveal())); err != nil {
			return nil, usage("--sign-key: %w", err)
		}
	} else {
		var err error
		if ring, err = keys.Open(dir); err != nil && changes {
			return nil, fmt.Errorf("key of %s: %w", dir, err)
		} else if err != nil {
			ring = keys.None()
		}
	}
	for _, file := range o.trust {
		if err := ring.Trust(file); err != nil {
			return nil, usage("--trust-key: %w", err)
		}
	}
	for _, file := range f.Rollout.TrustKeys {
		if err := ring.Trust(file); err != nil {
			return nil, usage("rollout.trustKeys: %w", err)
		}
	}
	return ring, nil
}

// warnShared says who else uses a store with another copy of the intent.
func (a *app) warnShared(ctx context.Context, s store.Store, f *intent.Fabric) {
	others, err := fleet.OtherCheckouts(ctx, s, f)
	if err != nil {
		a.warn("%v", err)
	}
	for _, o := range others {
		a.talk("%s is shared with %s on %s, last used by %s at %s", s, o.Intent, o.Host, o.User, o.Since.Local().Format("2006-01-02 15:04"))
	}
}
