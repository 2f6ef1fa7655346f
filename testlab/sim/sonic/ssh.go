package sonic

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// maxInput limits the input of one command.
const maxInput = 32 << 20

var errDenied = errors.New("permission denied")

func (s *Switch) sshConfig() *ssh.ServerConfig {
	c := &ssh.ServerConfig{
		PasswordCallback: func(m ssh.ConnMetadata, pw []byte) (*ssh.Permissions, error) {
			if same(m.User(), s.user) && same(string(pw), s.pass) {
				return nil, nil
			}
			return nil, errDenied
		},
		PublicKeyCallback: func(m ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			for _, k := range s.o.AuthorizedKeys {
				if m.User() == s.user && bytes.Equal(k.Marshal(), key.Marshal()) {
					return nil, nil
				}
			}
			return nil, errDenied
		},
	}
	c.AddHostKey(s.hostKey)
	return c
}

func (s *Switch) serveSSH() {
	conf := s.sshConfig()
	for {
		c, err := s.sshLn.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { s.serveConn(c, conf) })
	}
}

func (s *Switch) serveConn(c net.Conn, conf *ssh.ServerConfig) {
	from := c.RemoteAddr().String()
	sim.ServeSSH(c, conf, &s.wg, func(ch ssh.Channel, requests <-chan *ssh.Request) { s.session(from, ch, requests) })
}

// session serves one channel of a client: an exec command or an interactive shell.
func (s *Switch) session(from string, ch ssh.Channel, requests <-chan *ssh.Request) {
	defer ch.Close()
	ch = s.dice.Channel(ch)
	pty := false
	for r := range requests {
		switch r.Type {
		case "pty-req":
			pty = true
			reply(r, true)
		case "env", "window-change":
			reply(r, true)
		case "exec":
			var p struct{ Command string }
			if ssh.Unmarshal(r.Payload, &p) != nil {
				reply(r, false)
				continue
			}
			reply(r, true)
			ctx, cancel := context.WithCancel(s.ctx)
			s.wg.Go(func() { drain(requests); cancel() })
			if s.faults.hold(ctx) != nil {
				return // the client has given up
			}
			out, errOut := io.Writer(ch), io.Writer(ch.Stderr())
			if pty {
				errOut = ch
			}
			sh := &shell{s: s, from: from, stdin: io.LimitReader(ch, maxInput), stdout: out, stderr: errOut}
			s.sshLn.Used(from)
			s.faults.event(Command)
			code := sh.run(p.Command)
			s.sshLn.Used(from)
			s.faults.event(Status)
			exit(ch, code)
			return
		case "shell":
			reply(r, true)
			s.wg.Go(func() { drain(requests) })
			exit(ch, s.interactive(from, ch, pty))
			return
		default:
			reply(r, false)
		}
	}
}

func reply(r *ssh.Request, ok bool) {
	if r.WantReply {
		_ = r.Reply(ok, nil)
	}
}

func drain(requests <-chan *ssh.Request) {
	for r := range requests {
		reply(r, r.Type == "window-change")
	}
}

func exit(ch ssh.Channel, code int) {
	_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(code)}))
}

// interactive simulates bash on a terminal: it echoes every byte and prompts.
func (s *Switch) interactive(from string, ch ssh.Channel, pty bool) int {
	t := &terminal{ch: ch, echo: pty}
	sh := &shell{s: s, from: from, stdin: t, stdout: t, stderr: t, login: true}
	prompt := func() {
		if pty {
			_, _ = io.WriteString(ch, s.user+"@"+s.o.Name+":~$ ")
		}
	}
	prompt()
	for {
		line, err := t.line()
		if err != nil {
			return sh.status
		}
		s.sshLn.Used(from)
		sh.run(line)
		s.sshLn.Used(from)
		if sh.exited {
			return sh.status
		}
		prompt()
	}
}

// terminal is the line discipline: newlines become CR LF, and input is echoed.
type terminal struct {
	ch   ssh.Channel
	echo bool
	buf  [1]byte
	rest []byte // rest of a line that a command is reading
}

func (t *terminal) Write(p []byte) (int, error) {
	out := p
	if t.echo {
		out = bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))
	}
	if _, err := t.ch.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// line reads up to a newline. End of file on an empty line ends the input.
func (t *terminal) line() (string, error) {
	var b strings.Builder
	for {
		if _, err := io.ReadFull(t.ch, t.buf[:]); err != nil {
			return "", err
		}
		switch c := t.buf[0]; {
		case c == '\n' || c == '\r':
			if t.echo {
				_, _ = io.WriteString(t.ch, "\r\n")
			}
			return b.String(), nil
		case c == 0x04 && t.echo:
			if b.Len() == 0 {
				return "", io.EOF
			}
		case c == 0x03 && t.echo:
			_, _ = io.WriteString(t.ch, "^C\r\n")
			return "", nil
		case c == 0x7f || c == 0x08:
			if v := b.String(); v != "" {
				b.Reset()
				b.WriteString(v[:len(v)-1])
				_, _ = io.WriteString(t.ch, "\b \b")
			}
		default:
			if t.echo {
				_, _ = t.ch.Write(t.buf[:])
			}
			if b.Len() >= maxInput {
				return "", io.ErrShortBuffer
			}
			b.WriteByte(c)
		}
	}
}

// Read returns the input of a command, line by line up to end of file.
func (t *terminal) Read(p []byte) (int, error) {
	if len(t.rest) == 0 {
		l, err := t.line()
		if err != nil {
			return 0, err
		}
		t.rest = []byte(l + "\n")
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}
