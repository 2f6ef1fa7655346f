package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"

	xssh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// login holds the authentication methods and the connection to the agent, which is closed after
// the last handshake.
type login struct {
	methods []xssh.AuthMethod
	agent   net.Conn // nil without an agent
}

func (l *login) close() {
	if l.agent != nil {
		// The connection is only read from, so an error of Close does not matter.
		_ = l.agent.Close()
	}
}

// newLogin prepares the methods: keys first, then the password. x/crypto/ssh tries each method
// name only once, so the key from the file and those from the agent must form one method. The
// file's key comes first, because servers disconnect after a number of keys (OpenSSH: MaxAuthTries
// 6).
func newLogin(ctx context.Context, cfg *Config) (*login, error) {
	l := &login{}
	var signers []xssh.Signer
	if cfg.KeyFile != "" {
		s, err := loadKey(cfg.KeyFile)
		if err != nil {
			return nil, err
		}
		signers = append(signers, s)
	}
	if cfg.Agent {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", cfg.AgentSocket)
		if err != nil {
			return nil, newError("connect", cfg.Address, errConfig, fmt.Errorf("cannot reach the ssh-agent: %w", err))
		}
		l.agent = conn
	}
	if len(signers) > 0 || l.agent != nil {
		l.methods = append(l.methods, xssh.PublicKeysCallback(func() ([]xssh.Signer, error) {
			if l.agent == nil {
				return signers, nil
			}
			more, err := agent.NewClient(l.agent).Signers()
			if err != nil {
				return nil, fmt.Errorf("ssh-agent: %w", err)
			}
			return append(signers[:len(signers):len(signers)], more...), nil
		}))
	}
	if pw := cfg.Password.Reveal(); pw != "" {
		l.methods = append(l.methods, xssh.Password(pw), xssh.KeyboardInteractive(answers(pw)))
	}
	return l, nil
}

// answers returns the password for each question that is not echoed. An echoed question asks for
// something else and is an error.
func answers(pw string) xssh.KeyboardInteractiveChallenge {
	return func(_, _ string, questions []string, echos []bool) ([]string, error) {
		out := make([]string, len(questions))
		for i := range questions {
			if echos[i] {
				return nil, fmt.Errorf("device asks for more than a password: %.80q", questions[i])
			}
			out[i] = pw
		}
		return out, nil
	}
}

func loadKey(path string) (xssh.Signer, error) {
	fail := func(err error, hint string) (xssh.Signer, error) {
		return nil, &Error{Op: "read key", Addr: path, Msg: err.Error(), kind: errConfig, cause: err, hint: hint}
	}
	b, err := secret.ReadFile(path)
	if err != nil {
		return fail(err, hint.Of(err))
	}
	s, err := xssh.ParsePrivateKey(b)
	var locked *xssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return fail(errors.New("private key is encrypted"), "add it to an ssh-agent (ssh-add "+path+") and use the agent")
	case err != nil:
		return fail(fmt.Errorf("not a usable private key: %w", err), "")
	}
	return s, nil
}
