// Package forms reads the lines of systems that are configured by command lines.
//
// A system describes each of its lines once, in a [Table] of forms: the words of the key, the
// arguments, how the line is unset, and what it may change. Parsing, editing and accounting use
// the same table. The package contains nothing specific to a system.
package forms

import "github.com/roce-fabric/roce-fabric/render/lines"

// Mode is the kind of block in which a line stands.
type Mode = lines.Place
