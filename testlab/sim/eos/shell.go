package eos

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// shell is the CLI of one login. Abbreviated exec commands are rejected, because which ones a real
// box accepts depends on its complete set of commands.
type shell struct {
	f   *front
	ctx context.Context // ends when the client leaves
	t   *cli.Terminal

	privileged bool
	config     *session // nil in exec mode
	name       string   // name of the configuration session; "" for "configure terminal"

	width, length int
	over          bool // the user has logged out
	lost          bool // no more answers are sent
}

// serveShell serves a login or a single command.
func (f *front) serveShell(c *cli.Channel) {
	sh := &shell{f: f, ctx: c.Ctx, t: c.Term, privileged: !f.o.Unprivileged, width: c.Width, length: c.Length}
	sh.t.Echo = func() bool {
		slow := f.faults.On(&f.faults.slowEcho)
		if slow {
			_ = f.faults.Pause(c.Ctx, echoPause) // the next read notices that a client is gone
		}
		return slow
	}
	var ended bool
	if c.Single {
		ended = sh.run(c.Command)
	} else {
		ended = sh.interact()
	}
	if ended {
		// The status is 0 even for a command that failed; only the output shows the failure.
		c.Exit(0)
	}
}

func (sh *shell) prompt() string {
	p := sh.f.e.hostname()
	if sh.config != nil {
		p += sh.config.prompt()
	}
	if sh.privileged {
		return p + "#"
	}
	return p + ">"
}

// interact serves a login. It returns false if the client is gone.
func (sh *shell) interact() bool {
	if m := sh.f.o.MOTD; m != "" {
		sh.t.Print(strings.TrimRight(m, "\n") + "\n")
	}
	for !sh.over {
		p := ""
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

// run executes one line and prints the box's answer. It returns false if no answer can be sent any
// more.
func (sh *shell) run(line string) bool {
	if sh.f.faults.Hold(sh.ctx) != nil || sh.f.e.Dice.Answer().Pause(sh.ctx) != nil {
		return false
	}
	out, paged := sh.execute(strings.TrimSpace(line))
	if sh.lost {
		<-sh.ctx.Done()
		return false
	}
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	if !paged {
		sh.t.Print(out)
		return true
	}
	sh.t.Page(out, sh.length)
	return true
}

// execute returns the output of a line, and whether the output goes through the pager.
func (sh *shell) execute(line string) (string, bool) {
	if line == "" || line[0] == '!' {
		return "", false
	}
	if words := strings.Fields(line); words[0] == "show" {
		return sh.show(line)
	}
	if sh.config != nil {
		return sh.configure(line), false
	}
	words := strings.Fields(line)
	c, args, refusal := find(execCommands, words)
	switch {
	case c == nil:
		return refusal, false
	case c.privileged && !sh.privileged:
		return privilegeRequired, false
	}
	return c.run(sh, args), false
}

// configure executes a line in a configuration mode.
func (sh *shell) configure(line string) string {
	words := strings.Fields(line)
	named := sh.name != ""
	switch words[0] {
	case "end":
		if len(words) == 1 {
			sh.leave()
			return ""
		}
	case "exit":
		if len(words) == 1 {
			if sh.config.exit() {
				sh.leave()
			}
			return ""
		}
	case "commit":
		if named {
			return sh.commitHere(line, words)
		}
	case "abort":
		// abort is documented only for the top level of a session.
		if named && len(words) == 1 && sh.config.prompt() == sessionPrompt(sh.name) {
			out := sh.f.e.abort(sh.name)
			if !failed(out) {
				sh.leave()
			}
			return out
		}
		return invalid(line, 0)
	}
	return sh.f.configLine(sh.config, line)
}

// leave returns to exec mode. A session stays pending.
func (sh *shell) leave() { sh.config, sh.name = nil, "" }

// sessionPrompt returns the prompt at the top level of a session, which contains the first six
// characters of its name.
func sessionPrompt(name string) string { return "(config-s-" + name[:min(6, len(name))] + ")" }

// commitHere executes commit [timer HH:MM:SS] inside a session.
func (sh *shell) commitHere(line string, words []string) string {
	var timer time.Duration
	switch {
	case len(words) == 1:
	case words[1] != "timer":
		return invalid(line, 1)
	case len(words) == 2:
		return incomplete
	case len(words) > 3:
		return invalid(line, 3)
	default:
		var ok bool
		if timer, ok = parseTimer(words[2]); !ok {
			return invalid(line, 2)
		}
	}
	return sh.commit(line, sh.name, timer)
}

// commit commits a session, subject to the faults, and leaves it if it has ended.
func (sh *shell) commit(line, name string, timer time.Duration) string {
	out, end := sh.f.write(line, func() string { return sh.f.e.commit(name, timer) })
	switch {
	case end == cli.Gone || end == cli.Silent:
		sh.lost = true
		return ""
	case end == cli.FailedAnyway || end == cli.Answered && !failed(out):
		sh.leave()
	}
	return out
}

// parseTimer parses HH:MM:SS.
func parseTimer(text string) (time.Duration, bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return 0, false
	}
	var seconds int
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || len(p) != 2 || n < 0 || i > 0 && n > 59 {
			return 0, false
		}
		seconds = seconds*60 + n
	}
	return time.Duration(seconds) * time.Second, seconds > 0
}
