package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Line is a line of a configuration.
type Line struct {
	Text string
	// Depth is how many modes below that of the batch it is typed in.
	Depth int
}

// Batch is lines of a configuration.
type Batch struct {
	// Level is that of the lines; Enter gets there from Home.
	Level, Enter string
	Lines        []Line
	// Drop gets rid of all that was typed, which is not in force yet. Nil: each
	// line takes effect at once.
	Drop func(context.Context) error
}

const (
	// burst is how many bytes are sent at once. The input buffer of a terminal
	// holds 4096 on Linux (N_TTY_BUF_SIZE), and what goes beyond is lost. Up to
	// that they go in one packet, so that all of them are there before the device
	// begins with the first line.
	burst = 3 << 10
	// packet is what a terminal takes over in one piece, so that it never echoes a
	// part of it by itself in the midst of an answer that may hold any text.
	packet = 1 << 10
	// exit leaves a mode.
	exit = "exit"
)

// errUnclear says that the answers to a burst cannot be told apart.
var errUnclear = errors.New("answers do not match the lines")

// Configure enters the level of a batch and sends its lines, up to the first one
// that is refused: that one is the [*LineError] in the error, with Number 0
// where it is the command that enters. It returns what the device says about the
// others. The shell stays at the level until the next Show or Do.
//
// Where a batch can be dropped, many lines are sent at once, so that some are
// typed that come after the refused one, though none of them outside of the
// level. Where the answers cannot be told apart, the batch is dropped and sent
// once more, as one that cannot be dropped is: the next line when the one before
// is answered.
func (n *Network) Configure(ctx context.Context, b *Batch) (notes []string, err error) {
	if b.Drop != nil && !n.slow {
		notes, err = n.configure(ctx, b, n.bursts(b.Lines))
		if !errors.Is(err, errUnclear) {
			return notes, err
		}
		n.slow = true
		if err := n.drain(ctx); err != nil {
			return nil, err
		}
		if err := b.Drop(ctx); err != nil {
			return nil, err
		}
	}
	return n.configure(ctx, b, singly(b.Lines))
}

// singly sends each line by itself.
func singly(lines []Line) [][]int {
	out := make([][]int, len(lines))
	for i := range lines {
		out[i] = []int{i}
	}
	return out
}

// bursts says which lines are sent at once. Of a refused line that would have
// opened a mode, the "exit" leaves the mode above: no burst has more of them than
// there are modes to leave at its start.
func (n *Network) bursts(lines []Line) (out [][]int) {
	size, exits := 0, 0
	for i, l := range lines {
		if n.skips(lines, i) {
			continue
		}
		size += len(l.Text) + 1
		if l.Text == exit {
			exits++
		}
		last := len(out) - 1
		if last < 0 || size > burst || l.Text == exit && exits > lines[out[last][0]].Depth {
			out = append(out, nil)
			last, size, exits = last+1, len(l.Text)+1, 0
			if l.Text == exit {
				exits = 1
			}
		}
		out[last] = append(out[last], i)
	}
	return out
}

// skips reports whether a line is an "exit" that the line which comes next, but for
// others of its kind, does without.
func (n *Network) skips(lines []Line, i int) bool {
	for i < len(lines) && lines[i].Text == exit {
		if i++; i+1 < len(lines) && lines[i].Text != exit {
			word, _, _ := strings.Cut(lines[i].Text, " ")
			return lines[i+1].Depth > lines[i].Depth && slices.Contains(n.p.Openers, word)
		}
	}
	return false
}

func (n *Network) configure(ctx context.Context, b *Batch, bursts [][]int) (notes []string, err error) {
	if err := n.home(ctx); err != nil {
		return nil, err
	}
	judge := func(number int, line, out, at string) error {
		if words := n.refusal(out, false); words != "" {
			return n.fail(errRefused, &LineError{Number: number, Line: line, Words: words})
		}
		if at != b.Level {
			// Whatever comes next would be typed in the wrong place.
			return n.end(n.fail(errRefused, &LineError{Number: number, Line: line, Words: "the prompt is not that of " + b.Level}))
		}
		for l := range strings.Lines(out) {
			if l = clip(l); l != "" && len(notes) < maxNotes {
				notes = append(notes, l)
			}
		}
		return nil
	}
	out, err := n.send(ctx, b.Enter)
	if err == nil {
		err = judge(0, b.Enter, out, n.at)
	}
	before := -1 // the line that was judged last
	for _, sent := range bursts {
		if err != nil {
			break
		}
		texts := make([]string, len(sent))
		for k, i := range sent {
			texts[k] = b.Lines[i].Text
		}
		var answers []answer
		if len(texts) > 1 {
			answers, err = n.converse(ctx, texts, "")
		} else if out, err = n.send(ctx, texts[0]); err == nil {
			answers = []answer{{out, n.at}}
		}
		for k, a := range answers {
			i := sent[k]
			if err = judge(i+1, texts[k], a.out, a.at); err != nil && i > before+1 && n.s.dead == nil {
				// It may be known in the mode above alone.
				err = n.fail(errUnclear, fmt.Errorf("%q is refused where %q was left out", texts[k], exit))
			}
			if err != nil {
				break
			}
			before = i
		}
	}
	return notes, err
}

// Shown is the answer to one of several commands.
type Shown struct {
	Out string
	// Err is a refusal of this one, as that of [Network.Show].
	Err error
}

// ShowAll runs commands that print something at Home, as [Network.Show] does, and
// does not wait for the answer to one before it sends the next.
func (n *Network) ShowAll(ctx context.Context, cmds []string) ([]Shown, error) {
	out := make([]Shown, len(cmds))
	if err := n.home(ctx); err != nil {
		return nil, err
	}
	if len(cmds) > 1 && len(strings.Join(cmds, "\n")) < packet && !n.slow {
		answers, err := n.converse(ctx, cmds, n.last)
		if err == nil {
			for i, a := range answers {
				out[i].Out, out[i].Err = n.judged(cmds[i], a.out, true)
			}
			return out, nil
		}
		if !errors.Is(err, errUnclear) {
			return nil, err
		}
		n.slow = true
		if err := n.drain(ctx); err != nil {
			return nil, err
		}
	}
	for i, cmd := range cmds {
		out[i].Out, out[i].Err = n.Show(ctx, cmd)
		if _, refused := errors.AsType[*LineError](out[i].Err); out[i].Err != nil && !refused {
			return nil, out[i].Err
		}
		if len(cmds) == 1 {
			break
		}
		// An empty line is answered by the prompt alone, or by what was left.
		if rest, err := n.Show(ctx, ""); err != nil || strings.TrimSpace(rest) != "" {
			return nil, n.end(n.fail(ErrLost, fmt.Errorf("the answer to %q goes on behind a line like the prompt", cmd)))
		}
	}
	return out, nil
}

// answer is the output of a line, and the level that it ended at.
type answer struct{ out, at string }

// converse sends lines at once and reads their answers; prompt is that of each, ""
// for any. The error wraps errUnclear where the answers cannot be told apart; the
// shell can still be used.
func (n *Network) converse(ctx context.Context, lines []string, prompt string) ([]answer, error) {
	for _, l := range lines {
		if err := n.s.oneLine(l); err != nil {
			return nil, err
		}
	}
	text := strings.Join(lines, "\n")
	call := n.s.c.log.Begin("ssh lines", func() string { return text })
	t := talk{n: n, lines: lines, prompt: prompt}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(len(lines))*n.s.c.commandTimeout)
	defer cancel()
	err := n.s.do(ctx, func(ctx context.Context) error {
		if err := n.s.driver.Channel.WriteAndReturn([]byte(text), false); err != nil {
			return err
		}
		return t.read(ctx)
	})
	call.End(func() string { return string(t.out) }, err)
	if err != nil {
		return nil, err
	}
	return t.judge()
}

// drain ends a line that is half there, reads until nothing comes any more, and notes
// the level that the shell is at.
func (n *Network) drain(ctx context.Context) error {
	return n.s.do(ctx, func(ctx context.Context) error {
		var last []byte
		err := n.s.driver.Channel.WriteReturn()
		for err == nil {
			wait, cancel := context.WithTimeout(ctx, patience)
			var b []byte
			b, err = n.s.read(wait)
			cancel()
			if len(b) > 0 {
				last = lastLine(append(last, b...))
				n.at = n.level(string(last))
			}
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return nil
		}
		return err
	})
}

// talk is what a device says to lines that were sent at once.
type talk struct {
	n      *Network
	lines  []string
	prompt string
	out    []byte

	seen   int // bytes of out that are taken apart
	looked int // bytes of out in which the end of the next line is not
	said   []said
}

// said is where in an output the answer to a line stands.
type said struct {
	from, to int
	at       string // the level of the prompt behind it
}

// read reads until all lines are answered, or nothing comes any more. Each line
// has the time of a command.
func (t *talk) read(ctx context.Context) error {
	for {
		limit := t.n.s.c.commandTimeout
		waits := t.waits()
		if waits {
			// What the device does not read now it has lost.
			limit = min(limit, grace)
		}
		wait, cancel := context.WithTimeout(ctx, limit)
		b, err := t.n.s.read(wait)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && waits:
			return nil
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			t.n.s.pty.end()
			return contextError("shell", t.n.s.c.addr, wait)
		case err != nil:
			return err
		}
		t.out = append(t.out, b...)
		if t.part(); len(t.said) == len(t.lines) && t.ends() {
			return nil
		}
	}
}

// waits reports whether the device waits for input, at a prompt or in the midst of a
// line whose rest it has lost.
func (t *talk) waits() bool {
	last := string(lastLine(t.out))
	at := strings.LastIndexAny(last, "#>") + 1
	typed := strings.TrimLeft(last[at:], " ")
	return stopped(t.out, t.n.stops()) || at > 0 && typed != "" && t.n.level(last[:at]) != "" &&
		slices.ContainsFunc(t.lines[len(t.said):], func(l string) bool { return strings.HasPrefix(l, typed) })
}

// ends reports whether the prompt behind the last answer is there.
func (t *talk) ends() bool {
	if t.prompt == "" {
		return stopped(t.out, t.n.stops())
	}
	out := t.out[t.said[len(t.said)-1].from:]
	return string(bytes.TrimRight(lastLine(out[:len(out)-len(messages(out))]), " ")) == t.prompt
}

// part takes the whole lines of the output apart: the echo of the next line, at
// its prompt, ends the answer to the one before.
func (t *talk) part() {
	for len(t.said) < len(t.lines) {
		end := bytes.IndexByte(t.out[max(t.seen, t.looked):], '\n')
		if end < 0 {
			t.looked = len(t.out)
			return
		}
		end += max(t.seen, t.looked)
		from, l := t.seen, t.out[t.seen:end]
		t.seen = end + 1
		i := len(t.said)
		prompt, ok := bytes.CutSuffix(bytes.TrimRight(l, " "), []byte(t.lines[i]))
		if !ok || len(prompt) > longest {
			continue
		}
		if i > 0 {
			if before := t.out[t.said[i-1].from:from]; len(prompt) == 0 && len(messages(before)) > 0 {
				prompt = lastLine(before[:len(before)-len(messages(before))])
				from -= len(messages(before)) + len(prompt)
			}
			at := t.n.level(string(prompt))
			if at == "" || t.prompt != "" && string(bytes.TrimRight(prompt, " ")) != t.prompt {
				continue
			}
			t.said[i-1].to, t.said[i-1].at = from, at
		}
		// The prompt of the first was there before.
		t.said = append(t.said, said{from: t.seen})
	}
}

// judge returns the answers. Text of another line in one of them, or a refusal
// that does not begin its line, says that the output is not in order: a terminal
// may echo what it has not read yet in the midst of it.
func (t *talk) judge() ([]answer, error) {
	n := t.n
	all := t.out[:len(t.out)-len(messages(t.out))]
	last := string(lastLine(all))
	n.at = n.level(last)
	unclear := func(l string) error {
		return n.fail(errUnclear, fmt.Errorf("%q after %d of %d lines", clip(l), len(t.said), len(t.lines)))
	}
	switch {
	case n.at == "" && n.pager != nil && n.pager.MatchString(last):
		return nil, n.end(n.fail(errPager, fmt.Errorf("%q stops at %s", t.lines[max(0, len(t.said)-1)], n.p.Pager)))
	case n.at == "" || len(t.said) < len(t.lines):
		return nil, unclear(last)
	}
	end := &t.said[len(t.said)-1]
	end.to, end.at = len(all)-len(last), n.at
	answers := make([]answer, len(t.lines))
	for i, s := range t.said {
		out := n.plain(string(t.out[s.from:s.to]), t.lines[i])
		answers[i] = answer{out, s.at}
		if t.prompt != "" {
			continue // it may hold any text
		}
		for l := range strings.Lines(out) {
			l = strings.TrimSpace(l)
			if slices.ContainsFunc(t.lines, func(sent string) bool { return strings.HasSuffix(l, sent) }) ||
				slices.ContainsFunc(n.p.Failed, func(f string) bool { return strings.Index(l, f) > 0 }) {
				return nil, unclear(l)
			}
		}
		if n.refusal(out, false) != "" {
			break // nothing that follows matters
		}
	}
	return answers, nil
}
