package term

import (
	"io"
	"os"
	"sync/atomic"
)

// Screen is a terminal that is shared by results, messages and one progress line.
type Screen struct{ line atomic.Pointer[Progress] }

// Above returns a writer to f. If f is a terminal, the text appears above the progress line.
func (s *Screen) Above(f *os.File) io.Writer {
	if IsTerminal(f) {
		return &Above{s, f}
	}
	return f
}

// Above writes text above the progress line of a screen.
type Above struct {
	screen *Screen
	w      io.Writer
}

// Write writes text in place of the progress line, which is redrawn below the text.
func (a *Above) Write(text []byte) (int, error) {
	if line := a.screen.line.Load(); line != nil {
		return line.writeAbove(a.w, text)
	}
	return a.w.Write(text)
}

// File returns the file that w is or writes to, or nil if there is none.
func File(w io.Writer) *os.File {
	if a, ok := w.(*Above); ok {
		w = a.w
	}
	f, _ := w.(*os.File)
	return f
}
