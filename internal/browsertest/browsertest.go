// Package browsertest drives a headless Chromium to test the pages that this project writes. It
// opens a page, acts on it as a person does, prints it, and has axe-core check its accessibility.
//
// Only tests import it. It knows nothing about any particular page.
package browsertest

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
	"testing"
	"time"
)

// artifactsEnv names the environment variable for the folder that keeps screenshots and printed
// pages.
const artifactsEnv = "ROCE_FABRIC_ARTIFACTS"

// browserTime limits one request to the browser and one wait for a page.
const browserTime = time.Minute

// Browser is a headless Chromium, driven over the WebDriver protocol
// (W3C WebDriver, and ChromeDriver's additions for logs and emulation).
type Browser struct {
	// T is the test that reports failures. A test with subtests sets it for each.
	T       *testing.T
	base    string // URL of the session
	process int    // process ID of the browser
}

var driverReady = regexp.MustCompile(`started successfully on port (\d+)`)

// Start starts a browser for one test. It skips the test if no browser is installed.
func Start(t *testing.T) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: -short; a browser takes seconds to start")
	}
	binary, err := exec.LookPath("chromium")
	driver, errDriver := exec.LookPath("chromedriver")
	if err != nil || errDriver != nil {
		t.Skip("skipped: needs chromium and chromedriver (Debian: chromium, chromium-driver)")
	}
	home := t.TempDir() // created before the cleanup below, so that it is removed after it
	b := &Browser{T: t}
	// Another process may already use the port that the driver picks, on the other address family.
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
				if p, err := os.FindProcess(b.process); err == nil {
					_ = p.Kill() // it may have ended already
				}
			}
		}
	})
	b.session(binary, filepath.Join(home, "profile"))
	return b
}

// startDriver starts chromedriver and returns its address and a function that stops it.
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
		_ = cmd.Process.Kill() // it may have ended already
		<-drained
		_ = cmd.Wait() // fails, because it was killed
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

func (b *Browser) session(binary, profile string) {
	args := []string{"--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-crash-reporter", "--disable-breakpad", "--hide-scrollbars",
		"--window-size=1500,1100", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir=" + profile}
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
	b.Call(http.MethodPost, "", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"timeouts":           map[string]any{"script": browserTime.Milliseconds()},
		"goog:chromeOptions": map[string]any{"binary": binary, "args": args},
		"goog:loggingPrefs":  map[string]any{"browser": "ALL"},
	}}}, &s)
	b.base += "/" + s.SessionID
	b.process = s.Capabilities.Process
	if b.process <= 0 {
		b.T.Fatal("chromedriver does not say what process the browser is")
	}
}

// Call makes one request and decodes the value of the answer into into.
func (b *Browser) Call(method, path string, body, into any) {
	b.T.Helper()
	if err := b.try(method, path, body, into); err != nil {
		b.T.Fatalf("%s %s: %v", method, path, err)
	}
}

func (b *Browser) try(method, path string, body, into any) error {
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
	defer func() { _ = resp.Body.Close() }() // already read to the end
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

// Open shows a page, given as an absolute file path or a URL, and waits until it has loaded and
// painted. Before it is painted, Chromium ignores mouse and keyboard events.
func (b *Browser) Open(page string) {
	b.T.Helper()
	if filepath.IsAbs(page) {
		page = "file://" + page
	}
	b.Call(http.MethodPost, "/url", map[string]any{"url": page}, nil)
	b.Until("it is painted", `performance.getEntriesByType("paint").length > 0`)
}

// Eval runs body as the body of a JavaScript function in the page, with args as its arguments.
func (b *Browser) Eval(into any, body string, args ...any) {
	b.T.Helper()
	if args == nil {
		args = []any{}
	}
	b.Call(http.MethodPost, "/execute/sync", map[string]any{"script": body, "args": args}, into)
}

// Text returns the text of the first element that matches a selector, or "" if none is visible.
func (b *Browser) Text(selector string) string {
	b.T.Helper()
	var s string
	b.Eval(&s, `const e = document.querySelector(arguments[0]); return e && e.checkVisibility() ? e.innerText : ""`, selector)
	return s
}

// Until waits until a JavaScript condition holds in the page.
func (b *Browser) Until(what, condition string, args ...any) {
	b.T.Helper()
	for end := time.Now().Add(browserTime); ; {
		var ok bool
		b.Eval(&ok, "return Boolean("+condition+")", args...)
		if ok {
			return
		}
		if time.Now().After(end) {
			b.T.Fatalf("timed out waiting for the page: %s (%s)", what, condition)
		}
		// Wait for two frames, so that the page can draw.
		b.Call(http.MethodPost, "/execute/async", map[string]any{"script": "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))", "args": []any{}}, nil)
	}
}

func (b *Browser) element(selector string) string {
	b.T.Helper()
	var e map[string]string
	b.Call(http.MethodPost, "/element", map[string]any{"using": "css selector", "value": selector}, &e)
	for _, id := range e {
		return id
	}
	b.T.Fatalf("no element %s", selector)
	return ""
}

// Click clicks an element as a person does: it fails if another element covers it.
func (b *Browser) Click(selector string) {
	b.T.Helper()
	b.Call(http.MethodPost, "/element/"+b.element(selector)+"/click", nil, nil)
}

// Key codes of the WebDriver protocol.
const (
	KeyTab    = "\uE004"
	KeyEnter  = "\uE007"
	KeyEscape = "\uE00C"
	KeyLeft   = "\uE012"
	KeyUp     = "\uE013"
	KeyRight  = "\uE014"
	KeyDown   = "\uE015"
)

// Press presses and releases keys one after another, wherever the focus is.
func (b *Browser) Press(keys ...string) {
	b.T.Helper()
	var acts []map[string]any
	for _, k := range keys {
		acts = append(acts, map[string]any{"type": "keyDown", "value": k}, map[string]any{"type": "keyUp", "value": k})
	}
	b.Call(http.MethodPost, "/actions", map[string]any{"actions": []any{map[string]any{"type": "key", "id": "keys", "actions": acts}}}, nil)
}

// ClickAt clicks a point of the window.
func (b *Browser) ClickAt(x, y int) {
	b.T.Helper()
	b.Call(http.MethodPost, "/actions", map[string]any{"actions": []any{map[string]any{
		"type": "pointer", "id": "mouse", "parameters": map[string]any{"pointerType": "mouse"},
		"actions": []any{
			map[string]any{"type": "pointerMove", "duration": 0, "x": x, "y": y},
			map[string]any{"type": "pointerDown", "button": 0},
			map[string]any{"type": "pointerUp", "button": 0},
		},
	}}}, nil)
}

// Media emulates a CSS medium or a user preference; nil ends the emulation.
func (b *Browser) Media(params map[string]any) {
	b.T.Helper()
	if params == nil {
		params = map[string]any{"media": "", "features": []any{}}
	}
	b.Call(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Emulation.setEmulatedMedia", "params": params}, nil)
}

// Complaints returns the console messages since the last call.
func (b *Browser) Complaints() []string {
	b.T.Helper()
	var entries []struct{ Level, Message string }
	b.Call(http.MethodPost, "/se/log", map[string]any{"type": "browser"}, &entries)
	var out []string
	for _, e := range entries {
		out = append(out, e.Level+": "+e.Message)
	}
	return out
}

// Quiet fails the test if the console has any messages, such as errors and violations of the
// page's content security policy.
func (b *Browser) Quiet() {
	b.T.Helper()
	if c := b.Complaints(); len(c) > 0 {
		b.T.Errorf("the console says:\n%s", strings.Join(c, "\n"))
	}
}

// Paper is a paper size in centimeters.
type Paper struct{ Width, Height float64 }

// Common paper sizes.
var (
	A4     = Paper{21, 29.7}
	Letter = Paper{21.59, 27.94}
)

// PDF prints the page without backgrounds, as browsers do by default. It keeps the file with the
// build artifacts and returns its content.
func (b *Browser) PDF(name string, paper Paper) []byte {
	b.T.Helper()
	var encoded string
	b.Call(http.MethodPost, "/print", map[string]any{"page": map[string]any{"width": paper.Width, "height": paper.Height}, "background": false}, &encoded)
	return b.save(name, encoded)
}

// Keep saves a screenshot with the build artifacts.
func (b *Browser) Keep(name string) {
	b.T.Helper()
	var encoded string
	b.Call(http.MethodGet, "/screenshot", nil, &encoded)
	b.save(name, encoded)
}

func (b *Browser) save(name, encoded string) []byte {
	b.T.Helper()
	content, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		b.T.Fatal(err)
	}
	dir := os.Getenv(artifactsEnv)
	if dir == "" {
		dir = b.T.TempDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.T.Fatal(err)
	}
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, content, 0o644); err != nil {
		b.T.Fatal(err)
	}
	b.T.Logf("kept: %s, %d bytes", file, len(content))
	return content
}
