package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FabricPlanSpec is a plan. It is immutable.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a FabricPlan never changes: the operator makes a new one"
type FabricPlanSpec struct {
	// The Fabric to change.
	Fabric string `json:"fabric"`
	// The SHA-256 of the files of the intent that the plan was made from.
	Intent string `json:"intent"`
	// The digest of the plans of all devices. An approval names it.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Digest string `json:"digest"`
	// The largest impact of the plan.
	Impact Impact `json:"impact"`
	// The devices that the plan changes, at most 500.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	// +optional
	Devices []PlannedDevice `json:"devices,omitempty"`
	// The number of devices that the plan changes.
	Changes int32 `json:"changes"`
	// The number of waves.
	Waves int32 `json:"waves"`
	// The plan itself, stored in Secrets.
	Body PlanBody `json:"body"`
}

// PlannedDevice is what a plan does on one device.
type PlannedDevice struct {
	// The name of the device in the intent.
	Name string `json:"name"`
	// The most that the changes of the device disturb.
	Impact Impact `json:"impact"`
	// The changes, such as "ports[Ethernet8].pfc: {3} -> {3,4}", at most 20 lines.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Changes []string `json:"changes,omitempty"`
	// The number of changes.
	Count int32 `json:"count"`
	// The number of native steps.
	Steps int32 `json:"steps"`
	// Why the device cannot be changed as planned.
	// +optional
	Blocked string `json:"blocked,omitempty"`
}

// PlanBody says where the compressed plan is stored.
type PlanBody struct {
	// The name of the set of Secrets.
	Name string `json:"name"`
	// The SHA-256 of the uncompressed plan.
	SHA256 string `json:"sha256"`
	// The uncompressed size in bytes.
	Size int64 `json:"size"`
	// The number of Secrets.
	Parts int32 `json:"parts"`
}

// PlanPhase is the progress of a plan.
// +kubebuilder:validation:Enum=Pending;Applying;Applied;Refused;Reverted;Failed;Partial;Superseded
type PlanPhase string

// The phases. All except Pending and Applying are final.
const (
	Pending    PlanPhase = "Pending"  // waiting for an approval
	Applying   PlanPhase = "Applying" // in progress, or interrupted and to be resumed
	Applied    PlanPhase = "Applied"  // all devices are as intended
	Refused    PlanPhase = "Refused"  // nothing was written
	Reverted   PlanPhase = "Reverted" // all devices are as they were before
	Failed     PlanPhase = "Failed"   // an error before anything was written
	Partial    PlanPhase = "Partial"  // some devices are as intended; the status says which
	Superseded PlanPhase = "Superseded"
)

// FabricPlanStatus is the result of a plan.
type FabricPlanStatus struct {
	// How far the plan is.
	// +optional
	Phase PlanPhase `json:"phase,omitempty"`
	// The reason for the phase, for people.
	// +optional
	Message string `json:"message,omitempty"`
	// What is approved: the plan as 'roce-fabric plan show' prints it, with its waves. A text
	// that is too long is cut, and its last line says so.
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Text string `json:"text,omitempty"`
	// The FabricPlanApproval that approved the plan; "policy apply" if the policy did.
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
	// The number of the last run before this plan started. Later runs belong to the plan.
	// +optional
	After int64 `json:"after,omitempty"`
	// A replica stopped during a run, which another one resumes.
	// +optional
	Interrupted bool `json:"interrupted,omitempty"`
	// The runs that carried out the plan: more than one if a run was interrupted and resumed.
	// +listType=atomic
	// +optional
	Runs []string `json:"runs,omitempty"`
	// The number of devices in each state.
	// +optional
	States map[string]int32 `json:"states,omitempty"`
	// The devices that are not as intended, at most 100.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Devices []DeviceOutcome `json:"devices,omitempty"`
	// When it was approved and its run could begin.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// When it reached its end.
	// +optional
	Ended *metav1.Time `json:"ended,omitempty"`
	// The conditions Approved and Succeeded.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeviceOutcome is the result of a run on a device.
type DeviceOutcome struct {
	// The name of the device in the intent.
	Name string `json:"name"`
	// The state that the run left it in, such as reverted; cut-off if the run ended while it
	// changed the device.
	State string `json:"state"`
	// Why, for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// FabricPlan is a plan that brings a fabric to its intent. The operator makes it; a
// FabricPlanApproval approves it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fplan,categories=roce
// +kubebuilder:printcolumn:name="Fabric",type=string,JSONPath=`.spec.fabric`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Impact",type=string,JSONPath=`.spec.impact`
// +kubebuilder:printcolumn:name="Changes",type=integer,JSONPath=`.spec.changes`
// +kubebuilder:printcolumn:name="Approved By",type=string,JSONPath=`.status.approvedBy`
// +kubebuilder:printcolumn:name="Digest",type=string,JSONPath=`.spec.digest`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FabricPlan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The plan, which never changes.
	Spec FabricPlanSpec `json:"spec"`
	// What became of the plan.
	// +optional
	Status FabricPlanStatus `json:"status,omitempty"`
}

// FabricPlanList is a list of FabricPlans.
// +kubebuilder:object:root=true
type FabricPlanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FabricPlan `json:"items"`
}

// FabricPlanApprovalSpec approves a plan. It is immutable.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a FabricPlanApproval never changes: delete it, and create another one"
type FabricPlanApprovalSpec struct {
	// The name of the FabricPlan.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Plan string `json:"plan"`
	// The plan's digest. The approval is for this digest, not for the name.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Digest string `json:"digest"`
}

// ApprovalPhase is the answer to an approval.
// +kubebuilder:validation:Enum=Accepted;Refused
type ApprovalPhase string

// The answers.
const (
	ApprovalAccepted ApprovalPhase = "Accepted"
	ApprovalRefused  ApprovalPhase = "Refused"
)

// FabricPlanApprovalStatus is the result of an approval.
type FabricPlanApprovalStatus struct {
	// Whether the plan is carried out; empty until that is known.
	// +optional
	Phase ApprovalPhase `json:"phase,omitempty"`
	// The reason for the phase, for people.
	// +optional
	Message string `json:"message,omitempty"`
	// The condition Accepted.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FabricPlanApproval approves a plan. Anyone who may create one may approve plans.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=fapproval,categories=roce
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.spec.plan`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FabricPlanApproval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The plan that is approved; it never changes.
	Spec FabricPlanApprovalSpec `json:"spec"`
	// What became of the approval.
	// +optional
	Status FabricPlanApprovalStatus `json:"status,omitempty"`
}

// FabricPlanApprovalList is a list of FabricPlanApprovals.
// +kubebuilder:object:root=true
type FabricPlanApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []FabricPlanApproval `json:"items"`
}
