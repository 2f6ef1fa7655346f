// Package buffers checks the pools and profiles of packet memory, and when priority groups pause.
package buffers
