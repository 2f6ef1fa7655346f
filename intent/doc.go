// Package intent reads the fabric file: the single description of classes, thresholds, switches,
// hosts and links that everything else is derived from.
//
// [Load] reads a file, a folder or standard input strictly, resolves every range, pattern,
// override and default, checks everything that can be checked without knowing the platform, and
// returns a [Fabric] in which every value carries the file, line and column that set it. [Schema]
// describes the same format as JSON Schema. Both are generated from one table of Go types
// (raw.go), so they cannot disagree.
//
// The package does no I/O except reading those files, knows no vendor, and never resolves a
// secret. Do not put platform facts here (which ports a model has, what an ASIC can do): they
// belong in the renderers and the catalogue.
package intent
