package journal

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// A journal is a row of Secrets of kind "journal". Each has one key per record: the record's
// number, with the compressed text as value. The last Secret of the row grows until it is large
// enough. A record that is too large is stored in Secrets of kind "record", and the row lists
// their names; such a record exists once it is listed.
const (
	// enough is the size at which the next Secret of a row is started, because each record
	// rewrites the last one.
	enough = 64 << 10
	// large is the size from which a record is stored in its own Secrets.
	large = 128 << 10
)

// page is the number of Secrets listed per request.
const page = 500

// apart is the row's entry for a record stored in its own Secrets.
type apart struct {
	Parts []string `json:"parts"`
}

const (
	inRow   = 'r'
	isApart = 'a'
)

func segment(base string, n int) string { return fmt.Sprintf("%s-%06d", base, n) }

func recordKey(n int64) string { return fmt.Sprintf("%012d", n) }

// base returns the prefix of the names of a journal's Secrets.
func (s *Secrets) base(id store.ID) string { return s.name + "-" + hashedName(id.String()) }

// Pack compresses data for storage in objects.
func Pack(b []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(b)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // cannot happen: a buffer accepts everything
	}
	return out.Bytes()
}

// Unpack decompresses data from Pack. It stops after most+1 bytes, which tells the caller that
// the data is too long.
func Unpack(b []byte, most int64) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), most+1))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return out, store.ErrCutOff
	}
	return out, err
}

// heads lists the metadata of the Secrets of a kind.
func (s *Secrets) heads(ctx context.Context, match client.MatchingLabels, each func(metav1.ObjectMeta)) error {
	match[labelFabric] = hashedName(s.fabric)
	next := ""
	for {
		l := &metav1.PartialObjectMetadataList{}
		l.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		err := call(ctx, func(ctx context.Context) error {
			return s.c.List(ctx, l, client.InNamespace(s.namespace), match, client.Limit(page), client.Continue(next))
		})
		if err != nil {
			return fmt.Errorf("list the Secrets of fabric %s: %w", s.fabric, err)
		}
		for _, o := range l.Items {
			each(o.ObjectMeta)
		}
		if next = l.Continue; next == "" {
			return nil
		}
	}
}

// Journals implements [store.Store].
func (s *Secrets) Journals(ctx context.Context) (ids []store.ID, _ error) {
	err := s.heads(ctx, client.MatchingLabels{labelPart: "journal"}, func(o metav1.ObjectMeta) {
		if id, ok := o.Annotations[noteID]; ok && o.Annotations[noteFirst] == "0" {
			ids = append(ids, store.ParseID(id))
		}
	})
	slices.SortFunc(ids, store.ByNumber)
	return ids, err
}

// Create implements [store.Lock].
func (l *lock) Create(ctx context.Context, run string) (store.Journal, error) {
	if err := store.CheckRun(run); err != nil {
		return nil, err
	}
	if err := l.check(ctx); err != nil {
		return nil, err
	}
	ids, err := l.s.Journals(ctx)
	if err != nil {
		return nil, err
	}
	return &journal{l: l, id: store.Next(ids, run)}, nil
}

// row returns, in order, the names of a journal's Secrets with records from number from on; the
// first Secret may contain earlier records. any reports whether the journal has Secrets at all.
func (s *Secrets) row(ctx context.Context, id store.ID, from int64) (names []string, any bool, _ error) {
	type part struct {
		name  string
		first int64
	}
	var all []part
	err := s.heads(ctx, client.MatchingLabels{labelPart: "journal", labelOf: hashedName(id.String())}, func(o metav1.ObjectMeta) {
		if n, err := strconv.ParseInt(o.Annotations[noteFirst], 10, 64); err == nil && o.Annotations[noteID] == id.String() {
			all = append(all, part{o.Name, n})
		}
	})
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.first, b.first) })
	for i, p := range all {
		if i+1 < len(all) && all[i+1].first <= from {
			continue
		}
		names = append(names, p.name)
	}
	return names, len(all) > 0, nil
}

// Records implements [store.Store].
func (s *Secrets) Records(ctx context.Context, id store.ID, from int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := store.CheckRun(id.Run); err != nil {
			yield(store.Record{}, err)
			return
		}
		names, any, err := s.row(ctx, id, from)
		if err == nil && !any {
			err = fmt.Errorf("%s: %w", s.Place(id), fs.ErrNotExist)
		}
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		at := from
		for i, name := range names {
			row := &corev1.Secret{}
			if err := call(ctx, func(ctx context.Context) error { return s.c.Get(ctx, s.key(name), row) }); err != nil {
				yield(store.Record{At: at}, fmt.Errorf("%s: %w", s.Place(id), err))
				return
			}
			keys := slices.Sorted(maps.Keys(row.Data))
			for k, key := range keys {
				n, err := strconv.ParseInt(key, 10, 64)
				if err != nil || n < at {
					continue
				}
				if n > at && !yield(store.Record{At: at}, fmt.Errorf("%s: record %d is missing", s.Place(id), at)) {
					return
				}
				b, err := s.read(ctx, row.Data[key])
				if err == nil {
					err = store.CheckRecord(b)
				}
				if errors.Is(err, store.ErrCutOff) && (i+1 < len(names) || k+1 < len(keys)) {
					err = errors.New("incomplete")
				}
				if err != nil {
					err = fmt.Errorf("%s: record %d is %w", s.Place(id), n, err)
				}
				if !yield(store.Record{At: n, Data: b}, err) {
					return
				}
				at = n + 1
			}
		}
	}
}

// read returns a record, given its entry in a row.
func (s *Secrets) read(ctx context.Context, b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, store.ErrCutOff
	}
	switch b[0] {
	case inRow:
		return Unpack(b[1:], store.MaxRecord)
	case isApart:
		var a apart
		if err := json.Unmarshal(b[1:], &a); err != nil {
			return nil, fmt.Errorf("not a record: %w", err)
		}
		packed, err := s.parts(ctx, a.Parts)
		if err != nil {
			return nil, err
		}
		return Unpack(packed, store.MaxRecord)
	}
	return nil, errors.New("not a record")
}

// parts reads Secrets and concatenates their data.
func (s *Secrets) parts(ctx context.Context, names []string) (out []byte, _ error) {
	for _, name := range names {
		part := &corev1.Secret{}
		err := call(ctx, func(ctx context.Context) error { return s.c.Get(ctx, s.key(name), part) })
		if err != nil {
			return nil, fmt.Errorf("incomplete: %w", err)
		}
		if out = append(out, part.Data["part"]...); len(out) > store.MaxRecord*2 {
			return nil, errors.New("too large")
		}
	}
	return out, nil
}

// create creates a Secret. It succeeds if an identical Secret exists, because an earlier attempt
// may have lost its response.
func (s *Secrets) create(ctx context.Context, o *corev1.Secret) error {
	want := o.DeepCopy()
	err := call(ctx, func(ctx context.Context) error { return s.c.Create(ctx, o) })
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have := &corev1.Secret{}
	if e := call(ctx, func(ctx context.Context) error { return s.c.Get(ctx, s.key(want.Name), have) }); e != nil {
		return errors.Join(err, e)
	}
	if have.Annotations[noteID] != want.Annotations[noteID] || !sameBytes(have.Data, want.Data) {
		return err
	}
	*o = *have
	return nil
}

// journal is the journal of the current run.
type journal struct {
	l  *lock
	id store.ID

	mu     sync.Mutex
	n      int64          // number of the next record
	nth    int            // number of the last Secret in the row
	row    *corev1.Secret // last Secret, as last seen; nil before the first record
	size   int            // size of its data
	dirty  bool           // an attempt failed, so the stored state must be read
	closed bool
}

func (j *journal) ID() store.ID { return j.id }

func (j *journal) head(nth int, first int64) *corev1.Secret {
	o := j.l.s.secret(segment(j.l.s.base(j.id), nth), "journal", hashedName(j.id.String()))
	o.Annotations[noteID], o.Annotations[noteFirst] = j.id.String(), strconv.FormatInt(first, 10)
	return o
}

// Append implements [store.Journal].
func (j *journal) Append(ctx context.Context, record []byte) error {
	if err := store.CheckRecord(record); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return fmt.Errorf("%s: %w", j.l.s.Place(j.id), os.ErrClosed)
	}
	ctx, cancel := j.l.Guard(ctx)
	defer cancel()
	if err := j.append(ctx, record); err != nil {
		if lost := j.l.Err(); lost != nil {
			return lost
		}
		return fmt.Errorf("%s: %w", j.l.s.Place(j.id), err)
	}
	return nil
}

func (j *journal) append(ctx context.Context, record []byte) error {
	if err := j.l.check(ctx); err != nil {
		return err
	}
	if j.dirty {
		if err := j.look(ctx); err != nil {
			return err
		}
	}
	packed := Pack(record)
	value := append([]byte{inRow}, packed...)
	if len(packed) > large {
		j.dirty = true
		names, err := j.apart(ctx, packed)
		if err != nil {
			return err
		}
		b, err := json.Marshal(apart{names})
		if err != nil {
			return err
		}
		value = append([]byte{isApart}, b...)
	}
	j.dirty = true
	if err := j.put(ctx, recordKey(j.n), value); err != nil {
		return err
	}
	j.n, j.dirty = j.n+1, false
	return nil
}

// put writes a key into the row. The Secret must be unchanged since it was last seen, so that a
// lock holder that was presumed dead cannot overwrite another holder's changes.
func (j *journal) put(ctx context.Context, key string, value []byte) error {
	if j.row == nil || j.size > 0 && j.size+len(value) > enough {
		nth := j.nth
		if j.row != nil {
			nth++
		}
		next := j.head(nth, j.n)
		next.Data[key] = value
		if err := j.l.s.create(ctx, next); err != nil {
			return err
		}
		j.row, j.nth, j.size = next, nth, len(value)
		return nil
	}
	next := j.row.DeepCopy()
	if next.Data == nil {
		next.Data = map[string][]byte{}
	}
	next.Data[key] = value
	if err := call(ctx, func(ctx context.Context) error { return j.l.s.c.Update(ctx, next) }); err != nil {
		return err
	}
	j.row, j.size = next, j.size+len(value)
	return nil
}

// apart creates the Secrets of a record that is too large for the row.
func (j *journal) apart(ctx context.Context, packed []byte) (names []string, _ error) {
	for i, part := range slices.Collect(slices.Chunk(packed, MaxSecret)) {
		o := j.l.s.secret(fmt.Sprintf("%s-r%s-%05d", j.l.s.base(j.id), recordKey(j.n), i), "record", hashedName(j.id.String()))
		o.Data["part"] = part
		err := j.l.s.create(ctx, o)
		if apierrors.IsAlreadyExists(err) { // left by an attempt to write another record
			err = call(ctx, func(ctx context.Context) error { return j.l.s.c.Update(ctx, o) })
		}
		if err != nil {
			return nil, err
		}
		names = append(names, o.Name)
	}
	return names, nil
}

// look reads what a failed attempt has left: whether the record exists, and whether the Secret
// that it was to start does.
func (j *journal) look(ctx context.Context) error {
	for nth := j.nth; ; nth++ {
		row := &corev1.Secret{}
		err := call(ctx, func(ctx context.Context) error {
			return j.l.s.c.Get(ctx, j.l.s.key(segment(j.l.s.base(j.id), nth)), row)
		})
		if apierrors.IsNotFound(err) && (nth > j.nth || j.row == nil) {
			break
		}
		if err != nil {
			return err
		}
		j.row, j.nth, j.size = row, nth, 0
		for key, v := range row.Data {
			j.size += len(v)
			if n, err := strconv.ParseInt(key, 10, 64); err == nil {
				j.n = max(j.n, n+1)
			}
		}
	}
	j.dirty = false
	return nil
}

// Close implements [store.Journal].
func (j *journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	return nil
}

// Remove deletes journals, and the remains of partly deleted ones.
func (s *Secrets) Remove(ctx context.Context, ids []store.ID) error {
	gone := map[string]bool{}
	for _, id := range ids {
		gone[id.String()] = true
	}
	// List the parts before the heads: a journal that starts meanwhile then has its head in the
	// list and keeps its parts.
	parts := map[string][]string{} // by journal
	note := func(o metav1.ObjectMeta) { parts[o.Labels[labelOf]] = append(parts[o.Labels[labelOf]], o.Name) }
	for _, part := range []string{"journal", "record"} {
		if err := s.heads(ctx, client.MatchingLabels{labelPart: part}, note); err != nil {
			return err
		}
	}
	all, err := s.Journals(ctx)
	if err != nil {
		return err
	}
	for _, id := range all {
		if gone[id.String()] {
			// Delete the head first, because an incomplete journal must not be listed.
			if err := s.remove(ctx, segment(s.base(id), 0)); err != nil {
				return err
			}
			continue
		}
		delete(parts, hashedName(id.String()))
	}
	for _, names := range parts {
		for _, name := range names {
			if err := s.remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Secrets) remove(ctx context.Context, name string) error {
	o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	if err := call(ctx, func(ctx context.Context) error { return s.c.Delete(ctx, o) }); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the Secret %s: %w", name, err)
	}
	return nil
}
