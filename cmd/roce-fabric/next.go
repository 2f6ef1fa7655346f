package main

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// nextCommand returns another command line for the same intent and devices; "" if the intent was
// read from standard input and cannot be read again.
func (a *app) nextCommand(verb string, only []string) string {
	if a.file == "-" {
		return ""
	}
	next := "roce-fabric " + a.command(verb) + " -f " + words.Shell(a.file)
	if len(only) > 0 {
		next += " --only " + words.Shell(strings.Join(only, ","))
	}
	if a.nic.local {
		next += " --local"
	}
	if a.nic.host != "" {
		next += " --host " + a.nic.host
	}
	return next
}

// sayNextOf suggests the command that follows a report: plan for the devices to which the intent
// must be applied, explain for another worst finding, or, after a check without errors, plan; if no
// switch has an address, render.
func (a *app) sayNextOf(r report.Report) {
	next := ""
	if r.Command == "check" && r.Intent != nil && !checks.Worst(r.Findings) {
		next = a.nextCommand("plan", a.only)
		if !slices.ContainsFunc(r.Intent.Switches, func(sw *intent.Switch) bool { return sw.Address.V != "" }) && next != "" {
			next = a.nextCommand("render", a.only) + " --out rendered"
		}
	} else if devices := r.ToApply(); r.Command != "check" && len(devices) > 0 {
		next = a.nextCommand("plan", a.fixOn(devices))
	} else if id := r.ToExplain(); id != "" {
		next = "roce-fabric explain " + id
	}
	a.Next(next)
}

// fixOn returns what --only must name for the devices: nothing if a list would be too long to read.
func (a *app) fixOn(devices []string) []string {
	const most = 40
	if only := natural.Fold(devices); len(only) <= most {
		return []string{only}
	}
	return a.only
}
