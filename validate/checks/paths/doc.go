// Package paths checks the paths of a fabric: deadlocks, hops that treat a class differently,
// islands, and the roles of switches.
package paths
