package eos

import (
	"bufio"
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// maxInput bounds a typed line, in bytes. A longer one ends the shell.
const maxInput = 64 << 10

var errDenied = errors.New("permission denied")

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (f *front) sshConfig() *ssh.ServerConfig {
	c := &ssh.ServerConfig{
		PasswordCallback: func(m ssh.ConnMetadata, pw []byte) (*ssh.Permissions, error) {
			if same(m.User(), f.o.Username) && same(string(pw), f.o.Password) {
				return nil, nil
			}
			return nil, errDenied
		},
	}
	if f.o.Banner != "" {
		c.BannerCallback = func(ssh.ConnMetadata) string { return strings.TrimRight(f.o.Banner, "\n") + "\n" }
	}
	key := f.hostKey
	if f.faults.on(&f.faults.badCert) {
		key = f.badKey
	}
	c.AddHostKey(key)
	return c
}

func (f *front) serveSSH() {
	for {
		c, err := f.sshLn.Accept()
		if err != nil {
			return
		}
		f.wg.Go(func() { f.serveConn(c) })
	}
}

func (f *front) serveConn(c net.Conn) { sim.ServeSSH(c, f.sshConfig(), &f.wg, f.channel) }

// pty is the terminal that a client asked for.
type pty struct{ width, height int }

// channel serves one channel: a single command or an interactive shell.
func (f *front) channel(ch ssh.Channel, requests <-chan *ssh.Request) {
	defer ch.Close()
	var term *pty
	for r := range requests {
		switch r.Type {
		case "pty-req":
			var p struct {
				Term           string
				Columns, Rows  uint32
				WidthPx, Depth uint32
				Modes          string
			}
			if ssh.Unmarshal(r.Payload, &p) != nil {
				reply(r, false)
				continue
			}
			term = &pty{int(min(p.Columns, maxTerminal)), int(min(p.Rows, maxTerminal))}
			reply(r, true)
		case "env", "window-change":
			reply(r, true)
		case "exec":
			var p struct{ Command string }
			if ssh.Unmarshal(r.Payload, &p) != nil || len(p.Command) > maxInput {
				reply(r, false)
				continue
			}
			reply(r, true)
			ctx := f.watch(requests)
			sh := f.newShell(ctx, ch, nil)
			if sh.run(p.Command) {
				exitStatus(ch)
			}
			return
		case "shell":
			reply(r, true)
			sh := f.newShell(f.watch(requests), ch, term)
			if sh.interact() {
				exitStatus(ch)
			}
			return
		default:
			reply(r, false)
		}
	}
}

// watch answers the rest of a channel's requests and returns a context that
// ends when the client closes the channel or is gone.
func (f *front) watch(requests <-chan *ssh.Request) context.Context {
	ctx, cancel := context.WithCancel(f.ctx)
	f.wg.Go(func() {
		defer cancel()
		for r := range requests {
			reply(r, r.Type == "window-change")
		}
	})
	return ctx
}

func reply(r *ssh.Request, ok bool) {
	if r.WantReply {
		_ = r.Reply(ok, nil)
	}
}

// exitStatus says 0: what a command made of its work is in its output alone.
func exitStatus(ch ssh.Channel) {
	_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{0}))
}

// terminal is the line discipline of a shell: what is printed gets CR LF, what
// is typed is echoed.
type terminal struct {
	ch   ssh.Channel
	in   *bufio.Reader // of ch
	pty  bool          // without one nothing is echoed and no page ends
	echo func() bool   // waits before a byte is echoed; true: do not gather more
	out  []byte        // echo that is still to be written
	cr   bool          // the last line ended in CR; an LF belongs to it
}

func (t *terminal) print(text string) {
	if t.pty {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	_, _ = io.WriteString(t.ch, text) // a client that is gone is noticed in reading
}

// key reads one byte without an echo.
func (t *terminal) key() (byte, error) { return t.in.ReadByte() }

// show echoes. Typed-ahead bytes are echoed together, always before the next
// wait for the client.
func (t *terminal) show(text string) error {
	t.out = append(t.out, text...)
	if slow := t.echo(); !slow && t.in.Buffered() > 0 {
		return nil
	}
	return t.flush()
}

func (t *terminal) flush() error {
	if len(t.out) == 0 {
		return nil
	}
	_, err := t.ch.Write(t.out)
	t.out = t.out[:0]
	return err
}

// line reads up to CR, LF or CR LF. It echoes in a terminal of the given
// width where column is the place of the cursor; a hidden line is not echoed.
func (t *terminal) line(column, width int, hidden bool) (string, error) {
	var b bytes.Buffer
	show := func(text string) error {
		if !t.pty || hidden {
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
			if t.pty {
				t.out = append(t.out, "\r\n"...)
			}
			return b.String(), t.flush()
		case c == 0x04 && b.Len() == 0:
			return "", io.EOF
		case c == 0x03: // Ctrl-C drops the line
			if t.pty {
				t.out = append(t.out, "^C\r\n"...)
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
				text += " \r" // the line editor goes to the next row
			}
			err = show(text)
		}
		if err != nil {
			return "", err
		}
	}
}
