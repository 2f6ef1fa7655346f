package journal_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/fleet/store/storetest"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
	"github.com/roce-fabric/roce-fabric/kubernetes/journal"
	"github.com/roce-fabric/roce-fabric/testlab/proxy"
)

// access holds what another process of a test needs to reach the API server.
type access struct {
	Host          string
	CA, Cert, Key []byte
	Namespace     string
}

// open opens the store described by a file with an [access].
func open(_ context.Context, where, fabric string) (store.Store, error) {
	b, err := os.ReadFile(where)
	if err != nil {
		return nil, err
	}
	var a access
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, err
	}
	c, err := client.New(&rest.Config{Host: a.Host, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: a.CA, CertData: a.Cert, KeyData: a.Key}}, client.Options{Scheme: rig.Scheme()})
	if err != nil {
		return nil, err
	}
	return journal.Open(c, a.Namespace, fabric, 5*time.Second)
}

func TestMain(m *testing.M) { os.Exit(rig.Stop(storetest.Main(m, open))) }

// gate passes or blocks the traffic between clients and the API server.
type gate struct {
	mu   sync.Mutex
	shut chan struct{}
}

func (g *gate) pass() {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut != nil {
		<-shut
	}
}

func (g *gate) freeze() func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := make(chan struct{})
	g.shut = shut
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		close(shut)
		g.shut = nil
	}
}

// place returns an empty namespace as a place for a store.
func place(t *testing.T, r *rig.Rig, fabric string) *storetest.Place {
	t.Helper()
	ns := r.Namespace(t)
	g := &gate{}
	to, err := url.Parse(r.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.Open(to.Host, func(c proxy.Chunk) (int, bool) {
		g.pass()
		return len(c.Data), false
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	b, err := json.Marshal(access{"https://" + p.Addr(), r.Config.CAData, r.Config.CertData, r.Config.KeyData, ns})
	where := filepath.Join(t.TempDir(), "access.json")
	if err == nil {
		err = os.WriteFile(where, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	in := client.InNamespace(ns)
	// change changes a stored record of a journal.
	change := func(t *testing.T, id store.ID, at int64, to func([]byte) []byte) {
		t.Helper()
		var all corev1.SecretList
		if err := r.Client.List(t.Context(), &all, in); err != nil {
			t.Fatal(err)
		}
		for _, o := range all.Items {
			key := fmt.Sprintf("%012d", at)
			if o.Annotations["roce-fabric.io/journal"] == id.String() && o.Data[key] != nil {
				o.Data[key] = to(o.Data[key])
				if err := r.Client.Update(t.Context(), &o); err != nil {
					t.Fatal(err)
				}
				return
			}
		}
		t.Fatalf("no record %d of %v", at, id)
	}
	return &storetest.Place{
		Where: where, Fabric: fabric,
		Lose: func(t *testing.T) {
			t.Helper()
			var all coordinationv1.LeaseList
			if err := r.Client.List(t.Context(), &all, in); err != nil || len(all.Items) != 1 {
				t.Fatal(all, err)
			}
			if err := r.Client.Delete(t.Context(), &all.Items[0]); err != nil {
				t.Fatal(err)
			}
		},
		Damage: func(t *testing.T, id store.ID, at int64) {
			change(t, id, at, func([]byte) []byte { return []byte("r\xff\xff{") })
		},
		Tear: func(t *testing.T, id store.ID) {
			change(t, id, 3, func(b []byte) []byte { return b[:len(b)/2] })
		},
		Many: func(t *testing.T, n int) {
			t.Helper()
			// Create journals as the store does: it creates the first one itself, and the others
			// are copies of it.
			s, err := open(t.Context(), where, fabric)
			if err != nil {
				t.Fatal(err)
			}
			l, err := s.Lock(t.Context(), store.Self("run", "/f.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			j, err := l.Create(t.Context(), "run")
			if err != nil {
				t.Fatal(err)
			}
			if err := cmp.Or(j.Append(t.Context(), []byte("{}")), l.Release()); err != nil {
				t.Fatal(err)
			}
			var all corev1.SecretList
			if err := r.Client.List(t.Context(), &all, in); err != nil || len(all.Items) != 1 {
				t.Fatal(len(all.Items), err)
			}
			like := all.Items[0]
			numbers := make(chan int, n)
			for i := 2; i <= n; i++ {
				numbers <- i
			}
			close(numbers)
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					for i := range numbers {
						id := store.ID{Number: uint64(i), Run: j.ID().Run}
						o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("journal-", i), Labels: like.Labels, Annotations: map[string]string{"roce-fabric.io/journal": id.String(), "roce-fabric.io/first": "0"}}}
						if err := r.Client.Create(t.Context(), o); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		},
		Freeze: func(*testing.T) func() { return g.freeze() },
	}
}

func TestStore(t *testing.T) {
	r := rig.Start(t)
	n := 0
	storetest.Run(t, open,
		func(t *testing.T) *storetest.Place {
			n++
			return place(t, r, fmt.Sprintf("pod %d/../x", n))
		},
		func(t *testing.T) (*storetest.Place, func()) {
			p := place(t, r, "pod1")
			set := limit(t, r, p)
			set(1) // one Secret of the row, but not a second one
			return p, func() { set(1000) }
		})
}

// limit returns a function that limits the number of Secrets in the namespace of a place. No
// controller counts them; the API server counts from the initial status.
func limit(t *testing.T, r *rig.Rig, p *storetest.Place) (set func(n int64)) {
	t.Helper()
	b, err := os.ReadFile(p.Where)
	var a access
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err != nil {
		t.Fatal(err)
	}
	const what = corev1.ResourceName("count/secrets")
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: "room"}}
	if err := r.Client.Create(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	set = func(n int64) {
		t.Helper()
		if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(q), q); err != nil {
			t.Fatal(err)
		}
		q.Spec.Hard = corev1.ResourceList{what: *resource.NewQuantity(n, resource.DecimalSI)}
		used := q.Status.Used
		if err := r.Client.Update(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		q.Status.Hard, q.Status.Used = q.Spec.Hard, used
		if used == nil {
			q.Status.Used = corev1.ResourceList{what: resource.MustParse("0")}
		}
		if err := r.Client.Status().Update(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		// The API server needs some time to apply the limit.
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, GenerateName: "probe-"}}
			if err := r.Client.Create(t.Context(), o, client.DryRunAll); (err == nil) == (n > 0) {
				return
			}
			<-tick.C
		}
	}
	set(0)
	return set
}

// A plan is stored in Secrets of at most 512 KiB, and a modified plan is rejected.
func TestBody(t *testing.T) {
	r := rig.Start(t)
	ns := r.Namespace(t)
	s, err := journal.Open(r.Client, ns, "pod1", 0)
	if err != nil {
		t.Fatal(err)
	}
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "owner"}}
	if err := r.Client.Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
	body := make([]byte, 1_200_000) // random, so it cannot be compressed
	if _, err := rand.Read(body); err != nil {
		t.Fatal(err)
	}
	h := sha256.Sum256(body)
	sum := hex.EncodeToString(h[:])
	for range 2 { // the second time, it exists already
		n, err := s.SaveBody(t.Context(), "plan", body, ref)
		if err != nil || n != 3 || n != journal.Parts(body) {
			t.Fatalf("%d parts, %v", n, err)
		}
	}
	if got, err := s.Body(t.Context(), "plan", 3, sum); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	var all corev1.SecretList
	if err := r.Client.List(t.Context(), &all, client.InNamespace(ns)); err != nil || len(all.Items) != 3 {
		t.Fatalf("%d Secrets, %v", len(all.Items), err)
	}
	for _, o := range all.Items {
		size := 0
		for _, v := range o.Data {
			size += len(v)
		}
		if size > journal.MaxSecret || o.Immutable == nil || !*o.Immutable || len(o.OwnerReferences) != 1 {
			t.Errorf("%s: %d bytes, %v", o.Name, size, o.ObjectMeta)
		}
	}
	body[7]++
	if _, err := s.SaveBody(t.Context(), "plan", body, ref); err == nil {
		t.Error("another plan is kept under the same name")
	}
	if _, err := s.Body(t.Context(), "plan", 3, strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("a plan with another sum: %v", err)
	}
	if _, err := s.Body(t.Context(), "plan", 2, sum); err == nil {
		t.Error("a plan that lacks a part is read")
	}
	if err := r.Client.Delete(t.Context(), &all.Items[1]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Body(t.Context(), "plan", 3, sum); err == nil || !strings.Contains(err.Error(), "incomplete") {
		t.Errorf("a plan without a Secret: %v", err)
	}
}

// Removing journals also removes their records in separate Secrets, and the remains of an
// interrupted removal.
func TestRemove(t *testing.T) {
	r := rig.Start(t)
	ns := r.Namespace(t)
	s, err := journal.Open(r.Client, ns, "pod1", 0)
	if err != nil {
		t.Fatal(err)
	}
	other, err := journal.Open(r.Client, ns, "pod2", 0)
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 700_000) // random, so it cannot be compressed
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	write := func(s *journal.Secrets, run string) store.ID {
		t.Helper()
		l, err := s.Lock(t.Context(), store.Self(run, ""))
		if err != nil {
			t.Fatal(err)
		}
		j, err := l.Create(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{run, hex.EncodeToString(noise)} {
			if err := j.Append(t.Context(), []byte(`{"text":"`+text+`"}`)); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
		return j.ID()
	}
	var ids []store.ID
	for _, run := range []string{"run1", "run2", "run3", "run4"} {
		ids = append(ids, write(s, run))
	}
	write(other, "run1")
	secrets := func(want int) {
		t.Helper()
		var all corev1.SecretList
		if err := r.Client.List(t.Context(), &all, client.InNamespace(ns)); err != nil || len(all.Items) != want {
			t.Errorf("%d Secrets, want %d, %v", len(all.Items), want, err)
		}
	}
	const each = 3 // one Secret of the row, and a record in two parts
	secrets(5 * each)
	// Simulate a removal that was interrupted after the head had been deleted.
	var heads corev1.SecretList
	if err := r.Client.List(t.Context(), &heads, client.InNamespace(ns), client.MatchingLabels{"roce-fabric.io/part": "journal"}); err != nil {
		t.Fatal(err)
	}
	for _, o := range heads.Items {
		if o.Annotations["roce-fabric.io/journal"] == ids[0].String() && o.Annotations["roce-fabric.io/fabric-name"] == "pod1" {
			if err := r.Client.Delete(t.Context(), &o); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Remove(t.Context(), ids[1:2]); err != nil {
		t.Fatal(err)
	}
	secrets(3 * each)
	left, err := s.Journals(t.Context())
	if err != nil || len(left) != 2 || left[0] != ids[2] || left[1] != ids[3] {
		t.Errorf("%v, %v", left, err)
	}
	for _, id := range left {
		n := 0
		for _, err := range s.Records(t.Context(), id, 0) {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		if n != 2 {
			t.Errorf("%v has %d records", id, n)
		}
	}
	if next := write(s, "run5"); next.Number != ids[3].Number+1 {
		t.Errorf("the next is %v", next)
	}
}

// The Lease of a device exists only while a run holds it.
func TestDeviceLease(t *testing.T) {
	r := rig.Start(t)
	ns := r.Namespace(t)
	one, err := journal.OpenDevice(r.Client, ns, "192.0.2.1:8080", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	two, err := journal.OpenDevice(r.Client, ns, "192.0.2.1:8080", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	leases := func(want int) {
		t.Helper()
		var all coordinationv1.LeaseList
		if err := r.Client.List(t.Context(), &all, client.InNamespace(ns)); err != nil || len(all.Items) != want {
			t.Errorf("%d Leases, want %d, %v", len(all.Items), want, err)
		}
	}
	for range 2 {
		l, err := one.Lock(t.Context(), store.Self("run1", ""))
		if err != nil {
			t.Fatal(err)
		}
		leases(1)
		if _, err := two.Lock(t.Context(), store.Self("run2", "")); !errors.Is(err, store.ErrHeld) {
			t.Errorf("it has two holders: %v", err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
		leases(0)
	}
	// An earlier holder must not delete a Lease that has been taken over.
	l, err := one.Lock(t.Context(), store.Self("run1", ""))
	if err != nil {
		t.Fatal(err)
	}
	held, err := two.Holder(t.Context())
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	by := store.Self("run2", "")
	if err := two.Break(t.Context(), *held, by); err != nil {
		t.Fatal(err)
	}
	next, err := two.Lock(t.Context(), by)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	leases(1)
	if err := next.Release(); err != nil {
		t.Error(err)
	}
	leases(0)
}
