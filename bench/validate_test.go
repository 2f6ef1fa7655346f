package bench

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	driver "github.com/roce-fabric/roce-fabric/drivers/sonic"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	client "github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/internal/trace"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// A thousand switches take minutes on two cores.
var validateSwitches = flag.Int("validate.switches", 200, "switches of BenchmarkValidate, a multiple of 10")

const validateWorkers = "64"

// BenchmarkValidate runs `roce-fabric validate` on simulated switches of 32 ports over gNMI, 64
// at a time, in a separate process. The floor is a process that loads the same intent, makes the
// same driver calls with the same parallelism and discards the results. The switches run in this
// third process, so that the memory is the tool's alone, while their work is part of both times.
func BenchmarkValidate(b *testing.B) {
	tool := filepath.Join(b.TempDir(), "roce-fabric")
	if out, err := exec.Command("go", "build", "-o", tool, "../cmd/roce-fabric").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	n := *validateSwitches
	path := save(b, ranges(model32, n, 32))
	fifth := fmt.Sprintf("leaf[1-%d],spine[1-%[1]d]", n/10)
	c := load(b, path)
	for _, state := range []string{"as-intended", "factory"} {
		b.Run(state, func(b *testing.B) {
			l := startLab(b, c, state == "as-intended", false)
			file := l.file(b)
			status := map[string]int{"as-intended": 0, "factory": 3}[state]
			check := func(workers, only string) used {
				return spend(b, status, nil, tool, "validate", "-f", path, "--lab", file, "--parallel", workers, "--only", only, "--output", "json")
			}
			var r race
			of := map[string]used{}
			for b.Loop() {
				r.run("validate", func() { of["validate"] = check(validateWorkers, "*") })
				r.run("read", func() {
					of["read"] = spend(b, 0, []string{readAlone + "=" + file, readIntent + "=" + path}, os.Args[0])
				})
				// These show how time and memory grow, not their size.
				of["16"], of["fifth"] = check("16", "*"), check(validateWorkers, fifth)
			}
			for name, box := range l.boxes {
				if gnmi, _ := box.MostSessions(); gnmi != 1 {
					b.Fatalf("%s: %d gNMI connections at once", name, gnmi)
				}
			}
			report(b, map[string]float64{
				"x-read":         r.ratio("validate", "read"),
				"x-read-cpu":     of["validate"].cpu / of["read"].cpu,
				"x-read-mem":     of["validate"].mib / of["read"].mib,
				"ms/switch":      r.median("validate").Seconds() * 1000 / float64(n),
				"read-ms/switch": r.median("read").Seconds() * 1000 / float64(n),
				"MiB":            of["validate"].mib,
				"MiB-fifth":      of["fifth"].mib,
				"MiB-16-workers": of["16"].mib,
			})
		})
	}
}

// used is the consumption of a process: its peak resident memory in MiB, 0 without /proc, and its
// CPU time in seconds.
type used struct{ mib, cpu float64 }

// spend runs a process, which must end with the given status. It does not use the memory value of
// wait(2), which includes the memory of this process before the exec.
func spend(b *testing.B, status int, env []string, name string, args ...string) used {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := os.Create(filepath.Join(b.TempDir(), "out"))
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	most := 0.0
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			most = max(most, highWater(cmd.Process.Pid))
		case err := <-ended:
			if got := cmd.ProcessState.ExitCode(); got != status {
				text, _ := os.ReadFile(out.Name()) // only for the error message
				b.Fatalf("%v: status %d\n%s", err, got, text[max(0, len(text)-2000):])
			}
			return used{most, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
		}
	}
}

// highWater returns the peak memory of a process so far, in MiB (proc(5)).
func highWater(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	kib := 0.0
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if _, err := fmt.Sscan(v, &kib); err != nil {
				return 0
			}
		}
	}
	return kib / 1024
}

// file writes the lab file of a farm.
func (l *farm) file(b testing.TB) string {
	b.Helper()
	dir := b.TempDir()
	f := lab.File{Kind: lab.Kind, Fabric: "bench", Username: user, Password: pass, CA: l.caFile, KnownHosts: filepath.Join(dir, "known_hosts"), Devices: map[string]lab.Address{}}
	var hosts strings.Builder
	for name, box := range l.boxes {
		f.Devices[name] = lab.Address{OS: "sonic", GNMI: box.GNMIAddr(), SSH: box.SSHAddr()}
		hosts.WriteString(box.HostKeyLine() + "\n")
	}
	text, err := json.Marshal(f)
	if err != nil {
		b.Fatal(err)
	}
	for path, text := range map[string][]byte{lab.Path(dir): text, f.KnownHosts: []byte(hosts.String())} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return lab.Path(dir)
}

// Environment variables that make this program only read.
const (
	readAlone  = "ROCE_FABRIC_BENCH_LAB"
	readIntent = "ROCE_FABRIC_BENCH_INTENT"
	readBare   = "ROCE_FABRIC_BENCH_BARE" // read with a bare SSH client: [bareAlone] or [bareDecoded]
)

func TestMain(m *testing.M) {
	var err error
	switch switches, hosts := os.Getenv(readAlone), os.Getenv(readHostsAlone); {
	case switches != "":
		err = readOnly(switches, os.Getenv(readIntent), os.Getenv(readBare))
	case hosts != "":
		err = readHosts(hosts, os.Getenv(readIntent))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// readOnly makes the same calls to each switch as validate, or runs the commands behind these
// calls with a bare SSH client.
func readOnly(labFile, path, bare string) error {
	l, err := lab.Read(labFile)
	if err != nil {
		return err
	}
	f, err := intent.Load(path, intent.Options{})
	if err != nil {
		return err
	}
	c, err := render.New(f, render.Fits{"sonic": sonic.Fit})
	if err != nil {
		return err
	}
	hosts, err := ssh.LoadKnownHosts(l.KnownHosts)
	if err != nil {
		return err
	}
	workers := 0
	if _, err := fmt.Sscan(validateWorkers, &workers); err != nil {
		return err
	}
	return pool.Ordered(context.Background(), workers, c.Fabric().Switches, func(ctx context.Context, sw *intent.Switch) error {
		if bare != "" {
			_, err := runBare(l, sw, bare == bareDecoded)
			return err
		}
		_, err := callAll(ctx, l, hosts, c.Device(sw), nil)
		return err
	}, func(err error) error { return err })
}

// called holds the results of the calls.
type called struct {
	cfg     sonic.Config
	running *qos.Device
	seen    *drivers.Observation
	wrong   []drivers.Mismatch
	unsaved []string
}

func callAll(ctx context.Context, l *lab.File, hosts *ssh.KnownHosts, d *render.Device, log *trace.Log) (out called, err error) {
	sw, at := d.Switch, l.Devices[d.Switch.Name]
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	t := drivers.Target{
		Name: sw.Name, OS: sw.OS, Release: sw.Release.V, Model: sw.Model.V, Reads: true,
		GNMI: client.Config{Address: at.GNMI, Username: l.Username, Password: secret.Secret(l.Password), TLS: client.TLS{CAFile: l.CA}},
	}
	if at.SSH != "" {
		t.SSH = &ssh.Config{Address: at.SSH, User: l.Username, Password: secret.Secret(l.Password), Hosts: hosts, Log: log}
	}
	drv, err := driver.Open(t)
	if err != nil {
		return out, err
	}
	defer drv.Close()
	if _, err := drv.Probe(ctx); err != nil {
		return out, err
	}
	snap, err := drv.Read(ctx)
	if err != nil {
		return out, err
	}
	out.cfg, _ = snap.Native.(sonic.Config)
	out.running, _ = drv.(drivers.Decoder).Decode(snap)
	if out.seen, err = drv.(drivers.Observer).Observe(ctx); err != nil {
		return out, err
	}
	if out.wrong, err = drv.Applied(ctx, d.Desired); err != nil {
		return out, err
	}
	if out.unsaved, err = drv.(drivers.Saver).Unsaved(ctx); err != nil && !errors.Is(err, drivers.ErrUnsupported) {
		return out, err
	}
	if _, err = drv.(drivers.Pauser).Pauses(ctx, natural.Keys(d.Desired.Ports)); errors.Is(err, drivers.ErrUnsupported) {
		err = nil
	}
	return out, err
}

// BenchmarkValidateKept measures what validate keeps of each switch until all are read: the ends
// of its links, the values used to compare them and, if the switch differs from the intent, the
// differences.
func BenchmarkValidateKept(b *testing.B) {
	m, ok := catalog.Lookup(model32)
	if !ok {
		b.Fatal("no model " + model32)
	}
	factory, err := json.Marshal(simsonic.FactoryConfig(m))
	if err != nil {
		b.Fatal(err)
	}
	for _, state := range []string{"as-intended", "factory"} {
		b.Run(state, func(b *testing.B) {
			metrics := map[string]float64{}
			for b.Loop() {
				for _, n := range []int{200, 1000} {
					c := load(b, save(b, ranges(model32, n, 32)))
					before, _ := live()
					run := validate.NewRun(c.Fabric())
					for _, sw := range c.Fabric().Switches {
						d := c.Device(sw)
						answer := factory
						if state == "as-intended" {
							answer = sonic.Document(d.Desired, d.Model).AppendJSON(nil)
						}
						running := decoded(b, answer)
						run.Add(validate.Switch(d, running, checks.Running, nil))
					}
					after, _ := live()
					metrics[fmt.Sprintf("KiB/switch-%d", n)] = float64(after-min(after, before)) / 1024 / float64(n)
					runtime.KeepAlive(run)
					runtime.KeepAlive(c)
				}
			}
			metrics["x-1000/200"] = metrics["KiB/switch-1000"] / metrics["KiB/switch-200"]
			report(b, metrics)
		})
	}
}

// decoded returns a newly decoded switch.
func decoded(b *testing.B, answer []byte) *qos.Device {
	b.Helper()
	cfg, err := sonic.Parse(answer, sonic.WantTable)
	if err != nil {
		b.Fatal(err)
	}
	running, _ := sonic.Decode(cfg)
	return running
}
