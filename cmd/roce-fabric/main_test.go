package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/netx"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/report"
)

// The process sets a memory limit, so that garbage collection increases before memory runs out.
func TestMemoryIsLimited(t *testing.T) {
	if _, own := os.LookupEnv("GOMEMLIMIT"); own {
		t.Skip("GOMEMLIMIT sets the limit")
	}
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	limitMemory()
	if limit := debug.SetMemoryLimit(-1); limit == math.MaxInt64 {
		t.Error("there is no limit")
	}
}

// This is no script, because testscript parses a leading flag as one of go test.
func TestVersionFlag(t *testing.T) {
	if status, out, errOut := runHere(t, "--version"); status != exitOK || out != "roce-fabric devel\n" || errOut != "" {
		t.Errorf("status %d: %q, %q", status, out, errOut)
	}
}

// runHere runs a command line in this process.
func runHere(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return runOver(t, nil, args...)
}

// runOver is runHere with another network.
func runOver(t *testing.T, dial netx.Dialer, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errOut lockedBuffer
	a := &app{Console: report.Console{In: strings.NewReader(""), Out: &out, Err: &errOut, Getenv: func(string) string { return "" }}, dial: dial}
	status = a.run(context.Background(), args)
	return status, out.String(), errOut.String()
}

// lockedBuffer is a buffer that several goroutines can write to, like a file.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The help of every command says what it does, how to use it and what its exit status means.
func TestHelpOfEveryCommand(t *testing.T) {
	n := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.Hidden {
			return
		}
		n++
		path := strings.Fields(c.CommandPath())[1:]
		status, out, errOut := runHere(t, append(path, "--help")...)
		if status != exitOK || errOut != "" {
			t.Errorf("%v: status %d, stderr %q", path, status, errOut)
		}
		for _, want := range []string{"Usage:\n", "Examples:\n", "Exit status:\n", "  130  interrupted\n", "--color"} {
			if !strings.Contains(out, want) {
				t.Errorf("%v --help has no %q", path, want)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(out, "--"+f.Name) {
				t.Errorf("%v --help does not name --%s", path, f.Name)
			}
		})
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if len(strings.TrimSuffix(line, "\n")) > 82 && !strings.Contains(c.CommandPath(), "completion") {
				t.Errorf("%v: the help has a line of %d characters: %q", path, len(line), line)
			}
		}
	}
	visit((&app{Console: report.Console{In: nil, Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Getenv: func(string) string { return "" }}}).root())
	if n < 15 {
		t.Errorf("%d commands, there are more", n)
	}
}

// Unless the shell requests completions, cobra is given no completion functions, which it would
// keep.
func TestCompletionsAreForTheShell(t *testing.T) {
	kept := func(a *app) (n int) {
		var visit func(c *cobra.Command)
		visit = func(c *cobra.Command) {
			c.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if _, ok := c.GetFlagCompletionFunc(f.Name); ok {
					n++
				}
			})
			for _, sub := range c.Commands() {
				visit(sub)
			}
		}
		visit(a.root())
		return n
	}
	asks := silentApp()
	asks.completing = true
	if n, asked := kept(silentApp()), kept(asks); n > 0 || asked < 20 {
		t.Errorf("%d functions are kept; %d where the shell asks", n, asked)
	}
}

func TestSchemaIsTheIntents(t *testing.T) {
	status, out, _ := runHere(t, "schema")
	if status != exitOK || out != string(intent.Schema()) {
		t.Errorf("status %d, %d bytes, the schema has %d", status, len(out), len(intent.Schema()))
	}
}

// A configuration rendered for a release is valid against that release's own models.
func TestCheckYANG(t *testing.T) {
	for _, release := range []string{"202511", "master"} {
		dir := sharedtest.YANG(t, release)
		status, out, errOut := runHere(t, "check", "-f", "testdata/fabric.yaml", "--yang", dir)
		if status != exitOK || !strings.HasPrefix(out, "pod1: nothing wrong, 3 info;") {
			t.Errorf("%s: status %d\n%s%s", release, status, out, errOut)
		}
		to := filepath.Join(t.TempDir(), "out")
		if status, _, errOut := runHere(t, "render", "-f", "testdata/fabric.yaml", "--yang", dir, "--out", to); status != exitOK {
			t.Errorf("%s: render: status %d\n%s", release, status, errOut)
		}
	}
}

// An interrupted run ends with status 130 whatever else happened, and reports the interruption
// once.
func TestInterruptedBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{
		{"plan", "-f", "testdata/fabric.yaml"},
		{"validate", "-f", "testdata/fabric.yaml"},
		{"apply", "-f", "testdata/fabric.yaml", "--yes", "--state", t.TempDir()},
	} {
		var out, errOut bytes.Buffer
		a := &app{Console: report.Console{In: strings.NewReader(""), Out: &out, Err: &errOut, Getenv: func(string) string { return "" }}}
		status := a.run(ctx, append(args, "--output", "json"))
		var doc struct {
			Errors []struct{ Error string } `json:"errors"`
		}
		if err := json.Unmarshal(errOut.Bytes(), &doc); err != nil || len(doc.Errors) != 1 || doc.Errors[0].Error != "interrupted" {
			t.Errorf("%v: stderr %q", args, errOut.String())
		}
		if status != exitInterrupted || json.Valid(out.Bytes()) {
			t.Errorf("%v: status %d, stdout %q: half a result must not look whole", args, status, out.String())
		}
	}
}
