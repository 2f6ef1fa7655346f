package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Policy says what the operator may do on its own.
// +kubebuilder:validation:Enum=observe;plan;apply
type Policy string

// The policies.
const (
	Observe Policy = "observe" // only validates
	Plan    Policy = "plan"    // also makes plans, and carries out approved ones
	Apply   Policy = "apply"   // also approves plans itself, up to an impact
)

// Impact is what a change disturbs, from least to most.
// +kubebuilder:validation:Enum=none;counters;port-flap;traffic-loss;reload
type Impact string

// FabricSpec is what a fabric should do, and who may change it.
// +kubebuilder:validation:XValidation:rule="self.policy == 'apply' || !has(self.allow)",message="allow is for policy apply: under policy plan the approval of a plan allows its impact"
type FabricSpec struct {
	// The intent: inline, from a ConfigMap or from Git.
	Intent IntentSource `json:"intent"`
	// What the operator may do: observe only validates; plan also makes plans and carries
	// out approved ones; apply also carries out plans without an approval, up to the
	// allowed impact.
	// +kubebuilder:default=observe
	// +optional
	Policy Policy `json:"policy,omitempty"`
	// With policy apply, the largest impact of a plan that needs no approval. The default
	// is counters.
	// +optional
	Allow Impact `json:"allow,omitempty"`
	// Names of devices to write to even if they show another identity than the intent
	// states or an earlier plan recorded, for example after a replacement. Once a plan has
	// recorded the new identity, the name can be removed.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	AcceptIdentity []string `json:"acceptIdentity,omitempty"`
	// The Secret for the intent's references: env:NAME refers to its key NAME, and a file
	// to the key with the file's name.
	// +optional
	CredentialsSecret *LocalReference `json:"credentialsSecret,omitempty"`
	// The time between two validations.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="interval is from 10s to 24h"
	// +optional
	Interval metav1.Duration `json:"interval,omitzero"`
	// How each wave of an apply is verified. The intent's rollout sets the order, wave
	// sizes, canaries and windows.
	// +optional
	Rollout Rollout `json:"rollout,omitzero"`
	// Suspends all work on the devices. A running apply is completed.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// IntentSource is the source of the intent. Exactly one field is set.
// +kubebuilder:validation:XValidation:rule="(has(self.inline) ? 1 : 0) + (has(self.configMap) ? 1 : 0) + (has(self.git) ? 1 : 0) == 1",message="the intent comes from exactly one of inline, configMap and git"
type IntentSource struct {
	// The text of the intent.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=524288
	// +optional
	Inline string `json:"inline,omitempty"`
	// A ConfigMap whose keys that end in .yaml or .yml are the files of the intent.
	// +optional
	ConfigMap *LocalReference `json:"configMap,omitempty"`
	// A Git repository.
	// +optional
	Git *GitSource `json:"git,omitempty"`
}

// GitSource is a path in a Git repository.
// +kubebuilder:validation:XValidation:rule="has(self.ref) || has(self.revision)",message="git needs a ref or a revision"
// +kubebuilder:validation:XValidation:rule="!self.url.startsWith('ssh://') || has(self.secret)",message="git over ssh needs a secret with ssh-privatekey and known_hosts"
type GitSource struct {
	// The repository: https://host/path or ssh://user@host/path. Credentials
	// are in the secret.
	// +kubebuilder:validation:Pattern=`^(https://|ssh://([A-Za-z0-9._-]+@)?)[^@\s]+$`
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`
	// The Secret with the login. For https: token, or username and password, and ca.crt for
	// a private CA. For ssh: ssh-privatekey and known_hosts.
	// +optional
	Secret *LocalReference `json:"secret,omitempty"`
	// A branch or a tag, such as main.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9._/-]*$`
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Ref string `json:"ref,omitempty"`
	// The commit. If ref is also set, it must point to this commit.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{40}$`
	// +optional
	Revision string `json:"revision,omitempty"`
	// The file or folder of the intent in the repository.
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..' || p == '.git')",message="path stays within the repository"
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
}

// LocalReference names an object in the same namespace.
type LocalReference struct {
	// The name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Rollout says how waves are verified.
type Rollout struct {
	// How each wave is verified before the next one starts.
	// +kubebuilder:validation:Enum=off;quick;full
	// +kubebuilder:default=full
	// +optional
	Gate string `json:"gate,omitempty"`
}

// Verdict is the outcome of a validation.
// +kubebuilder:validation:Enum=ok;warnings;errors;inconclusive;unreachable;unknown
type Verdict string

// The verdicts of a fabric and of its devices.
const (
	OK           Verdict = "ok"
	Warnings     Verdict = "warnings"
	Errors       Verdict = "errors"
	Inconclusive Verdict = "inconclusive" // no fault was found, but something could not be checked
	Unreachable  Verdict = "unreachable"  // a device could not be read
	Unknown      Verdict = "unknown"      // nothing was checked
)

// Counts is the number of findings by severity.
type Counts struct {
	// How many findings are errors.
	// +kubebuilder:default=0
	// +optional
	Errors int32 `json:"errors"`
	// How many findings are warnings.
	// +kubebuilder:default=0
	// +optional
	Warnings int32 `json:"warnings"`
	// How many findings are information.
	// +kubebuilder:default=0
	// +optional
	Infos int32 `json:"infos"`
	// How many findings the intent accepts; the other counts leave them out.
	// +kubebuilder:default=0
	// +optional
	Suppressed int32 `json:"suppressed"`
	// How many findings say that something could not be checked.
	// +kubebuilder:default=0
	// +optional
	Inconclusive int32 `json:"inconclusive"`
}

// FabricStatus is the observed state of a fabric.
type FabricStatus struct {
	// The generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The outcome of the last validation.
	// +optional
	Verdict Verdict `json:"verdict,omitempty"`
	// How many findings the last validation had.
	// +optional
	Findings Counts `json:"findings,omitempty"`
	// How many devices the intent has.
	// +optional
	Devices int32 `json:"devices,omitempty"`
	// How many devices answered.
	// +optional
	Reachable int32 `json:"reachable,omitempty"`
	// How many switches differ from the intent.
	// +optional
	Drifted int32 `json:"drifted,omitempty"`
	// The intent that was used last.
	// +optional
	Intent IntentStatus `json:"intent,omitempty"`
	// When the last validation ended.
	// +optional
	LastValidation *metav1.Time `json:"lastValidation,omitempty"`
	// The plan that brings the fabric to its intent.
	// +optional
	Plan *PlanReference `json:"plan,omitempty"`
	// The last run that changed devices.
	// +optional
	LastRun *RunStatus `json:"lastRun,omitempty"`
	// The conditions IntentValid, Validated, InSync, Planned and Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// IntentStatus identifies an intent.
type IntentStatus struct {
	// The name of the fabric in the intent.
	// +optional
	Fabric string `json:"fabric,omitempty"`
	// The SHA-256 of its files.
	// +optional
	Digest string `json:"digest,omitempty"`
	// The commit, if the intent comes from Git.
	// +optional
	Revision string `json:"revision,omitempty"`
}

// PlanReference names a plan.
type PlanReference struct {
	// The name of the FabricPlan.
	Name string `json:"name"`
	// Its digest, which an approval names.
	Digest string `json:"digest"`
	// The most that it disturbs.
	// +optional
	Impact Impact `json:"impact,omitempty"`
	// How many devices it changes.
	Changes int32 `json:"changes"`
}

// RunStatus is the result of a run.
type RunStatus struct {
	// The plan that the run carried out.
	Plan string `json:"plan"`
	// The ID of the run, which its journal has.
	// +optional
	Run string `json:"run,omitempty"`
	// The phase in which the plan ended.
	// +optional
	Phase PlanPhase `json:"phase,omitempty"`
	// When it ended.
	// +optional
	Ended *metav1.Time `json:"ended,omitempty"`
}

// Fabric is a RoCE fabric, with its intent.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=roce
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.policy`
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="Errors",type=integer,JSONPath=`.status.findings.errors`
// +kubebuilder:printcolumn:name="Warnings",type=integer,JSONPath=`.status.findings.warnings`
// +kubebuilder:printcolumn:name="Devices",type=integer,JSONPath=`.status.devices`
// +kubebuilder:printcolumn:name="Reachable",type=integer,JSONPath=`.status.reachable`,priority=1
// +kubebuilder:printcolumn:name="Drifted",type=integer,JSONPath=`.status.drifted`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.status.plan.name`
// +kubebuilder:printcolumn:name="Validated",type=date,JSONPath=`.status.lastValidation`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="the name of a Fabric has at most 52 characters"
type Fabric struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the fabric should do, and who may change it.
	Spec FabricSpec `json:"spec"`
	// What is known of the fabric.
	// +optional
	Status FabricStatus `json:"status,omitempty"`
}

// FabricList is a list of Fabrics.
// +kubebuilder:object:root=true
type FabricList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Fabric `json:"items"`
}
