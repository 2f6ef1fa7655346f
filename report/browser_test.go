//go:build unix

package report

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// artifactsEnv names the folder that screenshots are kept in.
const artifactsEnv = "ROCE_FABRIC_ARTIFACTS"

// browserTime bounds one request to the browser and one wait for a page.
const browserTime = time.Minute

// browser is a headless Chromium, driven over the WebDriver protocol
// (W3C WebDriver, and ChromeDriver's additions for logs and emulation).
type browser struct {
	t       *testing.T
	base    string // of the session
	process int    // of the browser
}

var driverReady = regexp.MustCompile(`started successfully on port (\d+)`)

// startBrowser starts a browser for one test, which is skipped where there is
// none.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: -short; a browser takes seconds to start")
	}
	binary, err := exec.LookPath("chromium")
	driver, errDriver := exec.LookPath("chromedriver")
	if err != nil || errDriver != nil {
		t.Skip("skipped: needs chromium and chromedriver (Debian: chromium, chromium-driver)")
	}
	home := t.TempDir() // before the cleanup below, so that it is removed after it
	b := &browser{t: t}
	// The port that it finds for itself may be another's on the second address family.
	for tries := 3; b.base == ""; tries-- {
		var stop func()
		b.base, stop, err = startDriver(driver, home)
		if err != nil && tries == 0 {
			t.Fatal(err)
		}
		if err == nil {
			t.Cleanup(stop)
		}
	}
	t.Cleanup(func() {
		if b.process > 0 {
			if err := b.try(http.MethodDelete, "", nil, nil); err != nil {
				t.Errorf("the browser does not end: %v", err)
				_ = syscall.Kill(b.process, syscall.SIGKILL) // it may have ended
			}
		}
	})
	b.session(binary, filepath.Join(home, "profile"))
	return b
}

// startDriver starts the driver of a browser and returns its address.
func startDriver(driver, home string) (base string, stop func(), err error) {
	cmd := exec.Command(driver, "--port=0")
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	port := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		defer close(port)
		lines, found := bufio.NewScanner(out), false
		for lines.Scan() {
			if m := driverReady.FindStringSubmatch(lines.Text()); m != nil && !found {
				found = true
				port <- m[1]
			}
		}
	}()
	stop = func() {
		_ = cmd.Process.Kill() // it may have ended
		<-drained
		_ = cmd.Wait() // killed
	}
	select {
	case p, ok := <-port:
		if ok {
			return "http://127.0.0.1:" + p, stop, nil
		}
		stop()
		return "", nil, fmt.Errorf("chromedriver ended: %s", stderr.String())
	case <-time.After(browserTime):
		stop()
		return "", nil, errors.New("chromedriver does not start")
	}
}

func (b *browser) session(binary, profile string) {
	args := []string{"--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-crash-reporter", "--disable-breakpad", "--hide-scrollbars",
		"--window-size=1500,1100", "--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir=" + profile}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox")
	}
	var s struct {
		SessionID    string
		Capabilities struct {
			Process int `json:"goog:processID"`
		}
	}
	driver := b.base
	b.base = driver + "/session"
	b.call(http.MethodPost, "", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"goog:chromeOptions": map[string]any{"binary": binary, "args": args},
		"goog:loggingPrefs":  map[string]any{"browser": "ALL"},
	}}}, &s)
	b.base += "/" + s.SessionID
	b.process = s.Capabilities.Process
	if b.process <= 0 {
		b.t.Fatal("chromedriver does not say what process the browser is")
	}
}

// call makes one request; into receives the value of the answer.
func (b *browser) call(method, path string, body, into any) {
	b.t.Helper()
	if err := b.try(method, path, body, into); err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
}

func (b *browser) try(method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), browserTime)
	defer cancel()
	var sent io.Reader
	if method == http.MethodPost {
		if body == nil {
			body = struct{}{}
		}
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, b.base+path, sent)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var answer struct{ Value json.RawMessage }
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", resp.Status, answer.Value)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, into)
}

// open shows a page of a file and waits until it is loaded, and painted: before
// that, Chromium drops what the mouse and the keyboard do.
func (b *browser) open(file string) {
	b.t.Helper()
	b.call(http.MethodPost, "/url", map[string]any{"url": "file://" + file}, nil)
	b.until("it is painted", `performance.getEntriesByType("paint").length > 0`)
}

// eval runs the body of a function of the arguments in the page.
func (b *browser) eval(into any, body string, args ...any) {
	b.t.Helper()
	if args == nil {
		args = []any{}
	}
	b.call(http.MethodPost, "/execute/sync", map[string]any{"script": body, "args": args}, into)
}

// text returns the text of what a selector finds first, "" where there is none.
func (b *browser) text(selector string) string {
	b.t.Helper()
	var s string
	b.eval(&s, `const e = document.querySelector(arguments[0]); return e && e.checkVisibility() ? e.innerText : ""`, selector)
	return s
}

// until waits for a condition of the page.
func (b *browser) until(what, condition string, args ...any) {
	b.t.Helper()
	for end := time.Now().Add(browserTime); ; {
		var ok bool
		b.eval(&ok, "return Boolean("+condition+")", args...)
		if ok {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("the page does not come to this: %s (%s)", what, condition)
		}
		// Two frames, in which the page draws what it was asked for.
		b.call(http.MethodPost, "/execute/async", map[string]any{"script": "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))", "args": []any{}}, nil)
	}
}

func (b *browser) element(selector string) string {
	b.t.Helper()
	var e map[string]string
	b.call(http.MethodPost, "/element", map[string]any{"using": "css selector", "value": selector}, &e)
	for _, id := range e {
		return id
	}
	b.t.Fatalf("no element %s", selector)
	return ""
}

// click clicks as a person does: it fails where something covers the element.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.call(http.MethodPost, "/element/"+b.element(selector)+"/click", nil, nil)
}

// The keys of the WebDriver protocol.
const (
	keyTab    = "\uE004"
	keyEnter  = "\uE007"
	keyEscape = "\uE00C"
	keyLeft   = "\uE012"
	keyUp     = "\uE013"
	keyRight  = "\uE014"
	keyDown   = "\uE015"
)

// press presses and releases keys, one after another, wherever the focus is.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	var acts []map[string]any
	for _, k := range keys {
		acts = append(acts, map[string]any{"type": "keyDown", "value": k}, map[string]any{"type": "keyUp", "value": k})
	}
	b.call(http.MethodPost, "/actions", map[string]any{"actions": []any{map[string]any{"type": "key", "id": "keys", "actions": acts}}}, nil)
}

// clickAt clicks a point of the window.
func (b *browser) clickAt(x, y int) {
	b.t.Helper()
	b.call(http.MethodPost, "/actions", map[string]any{"actions": []any{map[string]any{
		"type": "pointer", "id": "mouse", "parameters": map[string]any{"pointerType": "mouse"},
		"actions": []any{
			map[string]any{"type": "pointerMove", "duration": 0, "x": x, "y": y},
			map[string]any{"type": "pointerDown", "button": 0},
			map[string]any{"type": "pointerUp", "button": 0},
		},
	}}}, nil)
}

// media makes pages believe in a medium or a preference; nil ends that.
func (b *browser) media(params map[string]any) {
	b.t.Helper()
	if params == nil {
		params = map[string]any{"media": "", "features": []any{}}
	}
	b.call(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Emulation.setEmulatedMedia", "params": params}, nil)
}

// complaints are what the console has said since the last call.
func (b *browser) complaints() []string {
	b.t.Helper()
	var entries []struct{ Level, Message string }
	b.call(http.MethodPost, "/se/log", map[string]any{"type": "browser"}, &entries)
	var out []string
	for _, e := range entries {
		out = append(out, e.Level+": "+e.Message)
	}
	return out
}

// quiet fails the test where the console has said anything: errors, and what
// the page's policy has forbidden.
func (b *browser) quiet() {
	b.t.Helper()
	if c := b.complaints(); len(c) > 0 {
		b.t.Errorf("the console says:\n%s", strings.Join(c, "\n"))
	}
}

// keep writes a screenshot where artefacts of the build are kept.
func (b *browser) keep(name string) {
	b.t.Helper()
	dir := os.Getenv(artifactsEnv)
	if dir == "" {
		dir = b.t.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	var encoded string
	b.call(http.MethodGet, "/screenshot", nil, &encoded)
	png, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		b.t.Fatal(err)
	}
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.t.Logf("screenshot: %s, %d bytes", file, len(png))
}
