// Package examples holds the example intents, so that the lab works without
// the source tree.
package examples

import _ "embed"

// Quickstart is the intent of two leaves, two spines and four hosts.
//
//go:embed quickstart/fabric.yaml
var Quickstart []byte
