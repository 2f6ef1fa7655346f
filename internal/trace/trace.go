// Package trace logs the requests sent to devices: each operation with its duration and, at
// [slog.LevelDebug], the full request and answer.
//
// No record contains a secret: neither those given to the program nor those that devices print as
// part of their configuration (users, keys, communities). Use it only for traffic with devices;
// output for users does not belong in this log.
package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// Log logs the traffic with one device, or with none until [Log.For] is called. A nil Log logs
// nothing. It is safe for concurrent use.
type Log struct {
	to     *slog.Logger
	hidden *hidden // shared by the logs of all devices
}

// New returns a Log that writes to a handler.
func New(h slog.Handler) *Log { return &Log{to: slog.New(h), hidden: &hidden{}} }

// Open returns a Log that writes to a new file, or to w if file is "", and a function that closes
// it. If whole is set, it also logs requests and answers in full; asJSON selects JSON lines.
func Open(file string, w io.Writer, whole, asJSON bool) (*Log, func() error, error) {
	end := func() error { return nil }
	if file != "" {
		f, err := atomicfile.Stream(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, nil, err
		}
		w, end = f, f.Close
	}
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if whole {
		o.Level = slog.LevelDebug
	}
	if asJSON {
		return New(slog.NewJSONHandler(w, o)), end, nil
	}
	return New(slog.NewTextHandler(w, o)), end, nil
}

// For returns the Log of a device. The secrets are removed from the records of all devices.
func (l *Log) For(device string, secrets ...secret.Secret) *Log {
	if l == nil {
		return nil
	}
	for _, s := range secrets {
		l.hidden.add(s.Reveal())
	}
	return &Log{to: l.to.With("device", device), hidden: l.hidden}
}

// Call is an operation in progress.
type Call struct {
	log         *Log
	op, request string
	began       time.Time
}

// maxShown is the maximum length of a request on one line, in characters.
const maxShown = 100

// Begin starts an operation. It calls request only if l is not nil.
func (l *Log) Begin(op string, request func() string) Call {
	c := Call{log: l, op: op, began: time.Now()}
	if l != nil {
		c.request = l.hidden.clean(request())
	}
	return c
}

// End logs the operation. It calls answer only if answers are logged.
func (c Call) End(answer func() string, err error) {
	if c.log == nil {
		return
	}
	ctx := context.Background()
	whole := c.log.to.Enabled(ctx, slog.LevelDebug)
	level, request := slog.LevelInfo, term.CleanLine(c.request)
	if whole {
		level, request = slog.LevelDebug, c.request
	} else if cut := []rune(request); len(cut) > maxShown {
		request = string(cut[:maxShown]) + "..."
	}
	attrs := []slog.Attr{slog.Duration("took", time.Since(c.began).Round(time.Microsecond)), slog.String("request", request)}
	if err != nil {
		attrs = append(attrs, slog.String("error", c.log.hidden.clean(err.Error())))
	}
	if whole && answer != nil {
		attrs = append(attrs, slog.String("answer", c.log.hidden.clean(answer())))
	}
	c.log.to.LogAttrs(ctx, level, c.op, attrs...)
}

// Data logs traffic that is not an operation, if requests and answers are logged in full.
func (l *Log) Data(op string, b []byte) {
	ctx := context.Background()
	if l == nil || !l.to.Enabled(ctx, slog.LevelDebug) {
		return
	}
	text := fmt.Sprintf("%d bytes", len(b))
	if len(b) <= maxData && utf8.Valid(b) {
		text = l.hidden.clean(string(b))
	}
	l.to.LogAttrs(ctx, slog.LevelDebug, op, slog.String("data", text))
}

// maxData is the longest data that is logged as text. Anything longer is a program being copied to
// a host.
const maxData = 64 << 10

// hidden holds the secrets that the program was given.
type hidden struct {
	mu     sync.RWMutex
	values map[string]bool
}

func (h *hidden) add(value string) {
	if value == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.values == nil {
		h.values = map[string]bool{}
	}
	h.values[value] = true
	if b, err := json.Marshal(value); err == nil {
		h.values[string(b[1:len(b)-1])] = true
	}
}

// These expressions match the forms in which devices print secrets. Hiding too much is better than
// hiding too little.
var (
	// In a configuration line: the word that follows a keyword for a secret and any encoding
	// keywords.
	inLine = lazyre.New(`(?i)\b((?:password|passwd|secret|passkey|passphrase|community|key|key-string|authentication-key|message-digest-key\s+\d+|auth|priv|md5|localizedkey)` +
		`(?:\s+(?:\d{1,2}a?|sha-?\d*|md5|aes(?:-?\d+)?|des|clear|cleartext|encrypted|plaintext|localizedkey))*)[ \t]+("[^"]*"|[^\s"]+)`)
	// A field of a JSON object.
	inJSON = lazyre.New(`(?i)("[^"]*(?:passw(?:or)?d|passkey|secret|passphrase|community|psk|auth[-_]?key|priv[-_]?key|key[-_]string)[^"]*"\s*:\s*)("(?:\\.|[^"\\])*"|[-\d.]+)`)
	// SONiC tables whose keys are secrets.
	inTable = lazyre.New(`("SNMP_(?:COMMUNITY|USER)"\s*:\s*)\{(?:[^{}]|\{[^{}]*\})*\}`)
)

// clean removes secrets and terminal control sequences from a text.
func (h *hidden) clean(text string) string {
	h.mu.RLock()
	for v := range h.values {
		text = strings.ReplaceAll(text, v, secret.Redacted)
	}
	h.mu.RUnlock()
	text = inTable.ReplaceAllString(text, `$1"`+secret.Redacted+`"`)
	text = inJSON.ReplaceAllString(text, `$1"`+secret.Redacted+`"`)
	text = inLine.ReplaceAllString(text, `$1 `+secret.Redacted)
	return term.Clean(text)
}
