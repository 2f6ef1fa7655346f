// Package faults judges the tool from outside: tables of faults that are put into the
// devices of a lab behind its back, and of fabrics that have none. They are written
// from what switches, NICs and public references say, not from the checks.
//
// All of it is tests.
package faults
