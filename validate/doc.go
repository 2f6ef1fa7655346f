// Package validate finds faults in a fabric: before any device is read, from the intent and the
// catalogue, and afterwards from the configuration and state of the devices.
//
// A [checks.Check] consists of data and functions, and [Checks] lists all of them: lists, help,
// reports and documentation are made from it. Each subject is a package below validate/checks with
// a table of its checks; this package runs them, and none of them imports it.
//
// Most checks look at one [qos.Device], whatever its source, so the same code finds a fault in an
// intent, in a saved configuration and in a running switch. One cause on many ports is one
// [checks.Finding] that lists them.
//
// [Intent] runs all checks that need no device. A [Run] adds switches and hosts one by one as
// they are read, and keeps of each only what its neighbours are compared with.
//
// A check only looks and reports. It changes nothing, does not talk to devices, and does not
// depend on an operating system.
package validate
