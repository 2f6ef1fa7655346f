package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// shell is one running shell.
type shell struct {
	host *Host
	ctx  context.Context
	acct account

	name   string
	params []string
	vars   map[string]string
	mask   fs.FileMode
	status int
	errExit,
	ended bool
	// unchecked is above 0 while the script itself checks for failures.
	unchecked int
	traps     map[string]string
	depth     int // nesting depth of shells started by shells
}

// streams are the standard input and outputs of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func (sh *shell) complain(s streams, format string, a ...any) {
	fmt.Fprintf(s.err, "%s: 1: %s\n", sh.name, fmt.Sprintf(format, a...))
}

// run runs a script and returns its exit status.
func (sh *shell) run(text string, s streams) int {
	l, err := parse(text)
	if err != nil {
		sh.complain(s, "Syntax error: %v", err)
		return 2
	}
	sh.list(l, s)
	if last := sh.traps["EXIT"]; last != "" {
		status := sh.status
		sh.traps, sh.ended, sh.errExit = nil, false, false
		if l, err := parse(last); err == nil {
			sh.list(l, s)
		}
		sh.status = status
	}
	return sh.status
}

func (sh *shell) list(l list, s streams) {
	for i, it := range l {
		if sh.ended {
			return
		}
		if it.join == "&&" && sh.status != 0 || it.join == "||" && sh.status == 0 {
			continue
		}
		// The exit status of every command but the last in such a list is checked.
		checked := i+1 < len(l) && l[i+1].join != ""
		if checked {
			sh.unchecked++
		}
		sh.command(it.cmd, s)
		if checked {
			sh.unchecked--
		}
		if sh.status != 0 && sh.errExit && !checked && sh.unchecked == 0 && it.cmd.simple != nil {
			sh.ended = true
		}
	}
}

func (sh *shell) command(c command, s streams) {
	if b := c.branch; b != nil {
		sh.unchecked++
		sh.list(b.cond, s)
		sh.unchecked--
		yes := sh.status == 0
		sh.status = 0
		switch {
		case sh.ended:
		case yes:
			sh.list(b.then, s)
		default:
			sh.list(b.other, s)
		}
		return
	}
	sh.simple(c.simple, s)
}

func (sh *shell) simple(c *simple, s streams) {
	var args []string
	for _, w := range c.words {
		fields, ok := sh.expand(w, s)
		if !ok {
			return
		}
		args = append(args, fields...)
	}
	out, done, ok := sh.redirect(c.redirs, s)
	if !ok {
		sh.status = 2
		return
	}
	defer done()
	status := 0
	for _, a := range c.assigns {
		sh.status = 0
		fields, ok := sh.expand(a.value, s)
		if !ok {
			return
		}
		status = sh.status
		sh.vars[a.name] = strings.Join(fields, " ")
	}
	if len(args) == 0 {
		sh.status = status
		return
	}
	sh.status = sh.builtin(args, out)
}

// expand expands a word into fields. ok is false if the expansion ends the shell.
func (sh *shell) expand(w word, s streams) (fields []string, ok bool) {
	var field strings.Builder
	started, size := false, 0
	for _, p := range w {
		var v string
		switch p.kind {
		case literal:
			v = p.text
		case parameter:
			v = sh.value(p.text)
			if p.need && v == "" {
				sh.complain(s, "%s: parameter not set or null", p.text)
				sh.status, sh.ended = 2, true
				return nil, false
			}
			if p.cut != "" {
				v, _, _ = strings.Cut(v, p.cut)
			}
		case substitution:
			v = sh.substitute(p.sub, s)
		}
		if size += len(v); size > maxScript {
			sh.complain(s, "Argument list too long")
			sh.status, sh.ended = 2, true
			return nil, false
		}
		if p.quoted || p.kind == literal {
			field.WriteString(v)
			started = started || p.quoted || v != ""
			continue
		}
		for i, f := range strings.Fields(v) {
			if i > 0 || started && strings.HasPrefix(v, " ") {
				fields = append(fields, field.String())
				field.Reset()
			}
			field.WriteString(f)
			started = true
		}
	}
	if started {
		fields = append(fields, field.String())
	}
	return fields, true
}

func (sh *shell) value(name string) string {
	if name == "?" {
		return strconv.Itoa(sh.status)
	}
	if n, err := strconv.Atoi(name); err == nil {
		switch {
		case n == 0:
			return sh.name
		case n <= len(sh.params):
			return sh.params[n-1]
		}
		return ""
	}
	return sh.vars[name]
}

// substitute runs commands in a subshell and returns their output.
func (sh *shell) substitute(l list, s streams) string {
	sub := *sh
	sub.vars = map[string]string{}
	for k, v := range sh.vars {
		sub.vars[k] = v
	}
	sub.traps, sub.unchecked = nil, 0
	var b bounded
	sub.list(l, streams{s.in, &b, s.err})
	sh.status = sub.status
	return strings.TrimRight(b.String(), "\n")
}

// bounded is a buffer that limits the output of a command.
type bounded struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxScript {
		return 0, io.ErrShortWrite
	}
	return b.Buffer.Write(p)
}

// redirect opens the files of redirections; done closes them.
func (sh *shell) redirect(rs []redir, s streams) (out streams, done func(), ok bool) {
	out = s
	var closers []func()
	done = func() {
		for _, c := range closers {
			c()
		}
	}
	for _, r := range rs {
		switch r.op {
		case ">&2":
			out.out = out.err
			continue
		case "2>&1":
			out.err = out.out
			continue
		}
		fields, ok := sh.expand(r.file, s)
		if !ok || len(fields) != 1 {
			done()
			return out, nil, false
		}
		name := fields[0]
		if r.op == "<" {
			f, err := sh.host.files.open(name)
			if err != nil {
				sh.complain(s, "cannot open %s: %s", name, reason(err))
				done()
				return out, nil, false
			}
			out.in = f
			continue
		}
		w, err := sh.host.files.create(name, 0o666&^sh.mask)
		if err != nil {
			sh.complain(s, "cannot create %s: %s", name, reason(err))
			done()
			return out, nil, false
		}
		closers = append(closers, w.close)
		if r.op == "2>" {
			out.err = w
		} else {
			out.out = w
		}
	}
	return out, done, true
}

// reason returns the C library's message for an error.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file"
	case errors.Is(err, fs.ErrPermission):
		return "Permission denied"
	}
	return err.Error()
}

// builtin runs builtin commands itself, and everything else as a program.
func (sh *shell) builtin(args []string, s streams) int {
	switch args[0] {
	case ":", "true":
		return 0
	case "false":
		return 1
	case "set":
		if len(args) != 2 || args[1] != "-e" {
			sh.complain(s, "set: Illegal option %s", strings.Join(args[1:], " "))
			return 2
		}
		sh.errExit = true
		return 0
	case "umask":
		n, err := strconv.ParseUint(strings.Join(args[1:], " "), 8, 9)
		if err != nil {
			sh.complain(s, "umask: Illegal mode: %s", strings.Join(args[1:], " "))
			return 2
		}
		sh.mask = fs.FileMode(n)
		return 0
	case "trap":
		if len(args) < 3 {
			sh.complain(s, "trap: usage")
			return 2
		}
		if sh.traps == nil {
			sh.traps = map[string]string{}
		}
		for _, sig := range args[2:] {
			sh.traps[sig] = args[1]
		}
		return 0
	case "exit":
		status := sh.status
		if len(args) > 1 {
			n, err := strconv.ParseUint(args[1], 10, 8)
			if err != nil {
				sh.complain(s, "exit: Illegal number: %s", args[1])
				n = 2
			}
			status = int(n)
		}
		sh.ended = true
		return status
	case "exec":
		if len(args) == 1 {
			return 0
		}
		sh.ended, sh.traps = true, nil
		return sh.program(args[1:], s)
	case "[":
		if args[len(args)-1] != "]" {
			sh.complain(s, "[: missing ]")
			return 2
		}
		return sh.test(args[1:len(args)-1], s)
	}
	return sh.program(args, s)
}

func (sh *shell) test(args []string, s streams) int {
	holds := false
	switch {
	case len(args) == 2 && args[0] == "-f":
		f, err := sh.host.files.stat(args[1])
		holds = err == nil && !f.dir
	case len(args) == 2 && args[0] == "-d":
		f, err := sh.host.files.stat(args[1])
		holds = err == nil && f.dir
	case len(args) == 3 && args[1] == "=":
		holds = args[0] == args[2]
	case len(args) == 3 && args[1] == "!=":
		holds = args[0] != args[2]
	default:
		sh.complain(s, "[: %s: unexpected operator", strings.Join(args, " "))
		return 2
	}
	if holds {
		return 0
	}
	return 1
}
