package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/roce-fabric/roce-fabric/report"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
)

// TestScriptInVirtualTime runs the scripts that need no process of their own. Each runs in a bubble,
// with the program in this process and the lab on an in-memory network. The scripts run one after
// the other, and not together with other tests, because the working folder and the environment
// belong to the process.
func TestScriptInVirtualTime(t *testing.T) {
	quietSignals()
	// Handing goroutines from one processor to another takes a third of the time of both.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := scriptsIn("testdata/virtual")
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Values[networkOf{}] = memnet.New(1)
		return setup(e)
	}
	testscript.RunT(bubbled{t}, p)
}

// bubbled runs each of its subtests in a bubble.
type bubbled struct{ *testing.T }

func (b bubbled) Run(name string, test func(testscript.T)) {
	b.T.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(bubbled{t}) })
	})
}

func (bubbled) Parallel() {}

func (bubbled) Verbose() bool { return testing.Verbose() }

// networkOf is the key of a script's in-memory network.
type networkOf struct{}

// virtual returns the network of a script that runs in virtual time, and nil for other scripts.
func virtual(ts *testscript.TestScript) *memnet.Network {
	n, _ := ts.Value(networkOf{}).(*memnet.Network)
	return n
}

// runInProcess runs the program in the folder and with the environment of a script, and returns
// its exit status.
func runInProcess(ctx context.Context, ts *testscript.TestScript, args []string, out, errOut io.Writer) int {
	if args[0] != "roce-fabric" {
		ts.Fatalf("%s cannot run in virtual time", args[0])
	}
	was, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(was)) }()
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "FABRIC_USER", "FABRIC_PASSWORD"} {
		if old, ok := os.LookupEnv(name); ok {
			defer func() { ts.Check(os.Setenv(name, old)) }()
		} else {
			defer func() { ts.Check(os.Unsetenv(name)) }()
		}
		if value := ts.Getenv(name); value != "" {
			ts.Check(os.Setenv(name, value))
		} else {
			ts.Check(os.Unsetenv(name))
		}
	}
	a := &app{Console: report.Console{In: strings.NewReader(""), Out: out, Err: errOut, Getenv: ts.Getenv}, dial: virtual(ts).Client(nil).Dial}
	return a.run(ctx, args[1:])
}

// exitCodeHere is exitcode in virtual time.
func exitCodeHere(ts *testscript.TestScript, a []string) {
	var out, errOut lockedBuffer
	status := runInProcess(context.Background(), ts, a[1:], &out, &errOut)
	fmt.Fprint(ts.Stdout(), out.String())
	fmt.Fprint(ts.Stderr(), errOut.String())
	if fmt.Sprint(status) != a[0] {
		ts.Fatalf("exit status %d, want %s", status, a[0])
	}
}

// watchedOutput is an output that calls then once it matches a pattern.
type watchedOutput struct {
	lockedBuffer
	pattern *regexp.Regexp // nil matches nothing
	then    func()
}

func (w *watchedOutput) Write(p []byte) (int, error) {
	n, err := w.lockedBuffer.Write(p)
	if w.pattern != nil && w.pattern.MatchString(w.String()) {
		w.then()
	}
	return n, err
}

// disturbedHere is signalled in virtual time. Signals that should end the command cancel its
// context, as the program does.
func disturbedHere(ts *testscript.TestScript, a []string, d disturbance) {
	kind, arg, _ := strings.Cut(a[1], ":")
	var out, errOut watchedOutput
	said := map[string]*watchedOutput{"out": &out, "err": &errOut}[kind]
	if said == nil || d.deaf || len(d.signals) > 0 && !d.ends {
		ts.Fatalf("not possible in virtual time")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	said.pattern = regexp.MustCompile(arg)
	var reached atomic.Bool
	said.then = sync.OnceFunc(func() {
		reached.Store(true)
		if d.act != nil {
			d.act()
		}
		if d.ends {
			cancel()
		}
	})
	status := runInProcess(ctx, ts, a[2:], &out, &errOut)
	if !reached.Load() {
		ts.Fatalf("the output did not come\nstdout: %s\nstderr: %s", out.String(), errOut.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(out.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("err"), []byte(errOut.String()), 0o600))
	if fmt.Sprint(status) != a[0] {
		ts.Fatalf("exit status %d, want %s\nstdout: %s\nstderr: %s", status, a[0], out.String(), errOut.String())
	}
}
