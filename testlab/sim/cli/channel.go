package cli

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// MaxTerminal is the maximum width and length of a terminal.
const MaxTerminal = 32767

// maxInput is the maximum length of a typed line in bytes. A longer line ends the shell.
const maxInput = 64 << 10

var errDenied = errors.New("permission denied")

func (f *Front) sshConfig() *ssh.ServerConfig {
	c := &ssh.ServerConfig{
		PasswordCallback: func(m ssh.ConnMetadata, pw []byte) (*ssh.Permissions, error) {
			if Same(m.User(), f.c.Username) && Same(string(pw), f.c.Password) {
				return nil, nil
			}
			return nil, errDenied
		},
	}
	if f.c.Banner != "" {
		c.BannerCallback = func(ssh.ConnMetadata) string { return strings.TrimRight(f.c.Banner, "\n") + "\n" }
	}
	key := f.hostKey
	if f.c.Faults.On(&f.c.Faults.badCert) {
		key = f.badKey
	}
	c.AddHostKey(key)
	return c
}

func (f *Front) serveSSH() {
	for {
		c, err := f.sshLn.Accept()
		if err != nil {
			return
		}
		f.wg.Go(func() { f.serveConn(c) })
	}
}

func (f *Front) serveConn(c net.Conn) { sim.ServeSSH(c, f.sshConfig(), &f.wg, f.channel) }

// Channel is one channel of an SSH connection: an interactive shell or a single command.
type Channel struct {
	Ctx           context.Context // ends when the client leaves or the switch is closed
	Term          *Terminal
	Single        bool   // a single command
	Command       string // text of the single command
	Width, Length int    // of the requested terminal; 0 without one

	ch ssh.Channel
}

// Raw returns the underlying channel, for a system whose shell has no terminal. Do not use Term
// together with it.
func (c *Channel) Raw() ssh.Channel { return c.ch }

// Exit reports an exit status for a channel that the box ends itself.
func (c *Channel) Exit(status int) {
	_, _ = c.ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(status)}))
}

// channel waits for the client's requests on a channel and serves it.
func (f *Front) channel(ch ssh.Channel, requests <-chan *ssh.Request) {
	defer ch.Close()
	ch = f.c.Shuffler.Channel(ch)
	c := &Channel{ch: ch, Term: &Terminal{ch: ch, faults: f.c.Faults}}
	c.Term.in.change.L = &c.Term.in.mu
	c.Term.start = sync.OnceFunc(func() { f.wg.Go(c.Term.pump) })
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
			c.Width, c.Length = int(min(p.Columns, MaxTerminal)), int(min(p.Rows, MaxTerminal))
			c.Term.PTY = true
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
			c.Single, c.Command = true, p.Command
			// A single command has no terminal, even if the client requested one.
			c.Term.PTY, c.Width, c.Length = false, 0, 0
			f.serve(c, requests)
			return
		case "shell":
			reply(r, true)
			f.serve(c, requests)
			return
		default:
			reply(r, false)
		}
	}
}

// serve runs the shell while it answers further requests on the channel. The context of the shell
// ends when the client closes the channel or disconnects.
func (f *Front) serve(c *Channel, requests <-chan *ssh.Request) {
	ctx, cancel := context.WithCancel(f.ctx)
	f.wg.Go(func() {
		defer cancel()
		for r := range requests {
			reply(r, r.Type == "window-change")
		}
	})
	c.Ctx = ctx
	f.c.Shell(c)
}

func reply(r *ssh.Request, ok bool) {
	if r.WantReply {
		_ = r.Reply(ok, nil)
	}
}
