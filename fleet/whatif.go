package fleet

import (
	"context"
	"runtime"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/whatif"
)

// CheckIf checks a changed fabric as [Check] does, and compares it with the present one.
func CheckIf(ctx context.Context, present, now *Fabric, changes whatif.Changes, o CheckOptions) ([]checks.Finding, *whatif.Comparison, error) {
	was, err := Check(ctx, present, o)
	if err != nil {
		return nil, nil, err
	}
	found, err := Check(ctx, now, o)
	if err != nil {
		return nil, nil, err
	}
	return found, whatif.Compare(whatif.Side{Compiler: present.Compiler, Findings: was}, whatif.Side{Compiler: now.Compiler, Findings: found}, changes), nil
}

// FailureOutcome is what one or more failures have as their consequence.
type FailureOutcome struct {
	// Failures are the devices or cables that fail, each by itself.
	Failures []string
	// If compares the fabric without the first of them with the present one.
	If *whatif.Comparison
	// Errors reports whether that fabric has errors.
	Errors bool
}

// CheckEach checks what remains of a fabric without each of the devices or cables of a pattern of
// [intent.Fabric.Each], one at a time. load returns the fabric with some changes. The outcomes are
// in the order of their first failure; done is called after each failure with the part, 0 to 1,
// that was checked.
func CheckEach(ctx context.Context, present *Fabric, changes whatif.Changes, pattern string, o CheckOptions, load func(context.Context, whatif.Changes) (*Fabric, error), done func(part float64)) ([]FailureOutcome, error) {
	failures, err := present.Fabric().Each(pattern)
	if err != nil {
		return nil, err
	}
	was, err := Check(ctx, present, o)
	if err != nil {
		return nil, err
	}
	type result struct {
		c      *whatif.Comparison
		errors bool
		err    error
	}
	one := func(ctx context.Context, failure string) (r result) {
		with := whatif.Changes{Set: changes.Set, Without: append(slices.Clone(changes.Without), failure)}
		now, err := load(ctx, with)
		if err != nil {
			return result{err: err}
		}
		found, err := Check(ctx, now, o)
		if err != nil {
			return result{err: err}
		}
		return result{whatif.Compare(whatif.Side{Compiler: present.Compiler, Findings: was}, whatif.Side{Compiler: now.Compiler, Findings: found}, with), checks.Worst(found), nil}
	}
	var out []FailureOutcome
	at := map[string]int{}
	n := 0
	err = pool.Ordered(ctx, runtime.GOMAXPROCS(0), failures, one, func(r result) error {
		if r.err != nil {
			return r.err
		}
		key := r.c.Outcome()
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, FailureOutcome{If: r.c})
		}
		out[i].Failures, out[i].Errors = append(out[i].Failures, failures[n]), out[i].Errors || r.errors
		n++
		done(float64(n) / float64(len(failures)))
		return ctx.Err()
	})
	return out, err
}
