package nxos

import "github.com/roce-fabric/roce-fabric/internal/ssh"

// The levels of the command line.
const (
	levelExec   = "exec"
	levelPriv   = "privileged exec"
	levelConfig = "configuration"
	levelStage  = "dual-stage configuration"
)

// host is what a prompt begins with; a switch in maintenance says so behind its
// name (scrapli/scrapligo cisco_nxos.yaml).
const host = `[\w.\-]{1,63}(?:\(maint-mode\))?`

// modes is what a configuration prompt has in its parentheses after its kind.
const modes = `[\w.\-@/:+]{0,64}`

// stage is in the prompts of the dual-stage mode (transcripts of NX-OS 10.x).
const stage = "(config-dual-stage"

// platform is scrapli's cisco_nxos with a level for the dual-stage mode. There "system
// qos" is a configuration mode like any other: "(config-s" is no sign of a session.
var platform = &ssh.Platform{
	Levels: []ssh.Level{
		{Name: levelExec, Prompt: host + `>`},
		{Name: levelPriv, Prompt: host + `#`, Below: levelExec, Enter: "enable", Leave: "disable"},
		{Name: levelStage, Prompt: host + `\(config-dual-stage` + modes + `\)#`, Below: levelPriv, Leave: "end"},
		{Name: levelConfig, Prompt: host + `\(conf` + modes + `\)#`, Not: []string{stage}, Below: levelPriv, Enter: "configure terminal", Leave: "end"},
	},
	Home: levelPriv,
	// Refusals begin with these: the union of the patterns in scrapli
	// cisco_nxos.yaml and ansible-collections/cisco.nxos
	// plugins/terminal/nxos.py, and the words of rollbacks and commits. Only
	// the start of a line counts: a description may hold any of them.
	Failed: []string{
		"% ", "%Error", "ERROR:", "Error:", "error:", "Syntax error", "syntax error", "Module ",
		"No corresponding ", "Sufficient free entries are not available", "sufficient free entries are not available",
		"Failed.", "commit verification failed", "Rollback failed",
	},
	Marker:   "^",
	Password: "Password:",
	Pager:    "--More--",
	// Without dont-ask a rollback may stop at a question (napalm-automation/napalm
	// nxos.py).
	OnOpen: []string{"terminal width 511", "terminal length 0", "terminal dont-ask"},
	// Configurations are printed, and pasted, without any "exit".
	Openers: []string{"interface", "class", "class-map", "policy-map"},
}
