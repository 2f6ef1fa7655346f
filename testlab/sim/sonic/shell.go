package sonic

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// shell implements the subset of bash that a management tool needs: simple commands, quotes, trap
// ... EXIT, redirection of output, $?, sudo, and the operators ; && and ||.
type shell struct {
	s              *Switch
	from           string // address of the client
	stdin          io.Reader
	stdout, stderr io.Writer
	status         int
	login          bool
	exited         bool
	// onExit runs when the shell exits normally; killed is set if it does not.
	onExit string
	killed bool
}

// token is a word or an operator.
type token struct {
	text string
	op   bool
}

// run executes one line and returns the last exit status.
func (sh *shell) run(line string) int {
	_ = sh.s.dice.Answer().Pause(sh.s.ctx) // a switch that closes also cuts the connection
	toks, err := sh.split(line)
	if err != nil {
		fmt.Fprintf(sh.stderr, "-bash: %v\n", err)
		sh.status = 2
		return 2
	}
	for len(toks) > 0 && !sh.exited {
		end := slices.IndexFunc(toks, func(t token) bool { return t.op && (t.text == ";" || t.text == "&&" || t.text == "||") })
		op := ""
		cmd := toks
		if end >= 0 {
			cmd, op, toks = toks[:end], toks[end].text, toks[end+1:]
		} else {
			toks = nil
		}
		if len(cmd) > 0 {
			sh.status = sh.simple(cmd)
		}
		for op == "&&" && sh.status != 0 || op == "||" && sh.status == 0 {
			next := slices.IndexFunc(toks, func(t token) bool { return t.op && t.text == ";" })
			if next < 0 {
				toks = nil
			} else {
				toks = toks[next+1:]
			}
			op = ""
		}
	}
	if last := sh.onExit; last != "" && !sh.login && !sh.killed {
		status := sh.status
		sh.onExit, sh.exited = "", false
		sh.run(last)
		sh.status = status
	}
	return sh.status
}

// split splits a line into tokens. $? is replaced when its command runs.
func (sh *shell) split(line string) ([]token, error) {
	var toks []token
	var word strings.Builder
	started := false
	flush := func() {
		if started {
			toks = append(toks, token{text: word.String()})
			word.Reset()
			started = false
		}
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			flush()
		case '\n':
			flush()
			toks = append(toks, token{";", true})
		case '\'':
			end := strings.IndexByte(line[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("unexpected EOF while looking for matching `''")
			}
			// a marker protects $? in single quotes
			word.WriteString(strings.ReplaceAll(line[i+1:i+1+end], "$?", "$\x00?"))
			started = true
			i += end + 1
		case '"':
			started = true
			for i++; ; i++ {
				if i >= len(line) {
					return nil, fmt.Errorf("unexpected EOF while looking for matching `\"'")
				}
				if line[i] == '"' {
					break
				}
				if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0 {
					i++
				}
				word.WriteByte(line[i])
			}
		case '\\':
			if i+1 < len(line) {
				i++
				word.WriteByte(line[i])
				started = true
			}
		case ';', '>', '|', '&', '<':
			if c == '>' && (word.String() == "1" || word.String() == "2") {
				word.WriteByte('>')
				if i+2 < len(line) && line[i+1] == '&' {
					word.WriteString(line[i+1 : i+3])
					i += 2
				}
				toks = append(toks, token{word.String(), true})
				word.Reset()
				started = false
				continue
			}
			flush()
			op := string(c)
			if i+1 < len(line) && line[i+1] == c && c != ';' {
				op += string(c)
				i++
			}
			if op == "|" || op == "&" || op == "<<" {
				return nil, fmt.Errorf("syntax error near unexpected token `%s'", op)
			}
			toks = append(toks, token{op, true})
		default:
			word.WriteByte(c)
			started = true
		}
	}
	flush()
	return toks, nil
}

// simple runs one command with its redirections.
func (sh *shell) simple(toks []token) int {
	var args []string
	var file string
	appendTo, toFile := false, false
	merge, quiet := false, false
	in := ""
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if !t.op {
			a := strings.ReplaceAll(t.text, "$?", fmt.Sprint(sh.status))
			args = append(args, strings.ReplaceAll(a, "$\x00?", "$?"))
			continue
		}
		if t.text == "2>&1" {
			merge = true
			continue
		}
		if i+1 >= len(toks) || toks[i+1].op {
			fmt.Fprintln(sh.stderr, "-bash: syntax error near unexpected token `newline'")
			return 2
		}
		i++
		switch t.text {
		case ">", "1>", ">>":
			file, toFile, appendTo = toks[i].text, true, t.text == ">>"
		case "2>":
			quiet = true
		case "<":
			in = toks[i].text
		}
	}
	// Output is collected, so that no client that does not read holds a
	// command that holds the switch.
	var buf, errs limitedBuffer
	c := &command{shell: sh, args: args, in: sh.stdin, out: &buf, err: &errs}
	if quiet {
		c.err = io.Discard
	}
	if merge {
		c.err = c.out
	}
	if in != "" {
		data, ok := sh.s.readFile(in)
		if !ok {
			fmt.Fprintf(sh.stderr, "-bash: %s: No such file or directory\n", in)
			return 1
		}
		c.in = strings.NewReader(string(data))
	}
	if len(args) == 0 {
		return 0
	}
	code := c.exec()
	if !toFile {
		_, _ = sh.stdout.Write(buf.b)
	}
	_, _ = sh.stderr.Write(errs.b)
	if toFile && file != "/dev/null" {
		if denied(file) || sh.s.ofRoot(file) {
			fmt.Fprintf(sh.stderr, "-bash: %s: Permission denied\n", file)
			return 1
		}
		data := buf.b
		if appendTo {
			old, _ := sh.s.readFile(file)
			data = append(append([]byte(nil), old...), data...)
		}
		if !sh.s.writeFile(file, data, false) {
			fmt.Fprintf(sh.stderr, "-bash: %s: No space left on device\n", file)
			return 1
		}
	}
	return code
}

// limitedBuffer stops growing at maxInput.
type limitedBuffer struct{ b []byte }

func (l *limitedBuffer) Write(p []byte) (int, error) {
	if len(l.b)+len(p) > maxInput {
		return 0, io.ErrShortWrite
	}
	l.b = append(l.b, p...)
	return len(p), nil
}

// denied reports whether the user may not write a file. It also applies to a redirection of a sudo
// command, which the login shell opens.
func denied(file string) bool {
	f := path.Clean(file)
	return !strings.HasPrefix(f, "/tmp/") && !strings.HasPrefix(f, "/home/") && strings.HasPrefix(f, "/")
}

// command is one running command.
type command struct {
	*shell
	args     []string
	in       io.Reader
	out, err io.Writer
	root     bool
}

func (c *command) say(format string, a ...any)  { fmt.Fprintf(c.out, format, a...) }
func (c *command) warn(format string, a ...any) { fmt.Fprintf(c.err, format, a...) }

func (c *command) exec() int {
	for len(c.args) > 0 && c.args[0] == "sudo" {
		c.root = true
		c.args = c.args[1:]
		for len(c.args) > 0 && strings.HasPrefix(c.args[0], "-") {
			c.args = c.args[1:]
		}
	}
	if len(c.args) == 0 {
		return 0
	}
	name, args := c.args[0], c.args[1:]
	if slices.Contains(c.s.o.Lacks, name) {
		return c.notFound(name)
	}
	switch name {
	case "echo":
		c.say("%s\n", strings.Join(args, " "))
		return 0
	case "true", ":", "stty", "export", "unset", "set":
		return 0
	case "false":
		return 1
	case "trap":
		if len(args) != 2 || args[1] != "EXIT" {
			c.warn("-bash: trap: the simulator knows trap COMMAND EXIT\n")
			return 1
		}
		c.onExit = args[0]
		return 0
	case "exit", "logout":
		c.exited = true
		return c.status
	case "hostname":
		c.say("%s\n", c.s.o.Name)
		return 0
	case "whoami":
		c.say("%s\n", map[bool]string{true: "root", false: c.s.user}[c.root])
		return 0
	case "cat":
		return c.cat(args)
	case "head":
		return c.head(args)
	case "rm":
		return c.rm(args)
	case "find":
		return c.find(args)
	case "ln", "mv", "readlink", "stat", "touch", "date":
		return c.links(name, args)
	case "df":
		return c.df(args)
	case "show":
		return c.show(args)
	case "sonic-cfggen":
		c.s.wait(0.3)
		return c.cfggen(args)
	case "sonic-db-cli":
		return c.dbcli(args)
	case "redis-dump", "sonic-db-dump":
		return c.dump(name, args)
	case "tar":
		return c.tar(args)
	case "pgrep":
		return c.pgrep(args)
	case "config":
		return c.config(args)
	}
	return c.notFound(name)
}

func (c *command) notFound(name string) int {
	if c.root {
		c.warn("sudo: %s: command not found\n", name)
		return 1
	}
	c.warn("-bash: %s: command not found\n", name)
	return 127
}

// tar packs the YANG models of the image.
func (c *command) tar(args []string) int {
	const dir = "/usr/local/yang-models"
	switch {
	case strings.Join(args, " ") != "-czf - -C "+dir+" .":
		c.warn("tar: the simulator packs %s alone\n", dir)
		return 2
	case len(c.s.o.Models) == 0:
		c.warn("tar: %s: Cannot open: No such file or directory\ntar: Error is not recoverable: exiting now\n", dir)
		return 2
	}
	packed := gzip.NewWriter(c.out)
	w := tar.NewWriter(packed)
	for _, name := range sortedKeys(c.s.o.Models) {
		text := c.s.o.Models[name]
		_ = w.WriteHeader(&tar.Header{Name: "./" + name, Mode: 0o644, Size: int64(len(text))})
		_, _ = w.Write(text)
	}
	if err := errors.Join(w.Close(), packed.Close()); err != nil {
		c.warn("tar: %v\n", err)
		return 2
	}
	return 0
}

func (c *command) cat(args []string) int {
	if len(args) == 0 {
		b, err := io.ReadAll(io.LimitReader(c.in, maxInput))
		if err != nil {
			c.warn("cat: -: %v\n", err)
			return 1
		}
		_, _ = c.out.Write(b)
		return 0
	}
	code := 0
	for _, f := range args {
		b, ok := c.s.readFile(f)
		if !ok {
			c.warn("cat: %s: No such file or directory\n", f)
			code = 1
			continue
		}
		_, _ = c.out.Write(b)
	}
	return code
}

// head implements "head -c N FILE".
func (c *command) head(args []string) int {
	if len(args) != 3 || args[0] != "-c" {
		c.warn("head: the simulator knows head -c N FILE\n")
		return 1
	}
	n, err := strconv.Atoi(args[1])
	if err != nil || n < 0 {
		c.warn("head: invalid number of bytes: '%s'\n", args[1])
		return 1
	}
	b, ok := c.s.readFile(args[2])
	if !ok {
		c.warn("head: cannot open '%s' for reading: No such file or directory\n", args[2])
		return 1
	}
	_, _ = c.out.Write(b[:min(n, len(b))])
	return 0
}

func (c *command) rm(args []string) int {
	force, code := false, 0
	for _, f := range args {
		if strings.HasPrefix(f, "-") {
			force = force || strings.Contains(f, "f")
			continue
		}
		if denied(f) && !c.root {
			c.warn("rm: cannot remove '%s': Permission denied\n", f)
			code = 1
			continue
		}
		// /tmp is sticky.
		if c.s.ofRoot(f) && !c.root {
			c.warn("rm: cannot remove '%s': Operation not permitted\n", f)
			code = 1
			continue
		}
		if !c.s.removeFile(f) && !force {
			c.warn("rm: cannot remove '%s': No such file or directory\n", f)
			code = 1
		}
	}
	return code
}

// find implements "find FOLDER... -maxdepth 1 -type f -name PATTERN".
func (c *command) find(args []string) int {
	n := slices.Index(args, "-maxdepth")
	if n < 1 || len(args) != n+6 || strings.Join(args[n:n+5], " ") != "-maxdepth 1 -type f -name" {
		c.warn("find: the simulator knows find FOLDER... -maxdepth 1 -type f -name PATTERN\n")
		return 1
	}
	code := 0
	for _, dir := range args[:n] {
		c.s.mu.Lock()
		there := slices.Contains(folders, clean(dir)) || clean(dir)+"/" == checkpointDir && c.s.checks != nil
		files := c.s.written()
		c.s.mu.Unlock()
		if !there {
			c.warn("find: '%s': No such file or directory\n", dir)
			code = 1
		}
		for _, f := range files {
			if path.Dir(f) == clean(dir) && glob(args[n+5], path.Base(f)) {
				c.say("%s\n", f)
			}
		}
	}
	return code
}

const (
	startupFile   = "/etc/sonic/config_db.json"
	checkpointDir = "/etc/sonic/checkpoints/"
	checkpointExt = ".cp.json"
	maxFiles      = 256
)

func clean(f string) string {
	if !strings.HasPrefix(f, "/") {
		f = "/home/admin/" + f
	}
	return path.Clean(f)
}

func (s *Switch) readFile(f string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f = clean(f)
	if f == startupFile {
		return s.savedJSON(), true
	}
	if name, ok := strings.CutPrefix(f, checkpointDir); ok {
		if name, ok := strings.CutSuffix(name, checkpointExt); ok && s.checks[name] != nil {
			return s.checks[name].json(), true
		}
	}
	if b, ok := s.files[f]; ok {
		return b.data, true
	}
	if f == s.lookupFile() && len(s.o.Headroom) > 0 {
		return s.lookupText(), true
	}
	return nil, false
}

// file is a regular file, owned by root or by the user.
type file struct {
	data []byte
	root bool
}

func (s *Switch) writeFile(f string, data []byte, root bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f = clean(f)
	if f == startupFile {
		s.rawSaved = append([]byte{}, data...)
		return true
	}
	if s.files == nil {
		s.files = map[string]file{}
	}
	old, have := s.files[f]
	if !have && len(s.files) >= maxFiles {
		return false
	}
	s.files[f] = file{append([]byte{}, data...), root && !have || old.root}
	return true
}

func (s *Switch) ofRoot(f string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[clean(f)].root
}

// WriteFile writes a file as root on the switch, possibly over a file of the image.
func (s *Switch) WriteFile(path string, data []byte) { s.writeFile(path, data, true) }

func (s *Switch) removeFile(f string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f = clean(f)
	_, ok := s.files[f]
	_, link := s.links[f]
	delete(s.files, f)
	delete(s.links, f)
	return ok || link
}

// Files lists what users wrote to the switch's file system, by path: files, links and checkpoints.
func (s *Switch) Files() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.AppendSeq(s.written(), maps.Keys(s.links))
	slices.Sort(out)
	return out
}

// written lists what users wrote, except for links. The caller holds mu.
func (s *Switch) written() []string {
	out := slices.Collect(maps.Keys(s.files))
	for name := range s.checks {
		out = append(out, checkpointDir+name+checkpointExt)
	}
	slices.Sort(out)
	return out
}
