package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Approver approves or rejects a run. Package approval implements those of an intent.
type Approver interface {
	// Approve returns nil to approve. An error rejects the run, with the reason as its text.
	Approve(ctx context.Context, r ApprovalRequest) error
	// String names the approver in messages and in the audit log.
	String() string
}

// ApprovalRequest describes a run, or a wave of it, to an approver.
type ApprovalRequest struct {
	Fabric string `json:"fabric"`
	// Digest identifies what is about to be done: the digest of the plan, see [PlanFile], or
	// of the undo records of the run that is rolled back.
	Digest string `json:"digest"`
	// Of is the run that is rolled back; "" for an apply.
	Of      string `json:"rolls_back,omitempty"`
	Devices int    `json:"devices"` // number of devices that change
	// Impact is the largest impact of all changes.
	Impact  string           `json:"impact"`
	Changes []ApprovalChange `json:"changes"`
	User    string           `json:"user"`
	Host    string           `json:"host"`
	// Gate is the gate that each wave must pass. OutsideWindow is set if the run may write
	// outside the maintenance windows of the intent.
	Gate          GateMode `json:"gate,omitempty"`
	OutsideWindow bool     `json:"outside_window,omitempty"`
	// Wave is set when a run asks again between two waves: the number of the next wave, from
	// 2. Changes and Devices then cover only that wave.
	Wave  int `json:"wave,omitempty"`
	Waves int `json:"waves,omitempty"`
}

// ApprovalChange is a device that changes.
type ApprovalChange struct {
	Device string `json:"device"`
	Impact string `json:"impact"`
}

func (r *run) approvalRequest(of, digest string) ApprovalRequest {
	me := store.Self("", "")
	return ApprovalRequest{Fabric: r.Fabric.Name, Digest: digest, Of: of, Changes: []ApprovalChange{}, User: me.User, Host: me.Host, Gate: r.gateMode(), OutsideWindow: r.OutsideWindow}
}

func (q *ApprovalRequest) add(c ApprovalChange) {
	q.Devices++
	q.Changes = append(q.Changes, c)
}

// applyRequest returns the approval request for the devices that a plan changes.
func applyRequest(r *run, p *PlanFile) (ApprovalRequest, error) {
	q, most := r.approvalRequest("", p.Digest), qos.ImpactNone
	for device, impact := range p.Changes() {
		q.add(ApprovalChange{device, impact.String()})
		most = max(most, impact)
	}
	q.Impact = most.String()
	return q, nil
}

// rollbackRequest returns the approval request for the devices that a rollback restores.
func rollbackRequest(r *run, u *Undo) (q ApprovalRequest, err error) {
	q, most := r.approvalRequest(u.ID, ""), qos.ImpactNone
	for _, d := range u.Devices {
		q.add(ApprovalChange{d.Name, u.Impact(d.Name).String()})
		most = max(most, u.Impact(d.Name))
	}
	q.Impact = most.String()
	q.Digest, err = u.Digest()
	return q, err
}

// ask asks the operator for confirmation and then the approver. Each answer may take hours,
// so ask checks the maintenance windows again after it.
func (r *run) ask(ctx context.Context, confirm func() error, request func(*run) (ApprovalRequest, error)) error {
	approve := func() error { return r.approve(ctx, request) }
	for _, question := range []func() error{confirm, approve} {
		if question == nil {
			continue
		}
		if err := question(); err != nil {
			return err
		}
		if err := r.inWindow(); err != nil {
			return err
		}
	}
	return nil
}

// approve asks the approver, if there is one and something changes.
func (r *run) approve(ctx context.Context, request func(*run) (ApprovalRequest, error)) error {
	if r.Approver == nil {
		return nil
	}
	q, err := request(r)
	if err != nil || q.Devices == 0 {
		return err
	}
	err = r.Approver.Approve(ctx, q)
	switch {
	case ctx.Err() != nil:
		return errors.New("nothing was written")
	case err != nil:
		return engine.ErrorOf("", OpJudge, KindRefused, fmt.Errorf("not approved by %s: %w; nothing was written", r.Approver, err))
	}
	r.approved, r.request = r.Approver.String(), q
	return nil
}

// approveWave asks the approver again before wave n, unless it is the first. of is the number
// of waves.
func (r *run) approveWave(ctx context.Context, w Wave, n, of int) error {
	if r.approved == "" || n < 2 {
		return nil
	}
	q := r.request
	q.Wave, q.Waves, q.Devices, q.Changes = n, of, 0, []ApprovalChange{}
	for _, c := range r.request.Changes {
		if slices.Contains(w.Devices, c.Device) {
			q.add(c)
		}
	}
	if err := r.Approver.Approve(ctx, q); err != nil && ctx.Err() == nil {
		return engine.ErrorOf("", OpJudge, KindRefused, fmt.Errorf("wave %d is not approved by %s: %w", n, r.Approver, err))
	}
	return ctx.Err()
}
