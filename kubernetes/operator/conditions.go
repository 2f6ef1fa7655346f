package operator

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
)

// maxMessage limits the length of a condition's message.
const maxMessage = 8 << 10

// setCondition sets a condition of an object.
func setCondition(all *[]metav1.Condition, generation int64, kind string, is metav1.ConditionStatus, reason, message string) {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
	}
	meta.SetStatusCondition(all, metav1.Condition{Type: kind, Status: is, Reason: reason, Message: message, ObservedGeneration: generation})
}

// setPlanConditions sets the conditions of a plan from the rest of its status.
func setPlanConditions(p *v1alpha1.FabricPlan) {
	s := &p.Status
	if s.Phase == "" {
		return // the plan is incomplete
	}
	set := func(kind string, is metav1.ConditionStatus, reason, message string) {
		setCondition(&s.Conditions, p.Generation, kind, is, reason, message)
	}
	switch {
	case s.ApprovedBy == byPolicy:
		set(v1alpha1.Approved, metav1.ConditionTrue, v1alpha1.ReasonApprovedByPolicy, "the policy of the Fabric approves the plan")
	case s.ApprovedBy != "":
		set(v1alpha1.Approved, metav1.ConditionTrue, v1alpha1.ReasonApproved, "FabricPlanApproval "+s.ApprovedBy+" approves the plan")
	default:
		set(v1alpha1.Approved, metav1.ConditionFalse, v1alpha1.ReasonNotApproved, s.Message)
	}
	switch reason := string(s.Phase); {
	case s.Phase == v1alpha1.Applied:
		set(v1alpha1.Succeeded, metav1.ConditionTrue, reason, s.Message)
	case final(s.Phase):
		set(v1alpha1.Succeeded, metav1.ConditionFalse, reason, s.Message)
	case s.Interrupted:
		set(v1alpha1.Succeeded, metav1.ConditionUnknown, v1alpha1.ReasonInterrupted, s.Message)
	default:
		set(v1alpha1.Succeeded, metav1.ConditionUnknown, reason, s.Message)
	}
}

// setDeviceConditions sets the conditions of a device from the rest of its status.
func setDeviceConditions(o deviceObject) {
	s := o.status
	set := func(kind string, is metav1.ConditionStatus, reason, message string) {
		setCondition(&s.Conditions, o.GetGeneration(), kind, is, reason, message)
	}
	if _, ok := o.Object.(*v1alpha1.SwitchStatus); ok {
		switch {
		case s.Message != "":
			set(v1alpha1.InSync, metav1.ConditionUnknown, v1alpha1.ReasonNotRead, s.Message)
		case s.Drift > 0:
			set(v1alpha1.InSync, metav1.ConditionFalse, v1alpha1.ReasonDrifted, words.Plural(int(s.Drift), "setting differs", "settings differ")+" from the intent")
		default:
			set(v1alpha1.InSync, metav1.ConditionTrue, v1alpha1.ReasonInSync, "no setting differs from the intent")
		}
	}
	if s.Message != "" {
		set(v1alpha1.Reachable, metav1.ConditionFalse, v1alpha1.ReasonNotRead, s.Message)
		set(v1alpha1.Ready, metav1.ConditionFalse, v1alpha1.ReasonNotReachable, s.Message)
		return
	}
	set(v1alpha1.Reachable, metav1.ConditionTrue, v1alpha1.ReasonRead, "the device was read")
	if n := int(s.Counts.Errors); n > 0 {
		set(v1alpha1.Ready, metav1.ConditionFalse, v1alpha1.ReasonFindings, words.Count(n, "finding")+" of severity error")
		return
	}
	set(v1alpha1.Ready, metav1.ConditionTrue, v1alpha1.ReasonReady, "no finding is an error")
}
