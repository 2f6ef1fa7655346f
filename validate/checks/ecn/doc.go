// Package ecn checks the marking of queues.
package ecn
