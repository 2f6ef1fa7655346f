// Package remote works on the NICs of a host from the operator's machine: it
// copies the program to the host over SSH, once by its digest, starts it there
// as an agent and speaks nic/agent's protocol with it.
//
// A [Host] offers a nic/agent Machine, so that a caller need not know whether
// it works here or there. Host keys are as strict as those of internal/ssh. The
// login shell of the host runs nothing but constant scripts whose arguments are
// hexadecimal digits, and all knowledge of a machine's settings comes as JSON.
//
// Do not read or write settings by commands here: the agent is the one way.
package remote

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic/agent"
)

// The errors of the package, wrapped; test with errors.Is. Those of internal/ssh
// and nic/agent come through.
var (
	// ErrBinary: the program to copy cannot be read, is none for Linux or not static.
	ErrBinary = errors.New("not a program for a Linux host")
	// ErrArch: the host cannot run the program: another processor or system.
	ErrArch = errors.New("the host needs another program")
	// ErrCopy: the program did not arrive on the host.
	ErrCopy = errors.New("the program cannot be copied to the host")
	// ErrSudo: sudo does not run the agent.
	ErrSudo = errors.New("sudo refuses")
	// ErrOptions: the Options contradict themselves. Nothing was sent.
	ErrOptions = errors.New("unusable options")
)

// Sudo says how the agent becomes root.
type Sudo string

// The ways. Without one, a login other than root only reads what anybody may.
const (
	SudoNone       Sudo = "none" // "" as well
	SudoNoPassword Sudo = "nopassword"
	SudoPassword   Sudo = "password"
)

// Options say what is run on a host, and how.
type Options struct {
	// Binary is a static program for the host's processor; "" is the running one.
	Binary string
	// Dynamic allows a program that needs a loader and libraries of its host.
	Dynamic bool
	Sudo    Sudo
	// Password is sudo's, for SudoPassword alone. It is sent when sudo asks, once,
	// and on standard input.
	Password secret.Secret
}

// The deadlines of what Open does where its context has none.
const (
	probeTimeout = 30 * time.Second
	copyTimeout  = 10 * time.Minute
)

// maxOutput bounds what the scripts print, in bytes.
const maxOutput = 64 << 10

// Host is a host with the program; its methods are those of [agent.Client].
type Host struct {
	*agent.Client

	conn    *ssh.Client
	options Options
	program string // digest
}

// Open connects to a host and sees to it that the program is there, by one command
// where it is, else by a copy of tens of megabytes. The errors are those of
// [ssh.Dial] and of this package. Close must be called on the Host.
func Open(ctx context.Context, cfg ssh.Config, o Options) (*Host, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Address, err)
	}
	b, err := load(o)
	if err != nil {
		return nil, hint.With(fmt.Errorf("%s: %w", cfg.Address, err), "a copy of this program runs on the host: build it for Linux without cgo, with CGO_ENABLED=0 go build")
	}
	if cfg.MaxOutput == 0 {
		cfg.MaxOutput = maxOutput
	}
	conn, err := ssh.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	h := &Host{conn: conn, options: o, program: b.digest}
	h.Client = &agent.Client{Name: cfg.Address, Dial: h.dial}
	if err := h.prepare(ctx, b); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return h, nil
}

func (o *Options) check() error {
	o.Sudo = cmp.Or(o.Sudo, SudoNone)
	if !slices.Contains([]Sudo{SudoNone, SudoNoPassword, SudoPassword}, o.Sudo) {
		return fmt.Errorf("%w: sudo is %q, not none, nopassword or password", ErrOptions, string(o.Sudo))
	}
	pw := o.Password.Reveal()
	switch {
	case (pw != "") != (o.Sudo == SudoPassword):
		return fmt.Errorf("%w: sudo %s with a password of %d characters", ErrOptions, o.Sudo, len(pw))
	case strings.ContainsAny(pw, "\r\n\x00"):
		return fmt.Errorf("%w: the password of sudo has more than one line", ErrOptions)
	}
	return nil
}

// Close ends the connection and what runs on it. The program stays on the host.
func (h *Host) Close() error { return h.conn.Close() }

func (h *Host) fail(err error, advice string) error {
	return hint.With(fmt.Errorf("%s: %w", h.conn.Addr(), err), advice)
}

// folder is where programs are on a host, each under its digest. The scripts
// are for a POSIX shell: the login shell may be another.
const folder = `${HOME:?}/.cache/roce-fabric`

// probeScript prints system, processor, the digest of the program that is there,
// and the address that the host is reached from, which sshd states (sshd(8),
// SSH_CONNECTION).
const probeScript = `f="` + folder + `/$1"; h=-; ` +
	`if [ -f "$f" ] && chmod 700 "$f" 2>/dev/null; then h=$(sha256sum <"$f") || h=-; fi; ` +
	`echo "roce-fabric|$(uname -s)|$(uname -m)|${h%% *}|${SSH_CONNECTION%% *}"`

// copyScript stores its input. It ends with status 3 where the digest of what
// came is another, and leaves nothing behind then.
const copyScript = `set -e; umask 077; d="` + folder + `"; mkdir -p "$d"; chmod 700 "$d"; t="$d/.$1.$2"; ` +
	`trap 'rm -f "$t"' EXIT; trap 'exit 4' HUP INT TERM; cat >"$t"; h=$(sha256sum <"$t"); ` +
	`if [ "${h%% *}" = "$1" ]; then chmod 700 "$t"; mv -fT "$t" "$d/$1"; ` +
	`else echo "its digest there is ${h%% *}" >&2; exit 3; fi`

// script makes a command of a script and arguments, which have to be
// hexadecimal: no shell takes those for anything else. The scripts hold neither
// backslash nor exclamation mark, which some login shells heed within single
// quotes.
func script(text string, args ...string) string {
	return "sh -c '" + strings.ReplaceAll(text, "'", `'\''`) + "' sh " + strings.Join(args, " ")
}

// prepare has the program on the host.
func (h *Host) prepare(ctx context.Context, b *binary) error {
	r, err := h.run(ctx, probeTimeout, script(probeScript, b.digest), nil)
	if err != nil {
		return err
	}
	// A login shell may print more before.
	out := strings.Split(strings.TrimSuffix(string(r.Stdout), "\n"), "\n")
	last, ok := strings.CutPrefix(out[len(out)-1], "roce-fabric|")
	f := strings.Split(last, "|")
	if !ok || len(f) != 4 || f[0] == "" || f[1] == "" || r.Status != 0 {
		return h.fail(fmt.Errorf("the host does not show its system: exit status %d: %s", r.Status, said(r)), "the login needs a shell that runs sh, uname and sha256sum")
	}
	if err := b.runsOn(f[0], f[1]); err != nil {
		return h.fail(err, "name a program for that host: build it with GOOS=linux CGO_ENABLED=0 and the GOARCH of the host")
	}
	// Where it is not an address, the default route stands in.
	if peer, err := netip.ParseAddr(f[3]); err == nil {
		h.Peer = peer.Unmap()
	}
	if f[2] == b.digest {
		return nil
	}
	return h.copy(ctx, b)
}

func (h *Host) copy(ctx context.Context, b *binary) error {
	var tag [8]byte
	rand.Read(tag[:]) // it never fails
	r, err := h.run(ctx, copyTimeout, script(copyScript, b.digest, hex.EncodeToString(tag[:])), b.data)
	switch {
	case err != nil:
		return err
	case r.Status == 3:
		return h.fail(fmt.Errorf("%w: the copy differs from the program: %s", ErrCopy, said(r)), "the disk may be full, or the program was replaced while it was read")
	case r.Status != 0:
		return h.fail(fmt.Errorf("%w: exit status %d: %s", ErrCopy, r.Status, said(r)), "")
	}
	return nil
}

func (h *Host) run(ctx context.Context, limit time.Duration, cmd string, stdin []byte) (ssh.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return h.conn.Run(ctx, cmd, stdin)
}

// said is what a script had to say, short and on one line.
func said(r ssh.Result) string {
	s := r.Stderr
	if len(s) == 0 {
		s = r.Stdout
	}
	return clip(string(s))
}

// clip keeps the end of foreign text: there the failure stands.
func clip(s string) string {
	const most = 600
	s = s[max(0, len(s)-4*most):]
	if s = term.CleanLine(s); len(s) > most {
		s = "..." + strings.ToValidUTF8(s[len(s)-most:], "")
	}
	return s
}
