package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeviceSpec identifies the device. It is immutable.
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the device of a status never changes"
type DeviceSpec struct {
	// The name of the Fabric.
	Fabric string `json:"fabric"`
	// The name of the device in the intent.
	Device string `json:"device"`
}

// DeviceState is the observed state of a device.
type DeviceState struct {
	// The outcome of the last validation of the device.
	// +optional
	Verdict Verdict `json:"verdict,omitempty"`
	// How many findings the device has.
	// +optional
	Counts Counts `json:"counts,omitempty"`
	// The findings, worst first, at most 50.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Findings []Finding `json:"findings,omitempty"`
	// How many settings of a switch differ from the intent. Those of a host are findings.
	// +optional
	Drift int32 `json:"drift,omitempty"`
	// When the device was last read.
	// +optional
	LastSeen *metav1.Time `json:"lastSeen,omitempty"`
	// Why the device could not be read.
	// +optional
	Message string `json:"message,omitempty"`
	// When a replica last tried to read the device.
	// +optional
	LastTry *metav1.Time `json:"lastTry,omitempty"`
	// The Lease of the replica that tried.
	// +optional
	Replica string `json:"replica,omitempty"`
	// The digest of the intent that the device was compared with.
	// +optional
	Intent string `json:"intent,omitempty"`
	// The conditions Reachable and Ready, and for a switch InSync.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Data for the replica that compares devices with each other, for internal use.
	// +kubebuilder:validation:MaxLength=349528
	// +optional
	Summary []byte `json:"summary,omitempty"`
}

// Finding is one fault at one place.
type Finding struct {
	// The check, such as PFC-03.
	ID string `json:"id"`
	// How bad it is.
	// +kubebuilder:validation:Enum=error;warning;info
	Severity string `json:"severity"`
	// The ports that it is about, at most 64 of them.
	// +listType=atomic
	// +optional
	Ports []string `json:"ports,omitempty"`
	// What is wrong.
	What string `json:"what"`
	// How to correct it.
	// +optional
	Fix string `json:"fix,omitempty"`
	// The place in the intent that the device contradicts.
	// +optional
	Where string `json:"where,omitempty"`
	// What could not be checked.
	// +optional
	Unchecked string `json:"unchecked,omitempty"`
	// Why the finding is suppressed.
	// +optional
	Suppressed string `json:"suppressed,omitempty"`
}

// SwitchStatus is the observed state of a switch.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=switchstatuses,shortName=swst,categories=roce
// +kubebuilder:printcolumn:name="Fabric",type=string,JSONPath=`.spec.fabric`
// +kubebuilder:printcolumn:name="Device",type=string,JSONPath=`.spec.device`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="Errors",type=integer,JSONPath=`.status.counts.errors`
// +kubebuilder:printcolumn:name="Warnings",type=integer,JSONPath=`.status.counts.warnings`
// +kubebuilder:printcolumn:name="Drift",type=integer,JSONPath=`.status.drift`
// +kubebuilder:printcolumn:name="Last Seen",type=date,JSONPath=`.status.lastSeen`
type SwitchStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which device it is.
	Spec DeviceSpec `json:"spec"`
	// What is known of the device.
	// +optional
	Status DeviceState `json:"status,omitempty"`
}

// SwitchStatusList is a list of SwitchStatuses.
// +kubebuilder:object:root=true
type SwitchStatusList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SwitchStatus `json:"items"`
}

// HostStatus is the observed state of a host.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=hoststatuses,shortName=hostst,categories=roce
// +kubebuilder:printcolumn:name="Fabric",type=string,JSONPath=`.spec.fabric`
// +kubebuilder:printcolumn:name="Device",type=string,JSONPath=`.spec.device`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="Errors",type=integer,JSONPath=`.status.counts.errors`
// +kubebuilder:printcolumn:name="Warnings",type=integer,JSONPath=`.status.counts.warnings`
// +kubebuilder:printcolumn:name="Last Seen",type=date,JSONPath=`.status.lastSeen`
type HostStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which device it is.
	Spec DeviceSpec `json:"spec"`
	// What is known of the device.
	// +optional
	Status DeviceState `json:"status,omitempty"`
}

// HostStatusList is a list of HostStatuses.
// +kubebuilder:object:root=true
type HostStatusList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []HostStatus `json:"items"`
}
