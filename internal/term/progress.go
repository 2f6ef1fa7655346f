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

// redraw is the minimum time between two updates of a progress line. With one line per event, the
// terminal would become the bottleneck for ten thousand devices.
const redraw = 100 * time.Millisecond

// ProgressOptions says how to show progress.
type ProgressOptions struct {
	// Label is the start of the line: "plan".
	Label string
	// Total is the number of items; 0 if it is unknown.
	Total int
	// Animate rewrites a single line in place; see [Animate].
	Animate bool
	// Events prints a line for each finished item if Animate is false. Without either, progress is
	// silent.
	Events bool
	// Width returns the number of columns of the terminal. It is called for every redraw, because
	// windows change size. nil means 80 columns.
	Width func() int

	now   func() time.Time
	ticks <-chan time.Time
}

// barWidth is the length of the bar, without its brackets.
const barWidth = 20

// Progress shows the progress of work on many items in one line on standard error: a bar, the
// outcome of the finished items, how many are running and waiting, and the time left. All methods
// may be called from many goroutines.
type Progress struct {
	o       ProgressOptions
	mu      sync.Mutex
	w       io.Writer
	begun   time.Time
	ended   int
	states  ordered.Map[string, int] // number of finished items per state, except done
	running int
	shown   bool // a progress line is on the terminal
	held    bool // an incomplete line of other output is on the terminal
	closed  bool
	stop    chan struct{}
	ticker  sync.WaitGroup
}

// NewProgress starts to show progress on w. If w is an [Above], the progress line stays below what
// is written to w. The caller must call [Progress.Close].
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

// animate redraws the line periodically until the Progress is closed.
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

// Finish counts a running item as finished. If state is "", the item is done, or failed if err is
// not nil. If events are printed, the line shows name, and err as the reason.
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

// Skip counts an item that was never started as finished in a state.
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

// writeAbove writes text in place of the progress line, which is redrawn below the text.
func (p *Progress) writeAbove(w io.Writer, text []byte) (int, error) {
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
	// A line that wraps could not be erased with one carriage return. The last column stays free
	// because some terminals wrap there.
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

// bar returns "[#####...............] ", or "" if the number of items is unknown.
func (p *Progress) bar() string {
	if p.o.Total <= 0 {
		return ""
	}
	full := min(barWidth*p.ended/p.o.Total, barWidth)
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "] "
}

// line returns "[####................] plan 120/500, 2 failed, 32 running, 348 waiting, 12s, about
// 40s left".
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
