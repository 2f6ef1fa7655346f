package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxBody limits the uncompressed size of a plan.
const maxBody = 256 << 20

// SaveBody saves a plan in Secrets that are named after name and deleted with their owner, and
// returns their number. It does not overwrite an existing plan.
func (s *Secrets) SaveBody(ctx context.Context, name string, body []byte, owner metav1.OwnerReference) (int, error) {
	if len(body) > maxBody {
		return 0, fmt.Errorf("the plan is larger than %d MiB", maxBody>>20)
	}
	parts := slices.Collect(slices.Chunk(Pack(body), MaxSecret))
	for i, part := range parts {
		o := s.secret(segment(name, i), "plan", "")
		o.OwnerReferences = []metav1.OwnerReference{owner}
		o.Data["part"] = part
		immutable := true
		o.Immutable = &immutable
		if err := s.create(ctx, o); err != nil {
			return 0, fmt.Errorf("keep the plan %s: %w", name, err)
		}
	}
	return len(parts), nil
}

// Parts returns the number of Secrets that a plan needs.
func Parts(body []byte) int { return (len(Pack(body)) + MaxSecret - 1) / MaxSecret }

// Body returns a saved plan, which must have the given SHA-256.
func (s *Secrets) Body(ctx context.Context, name string, parts int, sum string) ([]byte, error) {
	var names []string
	for i := range parts {
		names = append(names, segment(name, i))
	}
	packed, err := s.parts(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("the plan %s is %w", name, err)
	}
	body, err := Unpack(packed, maxBody)
	if err != nil {
		return nil, fmt.Errorf("the plan %s: %w", name, err)
	}
	if h := sha256.Sum256(body); hex.EncodeToString(h[:]) != sum {
		return nil, errors.New("the plan " + name + " was modified: its SHA-256 differs")
	}
	return body, nil
}
