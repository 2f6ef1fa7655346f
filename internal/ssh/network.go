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

// errPager reports that the device pages its output and waits for a key press, although paging was
// turned off.
var errPager = errors.New("output stops at a pager")

// Level is a privilege level or configuration mode of a network operating system. It includes all
// submodes whose prompts look the same.
type Level struct {
	Name string
	// Prompt matches the whole prompt: `[\w.-]{1,63}\(config[^()]*\)#`. Only a space may follow
	// the prompt.
	Prompt string
	// Not lists texts that no prompt of this level contains. It is needed if Prompt also matches
	// the prompts of other levels.
	Not []string
	// Below is the level at which Enter is typed; "" for the lowest level.
	Below string
	// Enter is the command that enters this level from Below, Leave the one that goes back.
	Enter, Leave string
}

// Platform describes an operating system to a [Network]. It must not be changed or copied after
// its first use.
type Platform struct {
	Levels []Level
	// Home is the level at which commands run.
	Home string
	// Failed lists the texts with which a line of a rejection begins: "% ". The same text
	// elsewhere in a line does not count.
	Failed []string
	// Marker is the text of a line that points at the position of an error: "^". The device's
	// message is on the line below it. "" means that there is none.
	Marker string
	// Password is the prompt that may appear when a level is entered: "Password:".
	Password string
	// Pager is what the device prints at the end of a page: "--More--".
	Pager string
	// OnOpen lists the commands typed at Home before anything else. A rejection of them is
	// ignored, because any consequence shows up later.
	OnOpen []string
	// Openers lists the first words of lines that open a mode and are also accepted in its
	// submodes, which they leave: "interface". When many lines are sent at once, an "exit" before
	// such a line is left out.
	Openers []string

	once     sync.Once
	patterns *patterns
	err      error
}

// patterns holds the compiled texts of a platform. They match only at the end of the output,
// because a banner or a description may contain text that looks like a prompt.
type patterns struct {
	levels map[string]*level
	prompt *regexp.Regexp
	// pager and question match other text at the end of an output; nil if the platform has none.
	pager, question *regexp.Regexp
}

// Network is a shell on a network operating system, with privilege levels, configuration modes and
// rejections in plain text. Its methods must not be called concurrently. Each line must be
// answered within [Config.CommandTimeout], or sooner if the context ends. Otherwise, or if the
// output exceeds its limit, the shell is closed.
//
// Network does not use scrapligo's own driver for such systems (driver/network), which retries a
// rejected change of level and loses the device's message, and waits forever if a password is
// requested twice.
type Network struct {
	*patterns
	s *shell
	p *Platform

	at   string // level of the last prompt; "" at a question
	last string // the last prompt at Home
	slow bool   // send lines one by one
}

type level struct {
	Level
	prompt *regexp.Regexp
}

// Network opens a shell and enters the platform's Home level. password answers a level that asks
// for one. The error is an [*Error]; it wraps ErrAuth if the device does not allow Home. The
// caller must call Close on the Network or on the Client.
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
	if err := n.enterHome(ctx, password); err != nil {
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

// ending returns a pattern for output that ends in text.
func ending(text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	return regexp.MustCompile(`(?i)` + regexp.QuoteMeta(text) + `\s*\z`)
}

// enterHome determines the level after login and enters Home.
func (n *Network) enterHome(ctx context.Context, password secret.Secret) error {
	// What looked like the first prompt may have been part of a banner.
	if _, err := n.send(ctx, ""); err != nil {
		return err
	}
	var up []*level
	for name := n.p.Home; name != n.at; {
		l := n.levels[name]
		if l == nil || len(up) > len(n.p.Levels) {
			return n.fail(ErrAuth, fmt.Errorf("the login starts at level %s, which does not lead to level %s", n.at, n.p.Home))
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

// escalate enters a level, and sends the password if asked.
func (n *Network) escalate(ctx context.Context, l *level, password secret.Secret) error {
	out, err := n.send(ctx, l.Enter, n.question)
	if err != nil {
		return err
	}
	asked := n.waitsForPassword(out)
	if asked {
		if password == "" {
			return n.fail(ErrAuth, fmt.Errorf("%s asks for a password, but none is configured", l.Enter))
		}
		if out, err = n.answer(ctx, password); err != nil {
			return err
		}
	}
	switch words := n.refusal(out, false); {
	case n.waitsForPassword(out):
		return n.fail(ErrAuth, fmt.Errorf("%s rejects the login password", l.Enter))
	case n.at == l.Name:
		return nil
	case asked:
		return n.fail(ErrAuth, fmt.Errorf("%s rejects the login password: %s", l.Enter, words))
	default:
		return n.fail(ErrAuth, fmt.Errorf("%s is refused: %s", l.Enter, words))
	}
}

// answer types a password. The device does not echo it.
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
	return n.withoutPrompt(string(out), "")
}

// waitsForPassword reports whether the device is waiting for a password.
func (n *Network) waitsForPassword(out string) bool {
	return n.at == "" && n.question != nil && n.question.MatchString(out)
}

// Show runs a command that prints something at Home. Only the first line of the output can report
// a rejection; the rest may be any text.
func (n *Network) Show(ctx context.Context, cmd string) (string, error) {
	if err := n.home(ctx); err != nil {
		return "", err
	}
	out, err := n.send(ctx, cmd)
	if err != nil {
		return "", err
	}
	return n.acceptedAnswer(cmd, out, true)
}

// Do runs a command that does something at Home. Any line of the output can report a rejection.
func (n *Network) Do(ctx context.Context, cmd string) (string, error) {
	if err := n.home(ctx); err != nil {
		return "", err
	}
	return n.Type(ctx, cmd)
}

// Type sends a line at the current level; the line may change the level. Any line of the output
// can report a rejection.
func (n *Network) Type(ctx context.Context, line string) (string, error) {
	out, err := n.send(ctx, line)
	if err != nil {
		return "", err
	}
	return n.acceptedAnswer(line, out, false)
}

// acceptedAnswer returns the answer to a line, or an error if the device rejected it; see
// [Network.refusal].
func (n *Network) acceptedAnswer(line, out string, first bool) (string, error) {
	if words := n.refusal(out, first); words != "" {
		return "", n.fail(errRefused, &LineError{Number: 1, Line: line, Words: words})
	}
	return out, nil
}

// home leaves modes until the shell is at Home.
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
		return n.giveUp(n.fail(ErrLost, fmt.Errorf("unexpected prompt: expected that of level %s", n.p.Home)))
	}
	return nil
}

// send sends a line and records the level after it. Besides a prompt, the output may end in one of
// the patterns in more.
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
	return n.withoutPrompt(string(out), line)
}

// exchange sends a line and returns the output after its echo.
func (n *Network) exchange(ctx context.Context, line string, stops []*regexp.Regexp) ([]byte, error) {
	if err := n.s.driver.Channel.WriteAndReturn([]byte(line), false); err != nil {
		return nil, err
	}
	// Everything before the echo belongs to earlier output.
	from := -1
	answer := func(out []byte) []byte { return out[min(max(from, 0), len(out)):] }
	out, err := n.s.until(ctx, nil, func(out []byte) bool {
		if from < 0 {
			from = echoed(out, line)
		}
		return from >= 0 && stopped(out[from:], stops)
	})
	// Long output may arrive in pieces, one of which may end in text that looks like a prompt. If
	// it is not the last known prompt, wait for more.
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

// longest is the maximum length in bytes of a prompt with its line, or of a question.
const longest = 1 << 10

// stopped reports whether the output ends in one of the patterns.
func stopped(out []byte, stops []*regexp.Regexp) bool {
	last := lastLine(out[:len(out)-len(messages(out))])
	return len(last) <= longest && slices.ContainsFunc(stops, func(re *regexp.Regexp) bool { return re.Match(last) })
}

// echoed returns the index after the first echo of a line in the output, or -1. A line editor that
// wraps inserts spaces where it moves to the next row.
func echoed(out []byte, line string) int {
	for i := range len(out) - len(line) + 1 {
		if end := echoAt(out[i:], line); end >= 0 {
			return i + end
		}
	}
	return -1
}

// echoAt returns the index after the echo at the start of the output, or -1.
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

// Up to piece bytes of output arrive at once. patience is how long to wait for the next piece of
// longer output, and grace how long a device at a prompt may take to read input.
const (
	piece    = 1 << 10
	patience = time.Second
	grace    = 5 * time.Second
)

// stops returns the patterns in which an output may end.
func (n *Network) stops(more ...*regexp.Regexp) []*regexp.Regexp {
	return slices.DeleteFunc(append(more, n.prompt, n.pager), func(re *regexp.Regexp) bool { return re == nil })
}

// withoutPrompt removes the prompt, and a second echo of the line, from an output.
func (n *Network) withoutPrompt(out, line string) (string, error) {
	out = out[:len(out)-len(messages(out))]
	last := lastLine(out)
	if n.at = n.level(last); n.at == "" {
		if n.pager != nil && n.pager.MatchString(last) {
			return "", n.giveUp(n.fail(errPager, fmt.Errorf("the output of %q stopped at the pager prompt %s", line, n.p.Pager)))
		}
		return out, nil
	}
	if n.at == n.p.Home {
		n.last = strings.TrimRight(last, " ")
	}
	return n.withoutLogsAndEcho(out[:len(out)-len(last)], line), nil
}

// level returns the level of a prompt, or "" if the text is not a prompt.
func (n *Network) level(prompt string) string {
	prompt = strings.TrimRight(prompt, " ")
	for _, l := range n.p.Levels {
		if n.levels[l.Name].prompt.MatchString(prompt) && !slices.ContainsFunc(l.Not, func(t string) bool { return strings.Contains(prompt, t) }) {
			return l.Name
		}
	}
	return ""
}

// withoutLogsAndEcho removes log messages from an answer, and a second echo: a slow device may echo
// a line twice (ktbyers/netmiko arista.py).
func (n *Network) withoutLogsAndEcho(out, line string) string {
	out = strings.Trim(unlogged(out), "\n")
	first, rest, _ := strings.Cut(out, "\n")
	if head, ok := strings.CutSuffix(strings.TrimSpace(first), line); ok && line != "" && (head == "" || n.prompt.MatchString(head)) {
		return rest
	}
	return out
}

// messages returns the log messages after the prompt at the end of an output, including the
// newline before them. Not every device repeats the prompt after a log message.
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

// message matches a log message of EOS and NX-OS: time, host and "%ETHPORT-5-IF_UP: ".
var message = lazyre.New(`^(?:\d{4}|[A-Z][a-z]{2} ).*%[A-Z][A-Z0-9_]*-[0-7]-[A-Z0-9_]+: `)

// unlogged removes log messages from an answer.
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

// lastLine returns the last line of an output. If that is too long to be a prompt, it returns only
// the end of it.
func lastLine[T ~string | ~[]byte](s T) T {
	from := len(s)
	for from > 0 && s[from-1] != '\n' && len(s)-from <= longest {
		from--
	}
	return s[from:]
}

func (n *Network) fail(kind, cause error) error { return newError("shell", n.s.c.addr, kind, cause) }

// giveUp gives up the shell, because further output could not be matched to lines.
func (n *Network) giveUp(err error) error {
	n.s.dead = err
	n.s.pty.end()
	return err
}

// Close closes the shell.
func (n *Network) Close() error { return n.s.Close() }
