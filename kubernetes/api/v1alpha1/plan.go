package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FabricPlanSpec is a plan. It never changes.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a FabricPlan never changes: the operator makes a new one"
type FabricPlanSpec struct {
	// The Fabric that it is for.
	Fabric string `json:"fabric"`
	// The SHA-256 of the files of the intent that it was made from.
	Intent string `json:"intent"`
	// The digest of the plans of the devices: an approval names it.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Digest string `json:"digest"`
	// The most that the plan disturbs.
	Impact Impact `json:"impact"`
	// The devices that it changes, at most 500 of them.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	// +optional
	Devices []PlannedDevice `json:"devices,omitempty"`
	// How many devices it changes.
	Changes int32 `json:"changes"`
	// How many waves it has.
	Waves int32 `json:"waves"`
	// The plan itself, which is in Secrets.
	Body PlanBody `json:"body"`
}

// PlannedDevice is what a plan does on one device.
type PlannedDevice struct {
	Name   string `json:"name"`
	Impact Impact `json:"impact"`
	// What changes, as "ports[Ethernet8].pfc: {3} -> {3,4}", at most 20 lines.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Changes []string `json:"changes,omitempty"`
	// How many changes there are.
	Count int32 `json:"count"`
	// How many native steps make them.
	Steps int32 `json:"steps"`
	// Why it cannot be changed as planned.
	// +optional
	Blocked string `json:"blocked,omitempty"`
}

// PlanBody says where the plan is, compressed.
type PlanBody struct {
	// The name of the set of Secrets.
	Name string `json:"name"`
	// The SHA-256 of the whole plan, not compressed.
	SHA256 string `json:"sha256"`
	// Its size, not compressed.
	Size int64 `json:"size"`
	// How many Secrets have it.
	Parts int32 `json:"parts"`
}

// PlanPhase is how far a plan is.
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

// FabricPlanStatus is what became of a plan.
type FabricPlanStatus struct {
	// +optional
	Phase PlanPhase `json:"phase,omitempty"`
	// Why, for people.
	// +optional
	Message string `json:"message,omitempty"`
	// The FabricPlanApproval that allowed it, or policy for policy apply.
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
	// The number of the last run before it was begun: later ones are its own.
	// +optional
	After int64 `json:"after,omitempty"`
	// A replica ended in the middle of a run, which another one resumes.
	// +optional
	Interrupted bool `json:"interrupted,omitempty"`
	// The runs that carried it out: more than one where a run was cut off and resumed.
	// +listType=atomic
	// +optional
	Runs []string `json:"runs,omitempty"`
	// How many devices are in which state.
	// +optional
	States map[string]int32 `json:"states,omitempty"`
	// The devices that are not as intended, at most 100 of them.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Devices []DeviceOutcome `json:"devices,omitempty"`
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// +optional
	Ended *metav1.Time `json:"ended,omitempty"`
}

// DeviceOutcome is what became of a device in a run.
type DeviceOutcome struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// +optional
	Message string `json:"message,omitempty"`
}

// FabricPlan is a plan that brings a fabric to its intent. The operator makes it; a
// FabricPlanApproval allows it.
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

	Spec FabricPlanSpec `json:"spec"`
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

// FabricPlanApprovalSpec approves a plan. It never changes.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a FabricPlanApproval never changes: delete it, and create another one"
type FabricPlanApprovalSpec struct {
	// The name of the FabricPlan.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Plan string `json:"plan"`
	// Its digest: what is approved is this, whatever has its name.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	Digest string `json:"digest"`
}

// FabricPlanApprovalStatus is what became of an approval.
type FabricPlanApprovalStatus struct {
	// +kubebuilder:validation:Enum=Accepted;Refused
	// +optional
	Phase string `json:"phase,omitempty"`
	// Why, for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// FabricPlanApproval allows a plan to be carried out. Who may create one may approve.
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

	Spec FabricPlanApprovalSpec `json:"spec"`
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
