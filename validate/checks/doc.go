// Package checks has what all checks have in common: what a check is ([Check]), what it says
// ([Finding]), and what it looks at: a [Switch], the two ends of a [Link], the whole [Fabric], or
// an [Outlier] among switches that should be alike.
//
// The packages below it hold the checks themselves, one package a subject, each with a table.
// They know this package and few of each other; package validate runs them.
package checks
