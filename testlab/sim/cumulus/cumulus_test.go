package cumulus

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/roce-fabric/roce-fabric/internal/ssh"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a REST client of a switch.
type client struct {
	*testing.T
	s    *Switch
	http *http.Client
	pass string
}

func start(t *testing.T, o Options) *client {
	t.Helper()
	o.Hostname, o.Username, o.Password = "leaf1", "cumulus", "secret"
	if o.Version == "" {
		o.Version = "5.15.0"
	}
	if o.Model == "" {
		o.Model = "SN5600"
	}
	if o.Interfaces == nil {
		o.Interfaces = []string{"swp1", "swp2", "swp3", "swp4"}
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.CAPEM())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = s.Close()
	})
	return &client{T: t, s: s, http: &http.Client{Transport: transport}, pass: "secret"}
}

// do sends a request and fails the test if the answer has a different status.
func (c *client) do(status int, method, path, body string) map[string]any {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, "https://"+c.s.GNMIAddr()+"/nvue_v1"+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.SetBasicAuth("cumulus", c.pass)
	resp, err := c.http.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	if resp.StatusCode != status {
		c.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, b)
	}
	var out map[string]any
	if len(b) > 0 {
		if err := json.Unmarshal(b, &out); err != nil {
			c.Fatalf("%s: %v", b, err)
		}
	}
	return out
}

// revision creates a revision with a patch.
func (c *client) revision(patch string) string {
	c.Helper()
	for id := range c.do(200, "POST", "/revision", "") {
		if patch != "" {
			c.do(200, "PATCH", "/?rev="+id, patch)
		}
		return id
	}
	c.Fatal("no revision")
	return ""
}

// state waits until a revision is in a stable state and returns that state.
func (c *client) state(id string) string {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 20*time.Second)
	defer cancel()
	if err := c.s.Wait(ctx); err != nil {
		c.Fatal(err)
	}
	s, _ := c.do(200, "GET", "/revision/"+id, "")["state"].(string)
	return s
}

func (c *client) apply(id, body string) string {
	c.Helper()
	c.do(200, "PATCH", "/revision/"+id, body)
	return c.state(id)
}

// want fails the test unless the applied configuration has the given value.
func (c *client) want(value string, path ...string) {
	c.Helper()
	got := c.do(200, "GET", "/?rev=applied&filled=false&expand=true", "")
	if is := text(got, path...); is != value {
		c.Errorf("%s is %q, want %q", strings.Join(path, "."), is, value)
	}
}

const (
	plain = `{"state":"apply"}`
	timed = `{"state":"apply","state-controls":{"confirm":60}}`
	mtu   = `{"interface":{"swp1":{"link":{"mtu":9000}}}}`
	bad   = `{"qos":{"traffic-pool":{"default-lossy":{"memory-percent":60},"roce-lossless":{"memory-percent":50}}}}`
)

func TestARevisionIsMadeComparedAppliedAndSaved(t *testing.T) {
	c := start(t, Options{})
	id := c.revision(mtu)
	c.want("", "interface", "swp1", "link", "mtu")
	d := c.do(200, "GET", "/?rev="+id+"&diff=applied", "")
	if n, _ := number(d, "interface", "swp1", "link", "mtu"); n != 9000 || len(d) != 1 {
		t.Errorf("the difference is %v", d)
	}
	back := c.do(200, "GET", "/?rev=applied&diff="+id, "")
	if v, ok := at(back, "interface", "swp1", "link"); !ok || v != nil {
		t.Errorf("the other way it is %v", back)
	}
	if s := c.apply(id, plain); s != "applied_and_saved" {
		t.Errorf("state %s", s)
	}
	c.want("9000", "interface", "swp1", "link", "mtu")
	if c.s.Startup() != c.s.Running() {
		t.Error("not saved")
	}
	c.do(400, "PATCH", "/?rev="+id, mtu) // the revision is no longer pending
	c.do(404, "PATCH", "/?rev=99", mtu)
	c.do(400, "PATCH", "/", mtu)
	if s := c.state(c.revision("")); s != "pending" {
		t.Errorf("a new one is %s", s)
	}
}

func TestSavingIsAutomaticSince59AndCanBeSwitchedOff(t *testing.T) {
	for version, want := range map[string]string{"5.8.0": "applied", "5.9.0": "applied_and_saved"} {
		c := start(t, Options{Version: version})
		if s := c.apply(c.revision(mtu), plain); s != want {
			t.Errorf("%s: %s", version, s)
		}
		if saved := c.s.Startup() == c.s.Running(); saved != (want == "applied_and_saved") {
			t.Errorf("%s: saved %v", version, saved)
		}
		c.do(200, "PATCH", "/revision/applied", `{"state":"save"}`)
		if c.s.Startup() != c.s.Running() {
			t.Errorf("%s: a save saves nothing", version)
		}
	}
	c := start(t, Options{})
	if s := c.apply(c.revision(`{"system":{"config":{"auto-save":{"state":"disabled"}}}}`), plain); s != "applied" {
		t.Errorf("switched off: %s", s)
	}
	if err := c.s.Restart(); err != nil {
		t.Fatal(err)
	}
	c.want("", "system", "config", "auto-save", "state")
}

func TestWordsAndKeysAreThoseOfTheRelease(t *testing.T) {
	for _, w := range []struct {
		patch  string
		before bool // accepted before 5.15
		since  int
	}{
		{`{"qos":{"roce":{"enable":"on"}}}`, true, 0},
		{`{"qos":{"roce":{"state":"enabled"}}}`, false, 515},
		{`{"interface":{"swp1":{"qos":{"pfc-watchdog":{"state":"enable"}}}}}`, true, 0},
		{`{"interface":{"swp1":{"qos":{"pfc-watchdog":{"state":"enabled"}}}}}`, false, 515},
		{`{"qos":{"congestion-control":{"P":{"traffic-class":{"3":{"mode":"relative","min-threshold-percent":5}}}}}}`, false, 517},
		{`{"interface":{"swp1":{"qos":{"small-packet-probability":60}}}}`, false, 517},
	} {
		for release, version := range map[int]string{509: "5.9.1", 514: "5.14.0", 515: "5.15.0", 516: "5.16.0", 517: "5.17.0"} {
			c := start(t, Options{Version: version})
			status := 400
			if w.before && release < 515 || !w.before && release >= w.since {
				status = 200
			}
			c.do(status, "PATCH", "/?rev="+c.revision(""), w.patch)
		}
	}
	c := start(t, Options{AnyWords: true, Version: "5.16.0"})
	c.revision(`{"interface":{"swp1":{"qos":{"pfc-watchdog":{"state":"enable"}}}}}`)
}

func TestPatchLimitsPerRelease(t *testing.T) {
	c := start(t, Options{})
	for _, patch := range []string{
		`{"quality":{}}`, `{"qos":{"roce":{"mode":"fast"}}}`, `{"qos":{"egress-queue-mapping":{"other":{}}}}`, `{"qos":{"traffic-pool":{"mine":{}}}}`,
		`{"interface":{"swp1":{"link":{"mtu":70}}}}`, `{"qos":{"pfc":{"P":{"switch-priority":{"9":{}}}}}}`, `{"qos":{"mapping":{"P":{"trust":"dscp"}}}}`, `[]`, `{`,
	} {
		c.do(400, "PATCH", "/?rev="+c.revision(""), patch)
	}
	// Before 5.16 a patch can either set or unset, not both.
	for version, want := range map[string]string{"5.15.0": "", "5.16.0": "9100"} {
		c := start(t, Options{Version: version})
		c.apply(c.revision(mtu), plain)
		c.apply(c.revision(`{"interface":{"swp1":{"link":{"mtu":null}},"swp2":{"link":{"mtu":9100}}}}`), plain)
		c.want(want, "interface", "swp2", "link", "mtu")
		c.want("", "interface", "swp1", "link", "mtu")
	}
}

func TestUnsetIsDelete(t *testing.T) {
	for version, status := range map[string]int{"5.9.0": 200, "5.10.0": 204} {
		c := start(t, Options{Version: version})
		c.apply(c.revision(mtu), plain)
		id := c.revision("")
		c.do(status, "DELETE", "/interface/swp1/link/mtu?rev="+id, "")
		c.do(404, "DELETE", "/interface/swp1/link/mtu?rev="+id, "")
		c.apply(id, plain)
		c.want("", "interface", "swp1", "link", "mtu")
		if _, ok := at(c.s.applied, "interface", "swp1", "link"); ok {
			t.Error("an empty branch is left")
		}
	}
	c := start(t, Options{Hollow: true})
	c.apply(c.revision(mtu), plain)
	id := c.revision("")
	c.do(204, "DELETE", "/interface/swp1/link/mtu?rev="+id, "")
	c.apply(id, plain)
	if _, ok := at(c.s.applied, "interface", "swp1", "link"); !ok {
		t.Error("no empty branch is left")
	}
}

func TestWhatAnApplyFindsInvalid(t *testing.T) {
	wd := `{"interface":{"%s":{"qos":{"pfc-watchdog":{"state":"enabled"}}}}}`
	for name, patch := range map[string]string{
		"more than all memory":       bad,
		"two lossless pools":         `{"qos":{"traffic-pool":{"default-lossless":{"memory-percent":5},"roce-lossless":{"memory-percent":5}}}}`,
		"more than the whole link":   `{"qos":{"egress-scheduler":{"S":{"traffic-class":{"0":{"bw-percent":60},"3":{"bw-percent":50}}}}}}`,
		"thresholds upside down":     `{"qos":{"congestion-control":{"C":{"traffic-class":{"3":{"min-threshold":2000,"max-threshold":1000}}}}}}`,
		"a profile that is not":      `{"interface":{"swp1":{"qos":{"pfc":{"profile":"P"}}}}}`,
		"a port that is not":         `{"interface":{"swp99":{"link":{"mtu":9000}}}}`,
		"a watchdog without PFC":     fmt.Sprintf(wd, "swp1"),
		"a watchdog on a bond":       fmt.Sprintf(wd, "bond1"),
		"pause and PFC on one port":  `{"qos":{"roce":{},"link-pause":{"L":{"tx":"enable"}}},"interface":{"swp1":{"qos":{"link-pause":{"profile":"L"}}}}}`,
		"more lossless than it does": `{"qos":{"pfc":{"P":{"switch-priority":{"3,4":{}}}}}}`,
	} {
		c := start(t, Options{MaxLossless: 1})
		was := c.s.Running()
		id := c.revision(patch)
		if s := c.apply(id, plain); s != "invalid" {
			t.Errorf("%s: %s", name, s)
		}
		issue := object(c.do(200, "GET", "/revision/"+id, ""), "transition", "issue", "0")
		if text(issue, "severity") != "error" || text(issue, "data", "location") == "" {
			t.Errorf("%s: %v", name, issue)
		}
		if c.s.Running() != was {
			t.Errorf("%s: in force", name)
		}
	}
	c := start(t, Options{})
	if s := c.apply(c.revision(`{"qos":{"roce":{}},"interface":{"swp1-2":{"qos":{"pfc-watchdog":{"state":"enabled"}}}}}`), plain); s != "applied_and_saved" {
		t.Errorf("a watchdog with the preset: %s", s)
	}
	c.want("enabled", "interface", "swp2", "qos", "pfc-watchdog", "state")
}

func TestAWarningAsks(t *testing.T) {
	c := start(t, Options{Patience: 20 * time.Millisecond})
	c.s.EditFiles()
	was := c.s.Running()
	id := c.revision(mtu)
	c.do(200, "PATCH", "/revision/"+id, plain)
	waitFor(c, id, "ays_fail")
	if c.s.Running() != was {
		t.Error("applied without an answer")
	}
	r := c.do(200, "GET", "/revision/"+id, "")
	if code := text(r, "transition", "issue", "0", "code"); code != "client_timeout" {
		t.Errorf("code %q", code)
	}
	if s := c.apply(id, `{"state":"apply","auto-prompt":{"ays":"ays_yes"}}`); s != "applied_and_saved" {
		t.Errorf("with yes: %s", s)
	}

	c = start(t, Options{})
	c.s.EditFiles()
	id = c.revision(mtu)
	c.do(200, "PATCH", "/revision/"+id, plain)
	waitFor(c, id, "ays")
	c.do(200, "PATCH", "/revision/"+id, `{"state":"ays_no"}`)
	waitFor(c, id, "ays_fail")
	c.do(400, "PATCH", "/revision/"+id, `{"state":"ays_yes"}`) // no prompt is open any more
}

func waitFor(c *client, id, state string) {
	c.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		if s, _ := c.do(200, "GET", "/revision/"+id, "")["state"].(string); s == state {
			return
		}
	}
	c.Fatalf("revision %s does not come to %s: %v", id, state, c.do(200, "GET", "/revision/"+id, ""))
}

func TestAnApplyToBeConfirmed(t *testing.T) {
	for word, want := range map[string]string{"confirm_yes": "9000", "confirm_no": "", "": ""} {
		clock := 1.0
		if word == "" {
			clock = 1e-4 // 6 ms
		}
		c := start(t, Options{Clock: clock})
		id := c.revision(mtu)
		c.do(200, "PATCH", "/revision/"+id, timed)
		if word != "" {
			waitFor(c, id, "confirm")
			c.want("9000", "interface", "swp1", "link", "mtu")
			if c.s.Startup() == c.s.Running() {
				t.Error("saved before it is confirmed")
			}
			// Another apply waits for its turn.
			other := c.revision(`{"interface":{"swp2":{"link":{"mtu":9100}}}}`)
			c.do(200, "PATCH", "/revision/"+other, plain)
			if s, _ := c.do(200, "GET", "/revision/"+other, "")["state"].(string); s != "apply" {
				t.Errorf("the other is %s", s)
			}
			c.do(200, "PATCH", "/revision/"+id, `{"state":"`+word+`"}`)
			waitFor(c, other, "applied_and_saved")
			c.want("9100", "interface", "swp2", "link", "mtu")
		}
		end := "confirm_fail"
		if word == "confirm_yes" {
			end = "applied_and_saved"
		}
		waitFor(c, id, end)
		c.want(want, "interface", "swp1", "link", "mtu")
	}
}

func TestTwoRevisionsAtOnce(t *testing.T) {
	for whole, want := range map[bool]string{false: "9000", true: ""} {
		c := start(t, Options{Whole: whole})
		first, second := c.revision(mtu), c.revision(`{"interface":{"swp2":{"link":{"mtu":9100}}}}`)
		c.apply(first, plain)
		c.apply(second, plain)
		c.want("9100", "interface", "swp2", "link", "mtu")
		c.want(want, "interface", "swp1", "link", "mtu")
	}
}

func TestAFailedReloadAsks(t *testing.T) {
	for word, want := range map[string]string{"ignore_fail_yes": "9000", "ignore_fail_no": ""} {
		c := start(t, Options{})
		c.s.Faults().FailApply()
		id := c.revision(mtu)
		c.do(200, "PATCH", "/revision/"+id, plain)
		waitFor(c, id, "ignore_fail")
		c.do(200, "PATCH", "/revision/"+id, `{"state":"`+word+`"}`)
		waitFor(c, id, map[string]string{"ignore_fail_yes": "applied_and_saved", "ignore_fail_no": "apply_fail"}[word])
		c.want(want, "interface", "swp1", "link", "mtu")
	}
}

func TestRangesAreShownAndExpanded(t *testing.T) {
	c := start(t, Options{})
	c.apply(c.revision(`{"interface":{"swp1-2,swp4":{"link":{"mtu":9000}}}}`), plain)
	short := c.do(200, "GET", "/interface?rev=applied&filled=false", "")
	if text(short, "swp1-2", "link", "mtu") != "9000" || short["swp1"] != nil {
		t.Errorf("shown as %v", short)
	}
	long := c.do(200, "GET", "/interface?rev=applied&filled=false&expand=true", "")
	for _, p := range []string{"swp1", "swp2", "swp4"} {
		if text(long, p, "link", "mtu") != "9000" {
			t.Errorf("%s: %v", p, long)
		}
	}
	if text(long, "swp3", "link", "mtu") != "" {
		t.Errorf("swp3: %v", long)
	}
	filled := c.do(200, "GET", "/qos?rev=applied", "")
	if text(filled, "congestion-control", "default-global", "traffic-class", "0", "min-threshold") != "150000" {
		t.Errorf("filled: %v", filled)
	}
	if got := strings.Join(names("swp1s0-3,bond1-2,swp7"), " "); got != "swp1s0 swp1s1 swp1s2 swp1s3 bond1 bond2 swp7" {
		t.Error(got)
	}
}

func TestThresholdsAreRoundedToTheCellsOfTheASIC(t *testing.T) {
	for model, want := range map[string]string{"SN5600": "159744", "SN4700": "156672", "SN3700": "156672", "SN2700": "153600"} {
		c := start(t, Options{Model: model})
		c.apply(c.revision(`{"qos":{"roce":{}}}`), plain)
		is := c.do(200, "GET", "/interface/swp1/qos/congestion-control?rev=operational", "")
		if got := text(is, "traffic-class", "3", "min-threshold"); got != want {
			t.Errorf("%s: %s", model, got)
		}
	}
	c := start(t, Options{Spelled: true, Model: "SN4700"})
	is := c.do(200, "GET", "/interface/swp1/qos/congestion-control?rev=operational", "")
	if got := text(is, "traffic-class", "0", "min-threshold"); got != "153.00 KB" {
		t.Errorf("spelled %q", got)
	}
	c = start(t, Options{Rounded: true})
	c.apply(c.revision(`{"qos":{"congestion-control":{"C":{"traffic-class":{"3":{"min-threshold":150000}}}}}}`), plain)
	c.want("159744", "qos", "congestion-control", "C", "traffic-class", "3", "min-threshold")
}

func TestThePresetIsInForceAndNotInTheConfiguration(t *testing.T) {
	c := start(t, Options{})
	c.apply(c.revision(`{"qos":{"roce":{}}}`), plain)
	c.want("", "qos", "pfc", "default-global", "rx")
	is := c.do(200, "GET", "/qos?rev=operational", "")
	for want, path := range map[string][]string{
		"both": {"mapping", "default-global", "trust"}, "enable": {"pfc", "default-global", "rx"}, "strict": {"egress-scheduler", "default-global", "traffic-class", "6", "mode"},
		"3": {"egress-queue-mapping", "default-global", "switch-priority", "3", "traffic-class"}, "lossless": {"roce", "mode"}, "4791": {"roce", "lldp-app-tlv", "protocol-id"},
	} {
		if got := text(is, path...); got != want {
			t.Errorf("%v: %q, want %q", path, got, want)
		}
	}
	c.apply(c.revision(`{"qos":{"roce":{"mode":"lossy"}}}`), plain)
	if is := c.do(200, "GET", "/qos?rev=operational", ""); object(is, "pfc") != nil {
		t.Error("PFC with mode lossy")
	}
}

func TestAccounts(t *testing.T) {
	c := start(t, Options{})
	c.pass = "wrong"
	c.do(401, "GET", "/system", "")
	c.pass = "secret"
	c.s.Faults().ReadOnly(true)
	c.do(200, "GET", "/system", "")
	c.do(403, "POST", "/revision", "")
	f := start(t, Options{Factory: true})
	f.do(403, "GET", "/system", "")
}

func TestARestartEndsWhatWaits(t *testing.T) {
	c := start(t, Options{})
	id := c.revision(mtu)
	c.do(200, "PATCH", "/revision/"+id, timed)
	waitFor(c, id, "confirm")
	if err := c.s.Restart(); err != nil {
		t.Fatal(err)
	}
	c.http.CloseIdleConnections()
	c.want("", "interface", "swp1", "link", "mtu")
	if s := c.state(id); s != "inactive" {
		t.Errorf("state %s", s)
	}
}

func TestTheCommandLine(t *testing.T) {
	c := start(t, Options{})
	dir := t.TempDir()
	known := dir + "/known_hosts"
	if err := writeFile(known, c.s.HostKeyLine()+"\n"); err != nil {
		t.Fatal(err)
	}
	sh, err := ssh.Dial(t.Context(), ssh.Config{Address: c.s.SSHAddr(), User: "cumulus", Password: "secret", KnownHosts: known})
	if err != nil {
		t.Fatal(err)
	}
	defer sh.Close()
	run := func(ok bool, line string) string {
		t.Helper()
		r, err := sh.Run(t.Context(), line, nil)
		if err != nil || (r.Status == 0) != ok {
			t.Fatalf("%s: %d %s %s %v", line, r.Status, r.Stdout, r.Stderr, err)
		}
		return string(r.Stdout)
	}
	run(true, "nv set interface swp1-2 link mtu 9000")
	run(true, "nv set qos roce")
	run(true, "nv set interface swp1 qos pfc-watchdog state enabled")
	run(false, "nv set qos roce mode fast")
	run(false, "nv set interface swp1 link mtu 1")
	if d := run(true, "nv config diff -o commands"); !strings.Contains(d, "nv set interface swp2 link mtu 9000\n") || !strings.Contains(d, "nv set qos roce\n") {
		t.Errorf("diff %q", d)
	}
	if out := run(true, "nv config apply --confirm 5"); !strings.HasPrefix(out, "confirm [rev_id: ") {
		t.Errorf("apply %q", out)
	}
	if out := run(true, "nv config apply --confirm-status"); !strings.HasPrefix(out, "time remaining: ") {
		t.Errorf("status %q", out)
	}
	if out := run(true, "nv config apply --confirm-yes"); !strings.HasPrefix(out, "applied_and_saved") {
		t.Errorf("confirm %q", out)
	}
	shown := run(true, "nv config show -o json --expand")
	again, err := New(Options{Version: "5.15.0", Interfaces: []string{"swp1", "swp2", "swp3", "swp4"}, Running: []byte(shown)})
	if err != nil {
		t.Fatal(err)
	}
	if again.Running() != c.s.Running() {
		t.Errorf("read again it is\n%s\nand was\n%s", again.Running(), c.s.Running())
	}
	if y := run(true, "nv config show"); !strings.Contains(y, "    interface:\n      eth0:\n") || !strings.Contains(y, "    version: Cumulus Linux 5.15.0\n") {
		t.Errorf("yaml\n%s", y)
	}
	if o := run(true, "nv show interface swp1 qos pfc-watchdog -o json"); !bytes.Contains([]byte(o), []byte(`"deadlock-count": 0`)) {
		t.Errorf("watchdog %s", o)
	}
	run(true, "nv unset interface swp1-2 link mtu")
	run(true, "nv config apply -y")
	c.want("", "interface", "swp1", "link", "mtu")
	run(false, "nv config apply")
	run(false, "uname")
}

func TestRejectedLinesAreLeftOut(t *testing.T) {
	config := []byte(`[{"header":{}},{"set":{"qos":{"roce":{"mode":"fast"},"wonder":{},"traffic-pool":{"default-lossy":{"memory-percent":50}}},"other":{}}}]`)
	if r := Refuses("", config); len(r) != 3 {
		t.Errorf("%q", r)
	}
	s, err := New(Options{Version: "5.15.0", Running: config})
	if err != nil {
		t.Fatal(err)
	}
	if text(s.applied, "qos", "traffic-pool", "default-lossy", "memory-percent") != "50" {
		t.Error(s.Running())
	}
	if _, err := New(Options{Version: "5"}); err == nil {
		t.Error("a version without a minor")
	}
}

// Members of a bond, domains of a bridge and addresses are keys, even at the end of a command (the
// examples in NVIDIA's guide show commands next to startup.yaml).
func TestCommandsAddKeysToCollections(t *testing.T) {
	commands := []byte(`
nv set interface bond1 bond member swp1-2
nv set interface peerlink bond member swp3
nv set interface bond1 bond mode lacp
nv set interface bond1 bridge domain br_default
nv set interface lo ip address 10.10.10.1/32
nv set interface bond1 qos pfc profile lossless3
nv set interface swp1-2 qos pfc-watchdog state enabled
nv set qos pfc lossless3 switch-priority 3
`)
	if r := Refuses("", commands); len(r) > 0 {
		t.Errorf("refused: %q", r)
	}
	c := start(t, Options{Running: commands})
	is := c.do(200, "GET", "/interface?rev=applied&filled=false&expand=true", "")
	for _, path := range []string{
		"bond1 bond member swp1", "bond1 bond member swp2", "peerlink bond member swp3", "bond1 bridge domain br_default", "lo ip address 10.10.10.1/32",
	} {
		if v, ok := at(is, strings.Fields(path)...); !ok || len(v.(tree)) > 0 {
			t.Errorf("%s is %v, want an empty object", path, v)
		}
	}
	for path, want := range map[string]string{"bond1 type": "bond", "peerlink type": "peerlink", "swp1 type": "swp", "bond1 bond mode": "lacp"} {
		if got := text(is, strings.Fields(path)...); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	// The watchdog of a bond member needs PFC, which is configured on its bond.
	if s := c.apply(c.revision(mtu), plain); s != "applied_and_saved" {
		t.Errorf("a change of the MTU ends %s", s)
	}
	groups := c.do(200, "GET", "/interface/swp1/qos/buffer?rev=operational", "")
	if _, ok := at(groups, "ingress-priority-group", "3"); !ok {
		t.Errorf("swp1 has no group for what its bond pauses: %v", groups)
	}
	if err := c.s.Configure("nv unset interface peerlink bond member swp3"); err != nil {
		t.Error(err)
	}
	c.do(400, "PATCH", "/?rev="+url.QueryEscape(c.revision("")), `{"interface":{"bond1":{"bond":{"member":"swp1"}}}}`)
}

func TestThePathsOfRevisionsAreEscaped(t *testing.T) {
	c := start(t, Options{Wrapped: true})
	id := c.revision(mtu)
	if r := c.do(200, "GET", "/revision/"+url.PathEscape(id), ""); r[id] == nil {
		t.Errorf("%v", r)
	}
	c.do(404, "GET", "/revision/changeset%2Fcumulus%2F1", "")
}

func writeFile(name, content string) error { return os.WriteFile(name, []byte(content), 0o600) }

// The switch starts with commands as people keep them: after prompts, with quoted texts over several
// lines, and several in one line.
func TestCommandsAsPeopleKeepThem(t *testing.T) {
	const want = "enabled lossless 9216"
	for name, config := range map[string]string{
		"prompts":        "cumulus@leaf1:mgmt:~$ nv set qos roce state enabled\nleaf1# nv set qos roce mode lossless\n$ nv set interface swp1 link mtu 9216\n",
		"root":           "# nv set qos roce state enabled\n# nv set qos roce mode lossless\n# nv set interface swp1 link mtu 9216\n",
		"comments":       "# nv set qos roce mode lossy\nnv set qos roce state enabled # nv set qos roce mode lossy\nnv set qos roce mode lossless\nnv set interface swp1 link mtu 9216\n",
		"one line":       "nv set qos roce state enabled && nv set qos roce mode lossless; nv set interface swp1 link mtu 9216 2>/dev/null || true\n",
		"quoted":         "nv set system message pre-login \"\n* nv set qos roce mode lossy\nnv set qos roce mode lossy\n\"\nnv set qos roce state enabled\nnv set qos roce mode lossless\nnv set interface swp1 link mtu 9216\n",
		"over ssh":       "ssh leaf1 'nv set qos roce state enabled\nnv set qos roce mode lossless\nnv set interface swp1 link mtu 9216'\n",
		"list of a play": "- hosts: leaf1\n  tasks:\n    - nvidia.nvue.command:\n        commands:\n          - set qos roce state enabled\n          - set qos roce mode lossless\n          - set interface swp1 link mtu 9216\n",
	} {
		s, err := New(Options{Version: "5.17.0", Interfaces: []string{"swp1"}, Running: []byte(config)})
		if err != nil {
			t.Fatal(name, err)
		}
		at := func(path ...string) string { return text(s.applied, path...) }
		if got := at("qos", "roce", "state") + " " + at("qos", "roce", "mode") + " " + at("interface", "swp1", "link", "mtu"); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A configuration with the words of releases before 5.15 starts a switch of such a release.
func TestReleaseByTheWords(t *testing.T) {
	for config, want := range map[string]string{
		"nv set qos roce enable on":                                lastOldRelease,
		`{"qos": {"roce": {"enable": "off"}}}`:                     lastOldRelease,
		"nv set qos roce state enabled":                            newestRelease,
		"nv set qos roce":                                          newestRelease,
		"- header:\n    version: Cumulus Linux 5.9.2\n- set: {}\n": "5.9.2",
	} {
		if got := releaseOf([]byte(config)); got != want {
			t.Errorf("%s: %s, not %s", config, got, want)
		}
	}
}
