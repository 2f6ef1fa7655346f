// Package validate says what is wrong with a fabric: before a device is asked,
// from the intent and the catalogue, and from what the devices are configured
// to do and do.
//
// A [Check] is data and a function, and [Checks] lists them all: lists, help,
// reports and documentation come from there. Most checks look at one
// [qos.Device] and do not care where it is from, so that what is wrong with an
// intent, with a saved configuration and with a running switch is found by the
// same code. One cause on many ports is one [Finding] that lists them.
//
// [Intent] is all that needs no device. A [Run] takes in switches and hosts one
// by one, as they are read, and holds of each only what its neighbours are
// compared with.
//
// A check looks and reports. It changes nothing, talks to no device itself, and
// names no operating system.
package validate
