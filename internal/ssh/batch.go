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

// Line is one line of a configuration.
type Line struct {
	Text string
	// Depth is the nesting of the mode in which the line is typed; 0 is the batch's own level.
	Depth int
}

// Batch is a list of configuration lines to send together.
type Batch struct {
	// Level is the level at which the lines are typed. Enter is the command that gets there from
	// Home.
	Level, Enter string
	Lines        []Line
	// Drop discards everything typed so far, none of which is active yet. If Drop is nil, each
	// line takes effect at once.
	Drop func(context.Context) error
}

const (
	// burst is the maximum number of bytes sent at once. The input buffer of a terminal holds 4096
	// bytes on Linux (N_TTY_BUF_SIZE); anything beyond is lost. A burst fits into one packet, so
	// all of it has arrived before the device starts on the first line.
	burst = 3 << 10
	// packet is the size that a terminal reads in one piece. Within it the terminal never echoes
	// unread input in the middle of an answer, which may contain any text.
	packet = 1 << 10
	// exit is the command that leaves a mode.
	exit = "exit"
)

// errUnclear reports that the answers to a burst cannot be matched to its lines.
var errUnclear = errors.New("answers do not match the lines")

// Configure enters the level of a batch and sends its lines until one is rejected. That line is
// the [*LineError] in the error; its Number is 0 if the Enter command was rejected. Configure
// returns what the device prints in response to the other lines. The shell stays at the level
// until the next Show or Do.
//
// If the batch has a Drop function, many lines are sent at once. Some lines after a rejected one
// may then be typed too, but never outside the level. If the answers cannot be matched to the
// lines, the batch is dropped and sent again the way a batch without Drop is sent: each line after
// the answer to the previous one.
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
	return n.configure(ctx, b, oneLinePerBurst(b.Lines))
}

// oneLinePerBurst returns one burst per line.
func oneLinePerBurst(lines []Line) [][]int {
	out := make([][]int, len(lines))
	for i := range lines {
		out[i] = []int{i}
	}
	return out
}

// bursts groups the lines into bursts. If the device rejects a line that should have opened a
// mode, the following "exit" leaves the parent mode instead. A burst therefore contains at most as
// many exits as its first line is deep, so it cannot leave the level.
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

// skips reports whether line i is an "exit" that can be left out: the next line other than "exit"
// opens a mode, which ends the current mode anyway.
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
	checkAnswer := func(number int, line, out, at string) error {
		if words := n.refusal(out, false); words != "" {
			return n.fail(errRefused, &LineError{Number: number, Line: line, Words: words})
		}
		if at != b.Level {
			// The following lines would be typed at the wrong level.
			return n.giveUp(n.fail(errRefused, &LineError{Number: number, Line: line, Words: "unexpected prompt: expected that of level " + b.Level}))
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
		err = checkAnswer(0, b.Enter, out, n.at)
	}
	before := -1 // index of the last line judged
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
			if err = checkAnswer(i+1, texts[k], a.out, a.at); err != nil && i > before+1 && n.s.dead == nil {
				// The line may be valid only in the parent mode, which the skipped exit would have
				// entered.
				err = n.fail(errUnclear, fmt.Errorf("the device rejected %q after %q was left out", texts[k], exit))
			}
			if err != nil {
				break
			}
			before = i
		}
	}
	return notes, err
}

// Shown is the answer to one of several show commands.
type Shown struct {
	Out string
	// Err is set if the device rejected the command, as in [Network.Show].
	Err error
}

// ShowAll runs several show commands at Home, like [Network.Show], but sends the next command
// without waiting for the previous answer.
func (n *Network) ShowAll(ctx context.Context, cmds []string) ([]Shown, error) {
	out := make([]Shown, len(cmds))
	if err := n.home(ctx); err != nil {
		return nil, err
	}
	if len(cmds) > 1 && len(strings.Join(cmds, "\n")) < packet && !n.slow {
		answers, err := n.converse(ctx, cmds, n.last)
		if err == nil {
			for i, a := range answers {
				out[i].Out, out[i].Err = n.acceptedAnswer(cmds[i], a.out, true)
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
		// The answer to an empty line is just the prompt. Anything more is the rest of the
		// previous answer.
		if rest, err := n.Show(ctx, ""); err != nil || strings.TrimSpace(rest) != "" {
			return nil, n.giveUp(n.fail(ErrLost, fmt.Errorf("the output of %q continues after a line that looks like the prompt", cmd)))
		}
	}
	return out, nil
}

// answer is the output of a line and the level of the prompt after it.
type answer struct{ out, at string }

// converse sends lines at once and reads their answers. prompt is the expected prompt of each
// line; "" allows any prompt. The error wraps errUnclear if the answers cannot be matched to the
// lines; the shell is then still usable.
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
	return t.checkedAnswers()
}

// drain completes a partly typed line, reads until the device stops printing, and records the
// level of the shell.
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

// talk collects the device's answers to lines that were sent at once.
type talk struct {
	n      *Network
	lines  []string
	prompt string
	out    []byte

	seen   int // bytes of out that have been assigned to answers
	looked int // bytes of out already searched for the next end of line
	said   []said
}

// said is the position of a line's answer in the output.
type said struct {
	from, to int
	at       string // level of the prompt after the answer
}

// read reads until all lines are answered or the device stops printing. Each line may take as long
// as a command.
func (t *talk) read(ctx context.Context) error {
	for {
		limit := t.n.s.c.commandTimeout
		waits := t.waitsForInput()
		if waits {
			// The device is at a prompt: lines it has not read by now are lost.
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
		if t.splitAnswers(); len(t.said) == len(t.lines) && t.lastPromptArrived() {
			return nil
		}
	}
}

// waitsForInput reports whether the device waits for input, either at a prompt or in the middle of
// a line whose rest was lost.
func (t *talk) waitsForInput() bool {
	last := string(lastLine(t.out))
	at := strings.LastIndexAny(last, "#>") + 1
	typed := strings.TrimLeft(last[at:], " ")
	return stopped(t.out, t.n.stops()) || at > 0 && typed != "" && t.n.level(last[:at]) != "" &&
		slices.ContainsFunc(t.lines[len(t.said):], func(l string) bool { return strings.HasPrefix(l, typed) })
}

// lastPromptArrived reports whether the prompt after the last answer has arrived.
func (t *talk) lastPromptArrived() bool {
	if t.prompt == "" {
		return stopped(t.out, t.n.stops())
	}
	out := t.out[t.said[len(t.said)-1].from:]
	return string(bytes.TrimRight(lastLine(out[:len(out)-len(messages(out))]), " ")) == t.prompt
}

// splitAnswers splits the complete lines of the output into answers. The echo of the next line
// after its prompt ends the previous answer.
func (t *talk) splitAnswers() {
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
		// The prompt of the first line was printed before the output begins.
		t.said = append(t.said, said{from: t.seen})
	}
}

// checkedAnswers returns the answers. The output is out of order if an answer contains the text of
// another line, or a rejection that is not at the start of a line: a terminal may echo input that
// it has not yet read in the middle of an answer.
func (t *talk) checkedAnswers() ([]answer, error) {
	n := t.n
	all := t.out[:len(t.out)-len(messages(t.out))]
	last := string(lastLine(all))
	n.at = n.level(last)
	unclear := func(l string) error {
		return n.fail(errUnclear, fmt.Errorf("unexpected output %q after %d of %d lines", clip(l), len(t.said), len(t.lines)))
	}
	switch {
	case n.at == "" && n.pager != nil && n.pager.MatchString(last):
		return nil, n.giveUp(n.fail(errPager, fmt.Errorf("the output of %q stopped at the pager prompt %s", t.lines[max(0, len(t.said)-1)], n.p.Pager)))
	case n.at == "" || len(t.said) < len(t.lines):
		return nil, unclear(last)
	}
	end := &t.said[len(t.said)-1]
	end.to, end.at = len(all)-len(last), n.at
	answers := make([]answer, len(t.lines))
	for i, s := range t.said {
		out := n.withoutLogsAndEcho(string(t.out[s.from:s.to]), t.lines[i])
		answers[i] = answer{out, s.at}
		if t.prompt != "" {
			continue // the output of a show command may contain any text
		}
		for l := range strings.Lines(out) {
			l = strings.TrimSpace(l)
			if slices.ContainsFunc(t.lines, func(sent string) bool { return strings.HasSuffix(l, sent) }) ||
				slices.ContainsFunc(n.p.Failed, func(f string) bool { return strings.Index(l, f) > 0 }) {
				return nil, unclear(l)
			}
		}
		if n.refusal(out, false) != "" {
			break // the later answers do not matter
		}
	}
	return answers, nil
}
