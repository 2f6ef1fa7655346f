// Package hook takes hosts out of service and puts them back, with the command or the
// webhook that an intent or the command line names.
package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/callout"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// format is the version of the document sent to hooks. Within a version, fields are only
// added.
const format = 1

// defaultTimeout is the timeout of a hook given on the command line.
const defaultTimeout = 10 * time.Minute

type document struct {
	Format int `json:"format"`
	fleet.HookRequest
}

// hook is a command, which succeeds with exit status 0, or a webhook, which succeeds with
// status 2xx.
type hook struct{ callout.To }

// Of returns the hook that an intent configures, restricted to what policy p allows, or nil
// if h is nil. agent is the User-Agent of its requests.
func Of(h *intent.Hook, p *secret.Policy, agent string) fleet.Hook {
	if h == nil {
		return nil
	}
	return &hook{callout.To{Command: h.Command, URL: h.URL, Token: h.Token, CA: h.CA, Agent: agent, Timeout: h.Timeout, Policy: cmp.Or(p, &secret.Policy{})}}
}

// Typed returns the hook for text typed by the operator: an https:// address, or a command
// for sh.
func Typed(text, agent string) (fleet.Hook, error) {
	switch {
	case strings.HasPrefix(text, "https://"):
		return &hook{callout.To{URL: text, Agent: agent, Timeout: defaultTimeout}}, nil
	case strings.HasPrefix(text, "http://"):
		return nil, errors.New("an address has to be https://")
	case strings.TrimSpace(text) == "":
		return nil, errors.New("neither a command nor an address")
	}
	return &hook{callout.To{Command: []string{"sh", "-c", text}, Agent: agent, Timeout: defaultTimeout}}, nil
}

// Call implements [fleet.Hook].
func (h *hook) Call(ctx context.Context, r fleet.HookRequest, say func(line string)) error {
	doc, err := json.Marshal(document{format, r})
	if err != nil {
		return err
	}
	said := &lines{say: say}
	defer said.end()
	if len(h.Command) > 0 {
		err = h.Run(ctx, doc, environment(r), said, said)
	} else {
		err = h.post(ctx, doc, said)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", r.Event, h, err)
	}
	return nil
}

func (h *hook) post(ctx context.Context, doc []byte, said *lines) error {
	status, answer, err := h.Post(ctx, doc)
	if err != nil {
		return err
	}
	_, _ = said.Write(answer) // never fails
	if status < 200 || status > 299 {
		return fmt.Errorf("it answers %d %s", status, http.StatusText(status))
	}
	return nil
}

// environment returns the variables that describe the request to commands that do not read
// JSON.
func environment(r fleet.HookRequest) (env []string) {
	for _, v := range [][2]string{{"EVENT", r.Event}, {"FABRIC", r.Fabric}, {"DEVICE", r.Device}, {"USER", r.User}, {"HOST", r.Host}} {
		env = append(env, fmt.Sprintf("ROCE_FABRIC_%s=%s", v[0], v[1]))
	}
	return env
}

// Limits on the output of a hook that is shown: characters per line, and lines.
const (
	maxLine  = 400
	maxLines = 200
)

// lines calls say for each line written to it, up to maxLines lines.
type lines struct {
	say func(line string)

	mu   sync.Mutex
	part []byte
	n    int
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range p {
		switch {
		case b == '\n':
			l.flush()
		case len(l.part) < 4*maxLine:
			l.part = append(l.part, b)
		}
	}
	return len(p), nil
}

func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
}

func (l *lines) flush() {
	text := term.Clip(string(l.part), maxLine)
	l.part = l.part[:0]
	if text == "" {
		return
	}
	switch l.n++; {
	case l.n <= maxLines:
		l.say(text)
	case l.n == maxLines+1:
		l.say("more output is not shown")
	}
}
