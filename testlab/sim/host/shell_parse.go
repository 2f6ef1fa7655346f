package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The shell implements the part of a POSIX shell (IEEE Std 1003.1, Shell Command Language) that a
// tool needs to examine a host and to copy a file to it: lists, if, assignments, parameters,
// command substitution and redirection. It rejects everything else, so that it is never more
// permissive than a real host.

// list is a sequence of commands.
type list []item

// item is a command and the operator that joins it to the previous one: "", "&&" or "||".
type item struct {
	join string
	cmd  command
}

// command holds one of its two members.
type command struct {
	simple *simple
	branch *branch
}

type simple struct {
	assigns []assign
	words   []word
	redirs  []redir
}

type branch struct{ cond, then, other list }

type assign struct {
	name  string
	value word
}

// redir is "<", ">" or "2>" with a file, or ">&2" or "2>&1" without one.
type redir struct {
	op   string
	file word
}

type word []part

type partKind int

const (
	literal partKind = iota
	parameter
	substitution
)

type part struct {
	kind   partKind
	text   string // a literal, or the name of a parameter
	quoted bool
	// cut is the pattern in ${name%%cut}; need is set for ${name:?}.
	cut  string
	need bool
	sub  list
}

// maxNested limits how deeply commands may be nested.
const maxNested = 16

var errUnterminated = errors.New("unterminated quoted string")

// parser parses one script.
type parser struct {
	text   string
	at     int
	nested int
}

func parse(text string) (list, error) {
	p := &parser{text: text}
	l, err := p.list()
	if err != nil {
		return nil, err
	}
	if p.at < len(p.text) {
		return nil, p.unexpected()
	}
	return l, nil
}

func (p *parser) unexpected() error {
	rest := p.text[p.at:]
	if rest == "" {
		return errors.New("end of file unexpected")
	}
	if i := strings.IndexAny(rest, " \t\n;"); i > 0 {
		rest = rest[:i]
	}
	return fmt.Errorf("%q unexpected", rest[:min(len(rest), 20)])
}

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) take(s string) bool {
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

func (p *parser) blanks() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.at++
	}
}

// separators skips the characters that separate commands.
func (p *parser) separators() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n;", p.text[p.at]) >= 0 {
		p.at++
	}
}

// keyword consumes a reserved word.
func (p *parser) keyword(s string) bool {
	rest, ok := strings.CutPrefix(p.text[p.at:], s)
	if ok && (rest == "" || strings.IndexByte(" \t\n;)", rest[0]) >= 0) {
		p.at += len(s)
		return true
	}
	return false
}

// ends reports whether a list ends here.
func (p *parser) ends() bool {
	if p.at >= len(p.text) || p.peek() == ')' {
		return true
	}
	at := p.at
	defer func() { p.at = at }()
	return slices.ContainsFunc([]string{"then", "else", "fi"}, p.keyword)
}

func (p *parser) list() (list, error) {
	if p.nested++; p.nested > maxNested {
		return nil, errors.New("too deep")
	}
	defer func() { p.nested-- }()
	var out list
	join := ""
	for {
		if join == "" {
			p.separators()
			if p.ends() {
				return out, nil
			}
		}
		p.blanks()
		c, err := p.command()
		if err != nil {
			return nil, err
		}
		out = append(out, item{join, c})
		p.blanks()
		switch {
		case p.take("&&"):
			join = "&&"
		case p.take("||"):
			join = "||"
		case p.ends() || p.peek() == ';' && !p.take(";;") || p.peek() == '\n':
			join = ""
		default:
			return nil, p.unexpected()
		}
	}
}

// reserved lists the words that begin constructs this shell does not support.
var reserved = []string{"!", "for", "while", "until", "case", "do", "done", "esac", "elif"}

func (p *parser) command() (command, error) {
	if p.keyword("if") {
		b := &branch{}
		for _, part := range []struct {
			into *list
			end  string
		}{{&b.cond, "then"}, {&b.then, ""}} {
			l, err := p.list()
			if err != nil {
				return command{}, err
			}
			if len(l) == 0 || part.end != "" && !p.keyword(part.end) {
				return command{}, p.unexpected()
			}
			*part.into = l
		}
		if p.keyword("else") {
			l, err := p.list()
			if err != nil {
				return command{}, err
			}
			b.other = l
		}
		if !p.keyword("fi") {
			return command{}, p.unexpected()
		}
		return command{branch: b}, nil
	}
	if slices.ContainsFunc(reserved, p.keyword) {
		return command{}, p.unexpected()
	}
	s := &simple{}
	for {
		p.blanks()
		if op := p.redirection(); op != "" {
			r := redir{op: op}
			if !strings.Contains(op, "&") {
				p.blanks()
				var err error
				if r.file, err = p.word(); err != nil {
					return command{}, err
				}
				if len(r.file) == 0 {
					return command{}, p.unexpected()
				}
			}
			s.redirs = append(s.redirs, r)
			continue
		}
		if name := p.assignment(); name != "" && len(s.words) == 0 {
			v, err := p.word()
			if err != nil {
				return command{}, err
			}
			s.assigns = append(s.assigns, assign{name, v})
			continue
		}
		w, err := p.word()
		if err != nil {
			return command{}, err
		}
		if len(w) == 0 {
			break
		}
		s.words = append(s.words, w)
	}
	if len(s.words)+len(s.assigns)+len(s.redirs) == 0 {
		return command{}, p.unexpected()
	}
	return command{simple: s}, nil
}

func (p *parser) redirection() string {
	for _, op := range []string{">&2", "2>&1", "2>", ">", "<"} {
		rest, ok := strings.CutPrefix(p.text[p.at:], op)
		if ok && (rest == "" || strings.IndexByte("><&", rest[0]) < 0) {
			p.at += len(op)
			return op
		}
	}
	return ""
}

func nameEnd(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return n
}

// assignment consumes "name=" and returns the name.
func (p *parser) assignment() string {
	rest := p.text[p.at:]
	n := nameEnd(rest)
	if n == 0 || n == len(rest) || rest[n] != '=' {
		return ""
	}
	p.at += n + 1
	return rest[:n]
}

// word parses one word. A missing word has no parts; "" has one empty part.
func (p *parser) word() (word, error) {
	var w word
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == '\'':
			end := strings.IndexByte(p.text[p.at+1:], '\'')
			if end < 0 {
				return nil, errUnterminated
			}
			w = append(w, part{text: p.text[p.at+1 : p.at+1+end], quoted: true})
			p.at += end + 2
		case c == '"':
			p.at++
			parts, err := p.quoted()
			if err != nil {
				return nil, err
			}
			w = append(w, parts...)
		case c == '\\' && p.at+1 < len(p.text):
			w = append(w, part{text: p.text[p.at+1 : p.at+2], quoted: true})
			p.at += 2
		case c == '$':
			q, err := p.dollar(false)
			if err != nil {
				return nil, err
			}
			w = append(w, q)
		case strings.IndexByte(" \t\n;)&|<>", c) >= 0:
			return w, nil
		case strings.IndexByte("`*?(#{}~", c) >= 0:
			return nil, p.unexpected()
		default:
			w = append(w, part{text: string(c)})
			p.at++
		}
	}
	return w, nil
}

// quoted parses up to the closing quotation mark.
func (p *parser) quoted() (word, error) {
	w := word{{quoted: true}}
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case '"':
			p.at++
			return w, nil
		case '\\':
			if p.at+1 < len(p.text) && strings.IndexByte("$\"\\`\n", p.text[p.at+1]) >= 0 {
				p.at++
			}
			w = append(w, part{text: p.text[p.at : p.at+1], quoted: true})
			p.at++
		case '$':
			q, err := p.dollar(true)
			if err != nil {
				return nil, err
			}
			w = append(w, q)
		case '`':
			return nil, p.unexpected()
		default:
			w = append(w, part{text: string(c), quoted: true})
			p.at++
		}
	}
	return nil, errUnterminated
}

// dollar parses a parameter or a command substitution.
func (p *parser) dollar(quoted bool) (part, error) {
	rest := p.text[p.at+1:]
	switch {
	case strings.HasPrefix(rest, "(("):
		return part{}, p.unexpected()
	case strings.HasPrefix(rest, "("):
		p.at += 2
		l, err := p.list()
		if err != nil {
			return part{}, err
		}
		if !p.take(")") {
			return part{}, p.unexpected()
		}
		return part{kind: substitution, quoted: quoted, sub: l}, nil
	case strings.HasPrefix(rest, "{"):
		end := strings.IndexByte(rest, '}')
		n := nameEnd(rest[1:])
		if end < 0 || n == 0 {
			return part{}, errors.New("bad substitution")
		}
		q := part{kind: parameter, quoted: quoted, text: rest[1 : 1+n]}
		switch op := rest[1+n : end]; {
		case op == "":
		case op == ":?":
			q.need = true
		case strings.HasPrefix(op, "%%") && strings.HasSuffix(op, "*") && !strings.ContainsAny(op[2:len(op)-1], "*?["):
			q.cut = op[2 : len(op)-1]
		default:
			return part{}, errors.New("bad substitution")
		}
		p.at += end + 2
		return q, nil
	case rest != "" && (rest[0] >= '0' && rest[0] <= '9' || rest[0] == '?'):
		p.at += 2
		return part{kind: parameter, quoted: quoted, text: rest[:1]}, nil
	}
	n := nameEnd(rest)
	if n == 0 {
		return part{}, p.unexpected()
	}
	p.at += 1 + n
	return part{kind: parameter, quoted: quoted, text: rest[:n]}, nil
}
