// Package operator runs fabrics from Kubernetes: it validates them, makes plans and carries out
// approved plans, all through package fleet. It keeps nothing in memory that another replica
// would need.
//
// Drift is never corrected silently: it is reported as a condition and an event, and corrected
// by a plan that waits for its approval.
//
// Nothing that comes from a Secret may be written to a status, an event or a log. Errors of
// devices and of references contain no secrets.
package operator
