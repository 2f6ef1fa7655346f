package nxos

import (
	"context"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Exit status of a single command over SSH, as on a Nexus 9000v.
const (
	statusOK     = 0
	statusSyntax = 16
	statusDenied = 30
)

// shell is the command line of one login, or of a single line of commands. Words must be written
// in full, apart from the short forms in the tables: which other short forms a switch accepts
// depends on all of its commands.
type shell struct {
	f      *front
	ctx    context.Context // cancelled when the client leaves
	t      *cli.Terminal
	single bool

	config *configurer // nil in exec mode
	dual   bool        // config is in dual-stage mode
	entry  *entry      // the write in progress; nil before its first line

	width, length int
	dontAsk       bool
	status        int             // exit status of the last command
	over          bool            // the user is logged out
	lost          bool            // no more output is sent
	release       <-chan struct{} // from GiveUp; the remaining commands wait for it
	held          func()          // work that GiveUp holds back
}

// serveShell serves a login or a single line of commands.
func (f *front) serveShell(c *cli.Channel) {
	sh := &shell{f: f, ctx: c.Ctx, t: c.Term, single: c.Single, width: c.Width, length: c.Length}
	sh.t.End = func() string {
		if f.faults.On(&f.faults.crLineEnd) {
			return "\r\r\n"
		}
		return "\r\n"
	}
	ended := false
	if sh.single {
		ended = sh.run(c.Command)
	} else {
		ended = sh.interact()
	}
	if ended {
		c.Exit(sh.status)
	}
}

func (sh *shell) prompt() string {
	p := sh.f.n.hostname()
	if sh.config != nil {
		p += sh.config.prompt()
	}
	return p + "# "
}

// interact serves a login. It returns false if the client is gone.
func (sh *shell) interact() bool {
	if m := sh.f.o.MOTD; m != "" {
		sh.t.Print(strings.TrimRight(m, "\n") + "\n")
	}
	for !sh.over {
		p := ""
		if sh.config != nil {
			if news := sh.config.notice(); news != "" {
				sh.t.Print(news + "\n")
			}
		}
		if sh.t.PTY {
			p = sh.prompt()
			sh.t.Prompt(p)
		}
		line, err := sh.t.Line(len(p), sh.width, false)
		if err != nil {
			return sh.ctx.Err() == nil
		}
		if sh.t.PTY && sh.f.faults.IsDoubleEcho() {
			sh.t.Print(line + "\n")
		}
		if !sh.run(line) {
			return false
		}
	}
	return true
}

// run executes a typed line with one command, or with several separated by " ; ". It returns
// false if no more output will follow.
func (sh *shell) run(line string) bool {
	if sh.f.faults.Hold(sh.ctx) != nil || sh.f.n.Dice.Answer().Pause(sh.ctx) != nil {
		return false
	}
	commands := []string{line}
	if sh.config == nil || !sh.config.inBanner() {
		commands = strings.Split(line, " ; ")
	}
	for i, c := range commands {
		if sh.over {
			break
		}
		out, paged := sh.execute(c)
		if sh.lost {
			sh.forsake(commands[i+1:])
			<-sh.ctx.Done()
			return false
		}
		sh.print(c, out, paged)
	}
	if sh.single && sh.config != nil {
		// The end of the line leaves configuration mode.
		out := sh.leave()
		if sh.lost {
			<-sh.ctx.Done()
			return false
		}
		if out != "" {
			sh.print("", out, false)
		}
	}
	return true
}

// print prints the output of a command. For a single line of commands it does not mark the place
// of a mistake.
func (sh *shell) print(command, out string, paged bool) {
	sh.status = statusOK
	switch {
	case strings.Contains(out, denied):
		sh.status = statusDenied
	case strings.Contains(out, marker) && failed(out):
		sh.status = statusSyntax
		if sh.single {
			out = "Syntax error while parsing '" + strings.TrimSpace(command) + "'"
		}
	}
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	if !paged {
		sh.t.Print(out)
		return
	}
	sh.t.Page(out, sh.length)
}

// forsake runs the remaining commands of a line after the release of GiveUp; their output is
// discarded.
func (sh *shell) forsake(rest []string) {
	if sh.release == nil {
		return
	}
	sh.f.After(sh.release, func() {
		sh.lost = false
		sh.held()
		for _, c := range rest {
			if _, _ = sh.execute(c); sh.lost || sh.over {
				return
			}
		}
	})
}

// execute returns the output of a command, and whether the pager applies to it.
func (sh *shell) execute(raw string) (string, bool) {
	line := strings.TrimSpace(raw)
	words := strings.Fields(line)
	if sh.config != nil && sh.config.inBanner() {
		return sh.configLine(raw), false
	}
	if len(words) == 0 || line[0] == '!' {
		return "", false
	}
	if words[0] == "show" || words[0] == "sh" && sh.config == nil {
		return sh.show(line)
	}
	if sh.config != nil {
		// Every mode accepts these exec-mode commands, since no configuration line has the same
		// name.
		if c, args, _ := cli.Find(everywhere, words); c != nil {
			return c.run(sh, args), false
		}
		return sh.configure(raw), false
	}
	c, args, at := cli.Find(execCommands, words)
	if c == nil {
		return sh.refusal(line, at), false
	}
	return c.run(sh, args), false
}

// configure executes a line in configuration mode.
func (sh *shell) configure(raw string) string {
	line := strings.TrimSpace(raw)
	words := strings.Fields(line)
	switch {
	case line == "end":
		return sh.leave()
	case line == "exit":
		if sh.config.exit() {
			return sh.leave()
		}
		return ""
	case sh.dual && words[0] == "commit":
		return sh.commit(line, words)
	case sh.dual && line == "abort":
		out := sh.config.abort()
		sh.config, sh.entry, sh.dual = nil, nil, false
		return out
	}
	return sh.configLine(raw)
}

// leave returns to exec mode, which ends a write. The buffer of dual-stage mode is discarded.
func (sh *shell) leave() string {
	e, dual := sh.entry, sh.dual
	sh.config, sh.entry, sh.dual = nil, nil, false
	if e == nil || dual {
		return ""
	}
	if e.restore != nil {
		e.restore()
	}
	switch {
	case sh.f.faults.Take(&sh.f.faults.dropAfter):
		sh.cut()
	case sh.f.faults.TakeFailure():
		return internalError
	}
	return ""
}

// cut drops all connections.
func (sh *shell) cut() {
	sh.lost = true
	sh.f.DropConnections()
}

// configLine runs a configuration line, unless a fault prevents it.
func (sh *shell) configLine(raw string) string {
	fl := sh.f.faults
	first := sh.entry == nil
	if first {
		e := fl.open()
		if !sh.dual && fl.TakePretend() {
			e.restore = sh.f.n.Keep()
		}
		sh.entry = &e
	}
	e := sh.entry
	e.lines++
	switch {
	case e.rejected:
		if first {
			sh.f.n.Attempt()
		}
		return internalError
	case e.lines == e.dropAt:
		sh.cut()
		return ""
	case e.lines == e.restartAt:
		sh.lost = true
		_ = sh.f.n.Restart() // fails if the switch is closed, which drops the connections as well
		return ""
	}
	if fl.Refuses(strings.TrimSpace(raw)) {
		return sh.refusal(strings.TrimSpace(raw), 0)
	}
	if first && !sh.dual {
		if release := fl.TakeGiveUp(); release != nil {
			c := sh.config
			sh.lost, sh.release = true, release
			sh.held = func() { fl.Hook(); c.line(raw) }
			return ""
		}
		fl.Hook()
	}
	out := sh.config.line(raw)
	if out == "" && fl.On(&fl.errorAmongNormal) {
		return unsure
	}
	return out
}
