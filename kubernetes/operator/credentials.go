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

// An intent refers to variables, files and commands. In the operator, anyone who may write a
// Fabric can write the intent, and must not get access to the operator's own secrets: each
// reference is resolved to a key of the Secret that the Fabric names, and commands are rejected.

// resolve resolves the references of an intent to keys of its Secret, stored as files in the
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
	if err := r.rewriteAll(in); err != nil {
		return err
	}
	return l.permit(r.secret, in)
}

// permit rejects an intent that sends credentials to addresses that its Secret does not allow.
func (l *loaded) permit(name string, in *intent.Fabric) error {
	a, all := &fleet.Access{Policy: l.policy}, []error{}
	all = append(all, a.Permit(in.Switches, in.Hosts))
	for _, c := range callouts(in) {
		all = append(all, a.PermitCallout(c))
	}
	if err := errors.Join(all...); err != nil {
		return wrong("%s (annotation %s of Secret %s lists the allowed addresses)", err, annotationAddresses, name)
	}
	return nil
}

// annotationAddresses is the annotation of a Secret with the networks, IP addresses and host
// name patterns that its keys may be sent to. Without it, the intent decides.
const annotationAddresses = "roce-fabric.io/addresses"

// callouts returns the commands and webhooks of an intent, by their keys in the intent.
func callouts(f *intent.Fabric) map[string]*intent.Approval {
	out := map[string]*intent.Approval{
		"rollout.approval": f.Rollout.Approval, "rollout.reset.drain": (*intent.Approval)(f.Rollout.Reset.Drain), "rollout.reset.undrain": (*intent.Approval)(f.Rollout.Reset.Undrain),
	}
	maps.DeleteFunc(out, func(_ string, a *intent.Approval) bool { return a == nil })
	return out
}

// references rewrites the references of an intent.
type references struct {
	dir    string
	secret string // name of the Secret
	keys   map[string][]byte
	static bool // check only what does not depend on the Secret's content
}

// rewriteAll rewrites all references of an intent.
func (r *references) rewriteAll(f *intent.Fabric) error {
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
		// Used instead of ~/.ssh/known_hosts; the operator has no home directory.
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
			return wrong("%s: the operator does not run commands from an intent: leave %s out, or name a webhook", a.Pos, what)
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
	// Plans are trusted by the digest in their FabricPlan, not by keys.
	f.Rollout.TrustKeys = nil
	return nil
}

// reference rewrites a reference to a secret: env:NAME becomes the key NAME, and file:PATH the
// key with the file's name. A plain user name is kept.
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

// file rewrites the path of a file to the key with the file's name.
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

// key returns the path of the file with a key of the Secret.
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
