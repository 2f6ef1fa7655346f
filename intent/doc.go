// Package intent reads the fabric file: the one description of classes,
// thresholds, switches, hosts and links that everything else follows from.
//
// [Load] reads a file, a folder or standard input strictly, works out every
// range, pattern, override and default, checks what can be checked without
// knowing a platform, and returns a [Fabric] whose every value knows the file,
// line and column that decided it. [Schema] describes the same form as JSON
// Schema; both come from one table of Go types (raw.go), so they cannot
// disagree.
//
// The package does no I/O but reading those files, knows no vendor, and never
// resolves a secret. Do not put platform facts here (which ports a model has,
// what an ASIC can do): they belong to the renderers and the catalogue.
package intent
