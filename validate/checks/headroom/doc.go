// Package headroom checks whether lossless priority groups have room for what is in flight when a
// pause is sent.
package headroom
