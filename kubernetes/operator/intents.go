package operator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// intents caches the intents with which this replica reads and compares devices. An intent is
// read again after the interval, and when its Fabric changes.
type intents struct {
	d   *deps
	mu  sync.Mutex
	all map[types.NamespacedName]*intentSlot
}

// intentSlot holds the newest intent of a fabric.
type intentSlot struct {
	mu  sync.Mutex
	now *inUse
	// failed is the error of the last attempt to read the intent, kept so that not every device
	// queries the repository's server again.
	failed   error
	failedOf intentOf
	failedAt time.Time
}

// inUse is an intent with its related data. Its folder exists as long as it is in use.
type inUse struct {
	*loaded
	of   intentOf
	at   time.Time
	past *fleet.History
	// known holds the summaries that the elected replica has decoded, by their hashes.
	known map[[sha256.Size]byte]known

	mu   sync.Mutex
	uses int
}

// intentOf identifies what an intent was read for.
type intentOf struct {
	uid         types.UID
	generation  int64
	annotations string
	ended       string // end of the last run, because each run changes the history
}

func (i *inUse) release() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.uses--; i.uses > 0 {
		return nil
	}
	return i.Close()
}

func (i *inUse) use() *inUse {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.uses++
	return i
}

// get returns the intent of a fabric. The caller must release it.
func (s *intents) get(ctx context.Context, f *v1alpha1.Fabric) (*inUse, error) {
	key := client.ObjectKeyFromObject(f)
	s.mu.Lock()
	slot := s.all[key]
	if slot == nil {
		slot = &intentSlot{}
		s.all[key] = slot
	}
	s.mu.Unlock()
	slot.mu.Lock()
	defer slot.mu.Unlock()
	of := intentOf{f.UID, f.Generation, fmt.Sprint(f.Annotations), ""}
	if r := f.Status.LastRun; r != nil && r.Ended != nil {
		of.ended = r.Ended.String()
	}
	if slot.now != nil && slot.now.fits(f, of) {
		return slot.now.use(), nil
	}
	if slot.failed != nil && slot.failedOf == of && time.Since(slot.failedAt) < min(interval(f), time.Minute) {
		return nil, slot.failed
	}
	next, err := s.load(ctx, f, of)
	if ctx.Err() == nil {
		slot.failed, slot.failedOf, slot.failedAt = err, of, time.Now()
	}
	if err != nil {
		return nil, err
	}
	if slot.now != nil {
		if err := slot.now.release(); err != nil {
			return nil, err
		}
	}
	slot.now = next
	return next.use(), nil
}

// fits reports whether an intent is still current for its fabric.
func (i *inUse) fits(f *v1alpha1.Fabric, of intentOf) bool {
	age := time.Since(i.at)
	if i.of != of || age >= interval(f) {
		return false
	}
	// The elected replica may have seen a newer intent.
	told := f.Status.ObservedGeneration == f.Generation && f.Status.Intent.Digest != ""
	return !told || f.Status.Intent.Digest == i.Fabric.Fabric().Hash || age < retry
}

func (s *intents) load(ctx context.Context, f *v1alpha1.Fabric, of intentOf) (*inUse, error) {
	l, err := s.d.o.load(ctx, s.d.direct, f)
	if err != nil {
		return nil, err
	}
	out := &inUse{loaded: l, of: of, at: time.Now(), uses: 1}
	st, err := s.d.store(f)
	if err == nil {
		out.past, _, err = fleet.OpenHistory(st.Of(l.Fabric.Fabric().Name))
	}
	if err != nil {
		_ = l.Close() // the read error takes precedence
		return nil, err
	}
	return out, nil
}

// forget drops the intents of fabrics that no longer exist.
func (s *intents) forget(there map[types.NamespacedName]bool) (err error) {
	var gone []*intentSlot
	s.mu.Lock()
	for key, slot := range s.all {
		if !there[key] {
			gone = append(gone, slot)
			delete(s.all, key)
		}
	}
	s.mu.Unlock()
	for _, slot := range gone {
		slot.mu.Lock()
		if slot.now != nil {
			err = errors.Join(err, slot.now.release())
		}
		slot.mu.Unlock()
	}
	return err
}
