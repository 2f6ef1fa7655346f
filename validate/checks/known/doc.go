// Package known holds published faults of operating systems, firmware and drivers. A fault is a
// finding where its release and its condition are both seen.
package known
