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

// base is the root of NVUE's resources (NVUE API).
const base = "/nvue_v1"

// refusal is a request that the switch refused without any effect.
type refusal struct {
	status int
	what   string // "PATCH /revision/3"
	detail string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s: %d %s: %s", r.what, r.status, http.StatusText(r.status), r.detail)
}

// refusedWith reports whether an error is a refusal with one of the statuses.
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

// errFailed means that the switch could not execute a request, or only in part.
var errFailed = errors.New("internal error of the switch")

// hinted is an error with a hint.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint returns the hint.
func (h *hinted) Hint() string { return h.hint }

// at returns the path of a resource from its words, which may contain slashes.
func at(words ...string) string {
	var b strings.Builder
	b.WriteString(base)
	for _, w := range words {
		b.WriteString("/" + url.PathEscape(w))
	}
	return b.String()
}

// query adds parameters to a path, given as alternating names and values.
func query(path string, params ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		q.Set(params[i], params[i+1])
	}
	return path + "?" + q.Encode()
}

// do sends a request and decodes the response into a value unless that is nil. A refusal is a
// [*refusal].
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

// detail returns the reason in a refusal, in one line.
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

// titled matches an error page of the web server in front of NVUE, which answers while NVUE
// restarts.
var titled = lazyre.New(`(?is)^\s*<.*?<title>(.*?)</title>`)

// config reads a configuration: "applied" is the active one, "startup" the one after a restart.
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

// tree parses a configuration. A startup configuration that was never saved is empty.
func tree(raw json.RawMessage) (*native.Config, error) {
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) == nil && len(top) == 0 {
		return &native.Config{Tree: &native.Node{}}, nil
	}
	return native.Parse(raw)
}

// ports returns the names of the switch's ports.
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

// issue is a message in a revision.
type issue struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Severity string `json:"severity"`
}

// revision is a revision as shown by NVUE.
type revision struct {
	State      string `json:"state"`
	Message    string `json:"message"`
	Transition struct {
		Issue    map[string]issue `json:"issue"`
		Progress string           `json:"progress"`
	} `json:"transition"`
}

// UnmarshalJSON also accepts a revision that is wrapped in an object keyed by its ID, as in some
// of NVIDIA's examples.
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
