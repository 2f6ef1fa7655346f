// Package fleet is the Go API for working on a whole fabric. Switches and hosts are both
// devices, each a [Device]; code here does not depend on a device's operating system.
//
// [Load] reads and compiles an intent, and [Check] checks it without devices. [Access]
// connects to the devices, and [Fabric.Devices] lists them. [Validate] compares the running
// state of the devices with the intent, and [Import] derives an intent from it. A [Reader]
// reads one device at a time, for callers that read repeatedly.
//
// [Plan] reports for each device what differs from the intent, what the change disturbs,
// and the native steps. It plans devices in parallel and emits each plan when it is ready,
// so the memory it needs depends on the number of workers and not on the number of devices.
// [Prepare] keeps the plans in a file, for [Apply] and [PlanFile.Save]. A saved plan is
// bound to the intent (by hash) and to the state of each device (by digest). It contains no
// secrets.
//
// [Apply] first judges a plan as a whole: if one device cannot be changed as planned, no
// device is changed. It keeps to the maintenance windows of the intent ([InWindow]) and asks
// an [Approver]. It then takes the fabric's lock, writes a journal, and changes device after
// device. On each device it reads the state again and refuses any state other than the one
// planned for; writes; reads back, after which a new plan must be empty; compares what the
// device's daemons have applied; and confirms. If any of this fails, the device is reverted
// and the run stops. [Find] finds a run in the journals, and [Rollback] rolls it back.
//
// Do not print here or ask the user anything: results and progress are values, and errors
// are an [Error] with the device, the operation and the kind as fields.
package fleet
