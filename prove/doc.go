// Package prove is the acceptance of a fabric under load: which hosts send to which, in rounds that
// follow from the intent, and what was measured.
//
// Rounds are computed from the intent when they are needed, so a plan of a large fabric is as small
// as that of a small one. The package does no I/O besides its own files. Do not start programs or
// read counters here: that is up to package fleet and the drivers.
package prove
