package term

import (
	"io"
	"os"
	"sync/atomic"
)

// Screen is a terminal that results, talk and one progress line share.
type Screen struct{ line atomic.Pointer[Progress] }

// Above returns f, so that what is written to it stands above the progress line where
// it is a terminal.
func (s *Screen) Above(f *os.File) io.Writer {
	if IsTerminal(f) {
		return &Above{s, f}
	}
	return f
}

// Above writes above the progress line of a screen.
type Above struct {
	screen *Screen
	w      io.Writer
}

// Write writes text in the place of the progress line, which is drawn again below it.
func (a *Above) Write(text []byte) (int, error) {
	if line := a.screen.line.Load(); line != nil {
		return line.above(a.w, text)
	}
	return a.w.Write(text)
}

// File returns the file that w is or writes to; nil where there is none.
func File(w io.Writer) *os.File {
	if a, ok := w.(*Above); ok {
		w = a.w
	}
	f, _ := w.(*os.File)
	return f
}
