package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/nic/agent"
)

// conn is a connection to one agent on a host.
type conn struct {
	*ssh.Stream
	sudo   Sudo
	stderr *stderr
	stop   chan struct{} // closed to stop the goroutine that answers sudo
	once   sync.Once
	work   sync.WaitGroup
}

var _ agent.Conn = (*conn)(nil)

// startTimeout limits the start of a command; the Client limits what follows.
const startTimeout = 30 * time.Second

// dial starts an agent.
func (h *Host) dial(ctx context.Context) (agent.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	c := &conn{sudo: h.options.Sudo, stop: make(chan struct{}), stderr: &stderr{asked: make(chan struct{}, 2)}}
	prefix, args := "", []string{h.program}
	switch c.sudo {
	case SudoNoPassword:
		prefix = "sudo -n -- "
	case SudoPassword:
		// A unique prompt shows when sudo asks for the password. Without it, the agent would
		// receive the password if sudo does not ask for one.
		var mark [16]byte
		rand.Read(mark[:]) // it never fails
		c.stderr.mark = []byte(hex.EncodeToString(mark[:]))
		c.stderr.password = h.options.Password
		prefix, args = `sudo -S -p "$2" -- `, append(args, string(c.stderr.mark))
	}
	s, err := h.conn.Stream(ctx, script(`exec `+prefix+`"`+folder+`/$1" nic serve`, args...), c.stderr)
	if err != nil {
		return nil, err
	}
	c.Stream = s
	if c.sudo == SudoPassword {
		c.work.Go(c.answer)
	}
	return c, nil
}

// answer sends the password to sudo when it asks the first time. If sudo asks again, the password
// was wrong; further attempts could lock the account.
func (c *conn) answer() {
	select {
	case <-c.stderr.asked:
	case <-c.stop:
		return
	}
	line := append([]byte(c.stderr.password.Reveal()), '\n')
	if _, err := c.Write(line); err != nil {
		return // the end of the stream gives the reason
	}
	select {
	case <-c.stderr.asked:
		_ = c.Stream.Close()
	case <-c.stop:
	}
}

func (c *conn) Wait(ctx context.Context, started bool) error {
	status, err := c.Stream.Wait(ctx)
	text, asks := c.stderr.text()
	switch {
	case !started && asks > 1:
		return hint.With(fmt.Errorf("%w: the password is not accepted", ErrSudo), "check the password of sudo; it is the login's own unless sudoers says rootpw or targetpw")
	case err != nil:
		if text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return err
	case status == 0 && text == "":
		return nil
	}
	err = fmt.Errorf("exit status %d", status)
	if text != "" {
		err = fmt.Errorf("exit status %d: %s", status, text)
	}
	if started {
		return err
	}
	switch c.sudo {
	case SudoNoPassword:
		return hint.With(fmt.Errorf("%w: %w", ErrSudo, err), "allow the login to use sudo without a password, or give sudo's password")
	case SudoPassword:
		return hint.With(fmt.Errorf("%w: %w", ErrSudo, err), "the login has to be in sudoers")
	}
	if status == 126 || status == 127 {
		return hint.With(err, "the program has to be linked statically (CGO_ENABLED=0), and the home folder must not be mounted noexec")
	}
	return err
}

func (c *conn) Close() error {
	c.once.Do(func() { close(c.stop) })
	err := c.Stream.Close()
	c.work.Wait()
	return err
}

// maxStderr is how much of an agent's standard error is kept, in bytes; the end is kept.
const maxStderr = 16 << 10

// stderr keeps the end of what an agent prints to standard error, and detects sudo's prompt.
type stderr struct {
	mark     []byte // sudo's prompt; nil if sudo does not ask
	password secret.Secret
	asked    chan struct{} // receives once for each prompt, up to its capacity

	mu   sync.Mutex
	kept []byte
	asks int
}

// Write implements io.Writer. It never blocks and never fails.
func (s *stderr) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		part := p[:min(len(p), maxStderr)]
		p = p[len(part):]
		s.kept = append(s.kept, part...)
		for len(s.mark) > 0 {
			i := bytes.Index(s.kept, s.mark)
			if i < 0 {
				break
			}
			s.kept = append(s.kept[:i:i], s.kept[i+len(s.mark):]...)
			s.asks++
			select {
			case s.asked <- struct{}{}:
			default:
			}
		}
		if over := len(s.kept) - maxStderr; over > 0 {
			s.kept = append([]byte(nil), s.kept[over:]...)
		}
	}
	return n, nil
}

// text returns the output, safe to print and without the password, and how often sudo asked.
func (s *stderr) text() (string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := string(s.kept)
	if pw := s.password.Reveal(); pw != "" {
		t = strings.ReplaceAll(t, pw, secret.Redacted)
	}
	return clip(t), s.asks
}
