// Package arch holds the rules for the source tree as tests: which package may import which, who
// may use a third-party module, and that core code asks a device for its capabilities and not for
// the name of its operating system. budget.txt limits how much code each folder has.
//
// It has no code of its own and is never imported. If a change conflicts with a rule, change the
// design first, then the rule.
package arch
