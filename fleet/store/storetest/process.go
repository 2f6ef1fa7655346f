package storetest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// variable is the environment variable that makes the test program a worker. It holds the
// place, the fabric and the host name, one per line.
const variable = "ROCE_FABRIC_STORETEST"

// Main runs the tests of a package. In a process started by [Place.Start] it executes the
// test's commands instead. The caller passes the result to os.Exit.
func Main(m *testing.M, open Open) int {
	where, ok := os.LookupEnv(variable)
	if !ok {
		return m.Run()
	}
	fields := strings.Split(where, "\n")
	s, err := open(context.Background(), fields[0], fields[1])
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	w := &worker{s: s, host: fields[2]}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		verb, run, _ := strings.Cut(in.Text(), " ")
		if err := w.do(verb, run); err != nil {
			fmt.Println("error:", err)
			continue
		}
		fmt.Println("ok")
	}
	return 0
}

// worker holds the state of a process started by [Place.Start].
type worker struct {
	s    store.Store
	host string
	l    store.Lock
	j    store.Journal
}

func (w *worker) do(verb, run string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch verb {
	case "lock":
		if w.l, err = w.s.Lock(ctx, owner(w.host, run)); err == nil {
			w.j, err = w.l.Create(ctx, run)
		}
		return err
	case "append":
		return w.j.Append(ctx, record(0))
	case "release":
		return w.l.Release()
	}
	return fmt.Errorf("unknown verb %s", verb)
}

// Process is another process that works on the same place.
type Process struct {
	*exec.Cmd
	in  io.Writer
	out *bufio.Scanner
}

// Start starts a process that uses host as its host name. The process is killed when the
// test ends.
func (p *Place) Start(t *testing.T, host string) *Process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), variable+"="+p.Where+"\n"+p.Fabric+"\n"+host)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // the process may have ended
		_ = cmd.Wait()
	})
	return &Process{cmd, in, bufio.NewScanner(out)}
}

// Do sends the process a command: "lock RUN" takes the lock and starts a journal,
// "append" appends a record, and "release" releases the lock. Do returns "ok" or the error.
func (p *Process) Do(t *testing.T, command string) string {
	t.Helper()
	if _, err := fmt.Fprintln(p.in, command); err != nil {
		t.Fatal(err)
	}
	if !p.out.Scan() {
		t.Fatalf("the process ended: %v", p.out.Err())
	}
	return p.out.Text()
}
