// Package arch holds the rules of the source tree as tests: which package may
// import which, who may use a third-party module, and that core code asks a
// device for its capabilities and not for the name of its operating system.
//
// It has no code of its own and is never imported. Where a rule stands in the
// way of a change, change the design first and the rule with it.
package arch
