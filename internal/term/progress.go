package term

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// redraw is how often a progress line is written at most. A line per event
// would make a terminal the bottleneck of ten thousand devices.
const redraw = 100 * time.Millisecond

// ProgressOptions say how progress is shown.
type ProgressOptions struct {
	// Label begins the line: "plan".
	Label string
	// Total is the number of items; 0 where it is not known.
	Total int
	// Animate shows one line that is rewritten in place; see [Animate].
	Animate bool
	// Events prints a line for each finished item where Animate is false.
	// Without either, progress is silent.
	Events bool
	// Width returns the columns of the terminal, asked on every redraw
	// because windows change; nil is 80.
	Width func() int

	now   func() time.Time
	ticks <-chan time.Time
}

// barWidth is the length of the bar, without its brackets.
const barWidth = 20

// Progress shows how far work on many items is, in one aggregated line on
// standard error: a bar, what became of the items, how many run and wait, and the time
// left. All methods may be called from many goroutines.
type Progress struct {
	o       ProgressOptions
	mu      sync.Mutex
	w       io.Writer
	begun   time.Time
	ended   int
	states  ordered.Map[string, int] // of those that ended, but for done
	running int
	shown   bool // a progress line stands on the terminal
	held    bool // a line that is not whole stands there
	closed  bool
	stop    chan struct{}
	ticker  sync.WaitGroup
}

// NewProgress begins to show progress on w, below what is written to it if it is
// an [Above]. The caller must call [Progress.Close].
func NewProgress(w io.Writer, o ProgressOptions) *Progress {
	if o.now == nil {
		o.now = time.Now
	}
	if o.Width == nil {
		o.Width = func() int { return 80 }
	}
	p := &Progress{o: o, w: w, begun: o.now(), stop: make(chan struct{})}
	if above, ok := w.(*Above); ok {
		p.w = above.w
		above.screen.line.Store(p)
	}
	if o.Animate {
		p.animate()
	}
	return p
}

// animate draws the line again and again until it is closed.
func (p *Progress) animate() {
	ticks, end := p.o.ticks, func() {}
	if ticks == nil {
		t := time.NewTicker(redraw)
		ticks, end = t.C, t.Stop
	}
	p.ticker.Go(func() {
		defer end()
		for {
			select {
			case <-p.stop:
				return
			case <-ticks:
				p.mu.Lock()
				p.draw()
				p.mu.Unlock()
			}
		}
	})
}

// Start counts an item as running.
func (p *Progress) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running++
}

// Finish counts an item that was started as ended: in a state, or where that is "", as
// done or with an error as failed. Where events are printed, name is its name and err
// the reason.
func (p *Progress) Finish(name, state string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	word := cmp.Or(state, "done")
	if err != nil {
		state = cmp.Or(state, "failed")
		word = state + ": " + CleanLine(err.Error())
	}
	p.end(state)
	if p.o.Events && !p.o.Animate && !p.closed {
		fmt.Fprintf(p.w, "%s %s: %s\n", p.count(), CleanLine(name), word)
	}
}

// Skip counts an item that was not started as ended in a state.
func (p *Progress) Skip(state string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(state)
}

func (p *Progress) end(state string) {
	if p.ended++; state != "" {
		*p.states.At(state)++
	}
}

// Close removes the progress line. It may be called more than once.
func (p *Progress) Close() {
	p.mu.Lock()
	if !p.closed {
		p.erase()
		p.closed = true
		close(p.stop)
	}
	p.mu.Unlock()
	p.ticker.Wait()
}

// above writes text in the place of the line, which is drawn again below it.
func (p *Progress) above(w io.Writer, text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.held = !bytes.HasSuffix(text, []byte("\n"))
	return w.Write(text)
}

func (p *Progress) erase() {
	if p.shown {
		io.WriteString(p.w, "\r\x1b[K")
		p.shown = false
	}
}

func (p *Progress) draw() {
	if p.closed || p.held {
		return
	}
	// A line that wraps could not be erased by one carriage return; the last
	// column stays free because some terminals wrap on it.
	width := max(p.o.Width()-1, 1)
	line := p.line(p.bar())
	if utf8.RuneCountInString(line) > width {
		line = p.line("")
	}
	if utf8.RuneCountInString(line) > width {
		line = string([]rune(line)[:width])
	}
	p.erase()
	io.WriteString(p.w, line)
	p.shown = true
}

func (p *Progress) count() string {
	s := p.o.Label
	if s != "" {
		s += " "
	}
	if p.o.Total > 0 {
		return fmt.Sprintf("%s%d/%d", s, p.ended, p.o.Total)
	}
	return fmt.Sprintf("%s%d", s, p.ended)
}

// bar is "[#####...............] ", "" where the number of items is not known.
func (p *Progress) bar() string {
	if p.o.Total <= 0 {
		return ""
	}
	full := min(barWidth*p.ended/p.o.Total, barWidth)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "] "
}

// line is "[####................] plan 120/500, 2 failed, 32 running, 348 waiting, 12s,
// about 40s left".
func (p *Progress) line(bar string) string {
	elapsed := p.o.now().Sub(p.begun)
	parts := []string{bar + p.count()}
	number := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	for state, n := range p.states.All() {
		number(n, state)
	}
	number(p.running, "running")
	number(p.o.Total-p.ended-p.running, "waiting")
	parts = append(parts, elapsed.Truncate(time.Second).String())
	if n := p.ended; n > 0 && n < p.o.Total {
		left := time.Duration(float64(elapsed) / float64(n) * float64(p.o.Total-n))
		parts = append(parts, "about "+left.Round(time.Second).String()+" left")
	}
	return strings.Join(parts, ", ")
}
