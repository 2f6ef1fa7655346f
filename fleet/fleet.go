// Package fleet is the Go API over a fabric of devices. Switches and hosts are
// devices alike, each a [Device]; nothing here knows one system from another.
//
// [Load] reads an intent and compiles it, [Check] checks it without devices. [Access]
// reaches the devices, and [Fabric.Devices] lists them. [Validate] compares what runs on them with the intent, and
// [Import] makes the intent that says what they do. A [Reader] reads one device at a
// time, for those that repeat it.
//
// [Plan] says for each device what differs from the intent, what changing it
// disturbs, and the native steps. Devices are planned side by side and handed on
// as each is ready, so that a plan of a thousand devices needs no more memory than
// its workers. [Prepare] keeps the plans in a file, for [Apply] and [PlanFile.Save]. A
// saved plan is bound to the intent (by hash) and to the state of each device (by
// digest). It holds no secret.
//
// [Apply] judges a plan as a whole first: where one device cannot be changed as
// planned, none is. It keeps to the maintenance windows of the intent ([InWindow]), and
// asks an [Approver]. It then takes the fabric's lock, writes a journal, and goes from
// device to device. On each it reads again and refuses a state other than the one that
// was planned for; writes; reads back, and a plan for that must have nothing left to
// do; compares what the device's daemons made of it; confirms. A device on which any
// of this fails is reverted, and the run stops there. [Find] finds a run in the
// journals, and [Rollback] rolls it back.
//
// Do not print here, and do not ask the user: results and progress are values, and
// errors are an [Error] with the device, the operation and the kind as fields.
package fleet
