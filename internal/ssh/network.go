package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// errPager says that the device shows its output a page at a time, and waits
// for a key, although it was told not to.
var errPager = errors.New("output stops at a pager")

// Level is a privilege level or a configuration mode of a network operating
// system, with all modes below it that look the same.
type Level struct {
	Name string
	// Prompt matches the whole prompt: `[\w.-]{1,63}\(config[^()]*\)#`. A
	// blank may follow it, and nothing else.
	Prompt string
	// Not holds texts of which a prompt of this level has none, where Prompt
	// matches those of other levels as well.
	Not []string
	// Below is the level that Enter is typed in; "" for the lowest.
	Below string
	// Enter gets here from Below, Leave gets back.
	Enter, Leave string
}

// Platform is what a [Network] has to know of an operating system. It is not
// changed, nor copied, once a Network was made of it.
type Platform struct {
	Levels []Level
	// Home is the level that commands run at.
	Home string
	// Failed is what a line begins with that says that a command is refused:
	// "% ". Text elsewhere in a line does not count.
	Failed []string
	// Marker is what stands alone in a line that marks the place of a mistake:
	// "^". The device's words are in the line below it. "" for none.
	Marker string
	// Password is the question that entering a level may cause: "Password:".
	Password string
	// Pager is what the device prints at the end of a page: "--More--".
	Pager string
	// OnOpen is typed at Home before anything else. Refusals are tolerated:
	// what they leave undone shows later.
	OnOpen []string
	// Openers are the first words of lines that open a mode and are taken in the
	// modes below theirs as well, which they leave: "interface". An "exit" before
	// one is left out where many lines are sent at once.
	Openers []string

	once     sync.Once
	patterns *patterns
	err      error
}

// patterns are what a platform's texts come to. All of them match at the end of
// the output only: a banner, or a description, may hold what looks like a
// prompt.
type patterns struct {
	levels map[string]*level
	prompt *regexp.Regexp
	// Other text that an output may end in; nil where the platform has none.
	pager, question *regexp.Regexp
}

// Network is a shell with the command line of a network operating system:
// privilege levels, configuration modes, refusals in words. Its methods must
// not be called at the same time. Each line is answered within
// [Config.CommandTimeout], or sooner where the context says so; where it is not,
// or the output passes its limit, the shell is closed.
//
// scrapligo's own driver for such systems (driver/network) is not used: on a
// refused change of level it tries again and drops the device's words, and it
// waits without end where a password is asked for a second time.
type Network struct {
	*patterns
	s *shell
	p *Platform

	at   string // the level that the last prompt was of, "" at a question
	last string // the last prompt at Home
	slow bool   // lines are sent one by one
}

type level struct {
	Level
	prompt *regexp.Regexp
}

// Network opens a shell and gets to the platform's Home. password answers the
// question of a level that asks for one. The error is an [*Error]; it wraps
// ErrAuth where the device refuses Home. Close must be called on the Network,
// or on the Client.
func (c *Client) Network(ctx context.Context, p *Platform, password secret.Secret) (*Network, error) {
	p.once.Do(func() { p.patterns, p.err = p.compile() })
	if p.err != nil {
		return nil, newError("shell", c.addr, errConfig, p.err)
	}
	n := &Network{p: p, patterns: p.patterns}
	ctx, cancel := context.WithTimeout(ctx, c.commandTimeout)
	defer cancel()
	s, err := c.shell(ctx, n.prompt)
	if err != nil {
		return nil, err
	}
	n.s = s
	if err := n.begin(ctx, password); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

func (p *Platform) compile() (*patterns, error) {
	out := &patterns{levels: map[string]*level{}}
	var prompts []string
	for _, l := range p.Levels {
		re, err := regexp.Compile("^(?:" + l.Prompt + ")$")
		if err != nil {
			return nil, fmt.Errorf("prompt of %s: %w", l.Name, err)
		}
		out.levels[l.Name] = &level{l, re}
		prompts = append(prompts, l.Prompt)
	}
	if out.levels[p.Home] == nil {
		return nil, fmt.Errorf("unknown level %q", p.Home)
	}
	out.prompt = regexp.MustCompile("(?m)^(?:" + strings.Join(prompts, "|") + `) ?\z`)
	out.question, out.pager = ending(p.Password), ending(p.Pager)
	return out, nil
}

// ending matches an output that ends in text.
func ending(text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	return regexp.MustCompile(`(?i)` + regexp.QuoteMeta(text) + `\s*\z`)
}

// begin finds out where the login landed and goes Home.
func (n *Network) begin(ctx context.Context, password secret.Secret) error {
	// The text that looked like the first prompt may have been part of a
	// banner.
	if _, err := n.send(ctx, ""); err != nil {
		return err
	}
	var up []*level
	for name := n.p.Home; name != n.at; {
		l := n.levels[name]
		if l == nil || len(up) > len(n.p.Levels) {
			return n.fail(ErrAuth, fmt.Errorf("the login lands at %s, from where %s cannot be entered", n.at, n.p.Home))
		}
		up = append(up, l)
		name = l.Below
	}
	for _, l := range slices.Backward(up) {
		if err := n.escalate(ctx, l, password); err != nil {
			return err
		}
	}
	for _, cmd := range n.p.OnOpen {
		if _, err := n.send(ctx, cmd); err != nil {
			return err
		}
	}
	return nil
}

// escalate enters a level, with the password where it is asked for.
func (n *Network) escalate(ctx context.Context, l *level, password secret.Secret) error {
	out, err := n.send(ctx, l.Enter, n.question)
	if err != nil {
		return err
	}
	asked := n.asks(out)
	if asked {
		if password == "" {
			return n.fail(ErrAuth, fmt.Errorf("%s asks for a password, and the login has none", l.Enter))
		}
		if out, err = n.answer(ctx, password); err != nil {
			return err
		}
	}
	switch words := n.refusal(out, false); {
	case n.asks(out):
		return n.fail(ErrAuth, fmt.Errorf("%s refuses the password of the login", l.Enter))
	case n.at == l.Name:
		return nil
	case asked:
		return n.fail(ErrAuth, fmt.Errorf("%s refuses the password of the login: %s", l.Enter, words))
	default:
		return n.fail(ErrAuth, fmt.Errorf("%s is refused: %s", l.Enter, words))
	}
}

// answer types a password, which is not echoed.
func (n *Network) answer(ctx context.Context, password secret.Secret) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, n.s.c.commandTimeout)
	defer cancel()
	var out []byte
	err := n.s.do(ctx, func(ctx context.Context) (err error) {
		ch := n.s.driver.Channel
		if err = ch.WriteAndReturn([]byte(password.Reveal()), true); err == nil {
			stops := n.stops(n.question)
			out, err = n.s.until(ctx, nil, func(out []byte) bool { return stopped(out, stops) })
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return n.ends(string(out), "")
}

// asks reports whether the device waits for a password.
func (n *Network) asks(out string) bool {
	return n.at == "" && n.question != nil && n.question.MatchString(out)
}

// Show runs a command that prints something at Home. The command is refused
// where the first line of the output says so; the rest may hold any text.
func (n *Network) Show(ctx context.Context, cmd string) (string, error) {
	if err := n.home(ctx); err != nil {
		return "", err
	}
	out, err := n.send(ctx, cmd)
	if err != nil {
		return "", err
	}
	return n.judged(cmd, out, true)
}

// Do runs a command that does something at Home. It is refused where any line
// of the output says so.
func (n *Network) Do(ctx context.Context, cmd string) (string, error) {
	if err := n.home(ctx); err != nil {
		return "", err
	}
	return n.Type(ctx, cmd)
}

// Type sends a line where the shell is, which it may leave. It is refused where
// any line of the output says so.
func (n *Network) Type(ctx context.Context, line string) (string, error) {
	out, err := n.send(ctx, line)
	if err != nil {
		return "", err
	}
	return n.judged(line, out, false)
}

// judged is the answer to a line, or the refusal of it; see [Network.refusal].
func (n *Network) judged(line, out string, first bool) (string, error) {
	if words := n.refusal(out, first); words != "" {
		return "", n.fail(errRefused, &LineError{Number: 1, Line: line, Words: words})
	}
	return out, nil
}

// home leaves the modes that the shell is in.
func (n *Network) home(ctx context.Context) error {
	for range n.p.Levels {
		l := n.levels[n.at]
		if n.at == n.p.Home || l == nil || l.Leave == "" {
			break
		}
		if _, err := n.send(ctx, l.Leave); err != nil {
			return err
		}
	}
	if n.at != n.p.Home {
		return n.end(n.fail(ErrLost, fmt.Errorf("the prompt is not that of %s", n.p.Home)))
	}
	return nil
}

// send sends a line and notes the level that it ended at. The output may also
// end in one of the patterns given.
func (n *Network) send(ctx context.Context, line string, more ...*regexp.Regexp) (string, error) {
	if err := n.s.oneLine(line); err != nil {
		return "", err
	}
	call := n.s.c.log.Begin("ssh line", func() string { return line })
	ctx, cancel := context.WithTimeout(ctx, n.s.c.commandTimeout)
	defer cancel()
	var out []byte
	err := n.s.do(ctx, func(ctx context.Context) (err error) {
		out, err = n.exchange(ctx, line, n.stops(more...))
		return err
	})
	call.End(func() string { return string(out) }, err)
	if err != nil {
		return "", err
	}
	return n.ends(string(out), line)
}

// exchange sends a line and reads what follows its echo.
func (n *Network) exchange(ctx context.Context, line string, stops []*regexp.Regexp) ([]byte, error) {
	if err := n.s.driver.Channel.WriteAndReturn([]byte(line), false); err != nil {
		return nil, err
	}
	// The echo also puts an end to whatever is left of earlier output.
	from := -1
	answer := func(out []byte) []byte { return out[min(max(from, 0), len(out)):] }
	out, err := n.s.until(ctx, nil, func(out []byte) bool {
		if from < 0 {
			from = echoed(out, line)
		}
		return from >= 0 && stopped(out[from:], stops)
	})
	// A long text may come in pieces of which one ends in what looks like a
	// prompt. Where it is not the known one, more is waited for.
	for err == nil && len(answer(out)) > piece && string(bytes.TrimRight(lastLine(out[:len(out)-len(messages(out))]), " ")) != n.last {
		wait, cancel := context.WithTimeout(ctx, patience)
		var rest []byte
		rest, err = n.s.read(wait)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return answer(out), nil
		}
		out = append(out, rest...)
		if err == nil && !stopped(answer(out), stops) {
			out, err = n.s.until(ctx, out, func(out []byte) bool { return stopped(answer(out), stops) })
		}
	}
	return answer(out), err
}

// longest bounds a prompt with its line, or a question.
const longest = 1 << 10

// stopped reports whether an output ends in one of the patterns.
func stopped(out []byte, stops []*regexp.Regexp) bool {
	last := lastLine(out[:len(out)-len(messages(out))])
	return len(last) <= longest && slices.ContainsFunc(stops, func(re *regexp.Regexp) bool { return re.Match(last) })
}

// echoed returns where the first echo of a line ends in an output; -1 for none.
// A line editor that wraps leaves blanks where it goes to the next row.
func echoed(out []byte, line string) int {
	for i := range len(out) - len(line) + 1 {
		if end := echoAt(out[i:], line); end >= 0 {
			return i + end
		}
	}
	return -1
}

// echoAt returns where the echo ends that an output begins with; -1 for none.
func echoAt(out []byte, line string) int {
	at := 0
	for i := 0; i < len(line); at++ {
		switch {
		case at == len(out):
			return -1
		case out[at] == line[i]:
			i++
		case i == 0 || out[at] != ' ':
			return -1
		}
	}
	return at
}

// A text of up to piece bytes comes whole; patience is the time in which the
// next piece of a longer one comes, and grace that in which a device that shows its
// prompt reads what was sent.
const (
	piece    = 1 << 10
	patience = time.Second
	grace    = 5 * time.Second
)

// stops are what an output may end in.
func (n *Network) stops(more ...*regexp.Regexp) []*regexp.Regexp {
	return slices.DeleteFunc(append(more, n.prompt, n.pager), func(re *regexp.Regexp) bool { return re == nil })
}

// ends takes the prompt, and a second echo of the line, off an output.
func (n *Network) ends(out, line string) (string, error) {
	out = out[:len(out)-len(messages(out))]
	last := lastLine(out)
	if n.at = n.level(last); n.at == "" {
		if n.pager != nil && n.pager.MatchString(last) {
			return "", n.end(n.fail(errPager, fmt.Errorf("%q stops at %s", line, n.p.Pager)))
		}
		return out, nil
	}
	if n.at == n.p.Home {
		n.last = strings.TrimRight(last, " ")
	}
	return n.plain(out[:len(out)-len(last)], line), nil
}

// level returns the level of a prompt; "" for what is none.
func (n *Network) level(prompt string) string {
	prompt = strings.TrimRight(prompt, " ")
	for _, l := range n.p.Levels {
		if n.levels[l.Name].prompt.MatchString(prompt) && !slices.ContainsFunc(l.Not, func(t string) bool { return strings.Contains(prompt, t) }) {
			return l.Name
		}
	}
	return ""
}

// plain takes log messages off an answer, and a second echo: a device that is slow
// may echo a line twice (ktbyers/netmiko arista.py).
func (n *Network) plain(out, line string) string {
	out = strings.Trim(unlogged(out), "\n")
	first, rest, _ := strings.Cut(out, "\n")
	if head, ok := strings.CutSuffix(strings.TrimSpace(first), line); ok && line != "" && (head == "" || n.prompt.MatchString(head)) {
		return rest
	}
	return out
}

// messages are the log messages behind the prompt at the end of an output, with
// the end of its line: not every device shows the prompt again.
func messages[T ~string | ~[]byte](out T) T {
	end := len(out)
	for end > 0 && out[end-1] == '\n' {
		line := lastLine(out[:end-1])
		if len(line) > longest || !message.MatchString(string(line)) {
			break
		}
		end -= len(line) + 1
	}
	if 0 < end && end < len(out) {
		end--
	}
	return out[end:]
}

// message is how EOS and NX-OS log: time, host, and "%ETHPORT-5-IF_UP: ".
var message = lazyre.New(`^(?:\d{4}|[A-Z][a-z]{2} ).*%[A-Z][A-Z0-9_]*-[0-7]-[A-Z0-9_]+: `)

// unlogged takes the log messages out of an answer.
func unlogged(out string) string {
	logged := func(l string) bool { return len(l) <= longest && strings.Contains(l, "%") && message.MatchString(l) }
	for l := range strings.Lines(out) {
		if !logged(l) {
			continue
		}
		var b strings.Builder
		for l := range strings.Lines(out) {
			if !logged(l) {
				b.WriteString(l)
			}
		}
		return b.String()
	}
	return out
}

// lastLine is the last line of an output; of one that is too long to be a prompt,
// the end.
func lastLine[T ~string | ~[]byte](s T) T {
	from := len(s)
	for from > 0 && s[from-1] != '\n' && len(s)-from <= longest {
		from--
	}
	return s[from:]
}

func (n *Network) fail(kind, cause error) error { return newError("shell", n.s.c.addr, kind, cause) }

// end gives the shell up: what comes next cannot be told apart.
func (n *Network) end(err error) error {
	n.s.dead = err
	n.s.pty.end()
	return err
}

// Close closes the shell.
func (n *Network) Close() error { return n.s.Close() }
