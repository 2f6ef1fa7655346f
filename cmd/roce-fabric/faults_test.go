package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/proxy"
)

// limitFiles makes SIGUSR1 limit the size of every file of this process to the number in the
// file named by FILE_LIMIT: larger writes then fail, as on a full disk.
func limitFiles() {
	signal.Ignore(syscall.SIGXFSZ)
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	go func() {
		<-c
		b, err := os.ReadFile(os.Getenv("FILE_LIMIT"))
		n, err2 := strconv.ParseUint(string(b), 10, 64)
		var l syscall.Rlimit
		err = errors.Join(err, err2, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l))
		l.Cur = n
		if err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l)); err != nil {
			panic(err)
		}
		fmt.Fprintln(os.Stderr, diskIsFull)
	}()
}

const diskIsFull = "the disk is full now"

// artifact saves a table of a test if the test run collects artifacts.
func artifact(t *testing.T, name, text string) {
	if dir := os.Getenv("ROCE_FABRIC_ARTIFACTS"); dir != "" {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)); err != nil {
			t.Error(err)
		}
	}
}

// rig is a lab of two devices behind proxies, and one process of the program, which meets a
// fault.
type rig struct {
	t     *testing.T
	names [2]string
	boxes [2]box
	args  []string
	state string // folder
	limit string // the file that limitFiles reads

	mu     sync.Mutex
	cmd    *exec.Cmd
	stderr syncBuffer
	done   chan struct{}
	talk   int // data exchanges since the journal contains a device
	fire   func()
}

func newRig(t *testing.T, k kind) *rig {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "fabric.yaml")
	must(os.WriteFile(file, []byte(sweepFabric+k.devices), 0o600))
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(f, dir, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{t: t, names: k.names, state: filepath.Join(dir, "state"), limit: filepath.Join(dir, "limit"), done: make(chan struct{})}
	r.args = []string{"-f", file, "--lab", lab.Path(dir), "--only", strings.Join(r.names[:], ","), "--state", r.state, "--parallel", "1"}
	for i, name := range r.names {
		r.boxes[i] = boxOfLab(l, name)
		r.boxes[i].mark()
		if d, ok := l.Devices[name]; ok {
			d.GNMI, d.SSH = r.proxy(l, d.GNMI), r.proxy(l, d.SSH)
			l.Devices[name] = d
		} else {
			h := l.Hosts[name]
			h.SSH = r.proxy(l, h.SSH)
			l.Hosts[name] = h
		}
	}
	b, err := json.Marshal(l.File)
	must(errors.Join(err, os.WriteFile(lab.Path(dir), b, 0o600)))
	return r
}

// proxy starts a proxy in front of a server.
func (r *rig) proxy(l *lab.Lab, to string) string {
	p, err := proxy.Open(to, func(c proxy.Chunk) (int, bool) {
		r.piece()
		return len(c.Data), false
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			r.t.Error(err)
		}
	})
	known, err := os.ReadFile(l.KnownHosts)
	_, old, _ := strings.Cut(to, ":")
	_, now, _ := strings.Cut(p.Addr(), ":")
	must(errors.Join(err, os.WriteFile(l.KnownHosts, bytes.ReplaceAll(known, []byte("]:"+old+" "), []byte("]:"+now+" ")), 0o600)))
	return p.Addr()
}

// piece fires the fault once the program writes to the first device.
func (r *rig) piece() {
	r.mu.Lock()
	defer r.mu.Unlock()
	files, err := filepath.Glob(filepath.Join(r.state, "*.journal"))
	must(err)
	if r.fire == nil || len(files) == 0 {
		return
	}
	if b, err := os.ReadFile(files[0]); err != nil || !bytes.Contains(b, []byte(`"event":"start"`)) {
		return
	}
	if r.talk++; r.talk == 4 {
		r.fire()
		r.fire = nil
	}
}

// signal sends a signal to the program and waits for its message about it.
func (r *rig) signal(s os.Signal, says string) {
	if err := r.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !strings.Contains(r.stderr.String(), says) {
		select {
		case <-tick.C:
		case <-r.done:
			return
		case <-late:
			panic(fmt.Sprintf("%s: nothing is said of %v:\n%s", r.t.Name(), s, r.stderr.String()))
		}
	}
}

// insist sends Ctrl-C until the program ends, which it does at the third one that it notices.
func (r *rig) insist() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		r.signal(os.Interrupt, "")
		select {
		case <-tick.C:
		case <-r.done:
			return
		}
	}
}

// stateLine matches the line of a device, or of both devices if they have the same state.
var stateLine = regexp.MustCompile(`(?m)^((?:leaf|gpu)\d(?:, (?:leaf|gpu)\d)?)  +([a-z-]+)`)

// apply runs the program with a fault.
func (r *rig) apply(fire func()) *runReport {
	r.t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("roce-fabric-limited", slices.Concat(applyNow, r.args)...)
	cmd.Stdout, cmd.Stderr = &out, &r.stderr
	cmd.Env = append(os.Environ(), "FILE_LIMIT="+r.limit)
	r.mu.Lock()
	r.cmd, r.fire = cmd, fire
	must(cmd.Start())
	r.mu.Unlock()
	_ = cmd.Wait() // its status is read below
	close(r.done)
	rep := &runReport{cmd.ProcessState.ExitCode(), map[string]string{}, out.String() + r.stderr.String()}
	for _, m := range stateLine.FindAllStringSubmatch(out.String(), -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			rep.devices[name] = m[2]
		}
	}
	return rep
}

// A process that gets a signal or a full disk while it writes ends as documented, its report
// matches the devices, and the next apply brings them to the intent. TestFaultSweep covers all
// other faults without processes.
func TestFaultsOfTheProcess(t *testing.T) {
	t.Parallel()
	// A process that ignores SIGHUP, for example under nohup, passes that on to its children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	for _, c := range []struct {
		fault  string
		fire   func(*rig)
		status []int
	}{
		{"SIGKILL", func(r *rig) { must(r.cmd.Process.Kill()); <-r.done }, []int{-1}},
		{"SIGHUP", func(r *rig) { r.signal(syscall.SIGHUP, "interrupted") }, []int{exitInterrupted}},
		{"SIGINT thrice", (*rig).insist, []int{exitInterrupted}},
		{"full disk", func(r *rig) {
			must(os.WriteFile(r.limit, []byte("0"), 0o600))
			r.signal(syscall.SIGUSR1, diskIsFull)
		}, []int{exitFailed, exitPartial}},
	} {
		for _, k := range []kind{ways[0], ways[len(ways)-1]} {
			t.Run(c.fault+"/"+k.name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, k)
				before := [2]string{r.boxes[0].state(), r.boxes[1].state()}
				rep := r.apply(func() { c.fire(r) })
				if !slices.Contains(c.status, rep.status) {
					t.Errorf("status %d, want %d\n%s", rep.status, c.status, rep.text)
				}
				for i, name := range r.names {
					said, same := rep.devices[name], r.boxes[i].state() == before[i]
					if said != "" && said != "partial" && same == (said == "applied") {
						t.Errorf("%s is said to be %s\n%s\n%s", name, said, diffOf(before[i], r.boxes[i].state()), rep.text)
					}
				}
				for _, args := range [][]string{applyNow, {"plan", "--exit-code"}} {
					if status, out, errOut := runHere(t, append(args, r.args...)...); status != exitOK {
						t.Errorf("%s: status %d\n%s%s", args[0], status, out, errOut)
					}
				}
				for i, b := range r.boxes {
					if b.unsaved() {
						t.Errorf("%s is not saved", r.names[i])
					}
				}
			})
		}
	}
}
