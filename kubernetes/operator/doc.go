// Package operator runs fabrics from Kubernetes: it validates them, plans, and carries out
// plans that are approved, all with package fleet. It keeps nothing in its own memory that
// another replica would need.
//
// Drift is never corrected silently: it is a condition and an event, and a plan that waits
// for its approval.
//
// Do not put into a status, an event or a log what comes from a Secret. Errors of devices
// and of references hold none.
package operator
