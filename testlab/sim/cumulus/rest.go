package cumulus

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// quiet discards the HTTP server's messages about clients that leave.
var quiet = log.New(io.Discard, "", 0)

// maxBody is the maximum size of a request body in bytes.
const maxBody = 16 << 20

// answer is the answer to a request.
type answer struct {
	status int
	body   any
}

func refused(status int, detail string) answer {
	return answer{status, tree{"status": status, "title": http.StatusText(status), "type": "about:blank", "detail": detail}}
}

// serve answers one request.
func (s *Switch) serve(w http.ResponseWriter, r *http.Request) {
	if s.faults.hold(r.Context()) != nil || s.dice.Answer().Pause(r.Context()) != nil {
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	write := r.Method != http.MethodGet
	if write {
		s.mu.Lock()
		s.writes++
		s.mu.Unlock()
		if s.faults.take(&s.faults.dropBefore) {
			s.dropAll()
			return
		}
	}
	a := s.answer(r, body)
	if a.status == 0 {
		return
	}
	var b bytes.Buffer
	if a.body != nil {
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		_ = e.Encode(a.body) // cannot fail: only objects, strings and numbers
	}
	out := b.Bytes()
	w.Header().Set("Content-Type", "application/json")
	if s.faults.on(&s.faults.truncate) && a.status < 300 {
		w.Header().Set("Content-Length", strconv.Itoa(len(out)))
		out = out[:len(out)/2]
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(out)
}

func (s *Switch) answer(r *http.Request, body []byte) answer {
	user, pass, ok := r.BasicAuth()
	if !ok || !cli.Same(user, s.o.Username) || !cli.Same(pass, s.o.Password) {
		return refused(http.StatusUnauthorized, "The server could not verify that you are authorized to access the URL requested.")
	}
	if s.o.Factory || r.Method != http.MethodGet && s.faults.on(&s.faults.readOnly) {
		return refused(http.StatusForbidden, "You don't have the permission to access the requested resource.")
	}
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/nvue_v1")
	if !ok {
		return refused(http.StatusNotFound, "The requested URL was not found on the server.")
	}
	var path []string
	for part := range strings.SplitSeq(strings.Trim(rest, "/"), "/") {
		if part == "" {
			continue
		}
		name, err := url.PathUnescape(part)
		if err != nil {
			return refused(http.StatusBadRequest, "bad path")
		}
		path = append(path, name)
	}
	q := r.URL.Query()
	if len(path) > 0 && path[0] == "revision" {
		return s.onRevision(r.Context(), r.Method, path[1:], body, user)
	}
	if r.Method == http.MethodGet {
		return s.get(path, q)
	}
	return s.stage(r.Method, r.Header.Get("Content-Type"), path, q.Get("rev"), body)
}

// get returns a part of a configuration or of the operational state.
func (s *Switch) get(path []string, q url.Values) answer {
	far := s.far()
	s.mu.Lock()
	defer s.mu.Unlock()
	rev := q.Get("rev")
	config := rev != "" && rev != "operational"
	var t tree
	if !config && q.Get("diff") == "" && len(path) > 1 && path[0] == "interface" {
		t = s.operational(far, path[1])
	} else {
		named, ok := s.named(rev, far)
		if !ok {
			return refused(http.StatusNotFound, "revision "+rev+" does not exist")
		}
		if t = named; config || q.Get("diff") != "" { // the operational state was built for this answer and need not be copied
			t = cloned(named)
		}
	}
	if s.o.Rounded && config {
		s.round(t)
	}
	if with := q.Get("diff"); with != "" {
		other, ok := s.named(with, far)
		if !ok {
			return refused(http.StatusNotFound, "revision "+with+" does not exist")
		}
		t = diff(t, other)
	} else if config && q.Get("filled") != "false" {
		filled := cloned(s.defaults(t))
		merge(filled, t)
		t = filled
	}
	if config && q.Get("expand") != "true" {
		t = compress(t)
	}
	v, ok := at(t, path...)
	if !ok {
		if q.Get("diff") != "" {
			return answer{http.StatusOK, tree{}}
		}
		return refused(http.StatusNotFound, "The requested item does not exist.")
	}
	if include := q.Get("include"); include != "" && s.release >= 511 {
		out := tree{}
		for pattern := range strings.SplitSeq(include, ",") {
			if m, ok := v.(tree); ok {
				pick(out, m, strings.Split(strings.Trim(pattern, "/"), "/"))
			}
		}
		v = out
	}
	return answer{http.StatusOK, v}
}

// pick copies the nodes that match a pattern such as "*/lldp/neighbor".
func pick(into, from tree, pattern []string) {
	for k, v := range from {
		if pattern[0] != "*" && pattern[0] != k {
			continue
		}
		if len(pattern) == 1 {
			into[k] = v
			continue
		}
		sub, _ := into[k].(tree)
		if sub == nil {
			sub = tree{}
		}
		if m, ok := v.(tree); ok {
			pick(sub, m, pattern[1:])
		}
		into[k] = sub
	}
}

// stage changes a pending revision.
func (s *Switch) stage(method, kind string, path []string, rev string, body []byte) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.revisions[rev]
	switch {
	case rev == "":
		return refused(http.StatusBadRequest, "Missing query parameter 'rev'")
	case r == nil:
		return refused(http.StatusNotFound, "revision "+rev+" does not exist")
	case r.state != "pending":
		return refused(http.StatusBadRequest, "revision "+rev+" is "+r.state+" and cannot be changed")
	}
	switch method {
	case http.MethodDelete:
		if !remove(r.tree, path) {
			return refused(http.StatusNotFound, "The requested item does not exist.")
		}
		if !s.o.Hollow {
			prune(r.tree, path)
		}
		if s.release >= 510 {
			return answer{http.StatusNoContent, nil}
		}
		return answer{http.StatusOK, tree{}}
	case http.MethodPatch:
	default:
		return refused(http.StatusMethodNotAllowed, "The method is not allowed for the requested URL.")
	}
	if strings.HasPrefix(kind, "text/plain") {
		now := cloned(r.tree)
		for line := range strings.Lines(string(body)) {
			if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "#") {
				if err := s.typed(now, f); err != nil {
					return refused(http.StatusBadRequest, err.Error())
				}
			}
		}
		r.tree = now
		return answer{http.StatusOK, tree{}}
	}
	var patch tree
	if err := json.Unmarshal(body, &patch); err != nil || patch == nil {
		return refused(http.StatusBadRequest, "The browser (or proxy) sent a request that this server could not understand.")
	}
	whole := under(patch, path...).(tree)
	whole, _ = expand(whole).(tree)
	if s.faults.on(&s.faults.refusePatch) {
		return refused(http.StatusBadRequest, "refused by the test")
	}
	if bad := s.check(whole); bad != "" {
		return refused(http.StatusBadRequest, bad)
	}
	if set, unset := mixed(whole); s.release < batches && set && unset {
		// The result of such a patch is undefined. Here only the unsets take effect.
		leaves(whole, nil, func(p []string, v any) {
			if v == nil {
				remove(r.tree, p)
			}
		})
		return answer{http.StatusOK, patch}
	}
	merge(r.tree, whole)
	types(r.tree, whole)
	if s.release < 510 {
		return answer{http.StatusOK, r.tree}
	}
	return answer{http.StatusOK, patch}
}

// mixed reports which of the two operations, set and unset, a patch contains.
func mixed(t tree) (set, unset bool) {
	leaves(t, nil, func(_ []string, v any) {
		if v == nil {
			unset = true
		} else {
			set = true
		}
	})
	return set, unset
}

// answers lists the valid answers to the prompt of a revision, by the revision's state.
var answers = map[string][]string{"ays": {"ays_yes", "ays_no"}, "confirm": {"confirm_yes", "confirm_no"}, "ignore_fail": {"ignore_fail_yes", "ignore_fail_no"}}

// onRevision creates, shows and applies revisions, and answers their prompts.
func (s *Switch) onRevision(ctx context.Context, method string, path []string, body []byte, user string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(path) == 0 {
		switch method {
		case http.MethodPost:
			r := s.create(user)
			return answer{http.StatusOK, tree{r.id: r.show()}}
		case http.MethodGet:
			out := tree{}
			for id, r := range s.revisions {
				out[id] = r.show()
			}
			out["applied"], out["startup"], out["empty"] = tree{"state": "inactive"}, tree{"state": "inactive"}, tree{"state": "inactive"}
			return answer{http.StatusOK, out}
		}
		return refused(http.StatusMethodNotAllowed, "The method is not allowed for the requested URL.")
	}
	var req struct {
		State    string            `json:"state"`
		Auto     map[string]string `json:"auto-prompt"`
		Message  string            `json:"message"`
		Controls struct {
			Confirm float64 `json:"confirm"`
		} `json:"state-controls"`
	}
	if method == http.MethodPatch && len(bytes.TrimSpace(body)) > 0 {
		if err := json.Unmarshal(body, &req); err != nil {
			return refused(http.StatusBadRequest, "bad body")
		}
	}
	if path[0] == "applied" && method == http.MethodPatch {
		if req.State != "save" {
			return refused(http.StatusBadRequest, "'"+req.State+"' is not a valid value")
		}
		if !s.faults.take(&s.faults.pretendSave) {
			s.startup = cloned(s.applied)
		}
		return answer{http.StatusOK, tree{"state": "save", "transition": tree{"issue": tree{}, "progress": ""}}}
	}
	if path[0] == "applied" && method == http.MethodGet {
		return answer{http.StatusOK, tree{"state": s.finalState(), "transition": tree{"issue": tree{}, "progress": ""}}}
	}
	r := s.revisions[path[0]]
	if r == nil {
		return refused(http.StatusNotFound, "revision "+path[0]+" does not exist")
	}
	shown := func() answer {
		if s.o.Wrapped {
			return answer{http.StatusOK, tree{r.id: r.show()}}
		}
		return answer{http.StatusOK, r.show()}
	}
	switch method {
	case http.MethodGet:
		return shown()
	case http.MethodDelete:
		if s.release < 512 {
			return refused(http.StatusMethodNotAllowed, "The method is not allowed for the requested URL.")
		}
		if r.state != "pending" {
			return refused(http.StatusBadRequest, "revision "+r.id+" is "+r.state)
		}
		delete(s.revisions, r.id)
		return answer{http.StatusNoContent, nil}
	case http.MethodPatch:
	default:
		return refused(http.StatusMethodNotAllowed, "The method is not allowed for the requested URL.")
	}
	if slices.Contains(answers[r.state], req.State) {
		s.reply(r, req.State)
		return shown()
	}
	if req.State != "" && req.State != "apply" {
		return refused(http.StatusBadRequest, "'"+req.State+"' is not valid in state "+r.state)
	}
	if !r.final() {
		return refused(http.StatusBadRequest, "revision "+r.id+" is "+r.state)
	}
	if req.Controls.Confirm > 0 && s.faults.on(&s.faults.noTimer) || req.Message != "" && s.faults.on(&s.faults.noMessage) {
		return refused(http.StatusBadRequest, "Additional properties are not allowed")
	}
	release := s.faults.takeGiveUp()
	r.auto, r.message, r.confirm = req.Auto, req.Message, time.Duration(req.Controls.Confirm*float64(time.Second))
	s.start(r, release)
	switch {
	case release != nil:
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-s.ctx.Done():
		}
		s.mu.Lock()
		return answer{}
	case s.faults.take(&s.faults.dropAfter):
		s.mu.Unlock()
		s.dropAll()
		s.mu.Lock()
		return answer{}
	case s.faults.take(&s.faults.failAfter):
		return refused(http.StatusInternalServerError, "internal error")
	}
	return shown()
}

// reply passes an answer to a revision's prompt. The state changes at once, so that only one
// answer is accepted.
func (s *Switch) reply(r *revision, word string) {
	r.state = word
	select {
	case r.answer <- word:
	default:
	}
}

// round rounds thresholds to the ASIC's cells.
func (s *Switch) round(t tree) {
	for _, p := range natural.Keys(object(t, "qos", "congestion-control")) {
		for _, tc := range object(t, "qos", "congestion-control", p, "traffic-class") {
			m, _ := tc.(tree)
			for _, k := range []string{"min-threshold", "max-threshold"} {
				if n, ok := number(m, k); ok {
					m[k] = float64(s.cells(int64(n)))
				}
			}
		}
	}
}
