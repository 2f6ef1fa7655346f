package cumulus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/term"
	native "github.com/roce-fabric/roce-fabric/render/cumulus"
)

// base is where NVUE answers (NVUE API).
const base = "/nvue_v1"

// refusal is a request that the switch says no to; nothing of it was done.
type refusal struct {
	status int
	what   string // "PATCH /revision/3"
	detail string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s: %d %s: %s", r.what, r.status, http.StatusText(r.status), r.detail)
}

// refusedWith reports whether an error is a refusal with one of some statuses.
func refusedWith(err error, statuses ...int) bool {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return false
	}
	for _, s := range statuses {
		if r.status == s {
			return true
		}
	}
	return false
}

// errFailed is a request that the switch could not carry out, or only in part.
var errFailed = errors.New("internal error of the switch")

// hinted is an error with advice.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint returns the advice.
func (h *hinted) Hint() string { return h.hint }

// at is the path of a resource: words of the model, which may hold slashes.
func at(words ...string) string {
	var b strings.Builder
	b.WriteString(base)
	for _, w := range words {
		b.WriteString("/" + url.PathEscape(w))
	}
	return b.String()
}

// query adds parameters to a path: names and values in turns.
func query(path string, params ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		q.Set(params[i], params[i+1])
	}
	return path + "?" + q.Encode()
}

// do asks the switch, and reads its answer into a value unless that is nil. A refusal is
// a [*refusal].
func (d *Driver) do(ctx context.Context, method, path string, body []byte, into any) error {
	if d.http == nil {
		h, err := gnmi.NewHTTP(d.t.GNMI)
		if err != nil {
			return err
		}
		d.http = h
	}
	status, answer, err := d.http.Do(ctx, method, path, body)
	if err != nil {
		return drivers.TransportError(err)
	}
	what := method + " " + strings.TrimPrefix(path, base)
	switch {
	case status >= http.StatusInternalServerError:
		return fmt.Errorf("%w: %s: %d: %s", errFailed, what, status, detail(answer))
	case status == http.StatusForbidden && method == http.MethodGet:
		return fmt.Errorf("%w: %w", drivers.ErrAuth, &hinted{&refusal{status, what, detail(answer)},
			"NVUE forbids everything until the factory password of the user cumulus is changed; another user needs group nvshow or nvapply"})
	case status >= http.StatusMultipleChoices:
		return &refusal{status, what, detail(answer)}
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s: the answer is not JSON: %w", what, err)
	}
	return nil
}

// detail is what an answer says of a refusal, in one line.
func detail(answer []byte) string {
	var problem struct{ Title, Detail string }
	if json.Unmarshal(answer, &problem) == nil && problem.Title+problem.Detail != "" {
		if problem.Detail == "" {
			return term.CleanLine(problem.Title)
		}
		return term.Clip(term.CleanLine(problem.Detail), 300)
	}
	if m := titled.FindSubmatch(answer); m != nil {
		answer = m[1]
	}
	return term.Clip(term.CleanLine(strings.TrimSpace(string(answer))), 300)
}

// titled is a page of the server in front of NVUE, which answers while NVUE restarts.
var titled = lazyre.New(`(?is)^\s*<.*?<title>(.*?)</title>`)

// config reads a configuration: "applied" is the one in force, "startup" what a restart
// brings.
func (d *Driver) config(ctx context.Context, rev string) (*native.Config, error) {
	var raw json.RawMessage
	if err := d.do(ctx, http.MethodGet, query(base+"/", "rev", rev, "filled", "false", "expand", "true"), nil, &raw); err != nil {
		return nil, err
	}
	cfg, err := tree(raw)
	if err != nil {
		return nil, fmt.Errorf("the %s configuration: %w", rev, err)
	}
	f, err := d.Probe(ctx)
	if err != nil {
		return nil, err
	}
	cfg.Release, _ = native.ReleaseOf(f.Release)
	return cfg, nil
}

// tree reads a configuration. One that was never saved has nothing in it.
func tree(raw json.RawMessage) (*native.Config, error) {
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) == nil && len(top) == 0 {
		return &native.Config{Tree: &native.Node{}}, nil
	}
	return native.Parse(raw)
}

// ports are the names of those that the switch has.
func (d *Driver) ports(ctx context.Context) ([]string, error) {
	var all map[string]json.RawMessage
	if err := d.do(ctx, http.MethodGet, query(at("interface"), "rev", "operational", "include", "/*/type"), nil, &all); err != nil {
		return nil, err
	}
	var out []string
	for name := range all {
		if strings.HasPrefix(name, "swp") {
			out = append(out, name)
		}
	}
	return out, nil
}

// issue is what a revision says of itself.
type issue struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Severity string `json:"severity"`
}

// revision is one as NVUE shows it.
type revision struct {
	State      string `json:"state"`
	Message    string `json:"message"`
	Transition struct {
		Issue    map[string]issue `json:"issue"`
		Progress string           `json:"progress"`
	} `json:"transition"`
}

// UnmarshalJSON also reads one that stands in an object with its ID as key, as some
// examples of NVIDIA's have it.
func (r *revision) UnmarshalJSON(b []byte) error {
	type plain revision
	var p plain
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	if p.State == "" {
		var wrapped map[string]plain
		if json.Unmarshal(b, &wrapped) == nil && len(wrapped) == 1 {
			for _, p = range wrapped {
			}
		}
	}
	*r = revision(p)
	return nil
}
