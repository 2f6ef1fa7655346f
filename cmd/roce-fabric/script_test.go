package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
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

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

func TestMain(m *testing.M) {
	sharedtest.CollectLess()
	sharedtest.TempInMemory(1 << 30)
	sharedtest.Default(sharedtest.Parallel, "8")
	// The first call of Notify starts a goroutine of the runtime, and would wait for it forever in
	// a bubble of synctest.
	first := make(chan os.Signal, 1)
	signal.Notify(first, syscall.SIGWINCH)
	signal.Stop(first)
	testscript.Main(m, map[string]func(){
		"roce-fabric":         func() { os.Exit(realMain()) },
		"roce-fabric-limited": func() { limitFiles(); os.Exit(realMain()) },
	})
}

// labs maps the working folder of each running script to its lab.
var labs sync.Map

func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptsIn("testdata/script"))
}

// scriptsIn returns the parameters for the scripts in a folder.
func scriptsIn(dir string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			for _, v := range []string{"CI", "NO_COLOR", "CLICOLOR_FORCE", "ROCE_FABRIC_LAB"} {
				e.Setenv(v, "")
			}
			// Most scripts test only switches: hosts are in hosts.txtar. The gate takes time, so
			// only the scripts about the gate turn it on.
			e.Setenv("ROCE_FABRIC_GATE", "off")
			e.Setenv("SWITCHES", "--only=leaf*,spine*")
			b, err := os.ReadFile("testdata/fabric.yaml")
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(e.WorkDir, "fabric.yaml"), b, 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitCode, "interrupt": interrupt, "hangup": hangup, "nohup": nohup, "deaf": deaf, "cutoff": cutOff,
			"expand": expand, "replace": replace, "addline": addLine, "bigfile": bigFile, "cut": cut, "mode": mode, "one": one, "sums": sums, "json": jsonIs, "forge": forge, "forgejournal": forgeJournal,
			"labup": labUp, "labdump": labDump, "labmark": labMark, "labsame": labSame, "labset": labSet, "labdel": labDel, "labasic": labASIC,
			"labconf": labConf, "labshows": labShows, "labexpire": labExpire, "killed": killed,
			"sshd": sshd, "labfault": labFault, "labinject": labInject, "labrestart": labRestart, "labis": labIs,
			"labpfc": labPFC, "labmtu": labMTU, "labremove": labRemove, "labreboot": labReboot, "labresets": labResets, "labcount": labCount, "labpoll": labPoll, "labunplug": labUnplug, "meanwhile": meanwhile,
			"trap": trap, "attacked": attacked, "untrapped": untrapped, "cirun": ciRun, "cioutput": ciOutput, "windows": windows,
		},
	}
}

// exitCode N COMMAND runs a command that must end with exit status N.
func exitCode(ts *testscript.TestScript, neg bool, a []string) {
	if neg || len(a) < 2 {
		ts.Fatalf("usage: exitcode N command...")
	}
	if virtual(ts) != nil {
		exitCodeHere(ts, a)
		return
	}
	err := ts.Exec(a[1], a[2:]...)
	got := 0
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		got = ee.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != a[0] {
		ts.Fatalf("exit status %d, want %s", got, a[0])
	}
}

// syncBuffer is a buffer that can be read while a process writes to it.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// interrupt N WHEN COMMAND runs a command, sends it SIGINT at a given moment, and checks the
// exit status. WHEN is out:REGEXP or err:REGEXP, which the output must match, or set:DEVICE, the
// first write to that device. The outputs are in the files out and err.
func interrupt(ts *testscript.TestScript, neg bool, a []string) {
	signalled(ts, neg, a, disturbance{signals: []os.Signal{os.Interrupt}, ends: true})
}

// hangup N WHEN COMMAND is like interrupt, but simulates a closed terminal: SIGHUP from the
// shell and from the kernel, and closed outputs.
func hangup(ts *testscript.TestScript, neg bool, a []string) {
	hup := slices.Repeat([]os.Signal{syscall.SIGHUP}, patience+1)
	signalled(ts, neg, a, disturbance{signals: hup, ends: true, deaf: true})
}

// nohup N set:DEVICE COMMAND is like hangup for a command that was started with SIGHUP ignored
// and whose outputs stay open.
func nohup(ts *testscript.TestScript, neg bool, a []string) {
	if len(a) > 2 {
		a = slices.Concat(a[:2], []string{"sh", "-c", `trap '' HUP; exec "$@"`, "sh"}, a[2:])
	}
	signalled(ts, neg, a, disturbance{signals: []os.Signal{syscall.SIGHUP}})
}

// cutoff -1 WHEN COMMAND is like interrupt with SIGKILL.
func cutOff(ts *testscript.TestScript, neg bool, a []string) {
	signalled(ts, neg, a, disturbance{signals: []os.Signal{syscall.SIGKILL}})
}

// deaf N WHEN COMMAND closes the command's standard error.
func deaf(ts *testscript.TestScript, neg bool, a []string) {
	signalled(ts, neg, a, disturbance{deaf: true})
}

// disturbance is what happens to a command while it runs.
type disturbance struct {
	signals []os.Signal
	act     func()
	ends    bool // the signals should end the command
	deaf    bool // the outputs are closed; standard output only if the command should end
}

func signalled(ts *testscript.TestScript, neg bool, a []string, d disturbance) {
	if neg || len(a) < 3 {
		ts.Fatalf("usage: N out:REGEXP|err:REGEXP|set:DEVICE|fifo:PATH command...")
	}
	if virtual(ts) != nil {
		disturbedHere(ts, a, d)
		return
	}
	var out, errOut output
	cmd := exec.Command(a[2], a[3:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), out.open(ts), errOut.open(ts)
	cmd.Env = scriptEnv(ts)
	kind, arg, _ := strings.Cut(a[1], ":")
	reached := make(chan struct{})
	release := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	ts.Defer(letGo) // before the lab is closed, which waits for its handlers
	if kind == "set" {
		hold(ts, arg, sync.OnceFunc(func() { close(reached); <-release }))
	}
	// If these tests run under nohup, SIGHUP must be caught here, or the command would inherit
	// it as ignored.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	if kind == "fifo" {
		ts.Check(syscall.Mkfifo(ts.MkAbs(arg), 0o600))
	}
	ts.Check(cmd.Start())
	signal.Stop(caught)
	out.started()
	errOut.started()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	limit := time.NewTimer(5 * time.Minute) // the race detector and a busy machine are slow
	defer limit.Stop()
	fail := func(what string) {
		letGo()
		_ = cmd.Process.Kill()
		ts.Fatalf("%s\nstdout: %s\nstderr: %s", what, out.String(), errOut.String())
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	switch kind {
	case "fifo":
		// Opening succeeds once the command has opened the FIFO or is about to.
		var w *os.File
		for err := error(nil); w == nil; {
			if w, err = os.OpenFile(ts.MkAbs(arg), os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				break
			}
			select {
			case <-tick.C:
			case err := <-done:
				fail(fmt.Sprintf("the command ended by itself: %v", err))
			case <-limit.C:
				fail("the command did not open the pipe")
			}
		}
		ts.Defer(func() { _ = w.Close() })
	case "out", "err":
		said := &out
		if kind == "err" {
			said = &errOut
		}
		re := regexp.MustCompile(arg)
		for !re.MatchString(said.String()) {
			select {
			case <-tick.C:
			case err := <-done:
				fail(fmt.Sprintf("the command ended by itself: %v", err))
			case <-limit.C:
				fail("the output did not come")
			}
		}
	default:
		select {
		case <-reached:
		case err := <-done:
			fail(fmt.Sprintf("the command ended by itself: %v", err))
		case <-limit.C:
			fail("the write did not come")
		}
	}
	if d.act != nil {
		d.act()
	}
	for i, s := range d.signals {
		// The first signal may end the command before the next is sent.
		if err := cmd.Process.Signal(s); i == 0 || !errors.Is(err, os.ErrProcessDone) {
			ts.Check(err)
		}
	}
	if kind == "set" && d.ends {
		// The command reports the signal once it has received it.
		for !strings.Contains(errOut.String(), "interrupted") {
			select {
			case <-tick.C:
			case err := <-done:
				fail(fmt.Sprintf("the command ended at once: %v", err))
			case <-limit.C:
				fail("the command did not notice the signal")
			}
		}
	}
	if d.deaf {
		errOut.close()
		if d.ends {
			out.close()
		}
	}
	letGo()
	select {
	case <-done:
	case <-limit.C:
		fail("the command did not end")
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(out.all()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("err"), []byte(errOut.all()), 0o600))
	if got := fmt.Sprint(cmd.ProcessState.ExitCode()); got != a[0] {
		ts.Fatalf("%s, want exit status %s\nstdout: %s\nstderr: %s", cmd.ProcessState, a[0], out.String(), errOut.String())
	}
}

// hold calls f at the first write to a device.
func hold(ts *testscript.TestScript, device string, f func()) {
	if labOf(ts).Servers[device] == nil {
		boxOf(ts, device).Faults().OnEvent(func(e sonic.Event) {
			if e == sonic.Writing {
				f()
			}
		})
		return
	}
	k := hostOf(ts, device).Kernel()
	k.Writes()
	var look func()
	look = func() {
		// A step that takes the link down reads it before and after.
		if len(k.Writes()) > 0 {
			f()
			return
		}
		k.OnRead("/carrier_changes", look)
	}
	k.OnRead("/carrier_changes", look)
}

// output is an output of a process, read through a pipe.
type output struct {
	syncBuffer
	read, write *os.File
	copied      chan struct{}
}

func (o *output) open(ts *testscript.TestScript) *os.File {
	var err error
	o.read, o.write, err = os.Pipe()
	ts.Check(err)
	o.copied = make(chan struct{})
	go func() {
		defer close(o.copied)
		_, _ = io.Copy(&o.syncBuffer, o.read) // until either end is closed
	}()
	return o.write
}

// started must be called once the process has the write end.
func (o *output) started() { _ = o.write.Close() }

// close closes the read end, like a reader that goes away.
func (o *output) close() {
	_ = o.read.Close()
	<-o.copied
}

// all returns the complete output of a process that has ended.
func (o *output) all() string {
	<-o.copied
	_ = o.read.Close()
	return o.String()
}

// expand FILE replaces $NAME in a file with the script's variables.
func expand(ts *testscript.TestScript, _ bool, a []string) {
	for _, f := range a {
		ts.Check(os.WriteFile(ts.MkAbs(f), []byte(os.Expand(ts.ReadFile(f), ts.Getenv)), 0o600))
	}
}

// replace FROM OLD NEW TO writes a copy of FROM to TO with OLD replaced by NEW; OLD must occur
// in it.
func replace(ts *testscript.TestScript, _ bool, a []string) {
	s := ts.ReadFile(a[0])
	if !strings.Contains(s, a[1]) {
		ts.Fatalf("%s does not contain %q", a[0], a[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(a[3]), []byte(strings.ReplaceAll(s, a[1], a[2])), 0o600))
}

// addline FILE LINE appends a line to a file.
func addLine(ts *testscript.TestScript, _ bool, a []string) {
	ts.Check(os.WriteFile(ts.MkAbs(a[0]), []byte(ts.ReadFile(a[0])+a[1]+"\n"), 0o600))
}

// bigfile FILE creates a sparse file of 100 MB.
func bigFile(ts *testscript.TestScript, _ bool, a []string) {
	f, err := os.Create(ts.MkAbs(a[0]))
	ts.Check(err)
	ts.Check(errors.Join(f.Truncate(100<<20), f.Close()))
}

// cut FILE removes the last line of a file.
func cut(ts *testscript.TestScript, _ bool, a []string) {
	s := strings.TrimSuffix(ts.ReadFile(a[0]), "\n")
	ts.Check(os.WriteFile(ts.MkAbs(a[0]), []byte(s[:strings.LastIndexByte(s, '\n')+1]), 0o600))
}

// mode FILE 0600 checks permissions.
func mode(ts *testscript.TestScript, _ bool, a []string) {
	st, err := os.Stat(ts.MkAbs(a[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", st.Mode().Perm()); got != a[1] {
		ts.Fatalf("%s has mode %s, want %s", a[0], got, a[1])
	}
}

// one PATTERN TO copies the single file that a pattern matches.
func one(ts *testscript.TestScript, _ bool, a []string) {
	found, err := filepath.Glob(ts.MkAbs(a[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s matches %d files", a[0], len(found))
	}
	b, err := os.ReadFile(found[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(a[1]), b, 0o600))
}

func labOf(ts *testscript.TestScript) *lab.Lab {
	l, ok := labs.Load(ts.MkAbs("."))
	if !ok {
		ts.Fatalf("no labup before")
	}
	return l.(*scriptLab).Lab
}

// scriptLab is the lab of a script and its state at labmark.
type scriptLab struct {
	*lab.Lab
	marks map[string]any
	sets  map[string]int
}

// labup FILE [NIC] starts the switches and hosts of an intent, with NICs of a kind of
// [host.Kinds]. The variables NAME_GNMI and NAME_SSH hold each device's addresses, LAB_PASSWORD,
// LAB_CA and LAB_HOSTS its credentials, and ROCE_FABRIC_LAB the lab file.
func labUp(ts *testscript.TestScript, _ bool, a []string) {
	var o lab.Options
	if n := virtual(ts); n != nil {
		o.Listen = n.Listen
	}
	var f *intent.Fabric
	var err error
	if strings.Contains(a[0], "=") {
		f, o.Running = labOfConfigs(ts, a)
	} else {
		f, err = intent.Load(ts.MkAbs(a[0]), intent.Options{})
		ts.Check(err)
		if len(a) > 1 {
			o.NIC = host.Kind(a[1])
		}
	}
	dir := ts.MkAbs("lab")
	ts.Check(os.MkdirAll(dir, 0o700))
	l, err := lab.Start(f, dir, o)
	ts.Check(err)
	work := ts.MkAbs(".")
	labs.Store(work, &scriptLab{Lab: l})
	ts.Defer(func() {
		labs.Delete(work)
		if err := l.Close(); err != nil {
			ts.Logf("close the lab: %v", err)
		}
	})
	for n, at := range l.Devices {
		ts.Setenv(strings.ToUpper(n)+"_GNMI", at.GNMI)
		ts.Setenv(strings.ToUpper(n)+"_SSH", at.SSH)
	}
	for n, at := range l.Hosts {
		ts.Setenv(strings.ToUpper(n)+"_SSH", at.SSH)
	}
	ts.Setenv("LAB_PASSWORD", l.Password)
	ts.Setenv("LAB_CA", l.CA)
	ts.Setenv("LAB_HOSTS", l.KnownHosts)
	ts.Setenv("ROCE_FABRIC_LAB", lab.Path(dir))
	labMark(ts, false, nil)
}

// labOfConfigs returns a lab of the switches NAME=FILE.... Exactly N rows or lines of the files
// must be rejected with REFUSED=N, and none otherwise.
func labOfConfigs(ts *testscript.TestScript, args []string) (*intent.Fabric, map[string][]byte) {
	var configs []string
	refuses := 0
	for _, arg := range args {
		name, file, _ := strings.Cut(arg, "=")
		if name == "REFUSED" {
			var err error
			refuses, err = strconv.Atoi(file)
			ts.Check(err)
			continue
		}
		configs = append(configs, name+"="+ts.MkAbs(file))
	}
	f, running, refused, err := lab.Configured(nil, configs)
	ts.Check(err)
	if len(refused) != refuses {
		ts.Fatalf("%s", strings.Join(refused, "\n"))
	}
	return f, running
}

// labdump DEVICE FILE writes the configuration of a switch to a file.
func labDump(ts *testscript.TestScript, _ bool, a []string) {
	state, _ := held(switchOf(ts, a[0]))
	text, ok := state.(string)
	if !ok {
		b, err := json.MarshalIndent(state, "", " ")
		ts.Check(err)
		text = string(b) + "\n"
	}
	ts.Check(os.WriteFile(ts.MkAbs(a[1]), []byte(text), 0o600))
}

var (
	termLine = regexp.MustCompile(`^ +([0-9.]+) B  `)
	sumLine  = regexp.MustCompile(`^ +=? +([0-9]+) B  xoff`)
)

// sums FILE checks that the terms of each headroom add up to its total.
func sums(ts *testscript.TestScript, _ bool, a []string) {
	total, found := 0.0, 0
	for line := range strings.Lines(ts.ReadFile(a[0])) {
		if m := sumLine.FindStringSubmatch(line); m != nil {
			found++
			want, err := strconv.ParseFloat(m[1], 64)
			ts.Check(err)
			if math.Abs(total-want) > 1 { // terms are printed with one decimal
				ts.Fatalf("the terms add up to %.1f, the sum says %s", total, m[1])
			}
			total = 0
		} else if m := termLine.FindStringSubmatch(line); m != nil {
			v, err := strconv.ParseFloat(m[1], 64)
			ts.Check(err)
			total += v
		}
	}
	if found == 0 {
		ts.Fatalf("no sum in %s", a[0])
	}
}
