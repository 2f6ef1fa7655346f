package prove

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
)

// A file holds a document on its first line and its seal on the second, like the last line of a plan
// of changes. A file without a seal is truncated.
const (
	planKind   = "roce-fabric-prove-plan"
	planFormat = 1
	// maxFile limits what is read. A plan has a line for each stage, however large the fabric is.
	maxFile = 64 << 20
)

// ErrFile is wrapped by errors about a file that is not complete, or was changed.
var ErrFile = errors.New("not a usable file of prove")

type seal struct {
	End    bool   `json:"end"`
	SHA256 string `json:"sha256"` // hash of the first line
	Sig    string `json:"sig,omitempty"`
}

// header begins each document.
type header struct {
	Kind   string `json:"kind"`
	Format int    `json:"format"`
}

// write writes a document to path, signed with the key of ring unless ring is nil. It returns the
// seal of the document. The file appears only once it is complete.
func write(path, kind string, document any, ring *keys.Ring) (s seal, err error) {
	line, err := json.Marshal(document)
	if err != nil {
		return s, err
	}
	sum := sha256.Sum256(line)
	s = seal{End: true, SHA256: hex.EncodeToString(sum[:])}
	if ring != nil {
		if err := ring.Ensure(); err != nil {
			return s, err
		}
		s.Sig = ring.Sign(kind, []byte(s.SHA256))
	}
	last, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	text := append(append(line, '\n'), append(last, '\n')...)
	return s, atomicfile.WriteOutput(path, text, 0o600)
}

// read reads a document of a kind and checks that it is as it was written.
func read(path, kind string, document any) (s seal, err error) {
	bad := func(format string, a ...any) (seal, error) {
		return seal{}, fmt.Errorf("%s: %w: %w", path, ErrFile, fmt.Errorf(format, a...))
	}
	text, err := boundedfile.Read(path, maxFile)
	if err != nil {
		return s, err
	}
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	var h header
	if err := json.Unmarshal(line, &h); err != nil || h.Kind != kind {
		return bad("the first line is not a %s", kind)
	}
	if h.Format != planFormat {
		return bad("format %d; this version reads format %d", h.Format, planFormat)
	}
	last, more, _ := bytes.Cut(rest, []byte("\n"))
	if strict(last, &s) != nil || !s.End {
		return bad("the file ends early")
	}
	sum := sha256.Sum256(line)
	if s.SHA256 != hex.EncodeToString(sum[:]) {
		return bad("it was changed after it was saved")
	}
	if len(more) > 0 {
		return bad("text after the end")
	}
	if err := strict(line, document); err != nil {
		return bad("%w", err)
	}
	return s, nil
}

func strict(line []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

type planDocument struct {
	header
	Plan
}

// Save writes the plan to path, signed with the key of ring unless ring is nil, and returns its
// digest.
func (p *Plan) Save(path string, ring *keys.Ring) (digest string, err error) {
	s, err := write(path, planKind, planDocument{header{planKind, planFormat}, *p}, ring)
	return s.SHA256, err
}

// Saved is a plan from a file.
type Saved struct {
	*Plan
	Digest string
	// SignedBy names the key that the file claims to be signed with; "" for none.
	SignedBy string

	sig string
}

// OpenPlan reads a saved plan and checks that it is complete and unchanged. It does not check who
// signed it.
func OpenPlan(path string) (*Saved, error) {
	d := planDocument{}
	s, err := read(path, planKind, &d)
	if err != nil {
		return nil, err
	}
	return &Saved{&d.Plan, s.SHA256, keys.Fingerprint(s.Sig), s.Sig}, nil
}

// Verify returns an error unless a key that ring trusts signed the plan.
func (s *Saved) Verify(ring *keys.Ring) error { return ring.Verify(planKind, []byte(s.Digest), s.sig) }

// Bind prepares a saved plan for use with an intent. It fails unless the plan was made for exactly
// this intent, and this version would make the same rounds.
func (s *Saved) Bind(f *intent.Fabric) error {
	if s.Fabric != f.Name {
		return fmt.Errorf("the plan is for fabric %s, not %s", s.Fabric, f.Name)
	}
	if s.Intent != f.Hash {
		return fmt.Errorf("the plan was made from a different version of the intent of %s", f.Name)
	}
	n, err := newNetwork(f)
	if err != nil {
		return err
	}
	for _, st := range s.Stages {
		again := st
		again.Pairs, again.OfPairs, again.Most = 0, 0, 0
		n.count(&again)
		if of := n.rounds(st.Pattern, st.K); st.Rounds < 0 || st.Rounds > of || st.Of != of || again.Pairs != st.Pairs || again.OfPairs != st.OfPairs {
			return fmt.Errorf("this version makes other rounds for %s: make a new plan", st.Name())
		}
		for _, name := range st.Classes {
			if k := f.Settings.Class(name); k == nil || len(k.DSCP.V) == 0 {
				return fmt.Errorf("%s has no class %s with a DSCP", f.Name, name)
			}
		}
	}
	s.net = n
	return nil
}
