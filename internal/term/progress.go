package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
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

// Progress shows how far work on many items is, in one aggregated line on
// standard error: done, failed, running, time left. All methods may be called
// from many goroutines.
type Progress struct {
	o       ProgressOptions
	mu      sync.Mutex
	w       io.Writer
	begun   time.Time
	done    int
	failed  int
	running int
	shown   bool // a progress line stands on the terminal
	closed  bool
	stop    chan struct{}
	ticker  sync.WaitGroup
}

// NewProgress begins to show progress on w. The caller must call
// [Progress.Close].
func NewProgress(w io.Writer, o ProgressOptions) *Progress {
	if o.now == nil {
		o.now = time.Now
	}
	if o.Width == nil {
		o.Width = func() int { return 80 }
	}
	p := &Progress{o: o, w: w, begun: o.now(), stop: make(chan struct{})}
	if o.Animate {
		ticks, end := o.ticks, func() {}
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
	return p
}

// Start counts an item as running.
func (p *Progress) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running++
}

// Finish counts an item that was started as done, or with an error as failed.
// Where events are printed, name is its name and err the reason.
func (p *Progress) Finish(name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	word := "done"
	if err != nil {
		p.failed++
		word = "failed: " + CleanLine(err.Error())
	} else {
		p.done++
	}
	if p.o.Events && !p.o.Animate && !p.closed {
		fmt.Fprintf(p.w, "%s %s: %s\n", p.count(), CleanLine(name), word)
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

func (p *Progress) erase() {
	if p.shown {
		io.WriteString(p.w, "\r\x1b[K")
		p.shown = false
	}
}

func (p *Progress) draw() {
	if !p.o.Animate || p.closed {
		return
	}
	line := p.line()
	// A line that wraps could not be erased by one carriage return; the last
	// column stays free because some terminals wrap on it.
	if width := max(p.o.Width()-1, 1); utf8.RuneCountInString(line) > width {
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
		return fmt.Sprintf("%s%d/%d", s, p.done+p.failed, p.o.Total)
	}
	return fmt.Sprintf("%s%d", s, p.done+p.failed)
}

// line is "plan 120/500, 2 failed, 32 running, 12s, about 40s left".
func (p *Progress) line() string {
	elapsed := p.o.now().Sub(p.begun)
	parts := []string{p.count()}
	if p.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", p.failed))
	}
	if p.running > 0 {
		parts = append(parts, fmt.Sprintf("%d running", p.running))
	}
	parts = append(parts, elapsed.Truncate(time.Second).String())
	if n := p.done + p.failed; n > 0 && n < p.o.Total {
		left := time.Duration(float64(elapsed) / float64(n) * float64(p.o.Total-n))
		parts = append(parts, "about "+left.Round(time.Second).String()+" left")
	}
	return strings.Join(parts, ", ")
}
