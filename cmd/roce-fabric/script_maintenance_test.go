package main

import (
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// windows sets OPEN and CLOSED to maintenance windows that stay open or closed for the next
// hour.
func windows(ts *testscript.TestScript, _ bool, _ []string) {
	now := time.Now().UTC()
	at := func(d time.Duration) string { return now.Add(d).Format("15:04") }
	ts.Setenv("OPEN", fmt.Sprintf("rollout: {windows: [{from: %q, to: %q}]}", at(-time.Hour), at(2*time.Hour)))
	ts.Setenv("CLOSED", fmt.Sprintf("rollout: {windows: [{from: %q, to: %q, timezone: Etc/UTC}]}", at(2*time.Hour), at(3*time.Hour)))
}
