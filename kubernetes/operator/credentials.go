package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// An intent names variables, files and commands. Here it comes from whoever may write a
// Fabric, and those of the operator are none of theirs: each reference is to a key of the
// Secret that the Fabric names, and a command is refused.

// resolve points the references of an intent to the keys of its Secret, in files of the
// private folder.
func (l *loaded) resolve(ctx context.Context, c client.Reader, f *v1alpha1.Fabric) error {
	r := references{dir: filepath.Join(l.dir, "credentials")}
	l.policy = &secret.Policy{Secrets: []string{"file:" + r.dir + "/*", "key:" + r.dir + "/*"}, Addresses: []string{"*"}}
	if ref := f.Spec.CredentialsSecret; ref != nil {
		var s corev1.Secret
		if err := c.Get(ctx, types.NamespacedName{Namespace: f.Namespace, Name: ref.Name}, &s); err != nil {
			if apierrors.IsNotFound(err) {
				return wrong("spec.credentialsSecret: there is no Secret %s", ref.Name)
			}
			return fmt.Errorf("read Secret %s: %w", ref.Name, err)
		}
		r.secret, r.keys = ref.Name, s.Data
		if to := s.Annotations[annotationAddresses]; to != "" {
			l.policy.Addresses = strings.FieldsFunc(to, func(c rune) bool { return c == ',' || c == ' ' })
		}
		if err := l.policy.Check(); err != nil {
			return wrong("Secret %s, annotation %s: %s", ref.Name, annotationAddresses, err)
		}
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	for name, v := range r.keys {
		if err := os.WriteFile(filepath.Join(r.dir, name), v, 0o600); err != nil {
			return err
		}
	}
	in := l.Fabric.Fabric()
	if err := r.of(in); err != nil {
		return err
	}
	return l.permit(r.secret, in)
}

// permit refuses an intent that has credentials sent elsewhere than their Secret says.
func (l *loaded) permit(name string, in *intent.Fabric) error {
	a, all := &fleet.Access{Policy: l.policy}, []error{}
	all = append(all, a.Permit(in.Switches, in.Hosts))
	for _, c := range callouts(in) {
		all = append(all, a.PermitCallout(c))
	}
	if err := errors.Join(all...); err != nil {
		return wrong("%s (Secret %s, annotation %s, says where its keys may be sent)", err, name, annotationAddresses)
	}
	return nil
}

// annotationAddresses is on a Secret: the networks, IP addresses and patterns of host names
// to which its keys may be sent. Without it the intent says.
const annotationAddresses = "roce-fabric.io/addresses"

// callouts are what an intent has called, by their keys.
func callouts(f *intent.Fabric) map[string]*intent.Approval {
	out := map[string]*intent.Approval{
		"rollout.approval": f.Rollout.Approval, "rollout.reset.drain": (*intent.Approval)(f.Rollout.Reset.Drain), "rollout.reset.undrain": (*intent.Approval)(f.Rollout.Reset.Undrain),
	}
	maps.DeleteFunc(out, func(_ string, a *intent.Approval) bool { return a == nil })
	return out
}

// references rewrites those of an intent.
type references struct {
	dir    string
	secret string // its name
	keys   map[string][]byte
	static bool // only what the Secret has no say in is looked at
}

// of rewrites all references of an intent.
func (r *references) of(f *intent.Fabric) error {
	var all []*intent.Access
	for _, sw := range f.Switches {
		all = append(all, &sw.Access)
	}
	for _, h := range f.Hosts {
		all = append(all, &h.Access)
	}
	for _, a := range all {
		if a.SSH.Agent.V {
			return wrong("%s: the operator has no SSH agent: name a key", a.SSH.Agent.From)
		}
		// In place of ~/.ssh/known_hosts, which is nobody's here.
		if a.SSH.Configured() && a.SSH.KnownHosts.V == "" {
			a.SSH.KnownHosts = intent.Value[string]{V: "known_hosts", From: a.SSH.KnownHosts.From}
		}
		for _, v := range []*intent.Value[string]{&a.Username, &a.Password, &a.SSH.Username, &a.SSH.Password} {
			if err := r.reference(v); err != nil {
				return err
			}
		}
		for _, v := range []*intent.Value[string]{&a.TLS.CA, &a.TLS.Cert, &a.TLS.Key, &a.SSH.Key, &a.SSH.KnownHosts} {
			if err := r.file(v); err != nil {
				return err
			}
		}
	}
	for what, a := range callouts(f) {
		if len(a.Command) > 0 {
			return wrong("%s: the operator runs no command of an intent: leave %s out, or name a webhook", a.Pos, what)
		}
		token := intent.Value[string]{V: a.Token, From: intent.Origin{Pos: a.Pos}}
		ca := intent.Value[string]{V: a.CA, From: intent.Origin{Pos: a.Pos}}
		if err := r.reference(&token); err != nil {
			return err
		}
		if err := r.file(&ca); err != nil {
			return err
		}
		a.Token, a.CA = token.V, ca.V
	}
	// Plans are believed by the digest of their FabricPlan.
	f.Rollout.TrustKeys = nil
	return nil
}

// reference rewrites a reference to a secret: env:NAME is the key NAME, and file:PATH the
// key that has the name of the file. A plain user name stays.
func (r *references) reference(v *intent.Value[string]) error {
	scheme, rest, _ := strings.Cut(v.V, ":")
	switch scheme {
	case "env", "file":
		path, err := r.key(filepath.Base(rest), v)
		if err == nil && path != "" {
			v.V = "file:" + path
		}
		return err
	case "keyring":
		return wrong("%s: the operator has no keyring: write env:NAME, and put the key NAME into the Secret of the Fabric", v.From)
	}
	return nil
}

// file rewrites the path of a file: the key that has its name.
func (r *references) file(v *intent.Value[string]) error {
	if v.V == "" {
		return nil
	}
	path, err := r.key(filepath.Base(v.V), v)
	if err == nil && path != "" {
		v.V = path
	}
	return err
}

// key is the file of a key of the Secret.
func (r *references) key(name string, v *intent.Value[string]) (path string, _ error) {
	switch _, ok := r.keys[name]; {
	case r.static:
		return "", nil
	case r.secret == "":
		return "", wrong("%s: the intent needs the key %s of a Secret: set spec.credentialsSecret", v.From, name)
	case !ok:
		return "", wrong("%s: Secret %s has no key %s", v.From, r.secret, name)
	}
	return filepath.Join(r.dir, name), nil
}
