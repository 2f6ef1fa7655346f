// Package remote works on the NICs of a host from the operator's machine: it copies the program to
// the host over SSH, unless a copy with the same digest is there, starts it as an agent and
// communicates with it through nic/agent's protocol.
//
// A [Host] implements nic/agent's Machine, so that callers need not know whether they work locally
// or remotely. Host keys are checked as strictly as in internal/ssh. The host's login shell runs
// only constant scripts with hexadecimal arguments, and all information about a machine's settings
// is exchanged as JSON.
//
// Do not read or write settings with shell commands here; use the agent.
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

// Errors of the package, wrapped; test with errors.Is. The errors of internal/ssh and nic/agent are
// passed on.
var (
	// ErrBinary: the program to copy cannot be read, is not a Linux program or is not static.
	ErrBinary = errors.New("not a program for a Linux host")
	// ErrArch: the host has another processor or system and cannot run the program.
	ErrArch = errors.New("this program cannot run on the host (other CPU or OS)")
	// ErrCopy: the program did not arrive on the host.
	ErrCopy = errors.New("the program cannot be copied to the host")
	// ErrSudo: sudo did not run the agent.
	ErrSudo = errors.New("sudo refuses")
	// ErrOptions: the Options are contradictory. Nothing was sent.
	ErrOptions = errors.New("unusable options")
)

// Sudo says how the agent becomes root.
type Sudo string

// Ways to become root. Without one, a login other than root can read only what any user can.
const (
	SudoNone       Sudo = "none" // same as ""
	SudoNoPassword Sudo = "nopassword"
	SudoPassword   Sudo = "password"
)

// Options say what runs on a host, and how.
type Options struct {
	// Binary is the path of a static program for the host's processor; "" stands for the running
	// program.
	Binary string
	// Dynamic allows a program that needs a loader and libraries on the host.
	Dynamic bool
	Sudo    Sudo
	// Password is the password for sudo with SudoPassword. It is sent once, on standard input, when
	// sudo asks.
	Password secret.Secret
}

// Time limits within Open if its context has no deadline.
const (
	probeTimeout = 30 * time.Second
	copyTimeout  = 10 * time.Minute
)

// maxOutput is the maximum output of the scripts, in bytes.
const maxOutput = 64 << 10

// Host is a host to which the program was copied; its methods are those of [agent.Client].
type Host struct {
	*agent.Client

	conn    *ssh.Client
	options Options
	program string // digest of the program
}

// Open connects to a host and makes sure that the program is there. One command is enough if it is;
// otherwise tens of megabytes are copied. The errors are those of [ssh.Dial] and of this package.
// The caller must close the Host.
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

// Close closes the connection and stops what runs over it. The program stays on the host.
func (h *Host) Close() error { return h.conn.Close() }

func (h *Host) fail(err error, advice string) error {
	return hint.With(fmt.Errorf("%s: %w", h.conn.Addr(), err), advice)
}

// folder is the directory of the programs on a host, each named after its digest. The scripts need
// a POSIX shell, which the login shell need not be.
const folder = `${HOME:?}/.cache/roce-fabric`

// probeScript prints the system, the processor, the digest of the existing program, and the address
// from which the host is reached, as provided by sshd (sshd(8), SSH_CONNECTION).
const probeScript = `f="` + folder + `/$1"; h=-; ` +
	`if [ -f "$f" ] && chmod 700 "$f" 2>/dev/null; then h=$(sha256sum <"$f") || h=-; fi; ` +
	`echo "roce-fabric|$(uname -s)|$(uname -m)|${h%% *}|${SSH_CONNECTION%% *}"`

// copyScript stores its input. If the digest does not match, it exits with status 3 and leaves
// nothing behind.
const copyScript = `set -e; umask 077; d="` + folder + `"; mkdir -p "$d"; chmod 700 "$d"; t="$d/.$1.$2"; ` +
	`trap 'rm -f "$t"' EXIT; trap 'exit 4' HUP INT TERM; cat >"$t"; h=$(sha256sum <"$t"); ` +
	`if [ "${h%% *}" = "$1" ]; then chmod 700 "$t"; mv -fT "$t" "$d/$1"; ` +
	`else echo "its digest there is ${h%% *}" >&2; exit 3; fi`

// script returns the command that runs a script with arguments. The arguments must be hexadecimal,
// which no shell interprets. The scripts contain neither backslashes nor exclamation marks, which
// some login shells interpret even within single quotes.
func script(text string, args ...string) string {
	return "sh -c '" + strings.ReplaceAll(text, "'", `'\''`) + "' sh " + strings.Join(args, " ")
}

// prepare makes sure that the program is on the host.
func (h *Host) prepare(ctx context.Context, b *binary) error {
	r, err := h.run(ctx, probeTimeout, script(probeScript, b.digest), nil)
	if err != nil {
		return err
	}
	// A login shell may print other lines first.
	out := strings.Split(strings.TrimSuffix(string(r.Stdout), "\n"), "\n")
	last, ok := strings.CutPrefix(out[len(out)-1], "roce-fabric|")
	f := strings.Split(last, "|")
	if !ok || len(f) != 4 || f[0] == "" || f[1] == "" || r.Status != 0 {
		return h.fail(fmt.Errorf("cannot determine the host's operating system: exit status %d: %s", r.Status, outputLine(r)), "the login needs a shell that runs sh, uname and sha256sum")
	}
	if err := b.runsOn(f[0], f[1]); err != nil {
		return h.fail(err, "name a program for that host: build it with GOOS=linux CGO_ENABLED=0 and the GOARCH of the host")
	}
	// If it is not an address, the default route is used instead.
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
		return h.fail(fmt.Errorf("%w: the copy differs from the program: %s", ErrCopy, outputLine(r)), "the disk may be full, or the program was replaced while it was read")
	case r.Status != 0:
		return h.fail(fmt.Errorf("%w: exit status %d: %s", ErrCopy, r.Status, outputLine(r)), "")
	}
	return nil
}

func (h *Host) run(ctx context.Context, limit time.Duration, cmd string, stdin []byte) (ssh.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return h.conn.Run(ctx, cmd, stdin)
}

// outputLine returns the output of a script, shortened to one line.
func outputLine(r ssh.Result) string {
	s := r.Stderr
	if len(s) == 0 {
		s = r.Stdout
	}
	return clip(string(s))
}

// clip keeps the end of text from the host, which contains the error.
func clip(s string) string {
	const most = 600
	s = s[max(0, len(s)-4*most):]
	if s = term.CleanLine(s); len(s) > most {
		s = "..." + strings.ToValidUTF8(s[len(s)-most:], "")
	}
	return s
}
