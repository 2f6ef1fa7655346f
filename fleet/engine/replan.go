package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func TooMuch(device string, is, most qos.Impact) *Error {
	return ErrorOf(device, OpJudge, KindImpact, fmt.Errorf("the plan disturbs more than allowed: %s, allowed is %s", is, most))
}

const CannotBeMade = "the plan has changes that cannot be made"

// replan plans a device again, from the state that the plan was made for, and returns the
// steps. They must match the digest of the task. The blocked changes and the impact are
// computed anew too, because the plan may come from a file that someone edited.
func (r *Run) replan(drv drivers.Driver, f drivers.Facts, snap *drivers.Snapshot, t Task) (*drivers.Steps, State, error) {
	fresh, err := drv.Plan(f, snap, t.Want, t.Plan.Policy)
	switch {
	case err != nil:
		return nil, Failed, NewError("", OpPlan, fmt.Errorf("plan again: %w", err))
	case len(fresh.Blocked()) > 0:
		return nil, Blocked, ErrorOf("", OpJudge, KindBlocked, errors.New(CannotBeMade))
	case fresh.Impact() > r.Allow:
		return nil, Refused, TooMuch("", fresh.Impact(), r.Allow)
	case StepsDigest(fresh.Items) != t.Steps:
		return nil, Refused, ErrorOf("", OpJudge, KindPlan, errors.New("the plan's steps do not lead to the intent"))
	}
	return fresh, "", nil
}

// StepsDigest returns a digest of what the steps send to a device. It does not depend on how
// the JSON is formatted.
func StepsDigest(steps []drivers.Step) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, s := range steps {
		// The last element keeps the digest of invalid JSON different from that of any step.
		var native any
		d := json.NewDecoder(bytes.NewReader(s.Native))
		d.UseNumber()
		err := d.Decode(&native)
		_ = enc.Encode([]any{s.Via, slices.Concat(s.Down), slices.Concat(s.Up), native, err != nil})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// EqualJSON reports whether two values encode to equivalent JSON.
func EqualJSON(a, b any) bool {
	var said [2]any
	for i, v := range []any{a, b} {
		text, err := json.Marshal(v)
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err != nil || dec.Decode(&said[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(said[0], said[1])
}
