package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// bubbles lists the functions that call their function arguments in virtual time.
var bubbles = []string{"synctest.Test", "drivertest.Run", "drivertest.ApplyFar"}

// realTime lists the tests that depend on something without virtual time, or need real sockets, by
// file or folder, with the reason.
var realTime = map[string]string{
	"bench":                                "measures the clock",
	"cmd/roce-fabric/blocks_test.go":       "processes",
	"cmd/roce-fabric/faults_test.go":       "processes",
	"cmd/roce-fabric/render_gnmic_test.go": "a lab over real sockets",
	"cmd/roce-fabric/script_cli_test.go":   "processes",
	"cmd/roce-fabric/script_sshd_test.go":  "OpenSSH",
	"cmd/roce-fabric/script_test.go":       "processes",
	"cmd/roce-fabric/sweep_store_test.go":  "virtual: the rule does not see that all worlds are in bubbles",
	"cmd/roce-fabric/sweep_world_test.go":  "virtual: the rule does not see that all worlds are in bubbles",
	"cmd/roce-fabric/trap_test.go":         "the machine's addresses",
	"cmd/roce-fabric/watch_test.go":        "a web server and a lab over real sockets",
	"docs/site":                            "a browser",
	"fleet/approval/approval_test.go":      "a web server over a real socket",
	"fleet/hook/hook_test.go":              "a web server over a real socket",
	"fleet/rollout_bench_test.go":          "measures the clock",
	"fleet/store/etcd_test.go":             "etcd",
	"internal/atomicfile/output_test.go":   "a socket in place of a file",
	"internal/gnmi/server_test.go":         "a benchmark over real sockets",
	"internal/ssh/dial_test.go":            "the socket of an ssh-agent",
	"internal/ssh/openssh_test.go":         "OpenSSH",
	"internal/ssh/stuck_test.go":           "peers that stop reading: others wait for the mutex of the writer",
	"nic/dcb/kernel_test.go":               "the kernel",
	"nic/local/notify_linux_test.go":       "the kernel",
	"nic/remote/remote_test.go":            "OpenSSH",
	"nic/runner/local_test.go":             "processes",
	"testlab/containerlab":                 "containers",
	"testlab/hostvm":                       "a virtual machine",
	"testlab/lab/lab_test.go":              "the lab over real sockets",
	"testlab/proxy":                        "a proxy between real sockets",
	"testlab/sim/cumulus/cumulus_test.go":  "the simulator over a real socket",
	"testlab/sim/eos/faults_test.go":       "the simulator over a real socket",
	"testlab/sim/host/faults_test.go":      "the simulator over a real socket",
	"testlab/sim/nxos/faults_test.go":      "the simulator over a real socket",
	"testlab/sim/sonic/faults_test.go":     "the simulator over a real socket",
	"testlab/sim/sonic/sonic_test.go":      "the simulator over a real socket",
}

// waits lists the calls that wait, or whose result is waited for.
var waits = []string{
	"time.Sleep", "time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick",
	"context.WithTimeout", "context.WithTimeoutCause", "context.WithDeadline", "context.WithDeadlineCause",
}

// sockets lists the calls that open a socket. Time stands still in a bubble while a goroutine waits
// for one.
var sockets = []string{
	"net.Listen", "net.ListenPacket", "net.Dial", "net.DialTimeout", "httptest.NewServer", "httptest.NewTLSServer", "httptest.NewUnstartedServer",
}

// TestWaits finds tests that wait for the real clock or open sockets.
func TestWaits(t *testing.T) {
	tr, err := parseTree(moduleRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string][]*ast.File{}
	for i, src := range tr.files {
		if src.test {
			dir := path.Dir(src.path)
			packages[dir] = append(packages[dir], tr.asts[i])
		}
	}
	used := map[string]bool{}
	for dir, files := range packages {
		for _, f := range waitFaults(tr.fset, files) {
			file := path.Join(dir, path.Base(f.at.Filename))
			allowed := file
			for allowed != "." && realTime[allowed] == "" {
				allowed = path.Dir(allowed)
			}
			if used[allowed] = true; allowed == "." {
				t.Errorf("%s:%d: %s", file, f.at.Line, f.what)
			}
		}
	}
	for name := range realTime {
		if !used[name] {
			t.Errorf("%s waits for nothing and opens no socket: it needs no entry in realTime", name)
		}
	}
}

type waitFault struct {
	at   token.Position
	what string
}

// waitFaults returns where the test files of a package open sockets or wait for the real clock:
// outside a bubble, and outside functions and types that only bubbles use.
func waitFaults(fset *token.FileSet, files []*ast.File) (out []waitFault) {
	w := &waitFinder{calls: map[string][]call{}, types: map[string]bool{}, starts: map[string]bool{}}
	for _, f := range files {
		for _, d := range f.Decls {
			w.walk(d, "", false)
		}
	}
	for _, f := range w.found {
		if f.socket || !f.bubble && !w.virtual(f.in, nil) {
			out = append(out, waitFault{fset.Position(f.pos), f.what})
		}
	}
	return out
}

// call is a use of a function or type inside another one.
type call struct {
	in     string
	bubble bool
}

type waitFinder struct {
	calls map[string][]call // by the name that is used
	types map[string]bool
	// starts holds the functions that start a bubble; their tables of test cases are outside it.
	starts map[string]bool
	found  []finding
}

// finding is a call that waits or opens a socket.
type finding struct {
	call
	pos    token.Pos
	what   string
	socket bool
}

func (w *waitFinder) walk(n ast.Node, in string, bubble bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			in := n.Name.Name
			if n.Recv != nil {
				in = typeName(n.Recv.List[0].Type) + "." + in
			}
			if n.Body != nil {
				w.walk(n.Body, in, bubble)
			}
			return false
		case *ast.FuncType:
			return false // a type in a signature does not count as a use
		case *ast.TypeSpec:
			w.types[n.Name.Name] = true
			w.walk(n.Type, n.Name.Name, bubble)
			return false
		case *ast.CallExpr:
			if !bubble && slices.Contains(bubbles, selector(n.Fun)) {
				w.starts[in] = true
				for _, a := range n.Args {
					w.walk(a, in, true)
				}
				return false
			}
			switch name := selector(n.Fun); {
			case slices.Contains(waits, name):
				w.add(n.Pos(), in, bubble, name)
			case slices.Contains(sockets, name):
				w.found = append(w.found, finding{call{in, bubble}, n.Pos(), name + " opens a socket: use testlab/memnet", true})
			}
		case *ast.ForStmt:
			for _, clock := range []string{"Now", "Since", "Until"} {
				if n.Cond != nil && mentions(n.Cond, "time."+clock) {
					w.add(n.Pos(), in, bubble, "a loop over time."+clock)
				}
			}
		case *ast.Ident:
			w.calls[n.Name] = append(w.calls[n.Name], call{in, bubble})
		}
		return true
	})
}

func (w *waitFinder) add(pos token.Pos, in string, bubble bool, what string) {
	w.found = append(w.found, finding{call{in, bubble}, pos, what + " waits for the real clock: call it in a bubble of testing/synctest", false})
}

// virtual reports whether a function or type is used only in bubbles. above lists the functions
// and types whose callers are being examined, to end recursion.
func (w *waitFinder) virtual(fn string, above []string) bool {
	if of, method, ok := strings.Cut(fn, "."); ok { // another package may call the method wherever the type is used
		return w.virtual(method, append(above, fn)) || w.virtual(of, append(above, fn))
	}
	if len(w.calls[fn]) == 0 {
		return false // the testing package calls it
	}
	return !slices.ContainsFunc(w.calls[fn], func(c call) bool {
		return !c.bubble && !(w.types[fn] && (c.in == "" || w.starts[c.in])) && !slices.Contains(above, c.in) && !w.virtual(c.in, append(above, fn))
	})
}

// typeName returns the name of a receiver's type.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// selector returns "x.Y" for such an expression, and "" otherwise.
func selector(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

func mentions(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		found = found || ok && selector(e) == name
		return !found
	})
	return found
}

func TestWaitsAreFound(t *testing.T) {
	for body, want := range map[string]string{
		`func TestA(t *testing.T) { time.Sleep(1) }`:                                                                          "time.Sleep",
		`func TestA(t *testing.T) { t.Run("x", func(t *testing.T) { <-time.After(1) }) }`:                                     "time.After",
		`func TestA(t *testing.T) { for end := time.Now().Add(1); time.Now().Before(end); { f() } }`:                          "a loop over time.Now",
		`func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }`:                                 "",
		`func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { wait() }) }; func wait() { time.Sleep(1) }`:         "",
		`func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { wait() }); wait() }; func wait() { time.Sleep(1) }`: "time.Sleep",
		`func TestA(t *testing.T) { one() }; func one() { two() }; func two() { _ = time.NewTicker(1); one() }`:               "time.NewTicker",
		`func TestA(t *testing.T) { began := time.Now(); f(); t.Log(time.Since(began)) }`:                                     "",
		`func TestA(t *testing.T) { ctx, end := context.WithTimeout(t.Context(), 1); defer end(); f(ctx) }`:                   "context.WithTimeout",
		`func TestA(t *testing.T) { l, err := net.Listen("tcp", "127.0.0.1:0"); f(l, err) }`:                                  "net.Listen",
		`func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { s := httptest.NewServer(h); f(s) }) }`:              "httptest.NewServer",
		`func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { l, err := network.Listen("127.0.0.1:0"); f(l) }) }`: "",
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "a_test.go", "package p\n"+body, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range waitFaults(fset, []*ast.File{file}) {
			for _, end := range []string{" waits for ", " opens a "} {
				f.what, _, _ = strings.Cut(f.what, end)
			}
			got += f.what
		}
		if got != want {
			t.Errorf("%s: found %q, want %q", body, got, want)
		}
	}
}
