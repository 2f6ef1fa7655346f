// Package operations checks whether the configuration is as intended, in force, saved and
// understood.
package operations
