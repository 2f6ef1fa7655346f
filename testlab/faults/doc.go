// Package faults tests the tool from outside. Its tables list faults that are injected into the
// devices of a lab without the tool's knowledge; other tests use fabrics without faults. The
// tables are based on the documentation of switches and NICs and on public references, not on the
// checks.
//
// The package contains only tests.
package faults
