// Package browsertest drives a headless Chromium in tests of the pages that this project
// writes: it opens them, acts on them as a person does, prints them, and has axe-core judge
// how accessible they are.
//
// Only tests import it. Nothing of a page is known here.
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

// artifactsEnv names the folder that screenshots and printed pages are kept in.
const artifactsEnv = "ROCE_FABRIC_ARTIFACTS"

// browserTime bounds one request to the browser and one wait for a page.
const browserTime = time.Minute

// Browser is a headless Chromium, driven over the WebDriver protocol
// (W3C WebDriver, and ChromeDriver's additions for logs and emulation).
type Browser struct {
	// T is the test that failures are of. A test that has subtests changes it for each.
	T       *testing.T
	base    string // of the session
	process int    // of the browser
}

var driverReady = regexp.MustCompile(`started successfully on port (\d+)`)

// Start starts a browser for one test, which is skipped where there is none.
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
	home := t.TempDir() // before the cleanup below, so that it is removed after it
	b := &Browser{T: t}
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
				if p, err := os.FindProcess(b.process); err == nil {
					_ = p.Kill() // it may have ended
				}
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

// Call makes one request; into receives the value of the answer.
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

// Open shows a page, of a file by its path or of a server by its address, and waits until
// it is loaded, and painted: before that, Chromium drops what the mouse and the keyboard do.
func (b *Browser) Open(page string) {
	b.T.Helper()
	if filepath.IsAbs(page) {
		page = "file://" + page
	}
	b.Call(http.MethodPost, "/url", map[string]any{"url": page}, nil)
	b.Until("it is painted", `performance.getEntriesByType("paint").length > 0`)
}

// Eval runs the body of a function of the arguments in the page.
func (b *Browser) Eval(into any, body string, args ...any) {
	b.T.Helper()
	if args == nil {
		args = []any{}
	}
	b.Call(http.MethodPost, "/execute/sync", map[string]any{"script": body, "args": args}, into)
}

// Text returns the text of what a selector finds first, "" where there is none.
func (b *Browser) Text(selector string) string {
	b.T.Helper()
	var s string
	b.Eval(&s, `const e = document.querySelector(arguments[0]); return e && e.checkVisibility() ? e.innerText : ""`, selector)
	return s
}

// Until waits for a condition of the page.
func (b *Browser) Until(what, condition string, args ...any) {
	b.T.Helper()
	for end := time.Now().Add(browserTime); ; {
		var ok bool
		b.Eval(&ok, "return Boolean("+condition+")", args...)
		if ok {
			return
		}
		if time.Now().After(end) {
			b.T.Fatalf("the page does not come to this: %s (%s)", what, condition)
		}
		// Two frames, in which the page draws what it was asked for.
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

// Click clicks as a person does: it fails where something covers the element.
func (b *Browser) Click(selector string) {
	b.T.Helper()
	b.Call(http.MethodPost, "/element/"+b.element(selector)+"/click", nil, nil)
}

// The keys of the WebDriver protocol.
const (
	KeyTab    = "\uE004"
	KeyEnter  = "\uE007"
	KeyEscape = "\uE00C"
	KeyLeft   = "\uE012"
	KeyUp     = "\uE013"
	KeyRight  = "\uE014"
	KeyDown   = "\uE015"
)

// Press presses and releases keys, one after another, wherever the focus is.
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

// Media makes pages believe in a medium or a preference; nil ends that.
func (b *Browser) Media(params map[string]any) {
	b.T.Helper()
	if params == nil {
		params = map[string]any{"media": "", "features": []any{}}
	}
	b.Call(http.MethodPost, "/goog/cdp/execute", map[string]any{"cmd": "Emulation.setEmulatedMedia", "params": params}, nil)
}

// Complaints are what the console has said since the last call.
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

// Quiet fails the test where the console has said anything: errors, and what
// the page's policy has forbidden.
func (b *Browser) Quiet() {
	b.T.Helper()
	if c := b.Complaints(); len(c) > 0 {
		b.T.Errorf("the console says:\n%s", strings.Join(c, "\n"))
	}
}

// Paper is the size of a page, in centimetres.
type Paper struct{ Width, Height float64 }

// The usual sizes.
var (
	A4     = Paper{21, 29.7}
	Letter = Paper{21.59, 27.94}
)

// PDF prints the page as a person does, without the backgrounds that a browser leaves out,
// keeps the file where artefacts of the build are kept, and returns it.
func (b *Browser) PDF(name string, paper Paper) []byte {
	b.T.Helper()
	var encoded string
	b.Call(http.MethodPost, "/print", map[string]any{"page": map[string]any{"width": paper.Width, "height": paper.Height}, "background": false}, &encoded)
	return b.save(name, encoded)
}

// Keep writes a screenshot where artefacts of the build are kept.
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
