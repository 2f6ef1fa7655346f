package eos

import "github.com/roce-fabric/roce-fabric/internal/ssh"

// Levels of the command line.
const (
	levelExec    = "exec"
	levelPriv    = "privileged exec"
	levelConfig  = "configuration"
	levelSession = "configuration session"
)

// host matches the beginning of a prompt. Redundant supervisors add "(s1)", and an operator's
// custom prompt may contain a clock (netmiko arista.py, scrapli arista_eos.yaml).
const host = `[\w.\-@:/][\w.\-@:/ ]{0,63}(?:\(\w{1,8}\))?`

// modes matches the text in the parentheses of a configuration prompt: the mode and its argument,
// such as an interface.
const modes = `[^()\n]{0,100}`

// platform is scrapli's arista_eos plus a level for configuration sessions, whose prompts begin
// with "(config-s-" and the first six characters of the session's name. Its "end" leaves the
// session pending.
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
	// EOS executes a line that the current mode does not know in the mode above
	// (openconfig/featureprofiles, CLI of origin cli without any "exit").
	Openers: []string{"interface", "tx-queue", "uc-tx-queue", "mc-tx-queue"},
}
