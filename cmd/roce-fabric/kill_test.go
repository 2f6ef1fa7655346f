package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/roce-fabric/roce-fabric/fleet/store/storetest"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

var killPoints = flag.Int("kill.points", sharedtest.Sized(1, 24), "at how many points TestKillSweep kills each kind of run; 0 is at every one (700 kills, 8 minutes: with -timeout 20m)")

// killFabric has a leaf with six ports, which are taken down in three groups.
const killFabric = `apiVersion: roce-fabric/v1
kind: Fabric
name: kill
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
WATCHDOGwrite: WRITE
mtu: {fabric: 9100, host: 9000, rdma: 4096}
rollout: {portGroup: 2}
switches:
  leaf1: {os: sonic, role: leaf, address: "192.0.2.11:8080", model: ACS-MSN4700, release: RELEASE}
  spine1: {os: sonic, role: spine, address: "192.0.2.21:8080", model: ACS-MSN4700, release: RELEASE}
hosts:
  gpu[1-4]: {address: "192.0.2.[101-104]", nics: {ens1f0np0: {rdma: mlx5_0}}}
links:
  - {a: "leaf1/Ethernet[0-24:8]", b: "gpu[1-4]/ens1f0np0", cable: 40m, speed: 400G}
  - {a: "leaf1/Ethernet[32,40]", b: "spine1/Ethernet[0,8]", cable: 40m, speed: 400G}
credentials:
  switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD, ssh: {}}
`

var killPorts = []string{"Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24", "Ethernet32", "Ethernet40"}

// killLab is a lab whose leaf1 counts its events, and can kill the client at one of them.
type killLab struct {
	*sonic.Switch
	t    *testing.T
	args []string // added to every command

	mu sync.Mutex
	n  int // number of events so far
	at int // event at which to kill; 0 means never
	// working is the number of Sets in progress on the switch.
	working int
	child   *exec.Cmd
	dead    bool
	held    []chan struct{} // closed to release requests that outlive their clients
	status  chan struct{}   // closed when an SSH command that outlives its client has ended
	failing int             // number of the Set that should fail; 0 for none
	sets    int
}

func newKillLab(t *testing.T, text string, ssh bool) *killLab {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "fabric.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := t.TempDir()
	l, err := lab.Start(f, at, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if !ssh {
		d := l.Devices["leaf1"]
		d.SSH = ""
		l.Devices["leaf1"] = d
		b, err := json.Marshal(l.File)
		if err == nil {
			err = os.WriteFile(lab.Path(at), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	k := &killLab{Switch: l.Switches["leaf1"].(*sonic.Switch), t: t, args: []string{"-f", file, "--lab", lab.Path(at), "--only", "leaf1", "--state", filepath.Join(dir, "state")}}
	k.status = make(chan struct{})
	close(k.status)
	t.Cleanup(k.letGo) // before the lab is closed, which waits for its handlers
	k.Faults().OnEvent(k.event)
	return k
}

// event counts an event, and kills the client if this is the chosen one. It then holds that
// request until another Set waits behind it or the next command has ended.
func (k *killLab) event(e sonic.Event) {
	k.mu.Lock()
	k.n++
	switch e {
	case sonic.Writing:
		k.working++
		if k.sets++; k.sets == k.failing {
			k.Faults().FailAt(1)
		}
	case sonic.Answer:
		k.working--
	case sonic.Queued:
		k.goOn()
	case sonic.Status:
		select {
		case <-k.status:
		default:
			close(k.status)
		}
	}
	if k.n != k.at {
		k.mu.Unlock()
		return
	}
	k.dead = true
	_ = k.child.Process.Kill()
	release := make(chan struct{})
	switch e {
	case sonic.Command:
		k.status = make(chan struct{})
		close(release)
	case sonic.Asked, sonic.Queued, sonic.Status:
		// A request that has not yet been queued is released at once, because any number of
		// others could overtake it.
		close(release)
	default:
		k.held = append(k.held, release)
	}
	k.mu.Unlock()
	<-release
}

// goOn releases the held requests. The caller holds mu.
func (k *killLab) goOn() {
	for _, c := range k.held {
		close(c)
	}
	k.held = nil
}

func (k *killLab) letGo() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.goOn()
}

// killedAt runs a command, one Set of which may fail, and kills it at event n. It reports
// whether the command got that far.
func (k *killLab) killedAt(n, failing int, args ...string) bool {
	k.t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("roce-fabric", append(args, k.args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	k.mu.Lock()
	k.n, k.at, k.dead, k.child, k.sets, k.failing = 0, n, false, cmd, 0, failing
	err := cmd.Start()
	k.mu.Unlock()
	if err != nil {
		k.t.Fatal(err)
	}
	err = cmd.Wait()
	k.mu.Lock()
	k.at, k.failing = 0, 0
	dead, status := k.dead, k.status
	k.mu.Unlock()
	if !dead && err != nil && failing == 0 {
		k.t.Fatalf("%v: %v\n%s", args, err, out.String())
	}
	// SSH commands also continue, and nothing queues behind them.
	<-status
	return dead
}

// run runs a command to its end and returns its exit status and output.
func (k *killLab) run(args ...string) (int, string) {
	k.t.Helper()
	status, out, errOut := runHere(k.t, append(args, k.args...)...)
	return status, out + errOut
}

func (k *killLab) must(args ...string) string {
	k.t.Helper()
	status, out := k.run(args...)
	if status != exitOK {
		k.t.Fatalf("%v: status %d\n%s", args, status, out)
	}
	return out
}

func (k *killLab) down() []string {
	var out []string
	for _, p := range killPorts {
		if k.Config()["PORT"][p]["admin_status"] != "up" {
			out = append(out, p)
		}
	}
	return out
}

// unsavedTables returns the tables of CONFIG_DB that differ from the startup file.
func unsavedTables(s *sonic.Switch) []string {
	var saved map[string]map[string]map[string]any
	if err := json.Unmarshal(s.Saved(), &saved); err != nil {
		panic(err)
	}
	startup := map[string]map[string]map[string]string{}
	for table, rows := range saved {
		startup[table] = map[string]map[string]string{}
		for key, fields := range rows {
			r := map[string]string{}
			for f, v := range fields {
				if list, ok := v.([]any); ok {
					var words []string
					for _, w := range list {
						words = append(words, fmt.Sprint(w))
					}
					r[f+"@"] = strings.Join(words, ",")
				} else {
					r[f] = fmt.Sprint(v)
				}
			}
			startup[table][key] = r
		}
	}
	tables := map[string]bool{}
	running := s.Config()
	for _, c := range []map[string]map[string]map[string]string{running, startup} {
		for t := range c {
			tables[t] = true
		}
	}
	maps.DeleteFunc(tables, func(t string, _ bool) bool {
		for _, r := range running[t] {
			delete(r, "NULL")
		}
		return maps.EqualFunc(running[t], startup[t], maps.Equal[map[string]string, map[string]string])
	})
	return natural.Keys(tables)
}

// killScenario is a kind of run to kill.
type killScenario struct {
	name    string
	write   string
	ssh     bool
	release string
	// before runs to its end; failing is the number of the Set that fails in the killed command.
	before  []string
	failing int
	killed  []string
	twice   bool
}

var applyNow = []string{"apply", "--yes", "--allow", "traffic-loss", "--gate", "off"}

var killScenarios = []killScenario{
	{name: "apply", release: "202511", killed: applyNow},
	{name: "apply-ssh", release: "202405", ssh: true, killed: applyNow},
	{name: "direct", write: "direct", release: "202511", ssh: true, killed: applyNow},
	{name: "direct-twice", write: "direct", release: "202405", ssh: true, killed: applyNow, twice: true},
	{name: "direct-rollback", write: "direct", release: "202511", ssh: true, before: applyNow, killed: []string{"rollback", "--yes", "--allow", "traffic-loss", "--gate", "off"}},
	{name: "apply-twice", release: "202511", killed: applyNow, twice: true},
	{name: "revert", release: "202511", failing: 6, killed: applyNow},
	{name: "rollback", release: "202511", before: applyNow, killed: []string{"rollback", "--yes", "--allow", "traffic-loss", "--gate", "off"}},
}

func (s killScenario) fabric(watchdog string) string {
	return strings.NewReplacer("WATCHDOG", watchdog, "RELEASE", s.release, "WRITE", cmp.Or(s.write, "gnmi")).Replace(killFabric)
}

// A run may be killed at any moment while the switch continues with what it received: plan waits
// for the switch and names the ports that are left down, and the next apply or rollback ends
// with every port up, everything saved, and nothing left to do.
func TestKillSweep(t *testing.T) {
	t.Parallel()
	kills := 0
	for j, s := range killScenarios {
		t.Run(s.name, func(t *testing.T) {
			n := s.kill(t, 0)
			points := n
			if *killPoints > 0 {
				points = min(n, *killPoints)
			}
			for i := range points {
				// Spread the kills over the run, in each scenario at other points.
				of := points * len(killScenarios)
				at := 1 + (2*(i*len(killScenarios)+j)+1)*n/(2*of)
				if points == n {
					at = i + 1
				}
				t.Run(fmt.Sprint(at), func(t *testing.T) { kills += s.kill(t, at) })
			}
		})
	}
	t.Logf("%d kills", kills)
	if want := 60; *killPoints == 0 && kills < want {
		t.Errorf("%d kills, want %d at least", kills, want)
	}
}

// kill kills a run at an event and lets the following runs clean up. It returns the number of
// killed runs. If at is 0, the run ends normally, and kill returns its number of events.
func (s killScenario) kill(t *testing.T, at int) int {
	watchdog := "pfc: {watchdog: off}\n"
	if s.ssh {
		watchdog = "pfc: {watchdog: {detect: 400ms, restore: 400ms, action: drop}}\n"
	}
	k := newKillLab(t, s.fabric(watchdog), s.ssh)
	if down := k.down(); len(down) > 0 {
		t.Fatalf("down at the start: %v", down)
	}
	if s.before != nil {
		k.must(s.before...)
	}
	kills := 0
	run := func(at int) {
		if k.killedAt(at, s.failing, s.killed...) {
			kills++
		}
	}
	if run(at); at == 0 {
		return k.n
	}
	if s.twice {
		run(at / 2)
	}
	before := k.down()
	status, out := k.run("plan", "--exit-code")
	k.letGo()
	if status != exitOK && status != exitDiffers {
		t.Fatalf("plan: status %d\n%s", status, out)
	}
	k.mu.Lock()
	working := k.working
	k.mu.Unlock()
	if kills > 0 && working > 0 {
		t.Errorf("plan has ended, and the switch is still at work")
	}
	if len(before) > 0 && !strings.Contains(out, "leaf1: waiting for the device to finish the writes of run ") {
		t.Errorf("plan does not say what it waits for\n%s", out)
	}
	for _, p := range k.down() {
		if status != exitDiffers || !strings.Contains(out, "left down by run") || !mentions(out, p) {
			t.Errorf("%s is down, and plan does not say so (status %d)\n%s", p, status, out)
		}
	}
	last := applyNow
	if s.before != nil && at%2 == 0 {
		last = s.killed
	}
	status, out = k.run(last...)
	idle := last[0] == "rollback" && strings.Contains(out, "no run to roll back")
	if status != exitOK && !idle {
		t.Fatalf("%v: status %d\n%s", last, status, out)
	}
	if files := k.Files(); len(files) > 0 && !idle {
		t.Errorf("left on the switch: %q", files)
	}
	if down := k.down(); len(down) > 0 {
		t.Errorf("down in the end: %v (%v after the kill)", down, before)
	}
	if lost := k.Unbound(); len(lost) > 0 {
		t.Errorf("in the end nothing is bound to %v", lost)
	}
	if tables := unsavedTables(k.Switch); len(tables) > 0 {
		t.Errorf("not saved: %v", tables)
	}
	if last[0] == "apply" {
		if status, out := k.run("plan", "--exit-code"); status != exitOK || strings.Contains(out, "cut off") {
			t.Errorf("the plan after it: status %d\n%s", status, out)
		}
	}
	return kills
}

// A run in progress is not mistaken for an interrupted one: plan says that it is in progress,
// and apply and rollback fail before they read a device.
func TestARunAtWorkIsNotCutOff(t *testing.T) {
	t.Run("folder", func(t *testing.T) { runAtWork(t) })
	t.Run("etcd", func(t *testing.T) {
		_, addr := storetest.Etcd(t, "http")
		runAtWork(t, "--state", "etcd://"+addr+"?tls=off&ttl=5s")
	})
}

func runAtWork(t *testing.T, args ...string) {
	s := killScenarios[0]
	k := newKillLab(t, s.fabric("pfc: {watchdog: off}\n"), false)
	k.args = append(k.args, args...)
	reached, release := make(chan struct{}), make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo)
	changes := 0
	k.Faults().OnEvent(func(e sonic.Event) {
		if e == sonic.Changing {
			if changes++; changes == 10 {
				close(reached)
				<-release
			}
		}
	})
	var out bytes.Buffer
	cmd := exec.Command("roce-fabric", append(applyNow, k.args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-reached:
	case err := <-done:
		t.Fatalf("the run ended: %v\n%s", err, out.String())
	}
	sets := len(k.Sets())
	by := fmt.Sprintf("process %d", cmd.Process.Pid)
	for _, c := range []struct {
		args   []string
		status int
		want   []string
	}{
		{[]string{"plan"}, exitOK, []string{"is changing this device", "another run is changing this fabric: run ", by}},
		{[]string{"rollback", "--list"}, exitOK, []string{"changing leaf1"}},
		{applyNow, exitFailed, []string{"another run is changing this fabric: run "}},
		{[]string{"rollback", "--yes", "--allow", "traffic-loss", "--gate", "off"}, exitFailed, []string{"another run is changing this fabric: run "}},
	} {
		status, out := k.run(c.args...)
		if status != c.status || strings.Contains(out, "cut off") || strings.Contains(out, "left down") {
			t.Errorf("%v: status %d\n%s", c.args, status, out)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%v: no %q in\n%s", c.args, want, out)
			}
		}
	}
	if n := len(k.Sets()); n != sets {
		t.Errorf("%d requests to write were sent meanwhile", n-sets)
	}
	letGo()
	if err := <-done; err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if out := k.must("plan", "--exit-code"); strings.Contains(out, "is changing") {
		t.Errorf("after its end: %s", out)
	}
}

// mentions reports whether the plan lists a port among those left down.
func mentions(out, port string) bool {
	for line := range strings.Lines(out) {
		if list, _, ok := strings.Cut(line, " left down by run"); ok && slices.Contains(strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' }), port) {
			return true
		}
	}
	return false
}
