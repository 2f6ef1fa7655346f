package nxos

import "github.com/roce-fabric/roce-fabric/internal/ssh"

// Levels of the command line.
const (
	levelExec   = "exec"
	levelPriv   = "privileged exec"
	levelConfig = "configuration"
	levelStage  = "dual-stage configuration"
)

// host matches the beginning of a prompt; a switch in maintenance mode says so after its name
// (scrapli/scrapligo cisco_nxos.yaml).
const host = `[\w.\-]{1,63}(?:\(maint-mode\))?`

// modes matches the rest of the text in the parentheses of a configuration prompt.
const modes = `[\w.\-@/:+]{0,64}`

// stage occurs in the prompts of dual-stage mode (transcripts of NX-OS 10.x).
const stage = "(config-dual-stage"

// platform is scrapli's cisco_nxos plus a level for dual-stage mode. Unlike in scrapli,
// "(config-s" does not mean a session, because "system qos" is an ordinary configuration mode.
var platform = &ssh.Platform{
	Levels: []ssh.Level{
		{Name: levelExec, Prompt: host + `>`},
		{Name: levelPriv, Prompt: host + `#`, Below: levelExec, Enter: "enable", Leave: "disable"},
		{Name: levelStage, Prompt: host + `\(config-dual-stage` + modes + `\)#`, Below: levelPriv, Leave: "end"},
		{Name: levelConfig, Prompt: host + `\(conf` + modes + `\)#`, Not: []string{stage}, Below: levelPriv, Enter: "configure terminal", Leave: "end"},
	},
	Home: levelPriv,
	// Failed lists the beginnings of error messages: the union of the patterns in scrapli
	// cisco_nxos.yaml and ansible-collections/cisco.nxos plugins/terminal/nxos.py, and messages
	// of rollbacks and commits. They must start a line, because a description may contain any of
	// them.
	Failed: []string{
		"% ", "%Error", "ERROR:", "Error:", "error:", "Syntax error", "syntax error", "Module ",
		"No corresponding ", "Sufficient free entries are not available", "sufficient free entries are not available",
		"Failed.", "commit verification failed", "Rollback failed",
	},
	Marker:   "^",
	Password: "Password:",
	Pager:    "--More--",
	// Without dont-ask, a rollback may stop at a question (napalm-automation/napalm nxos.py).
	OnOpen: []string{"terminal width 511", "terminal length 0", "terminal dont-ask"},
	// Configurations are printed and pasted without "exit".
	Openers: []string{"interface", "class", "class-map", "policy-map"},
}
