package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Console is a command's input and output. Out receives the result and nothing else; Err
// receives messages, progress, warnings and errors. Colour and animation appear only on a
// terminal. With Output "json", both streams are for programs, and Err has one JSON document per
// line.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Color    term.ColorMode
	Output   string // format of the result, such as "text" or "json"
	// Quiet suppresses messages that the caller has already printed.
	Quiet bool

	// hinted holds the hints already printed; each is printed once.
	hinted map[string]bool
}

// Talk prints a message for people to standard error. It prints nothing if Output is "json".
func (c *Console) Talk(format string, args ...any) {
	if c.Output != "json" && !c.Quiet {
		fmt.Fprintf(c.Err, format+"\n", args...)
	}
}

// TalkClean is like Talk but strips control characters, for text that comes from a host.
func (c *Console) TalkClean(format string, args ...any) {
	c.Talk("%s", term.CleanLine(fmt.Sprintf(format, args...)))
}

// Warn prints a warning to standard error.
func (c *Console) Warn(format string, args ...any) {
	if c.Output == "json" {
		c.errLine("warnings", []string{fmt.Sprintf(format, args...)})
		return
	}
	fmt.Fprintln(c.Err, c.styler(c.Err).Yellow("warning:"), term.Clean(fmt.Sprintf(format, args...)))
}

// Error prints an error, followed by its hints.
func (c *Console) Error(err error) {
	type item struct {
		fleet.Error
		Place string `json:"place,omitempty"`
		line  string // as printed for people
	}
	var items []item
	var faults intent.Errors
	var fault *intent.Error
	switch {
	case errors.As(err, &faults):
	case errors.As(err, &fault):
		faults = intent.Errors{fault}
	default:
		it := item{line: err.Error()}
		if e := (*fleet.Error)(nil); errors.As(err, &e) {
			it.Error = *e
		}
		if it.Hint = Advice(err); it.Error.Error() != it.line {
			it.Text = it.line
		}
		items = []item{it}
	}
	for _, f := range faults {
		items = append(items, item{fleet.Error{Text: f.Msg, Hint: f.Hint}, f.Pos.String(), strings.TrimPrefix(f.Error(), ": ")})
	}
	if c.Output == "json" {
		c.errLine("errors", items)
		return
	}
	for _, it := range items {
		fmt.Fprintln(c.Err, c.styler(c.Err).Red("error:"), term.Clean(it.line))
		c.Hint(it.Hint)
	}
}

// Advice returns the hint attached to an error, or "". A [fleet.Error] keeps it in a field.
func Advice(err error) string {
	if advice := hint.Of(err); advice != "" {
		return advice
	}
	if e := (*fleet.Error)(nil); errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// Hint prints a hint unless it is empty or was printed before.
func (c *Console) Hint(hint string) {
	if hint == "" || c.Output == "json" || c.hinted[hint] {
		return
	}
	if c.hinted == nil {
		c.hinted = map[string]bool{}
	}
	c.hinted[hint] = true
	fmt.Fprintln(c.Err, c.styler(c.Err).Dim("hint: "), term.Clean(hint))
}

// errLine writes one JSON line to standard error.
func (c *Console) errLine(key string, v any) {
	// If standard error cannot be written, there is nowhere to report that.
	_ = writeLine(c.Err, map[string]any{"format": Format, key: v})
}

// Line writes v as one JSON line of the result.
func (c *Console) Line(v any) error { return writeLine(c.Out, v) }

func writeLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// CanAsk reports whether standard input is a terminal, so that questions can be asked.
func (c *Console) CanAsk() bool {
	in, ok := c.In.(*os.File)
	return ok && term.IsTerminal(in)
}

// Confirm asks a question that must be answered with "yes". It fails on any other answer, or if
// ctx is cancelled.
func (c *Console) Confirm(ctx context.Context, question string) error {
	fmt.Fprintf(c.Err, "\n%s Type 'yes' to continue: ", c.styler(c.Err).Bold(question))
	answer, _ := c.answer(ctx) // end of input counts as "no"
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(c.Err)
		return errors.New("nothing was written")
	case answer != "yes":
		return errors.New("not confirmed; nothing was written")
	}
	return nil
}

// Progress shows on a terminal how many devices are done; with JSON output it shows nothing. It
// forwards each event to also, which may be nil.
func (c *Console) Progress(also fleet.Progress) fleet.Progress {
	var p *term.Progress
	return func(e fleet.Event) {
		switch {
		case e.Phase == fleet.Waiting:
		case e.Kind == fleet.PhaseBegins:
			p = term.NewProgress(c.Err, term.ProgressOptions{
				Label: string(e.Phase), Total: e.Devices,
				Animate: c.Output != "json" && term.Animate(c.Getenv, terminal(c.Err)),
				Width:   func() int { return term.Width(term.File(c.Err)) },
			})
		case e.Kind == fleet.DeviceBegins:
			p.Start()
		case e.Kind == fleet.DeviceEnds:
			endDevice(p, e)
		case e.Kind == fleet.PhaseEnds:
			p.Close()
		}
		if also != nil {
			also(e)
		}
	}
}

// endDevice updates the progress display when a device ends. A skipped device was never started.
func endDevice(p *term.Progress, e fleet.Event) {
	state := strings.ReplaceAll(string(e.State), "-", " ")
	switch {
	case e.State == fleet.Skipped:
		p.Skip(state)
	case e.Error != nil:
		p.Finish(e.Device, state, e.Error)
	default:
		p.Finish(e.Device, state, nil)
	}
}

// maxDetailedDevices is the largest number of devices for which Steps prints every request.
const maxDetailedDevices = 8

// Steps writes each step to standard error. As JSON, it writes each event of the writing phase,
// because devices may be changed in parallel. For a run over more than maxDetailedDevices devices
// it prints no steps; a message of the gate or of a device is printed when it first occurs, and at
// the end one line lists all devices with the same message.
func (c *Console) Steps() fleet.Progress {
	st := c.styler(c.Err)
	var mu sync.Mutex
	var many bool
	said := map[string]bool{}
	var also ordered.Groups[string, string]
	return func(e fleet.Event) {
		mu.Lock()
		defer mu.Unlock()
		if c.Output == "json" {
			if e.Phase == fleet.Writing {
				c.errLine("event", e)
			}
			return
		}
		again := many && said[e.Text]
		switch {
		case e.Kind == fleet.PhaseBegins && e.Phase == fleet.Writing:
			many = e.Devices > maxDetailedDevices
		case e.Kind == fleet.PhaseEnds:
			for text, names := range also.All() {
				fmt.Fprintf(c.Err, "%s: %s\n", spaced(natural.Fold(names)), text)
			}
			also = ordered.Groups[string, string]{}
		case e.Kind == fleet.WaveBegins:
			fmt.Fprintln(c.Err, st.Bold(fmt.Sprintf("wave %d of %d: %s", e.I+1, e.N, spaced(e.Text))))
		case e.Kind == fleet.GateSays && !again:
			said[e.Text] = true
			fmt.Fprintf(c.Err, "gate: %s\n", term.CleanLine(e.Text))
		case e.Kind == fleet.DeviceSays && again:
			also.Add(term.CleanLine(e.Text), e.Device)
		case e.Kind == fleet.DeviceSays:
			said[e.Text] = true
			fmt.Fprintf(c.Err, "%s: %s\n", e.Device, term.CleanLine(e.Text))
		case e.Kind == fleet.StepBegins && !many:
			fmt.Fprintf(c.Err, "%s %s\n", st.Dim(fmt.Sprintf("%s %d/%d", e.Device, e.I+1, e.N)), term.CleanLine(e.Step.What))
		}
	}
}

// Styler returns the styler for text written to Out.
func (c *Console) Styler() term.Styler { return c.styler(c.Out) }

func (c *Console) styler(w io.Writer) term.Styler {
	return term.NewStyler(term.Color(c.Color, c.Getenv, terminal(w)))
}

func terminal(w io.Writer) bool { return term.IsTerminal(term.File(w)) }

// Text returns a [Text] that writes the result for people to Out.
func (c *Console) Text() *Text { return &Text{W: c.Out, S: c.Styler()} }
