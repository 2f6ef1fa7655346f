package v1alpha1

// The condition types of a Fabric.
const (
	IntentValid = "IntentValid" // the intent was read and has no errors
	Validated   = "Validated"   // the devices were compared with the intent
	InSync      = "InSync"      // no device differs from the intent
	Planned     = "Planned"     // a plan could be made, if one was needed
	Ready       = "Ready"       // the other conditions are true, and no finding is an error
)

// The condition types of a FabricPlan.
const (
	Approved  = "Approved"  // an approval or the policy allows the plan to be carried out
	Succeeded = "Succeeded" // all devices are as intended; Unknown until the plan has ended
)

// Accepted is the condition type of a FabricPlanApproval: its plan is carried out.
const Accepted = "Accepted"

// Reachable is a condition type of a SwitchStatus and a HostStatus: the device was read at the
// last attempt. A HostStatus also has the condition Ready, a SwitchStatus InSync and Ready.
const Reachable = "Reachable"

// The reasons of IntentValid.
const (
	ReasonValid         = "Valid"
	ReasonInvalidIntent = "InvalidIntent"
	ReasonNotRead       = "NotRead" // also of Validated, InSync and Reachable
)

// The reasons of Validated.
const (
	ReasonValidating  = "Validating" // not all devices have been read since the intent changed
	ReasonValidated   = "Validated"
	ReasonInPart      = "InPart"      // some devices could not be read
	ReasonUnreachable = "Unreachable" // no device could be read
	ReasonFailed      = "Failed"      // also of Planned
)

// The reasons of InSync.
const (
	ReasonInSync  = "InSync"
	ReasonDrifted = "Drifted"
)

// The reasons of Planned.
const (
	ReasonPlanned     = "Planned"
	ReasonNothingToDo = "NothingToDo"
	ReasonNotPlanned  = "NotPlanned" // a device cannot be planned
)

// The reasons of Ready.
const (
	ReasonReady          = "Ready"
	ReasonSuspended      = "Suspended"
	ReasonFindings       = "Findings" // a finding is an error
	ReasonNotIntentValid = "NotIntentValid"
	ReasonNotValidated   = "NotValidated"
	ReasonNotInSync      = "NotInSync"
	ReasonNotReachable   = "NotReachable"
)

// ReasonRead is the reason of Reachable while the device can be read.
const ReasonRead = "Read"

// The reasons of Approved.
const (
	ReasonNotApproved      = "NotApproved"
	ReasonApproved         = "Approved"
	ReasonApprovedByPolicy = "ApprovedByPolicy"
)

// ReasonInterrupted is a reason of Succeeded, besides the phases of a plan: a replica ended in
// the middle of the run.
const ReasonInterrupted = "Interrupted"

// The reasons of Accepted.
const (
	ReasonAccepted    = "Accepted"
	ReasonNoPlan      = "NoPlan"      // there is no plan of that name
	ReasonOtherDigest = "OtherDigest" // the plan has another digest
	ReasonPlanEnded   = "PlanEnded"
)

// Finalizer keeps a Fabric until the run that changes its devices has ended.
const Finalizer = "roce-fabric.io/run"
