package hook

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// trusted allows everything that the intents of these tests use.
var trusted = &secret.Policy{Secrets: []string{"env:*"}, Programs: []string{"sh"}, Addresses: []string{"127.0.0.1"}}

var asked = fleet.HookRequest{Event: "drain", Fabric: "pod1", Device: "gpu1", Resets: []string{"systemctl reboot"}, Impact: "reload", User: "ann", Host: "jump1"}

const whole = `{"format":1,"event":"drain","fabric":"pod1","device":"gpu1","resets":["systemctl reboot"],"impact":"reload","user":"ann","host":"jump1"}`

// A command, address or token that the operator's policy does not allow is not used.
func TestForbidden(t *testing.T) {
	t.Setenv("HOOK_TOKEN", "s3cret")
	posted := 0
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posted++ }))
	defer s.Close()
	ran := filepath.Join(t.TempDir(), "ran")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	post := &intent.Hook{URL: s.URL, Token: "env:HOOK_TOKEN", CA: ca, Timeout: time.Minute}
	for name, c := range map[string]struct {
		h *intent.Hook
		p *secret.Policy
	}{
		"command": {&intent.Hook{Command: []string{"touch", ran}, Timeout: time.Minute}, trusted},
		"nobody":  {&intent.Hook{Command: []string{"touch", ran}, Timeout: time.Minute}, nil},
		"address": {post, &secret.Policy{Secrets: trusted.Secrets, Addresses: []string{"192.0.2.0/24"}}},
		"token":   {post, &secret.Policy{Secrets: []string{"env:FABRIC_*"}, Addresses: trusted.Addresses}},
	} {
		if err := Of(c.h, c.p, "").Call(t.Context(), asked, func(string) {}); !errors.Is(err, secret.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(ran); err == nil || posted > 0 {
		t.Errorf("ran: %v, posted %d", err == nil, posted)
	}
}

func call(t *testing.T, h fleet.Hook) (said []string, fault string) {
	t.Helper()
	if err := h.Call(t.Context(), asked, func(line string) { said = append(said, line) }); err != nil {
		fault = err.Error()
	}
	return said, fault
}

// A command gets the host's name, its output is reported line by line, and its exit status
// decides.
func TestCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		said         []string
		fault        string
	}{
		{"well", "echo one; echo two >&2; printf 'thr\033[31mee'", []string{"one", "two", "three"}, ""},
		{"fails", "echo busy; exit 3", []string{"busy"}, "drain: sh: exit status 3"},
		{"environment", `test "$ROCE_FABRIC_EVENT $ROCE_FABRIC_FABRIC $ROCE_FABRIC_DEVICE $ROCE_FABRIC_USER $ROCE_FABRIC_HOST" = "drain pod1 gpu1 ann jump1"`, nil, ""},
		{"input", "test \"$(cat)\" = '" + whole + "'", nil, ""},
		{"late", "echo on it; exec sleep 1000", []string{"on it"}, "drain: sh: no answer within 1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			said, fault := call(t, Of(&intent.Hook{Command: []string{"sh", "-c", c.script}, Timeout: time.Second}, trusted, ""))
			for i := range said {
				said[i] = strings.ReplaceAll(said[i], "[31m", "")
			}
			if slices.Sort(said); fault != c.fault || !slices.Equal(said, slices.Sorted(slices.Values(c.said))) {
				t.Errorf("%q, %q", said, fault)
			}
		})
	}
	h, err := Typed("seq 1 300; exit 1", "")
	if err != nil {
		t.Fatal(err)
	}
	if said, fault := call(t, h); len(said) != maxLines+1 || said[maxLines] != "more output is not shown" || fault != "drain: sh: exit status 1" {
		t.Errorf("%d lines, %q", len(said), fault)
	}
}

// A webhook gets the document, and succeeds only with status 2xx.
func TestWebhook(t *testing.T) {
	t.Setenv("HOOK_TOKEN", "s3cret")
	for status, want := range map[int]string{200: "", 204: "", 409: "drain: HOST: it answers 409 Conflict", 302: "drain: HOST: it answers 302 Found"} {
		var got, auth string
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got, auth = string(b), r.Header.Get("Authorization")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			if status != 204 {
				_, _ = io.WriteString(w, "pods: 3\nmoved: 3\n")
			}
		}))
		ca := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		said, fault := call(t, Of(&intent.Hook{URL: s.URL + "/drain?key=hunter2", Token: "env:HOOK_TOKEN", CA: ca, Timeout: time.Minute}, trusted, ""))
		s.Close()
		want = strings.ReplaceAll(want, "HOST", strings.TrimPrefix(s.URL, "https://"))
		if got != whole || auth != "Bearer s3cret" || fault != want || status != 204 && !slices.Equal(said, []string{"pods: 3", "moved: 3"}) {
			t.Errorf("%d: %q %q, said %q, %q", status, auth, got, said, fault)
		}
	}
}

// Typed accepts an https address or a command, and rejects an http address.
func TestTypedHooks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"https://x.example.net/drain?key=hunter2": "x.example.net", "kubectl drain x": "sh", "http://x": "", " ": ""} {
		h, err := Typed(text, "")
		if (err == nil) != (want != "") || err == nil && h.String() != want {
			t.Errorf("%q: %v, %v", text, h, err)
		}
	}
	if Of(nil, nil, "") != nil {
		t.Error("a hook of nothing")
	}
}
