package eos

import (
	"bufio"
	"context"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// maxTerminal is the largest width and length of a terminal.
const maxTerminal = 32767

// echoPause is how long SlowEcho waits before each byte.
const echoPause = 2 * time.Millisecond

// shell is the CLI of one login. Abbreviated words are refused: which ones the
// box takes depends on all the commands that it has.
type shell struct {
	f   *front
	ctx context.Context // ends when the client leaves
	t   *terminal

	privileged bool
	config     *session // nil in exec mode
	name       string   // of the configuration session, "" for "configure terminal"

	width, length int
	over          bool // the user is logged out
	lost          bool // no answer goes out any more
}

func (f *front) newShell(ctx context.Context, ch ssh.Channel, p *pty) *shell {
	sh := &shell{f: f, ctx: ctx, privileged: !f.o.Unprivileged}
	sh.t = &terminal{ch: ch, in: bufio.NewReader(ch), pty: p != nil, echo: func() bool {
		slow := f.faults.on(&f.faults.slowEcho)
		if slow {
			_ = f.faults.pause(ctx, echoPause) // a client that is gone is noticed in reading
		}
		return slow
	}}
	if p != nil {
		sh.width, sh.length = p.width, p.height
	}
	return sh
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

// interact serves a login. It returns false when the client is gone.
func (sh *shell) interact() bool {
	if m := sh.f.o.MOTD; m != "" {
		sh.t.print(strings.TrimRight(m, "\n") + "\n")
	}
	for !sh.over {
		p := ""
		if sh.t.pty {
			p = sh.prompt()
			sh.t.print(p)
		}
		line, err := sh.t.line(len(p), sh.width, false)
		if err != nil {
			return sh.ctx.Err() == nil
		}
		if sh.t.pty && sh.f.faults.on(&sh.f.faults.doubleEcho) {
			sh.t.print(line + "\n")
		}
		if !sh.run(line) {
			return false
		}
	}
	return true
}

// run carries one line out and prints what the box says. It returns false when
// no answer comes any more.
func (sh *shell) run(line string) bool {
	if sh.f.faults.hold(sh.ctx) != nil {
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
		sh.t.print(out)
		return true
	}
	sh.page(out)
	return true
}

// execute returns the output of a line and whether it goes through the pager.
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

const more = "--More--"

// page prints text a screen at a time and waits for a key after each.
func (sh *shell) page(text string) {
	lines := strings.SplitAfter(text, "\n")
	room := sh.length - 1
	if !sh.t.pty || room < 1 || len(lines)-1 <= room {
		sh.t.print(text)
		return
	}
	next := room
	for len(lines) > 0 {
		n := min(next, len(lines))
		sh.t.print(strings.Join(lines[:n], ""))
		lines = lines[n:]
		if len(lines) == 0 || len(lines) == 1 && lines[0] == "" {
			return
		}
		sh.t.print(more)
		for next = 0; next == 0; {
			c, err := sh.t.key()
			if err != nil {
				return // the next read of a line says so again
			}
			switch c {
			case ' ':
				next = room
			case '\r', '\n':
				next = 1
			case 'q', 'Q', 0x03:
				next = -1
			}
		}
		sh.t.print("\r" + strings.Repeat(" ", len(more)) + "\r")
		if next < 0 {
			return
		}
	}
}

// configure carries out a line of a configuration mode.
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
		// The top of the session is the place that is documented for it.
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

// leave returns to exec mode; a session stays pending.
func (sh *shell) leave() { sh.config, sh.name = nil, "" }

// sessionPrompt is the prompt at the top of a session: it holds the first six
// characters of the name.
func sessionPrompt(name string) string { return "(config-s-" + name[:min(6, len(name))] + ")" }

// commitHere is commit [timer HH:MM:SS] inside a session.
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

// commit commits a session, as the faults have it, and leaves it where it is
// over.
func (sh *shell) commit(line, name string, timer time.Duration) string {
	out, end := sh.f.write(line, func() string { return sh.f.e.commit(name, timer) })
	switch {
	case end == cut || end == silent:
		sh.lost = true
		return ""
	case end == failedAnyway || end == answered && !failed(out):
		sh.leave()
	}
	return out
}

// parseTimer reads HH:MM:SS.
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
