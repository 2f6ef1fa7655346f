// Package journal stores the lock and the journals of a fabric in Kubernetes: the lock in a
// Lease, the journals in compressed Secrets of at most 512 KiB each. It implements
// [store.Store], and stores plans in the same way; see [Secrets.SaveBody].
//
// Anyone who may read Secrets of the namespace may read the journals. Like plans, they contain
// device configuration but no passwords.
package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// answer is the time limit for a response of the API server.
const answer = 15 * time.Second

// MaxSecret is the largest amount of data in a Secret, in bytes: the API server rejects more
// than 1 MiB, and etcd rejects requests of more than 1.5 MiB.
const MaxSecret = 512 << 10

const (
	labelPart   = "roce-fabric.io/part" // content of a Secret: "journal", "record" or "plan"
	labelFabric = "roce-fabric.io/fabric"
	labelOf     = "roce-fabric.io/of"      // hash of the journal that a Secret belongs to
	noteID      = "roce-fabric.io/journal" // ID of the journal
	noteFirst   = "roce-fabric.io/first"   // number of the first record in a Secret
	noteFabric  = "roce-fabric.io/fabric-name"
)

// Secrets is a store in a namespace. Its client must not have a cache.
type Secrets struct {
	c         client.Client
	namespace string
	fabric    string
	name      string // name of the Lease, and prefix of all other names
	ttl       time.Duration
	seen      sightings
	passing   bool // delete the Lease when the lock is released
}

// Open returns the store of a fabric. ttl is how long a lock outlives a holder that no longer
// renews it; 0 means [store.TTL].
func Open(c client.Client, namespace, fabric string, ttl time.Duration) (*Secrets, error) {
	if fabric == "" {
		return nil, fmt.Errorf("a store needs the name of its fabric")
	}
	if ttl == 0 {
		ttl = store.TTL
	}
	return &Secrets{c: c, namespace: namespace, fabric: fabric, name: "roce-fabric-" + hashedName(fabric), ttl: ttl}, nil
}

// OpenDevice returns a store for the lock of a device, which has no journals. Its Lease exists
// only while a run holds the lock. The other arguments are those of [Open].
func OpenDevice(c client.Client, namespace, device string, ttl time.Duration) (*Secrets, error) {
	s, err := Open(c, namespace, device, ttl)
	if err == nil {
		s.passing = true
	}
	return s, err
}

// hashedName returns a valid Kubernetes name for an arbitrary string.
func hashedName(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:10])
}

// Close implements [store.Store].
func (s *Secrets) Close() error { return nil }

// Fabric implements [store.Store]. It returns "" because a Fabric object may get an intent with
// another name; see [Secrets.Of].
func (s *Secrets) Fabric() string { return "" }

// Of returns the store for runs over the fabric that an intent names.
func (s *Secrets) Of(intent string) store.Store { return named{s, intent} }

type named struct {
	*Secrets
	intent string
}

func (n named) Fabric() string { return n.intent }

func (s *Secrets) String() string {
	return fmt.Sprintf("the Secrets of fabric %s in namespace %s", s.fabric, s.namespace)
}

// Place implements [store.Store].
func (s *Secrets) Place(id store.ID) string {
	return fmt.Sprintf("journal %v of fabric %s in namespace %s", id, s.fabric, s.namespace)
}

func (s *Secrets) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.namespace, Name: name}
}

// call makes a call with a time limit. If ctx has ended, the error is the cause of that.
func call(ctx context.Context, call func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	err := call(bounded)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case bounded.Err() != nil:
		return fmt.Errorf("no answer of the API server within %s", answer)
	}
	return err
}

func (s *Secrets) secret(name, part, of string) *corev1.Secret {
	out := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: name,
			Labels:      map[string]string{labelPart: part, labelFabric: hashedName(s.fabric)},
			Annotations: map[string]string{noteFabric: s.fabric},
		},
		Type: "roce-fabric.io/" + corev1.SecretType(part),
		Data: map[string][]byte{},
	}
	if of != "" {
		out.Labels[labelOf] = of
	}
	return out
}
