package writers

import (
	"path"
	"slices"
	"strings"
)

// Limits for one text.
const (
	maxLines = 20_000
	maxLine  = 8 << 10 // in bytes; the rest of a longer line is ignored
	maxDepth = 3       // depth of scripts that run scripts, and of sh -c
)

// split splits a line like a shell into simple commands. A variable keeps its $, and a redirection
// becomes the word ">" followed by the file. pipe is set if a command reads the output of the
// previous one.
func split(line string) (commands []command) {
	var cur command
	var word strings.Builder
	in := false
	end := func() {
		if in {
			cur.words = append(cur.words, word.String())
		}
		word.Reset()
		in = false
	}
	stop := func(pipe bool) {
		end()
		if len(cur.words) > 0 {
			commands = append(commands, cur)
		}
		cur = command{pipe: pipe}
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			in = true
		case c == '\'' || c == '"':
			in = true
			for i++; i < len(line) && line[i] != c; i++ {
				if c == '"' && line[i] == '\\' && i+1 < len(line) {
					i++
				}
				word.WriteByte(line[i])
			}
		case c == ' ' || c == '\t':
			end()
		case c == '#' && !in:
			stop(false)
			return commands
		case c == '|':
			double := i+1 < len(line) && line[i+1] == '|'
			stop(!double)
			if double {
				i++
			}
		case c == ';', c == '&', c == '(', c == ')', c == '`':
			stop(false)
		case c == '>':
			// The 2 of "2>" is not a value of a setting.
			if n := word.String(); in && (n == "1" || n == "2") {
				word.Reset()
				in = false
			}
			end()
			cur.words = append(cur.words, ">")
			if i+1 < len(line) && line[i+1] == '>' {
				i++
			}
		default:
			word.WriteByte(c)
			in = true
		}
	}
	stop(false)
	return commands
}

// command is a simple command.
type command struct {
	words []string
	pipe  bool
}

// script is a text that is executed.
type script struct {
	*Finder
	at    at
	depth int
	// vars holds the literal values that the text has assigned to variables so far.
	vars map[string][]string
	// echoed is the output of the last command if that was an echo.
	echoed string
}

// Script finds what the commands of a text set.
func (f *Finder) Script(file string, text []byte, idle string) {
	s := &script{Finder: f, at: at{file: file, idle: idle}, vars: map[string][]string{}}
	s.text(string(text))
}

// Process finds what a running shell sets, given its arguments. place names the process.
func (f *Finder) Process(place string, args []string) {
	s := &script{Finder: f, at: at{file: place, process: true}, vars: map[string][]string{}}
	s.shell(args[1:])
}

// text evaluates each line; a line that ends with a backslash continues on the next.
func (s *script) text(text string) {
	n, first, whole := 0, 0, ""
	for line := range strings.Lines(text) {
		if n++; n > maxLines {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		if whole == "" {
			first = n
		}
		if part, more := strings.CutSuffix(line, "\\"); more && len(whole) < maxLine {
			whole += part + " "
			continue
		}
		s.at.line = first
		s.line(whole + line)
		whole = ""
	}
	if whole != "" {
		s.at.line = first
		s.line(whole)
	}
}

func (s *script) line(line string) {
	for _, c := range split(line[:min(len(line), maxLine)]) {
		s.command(c)
	}
}

// shells are the programs that run a text or a script.
var shells = []string{"sh", "bash", "dash", "ash", "ksh", "zsh"}

// IsShell reports whether a program runs scripts.
func IsShell(name string) bool { return slices.Contains(shells, name) }

func (s *script) command(c command) {
	words := c.words
	if !c.pipe {
		s.echoed = ""
	}
	// NAME=value, alone or before a command.
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok || !isName(name) {
			break
		}
		if len(s.vars) < 256 {
			s.vars[name] = s.values(value)
		}
		words = words[1:]
	}
	for i, w := range words {
		if w == "for" && i+3 < len(words) && words[i+2] == "in" && isName(words[i+1]) && len(s.vars) < 256 {
			s.vars[words[i+1]] = s.all(words[i+3:])
			return
		}
		base := path.Base(w)
		if read, known := programs[base]; known {
			read(s.withProgram(base), s.expand(words[i+1:]))
			return
		}
		switch {
		case base == "echo" || base == "printf":
			s.echo(words[i+1:])
			return
		case base == "tee":
			for _, file := range words[i+1:] {
				s.file(file, s.echoed)
			}
			return
		case IsShell(base):
			s.shell(words[i+1:])
			return
		case i == 0 && strings.HasPrefix(w, "/"):
			s.follow(w)
		}
	}
}

// shell evaluates the arguments of a shell.
func (s *script) shell(args []string) {
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c") && i+1 < len(args):
			if s.depth < maxDepth {
				in := *s
				in.depth++
				in.line(strings.ReplaceAll(args[i+1], "\n", ";"))
			}
			return
		case !strings.HasPrefix(a, "-"):
			s.follow(a)
			return
		}
	}
}

// follow evaluates a script that is run.
func (s *script) follow(name string) {
	key := name + " " + s.at.idle
	if s.Follow == nil || s.depth >= maxDepth || !path.IsAbs(name) || s.followed[key] {
		return
	}
	if s.followed == nil {
		s.followed = map[string]bool{}
	}
	s.followed[key] = true
	text, ok := s.Follow(path.Clean(name))
	if !ok || !strings.HasPrefix(string(text), "#!") {
		return
	}
	in := &script{Finder: s.Finder, at: s.at, depth: s.depth + 1, vars: map[string][]string{}}
	in.at.file, in.at.by, in.at.process = path.Clean(name), s.at.place(), false
	in.text(string(text))
}

// withProgram returns a copy of the script with the program that writes.
func (s *script) withProgram(program string) *script {
	t := *s
	t.at.who = program
	return &t
}

// echo records what is printed, and where to.
func (s *script) echo(args []string) {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-n" || a == "-e" || a == "%s\\n" || a == "%s" })
	to := slices.Index(args, ">")
	text := args
	if to >= 0 {
		text = args[:to]
	}
	s.echoed = ""
	if len(text) > 0 {
		s.echoed = strings.Join(s.expand(text), " ")
	}
	if to >= 0 && to+1 < len(args) {
		s.file(args[to+1], s.echoed)
	}
}

func isName(s string) bool {
	return s != "" && len(s) < 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// isDynamic reports whether the value of a word is not known before it runs.
func isDynamic(word string) bool { return strings.ContainsAny(word, "$%*?[{`") }

// all returns the values of words; nil if one of them is not known.
func (s *script) all(words []string) (out []string) {
	for _, w := range words {
		l := s.values(w)
		if l == nil || len(out) > 64 {
			return nil
		}
		out = append(out, l...)
	}
	return out
}

// values returns the words that a word stands for; nil if they are not known.
func (s *script) values(word string) []string {
	if name, ok := strings.CutPrefix(word, "$"); ok {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "{"), "}")
		return s.vars[name]
	}
	if isDynamic(word) {
		return nil
	}
	return strings.Fields(word)
}

// expand replaces the variables that have a single value.
func (s *script) expand(words []string) []string {
	out := slices.Clone(words)
	for i, w := range out {
		if l := s.values(w); strings.HasPrefix(w, "$") && len(l) == 1 {
			out[i] = l[0]
		}
	}
	return out
}

// ports returns the ports of a device that a command names; ok is false if the device is not a port
// of the host.
func (s *script) ports(word string) (ports []string, ok bool) {
	names := s.values(word)
	if names == nil {
		return s.at.match, true
	}
	for _, n := range names {
		ports = append(ports, s.named(n)...)
	}
	return ports, len(ports) > 0
}
