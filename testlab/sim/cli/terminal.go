package cli

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Terminal is the line discipline of a shell: it converts line ends on output and echoes input.
type Terminal struct {
	// PTY is false if the client requested no terminal: nothing is echoed, lines end in LF and
	// output is not paged.
	PTY bool
	// Echo, if set, is called before a byte is echoed and may wait. If it returns true, the echo
	// is written at once.
	Echo func() bool
	// End, if set, returns the line end for output; the default is CR LF.
	End func() string

	ch     ssh.Channel
	faults *Faults
	start  func() // starts pump once
	in     input
	out    []byte // echo not yet written
	cr     bool   // the last line ended in CR, so a following LF belongs to it
	lines  int    // number of prompts
	write  sync.Mutex
}

// InputBuffer is the number of bytes of unread input that a terminal keeps (N_TTY_BUF_SIZE of
// Linux).
const InputBuffer = 4096

// input is the unread input. Input that arrives when the buffer is full is lost, as in canonical
// mode. Without a terminal, the client has to wait instead.
type input struct {
	mu      sync.Mutex
	change  sync.Cond
	typed   []byte
	reading bool
	err     error
}

// pump reads the client's input until the client is gone.
func (t *Terminal) pump() {
	in := &t.in
	buf := make([]byte, 32<<10)
	for {
		n, err := t.ch.Read(buf)
		in.mu.Lock()
		ahead := t.PTY && !in.reading && t.faults.On(&t.faults.echoAhead)
		b := buf[:n]
		for len(b) > 0 {
			room := InputBuffer - len(in.typed)
			if room == 0 && t.PTY {
				break
			}
			if room == 0 {
				in.change.Wait()
				continue
			}
			k := min(room, len(b))
			in.typed = append(in.typed, b[:k]...)
			b = b[k:]
			in.change.Broadcast()
		}
		if err != nil {
			in.err = err
		}
		in.change.Broadcast()
		in.mu.Unlock()
		if ahead {
			t.put([]byte(strings.ReplaceAll(string(buf[:n]), "\n", t.end())))
		}
		if err != nil {
			return
		}
	}
}

// ReadByte reads a byte of input.
func (in *input) ReadByte() (byte, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.typed) == 0 {
		if in.err != nil {
			return 0, in.err
		}
		in.change.Wait()
	}
	c := in.typed[0]
	in.typed = in.typed[1:]
	in.change.Broadcast()
	return c, nil
}

// Buffered returns the number of unread bytes.
func (in *input) Buffered() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.typed)
}

// read sets whether a line is being read. If drop is set, it discards earlier input.
func (in *input) read(reading, drop bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.reading = reading
	if drop {
		in.typed = nil
	}
	in.change.Broadcast()
}

// put writes to the client.
func (t *Terminal) put(b []byte) error {
	t.write.Lock()
	defer t.write.Unlock()
	_, err := t.ch.Write(b)
	return err
}

func (t *Terminal) end() string {
	if t.End != nil {
		return t.End()
	}
	return "\r\n"
}

// Print prints text whose lines end in LF. It ignores write errors, because a later read notices
// that the client is gone.
func (t *Terminal) Print(text string) {
	if t.PTY {
		text = strings.ReplaceAll(text, "\n", t.end())
	}
	_ = t.put([]byte(text))
}

// key reads one byte without echoing it.
func (t *Terminal) key() (byte, error) { return t.in.ReadByte() }

// show echoes text. The echo of typed-ahead input is collected and written at once, but always
// before the next wait for the client.
func (t *Terminal) show(text string) error {
	t.out = append(t.out, text...)
	slow := t.Echo != nil && t.Echo()
	if !slow && t.in.Buffered() > 0 {
		return nil
	}
	return t.flush()
}

func (t *Terminal) flush() error {
	if len(t.out) == 0 {
		return nil
	}
	err := t.put(t.out)
	t.out = t.out[:0]
	return err
}

// logMessage is a message that a box logs to its terminals.
const logMessage = "2026 Nov 25 11:22:33 sw1 %ETHPORT-5-IF_UP: Interface Ethernet9 is up\n"

// Prompt prints a prompt before a line is read.
func (t *Terminal) Prompt(text string) {
	if !t.PTY {
		return
	}
	t.start()
	t.in.read(true, t.faults.On(&t.faults.flushInput))
	t.Print(text)
	if t.lines++; t.lines%2 == 0 && t.faults.On(&t.faults.logs) {
		t.Print("\n" + logMessage)
	}
}

// Line reads a line up to CR, LF or CR LF. It echoes the line as a terminal of the given width
// does, with the cursor starting at column; a hidden line is not echoed. The error is io.EOF for
// Ctrl-D on an empty line.
func (t *Terminal) Line(column, width int, hidden bool) (string, error) {
	t.start()
	t.in.read(true, false)
	defer t.in.read(false, false)
	logs := t.PTY && !hidden && t.faults.On(&t.faults.logs)
	var b bytes.Buffer
	show := func(text string) error {
		if !t.PTY || hidden {
			return nil
		}
		return t.show(text)
	}
	for {
		c, err := t.key()
		if err != nil {
			return "", err
		}
		after := t.cr
		t.cr = false
		switch {
		case c == '\n' && after:
		case c == '\r' || c == '\n':
			t.cr = c == '\r'
			if t.PTY {
				t.out = append(t.out, t.end()...)
			}
			t.in.read(false, false) // before the client sees that the line was accepted
			err := t.flush()
			if logs && t.lines%2 == 1 {
				t.Print(logMessage)
			}
			return b.String(), err
		case c == 0x04 && b.Len() == 0:
			return "", io.EOF
		case c == 0x03: // Ctrl-C discards the line
			if t.PTY {
				t.out = append(t.out, "^C"+t.end()...)
			}
			return "", t.flush()
		case c == 0x15: // Ctrl-U
			err = show(strings.Repeat("\b \b", b.Len()))
			b.Reset()
		case c == 0x7f || c == 0x08:
			if b.Len() > 0 {
				b.Truncate(b.Len() - 1)
				err = show("\b \b")
			}
		case c < 0x20:
		case b.Len() >= maxInput:
			return "", io.ErrShortBuffer
		default:
			b.WriteByte(c)
			text := string([]byte{c})
			if at := column + b.Len(); width > 0 && at%width == 0 {
				text += " \r" // the line editor moves to the next row
			}
			err = show(text)
		}
		if err != nil {
			return "", err
		}
	}
}

// More is the pager's prompt at the end of a screen.
const More = "--More--"

// Page prints text in screens of length lines and waits for a key after each: space for the next
// screen, Enter for one line, q to quit. Length 0 disables paging.
func (t *Terminal) Page(text string, length int) {
	lines := strings.SplitAfter(text, "\n")
	room := length - 1
	if !t.PTY || room < 1 || len(lines)-1 <= room {
		t.Print(text)
		return
	}
	next := room
	for len(lines) > 0 {
		n := min(next, len(lines))
		t.Print(strings.Join(lines[:n], ""))
		lines = lines[n:]
		if len(lines) == 0 || len(lines) == 1 && lines[0] == "" {
			return
		}
		t.Print(More)
		t.in.read(true, false)
		for next = 0; next == 0; {
			c, err := t.key()
			if err != nil {
				return // the next read of a line returns the same error
			}
			switch c {
			case ' ':
				next = room
			case '\r', '\n':
				next = 1
			case 'q', 'Q', 0x03:
				next = -1
			}
		}
		t.in.read(false, false)
		t.Print("\r" + strings.Repeat(" ", len(More)) + "\r")
		if next < 0 {
			return
		}
	}
}
