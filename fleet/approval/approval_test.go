package approval

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/callout"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// trusted allows everything that the intents of these tests use.
var trusted = &secret.Policy{Secrets: []string{"env:*"}, Programs: []string{"sh", "./no-such-program"}, Addresses: []string{"127.0.0.1"}}

var asked = fleet.ApprovalRequest{
	Fabric: "pod1", Digest: "4d2c", Devices: 2, Impact: "port-flap", User: "ann", Host: "jump1",
	Changes: []fleet.ApprovalChange{{Device: "leaf1", Impact: "port-flap"}, {Device: "leaf2", Impact: "none"}},
}

const whole = `{"format":1,"fabric":"pod1","digest":"4d2c","devices":2,"impact":"port-flap",` +
	`"changes":[{"device":"leaf1","impact":"port-flap"},{"device":"leaf2","impact":"none"}],"user":"ann","host":"jump1"}`

// A command approves only with exit status 0. Otherwise the first line of its output is the
// reason.
func TestCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, want string }{
		{"yes", "echo fine >&2; exit 0", ""},
		{"no", "echo; echo 'CHG-7 is not \033[31mopen'; printf '\nCHG-7 is not open\033[31m\\nand more\n' >&2; exit 1", "CHG-7 is not open"},
		{"silent", "exit 3", "exit status 3"},
		{"killed", "kill -9 $$", "signal: killed"},
		{"long", "printf 'x%.0s' $(seq 1000) >&2; exit 1", strings.Repeat("x", 400) + "..."},
		{"environment", `test "$ROCE_FABRIC_FABRIC $ROCE_FABRIC_DIGEST $ROCE_FABRIC_DEVICES $ROCE_FABRIC_IMPACT $ROCE_FABRIC_USER $ROCE_FABRIC_HOST" = "pod1 4d2c 2 port-flap ann jump1"`, ""},
		{"input", "test \"$(cat)\" = '" + whole + "'", ""},
		{"floods", "yes no | head -c 1000000 >&2; exit 1", "no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := Of(&intent.Approval{Command: []string{"sh", "-c", c.script}, Timeout: time.Minute}, trusted, "").Approve(t.Context(), asked)
			wantReason(t, err, c.want)
		})
	}
	err := Of(&intent.Approval{Command: []string{"./no-such-program"}, Timeout: time.Minute}, trusted, "").Approve(t.Context(), asked)
	if err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("no program: %v", err)
	}
	// A command that never answers gets SIGTERM, on which it may withdraw its question, and
	// is killed if it ignores that.
	withdrawn := filepath.Join(t.TempDir(), "withdrawn")
	for _, script := range []string{"trap 'kill $!; touch " + withdrawn + "' TERM; sleep 1000 & wait", "trap '' TERM; exec sleep 1000"} {
		err = Of(&intent.Approval{Command: []string{"sh", "-c", script}, Timeout: time.Second}, trusted, "").Approve(t.Context(), asked)
		wantReason(t, err, "no answer within 1s")
	}
	if _, err := os.Stat(withdrawn); err != nil {
		t.Error(err)
	}
}

// A command that the operator's policy does not allow is not run and approves nothing.
func TestForbidden(t *testing.T) {
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	for _, p := range []*secret.Policy{nil, {Programs: []string{"touch " + ran + "2"}}} {
		err := Of(&intent.Approval{Command: []string{"touch", ran}, Timeout: time.Minute}, p, "").Approve(t.Context(), asked)
		if !errors.Is(err, secret.ErrForbidden) {
			t.Errorf("%v", err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the command ran")
	}
}

func wantReason(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A webhook approves only with status 200 and {"approved":true}.
func TestWebhook(t *testing.T) {
	t.Setenv("APPROVAL_TOKEN", "s3cret")
	elsewhere := 0
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere++
		_, _ = io.WriteString(w, `{"approved":true}`)
	}))
	defer other.Close()
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"yes", 200, `{"approved":true,"by":"ann"}`, ""},
		{"no", 200, `{"approved":false,"reason":"frozen\nuntil Monday"}`, "frozen until Monday"},
		{"no reason", 200, `{}`, "it says no"},
		{"status", 403, `{"approved":true,"reason":"frozen"}`, "frozen"},
		{"accepted", 202, `{"approved":true}`, "it answers 202 Accepted"},
		{"broken", 500, `<html>`, "it answers 500 Internal Server Error"},
		{"redirect", 307, `{"approved":true}`, "it redirects to another address (status 307)"},
		{"not JSON", 200, `approved`, "the answer is not valid JSON of the expected form"},
		{"another type", 200, `{"approved":"true"}`, "the answer is not valid JSON of the expected form"},
		{"two documents", 200, `{"approved":true}{"approved":false}`, "the answer is not valid JSON of the expected form"},
		{"too long", 200, `{"approved":true}` + strings.Repeat(" ", callout.MaxAnswer), "its answer is too long"},
	} {
		var got, auth, method string
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got, auth, method = string(b), r.Header.Get("Authorization"), r.Method
			w.Header().Set("Location", other.URL)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		to := &intent.Approval{URL: s.URL + "/hook?key=hunter2", Token: "env:APPROVAL_TOKEN", CA: authority(t, s), Timeout: time.Minute}
		err := Of(to, trusted, "roce-fabric/test").Approve(t.Context(), asked)
		if s.Close(); got != whole || auth != "Bearer s3cret" || method != http.MethodPost {
			t.Errorf("%s: %s %q %s", c.name, method, auth, got)
		}
		t.Run(c.name, func(t *testing.T) { wantReason(t, err, c.want) })
	}
	if elsewhere > 0 {
		t.Error("a redirect was followed")
	}
}

// authority writes the certificate of a server to a file.
func authority(t *testing.T, s *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A server that cannot be asked does not approve, and errors show only the host of its
// address.
func TestWebhookUnreachable(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	defer close(release)
	for _, c := range []struct {
		name string
		to   intent.Approval
		want string
	}{
		{"not trusted", intent.Approval{Timeout: time.Minute}, "certificate"},
		{"too late", intent.Approval{CA: authority(t, s), Timeout: 50 * time.Millisecond}, "no answer within 50ms"},
		{"no token", intent.Approval{CA: authority(t, s), Token: "env:NO_SUCH_TOKEN", Timeout: time.Minute}, "token: environment variable NO_SUCH_TOKEN is not set"},
		{"no authority", intent.Approval{CA: os.DevNull, Timeout: time.Minute}, "contains no certificate"},
	} {
		c.to.URL = s.URL + "/hook?key=hunter2"
		by := Of(&c.to, trusted, "")
		err := by.Approve(t.Context(), asked)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error()+by.String(), "hunter2") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// For a rollback, the document sent to approvers names the run that is rolled back.
func TestDocument(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(document{format, fleet.ApprovalRequest{Fabric: "pod1", Digest: "4d2c", Of: "r1", Devices: 1, Impact: "traffic-loss", Changes: []fleet.ApprovalChange{{Device: "leaf1", Impact: "traffic-loss"}}, User: "ann", Host: "jump1"}})
	if want := `{"format":1,"fabric":"pod1","digest":"4d2c","rolls_back":"r1","devices":1,"impact":"traffic-loss","changes":[{"device":"leaf1","impact":"traffic-loss"}],"user":"ann","host":"jump1"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}
