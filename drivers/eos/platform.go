package eos

import "github.com/roce-fabric/roce-fabric/internal/ssh"

// The levels of the command line.
const (
	levelExec    = "exec"
	levelPriv    = "privileged exec"
	levelConfig  = "configuration"
	levelSession = "configuration session"
)

// host is what a prompt begins with. Supervisors of a pair add "(s1)", an operator's
// own prompt may hold a clock (netmiko arista.py, scrapli arista_eos.yaml).
const host = `[\w.\-@:/][\w.\-@:/ ]{0,63}(?:\(\w{1,8}\))?`

// modes is what stands in the parentheses of a configuration prompt: the mode,
// and the interface or the like that it is about.
const modes = `[^()\n]{0,100}`

// platform is scrapli's arista_eos with a level for configuration sessions,
// whose prompts begin with "(config-s-" and the first six characters of the
// session's name. Its "end" leaves the session pending.
var platform = &ssh.Platform{
	Levels: []ssh.Level{
		{Name: levelExec, Prompt: host + `>`},
		{Name: levelPriv, Prompt: host + `#`, Not: []string{"(config"}, Below: levelExec, Enter: "enable", Leave: "disable"},
		{Name: levelConfig, Prompt: host + `\(config` + modes + `\)#`, Not: []string{"(config-s-"}, Below: levelPriv, Enter: "configure terminal", Leave: "end"},
		{Name: levelSession, Prompt: host + `\(config-s-` + modes + `\)#`, Below: levelPriv, Leave: "end"},
	},
	Home: levelPriv,
	// Warnings begin with "! " (ansible-collections/arista.eos
	// plugins/terminal/eos.py).
	Failed:   []string{"% "},
	Password: "Password:",
	Pager:    "--More--",
	OnOpen:   []string{"terminal width 32767", "terminal length 0"},
	// A line that the mode does not know is taken in the mode above
	// (openconfig/featureprofiles, CLI of origin cli without any "exit").
	Openers: []string{"interface", "tx-queue", "uc-tx-queue", "mc-tx-queue"},
}
