package bench

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/drivers"
	driver "github.com/roce-fabric/roce-fabric/drivers/eos"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	client "github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/eos"
	sim "github.com/roce-fabric/roce-fabric/testlab/sim/eos"
)

const (
	eosSwitches = 200
	eosWorkers  = 32
	eosPorts    = 64
	eosModel    = "DCS-7060DX5-64S"
)

// BenchmarkReadSSH plans 200 simulated EOS switches of 64 ports over SSH, 32
// at a time: dial, probe, read, parse, compare, plan. The floor is a bare SSH
// client that types the same commands and discards the output. The switches run
// in this process, so their work is part of both times.
func BenchmarkReadSSH(b *testing.B) {
	f, err := intent.Load(save(b, fmt.Sprintf(`%sswitches:
  leaf[1-%[2]d]:  {os: eos, role: leaf, model: %[3]s}
  spine[1-%[2]d]: {os: eos, role: spine, model: %[3]s}
links:
  - {a: "leaf[1-%[2]d]/Ethernet[1-%[4]d]/1", b: "spine[1-%[2]d]/Ethernet[1-%[4]d]/1", cable: 5m, speed: 400G}
`, header, eosSwitches/2, eosModel, eosPorts)), intent.Options{})
	if err != nil {
		b.Fatal(err)
	}
	c, err := render.New(f, render.Fits{"eos": native.Fit})
	if err != nil {
		b.Fatal(err)
	}
	for _, state := range []string{"as-intended", "factory"} {
		b.Run(state, func(b *testing.B) {
			l := startEOS(b, c, state == "as-intended")
			var r race
			var tool, bare memory
			var answers int64
			changed := 0
			for b.Loop() {
				tool.measure(func(look func()) { r.run("plan", func() { changed = l.plan(b, c, look) }) })
				bare.measure(func(look func()) { r.run("bare", func() { answers = l.bare(b, c.Fabric().Switches, look) }) })
			}
			if want := map[string]int{"as-intended": 0, "factory": eosSwitches}[state]; changed != want {
				b.Fatalf("%d switches have changes, not %d", changed, want)
			}
			report(b, map[string]float64{
				"x-bare-ssh":       r.ratio("plan", "bare"),
				"x-bare-ssh-alloc": float64(tool.allocated) / float64(bare.allocated),
				"x-bare-ssh-heap":  float64(tool.peak) / float64(bare.peak),
				"heap-MiB":         float64(tool.peak) / (1 << 20),
				"ms/switch":        r.median("plan").Seconds() * 1000 / eosSwitches,
				"bare-ms/switch":   r.median("bare").Seconds() * 1000 / eosSwitches,
				"KiB/switch":       float64(answers) / 1024 / eosSwitches,
			})
		})
	}
}

// memory is the number of bytes that a way allocates, and its largest heap in use beyond the heap
// before.
type memory struct{ allocated, peak uint64 }

func (m *memory) measure(do func(look func())) {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var peak atomic.Uint64
	do(func() {
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		if s.HeapAlloc > before.HeapAlloc {
			peak.Store(max(peak.Load(), s.HeapAlloc-before.HeapAlloc))
		}
	})
	runtime.ReadMemStats(&now)
	m.allocated += now.TotalAlloc - before.TotalAlloc
	m.peak = max(m.peak, peak.Load())
}

// eosFarm is a set of running EOS switches.
type eosFarm struct {
	addr  map[string]string
	hosts *client.KnownHosts
	key   xssh.PublicKey
}

func startEOS(b *testing.B, c *render.Compiler, asIntended bool) *eosFarm {
	b.Helper()
	_, raw, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	key, err := xssh.NewSignerFromKey(raw)
	if err != nil {
		b.Fatal(err)
	}
	l := &eosFarm{addr: map[string]string{}, key: key.PublicKey()}
	var hosts strings.Builder
	for _, sw := range c.Fabric().Switches {
		o := sim.Options{Hostname: sw.Name, Model: eosModel, Version: "4.34.2F", Username: user, Password: pass, HostKey: key, NoGNMI: true, Routed: true}
		for i := range eosPorts {
			o.Interfaces = append(o.Interfaces, fmt.Sprintf("Ethernet%d/1", i+1))
		}
		s, err := sim.New(o)
		if err == nil && asIntended {
			err = s.Configure(native.Encode(c.Device(sw).Desired, native.UCTxQueue).String())
		}
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		l.addr[sw.Name] = s.SSHAddr()
		hosts.WriteString(s.HostKeyLine() + "\n")
	}
	path := filepath.Join(b.TempDir(), "known_hosts")
	if err := os.WriteFile(path, []byte(hosts.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	if l.hosts, err = client.LoadKnownHosts(path); err != nil {
		b.Fatal(err)
	}
	return l
}

func (l *eosFarm) plan(b *testing.B, c *render.Compiler, look func()) (changed int) {
	open := func(_ context.Context, sw *intent.Switch) (drivers.Driver, error) {
		return driver.Open(drivers.Target{
			Name: sw.Name, OS: sw.OS, Model: sw.Model.V,
			SSH: &client.Config{Address: l.addr[sw.Name], User: user, Password: secret.Secret(pass), Hosts: l.hosts},
		})
	}
	n := 0
	err := fleet.Plan(b.Context(), fleet.Switches(c, c.Fabric().Switches, open), fleet.PlanOptions{Workers: eosWorkers}, func(d *fleet.DevicePlan) error {
		if n++; n%eosWorkers == 0 {
			look()
		}
		if len(d.Changes) > 0 {
			changed++
		}
		if d.Error != nil {
			return d.Error
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return changed
}

// bare types the same commands as the driver and returns the size of the output.
func (l *eosFarm) bare(b *testing.B, switches []*intent.Switch, look func()) (size int64) {
	type answer struct {
		bytes int
		err   error
	}
	n := 0
	err := pool.Ordered(b.Context(), eosWorkers, switches, func(ctx context.Context, sw *intent.Switch) answer {
		n, err := l.typeCommands(sw)
		return answer{n, err}
	}, func(a answer) error {
		if n++; n%eosWorkers == 0 {
			look()
		}
		size += int64(a.bytes)
		return a.err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}

func (l *eosFarm) typeCommands(sw *intent.Switch) (size int, err error) {
	c, err := xssh.Dial("tcp", l.addr[sw.Name], &xssh.ClientConfig{User: user, Auth: []xssh.AuthMethod{xssh.Password(pass)}, HostKeyCallback: xssh.FixedHostKey(l.key)})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	s, err := c.NewSession()
	if err != nil {
		return 0, err
	}
	in, err := s.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := s.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := s.RequestPty("vt100", 255, 511, xssh.TerminalModes{xssh.ECHO: 1}); err != nil {
		return 0, err
	}
	if err := s.Shell(); err != nil {
		return 0, err
	}
	prompt := []byte("\n" + sw.Name + "#")
	buf, seen := make([]byte, 32<<10), []byte("\n")
	for _, line := range []string{"", "terminal width 32767", "terminal length 0", "show version | json", "show running-config", "show configuration sessions | json"} {
		if line != "" {
			if _, err := fmt.Fprintf(in, "%s\n", line); err != nil {
				return size, err
			}
		}
		for !bytes.HasSuffix(bytes.TrimRight(seen, " "), prompt) {
			n, err := out.Read(buf)
			if err != nil {
				return size, err
			}
			size += n
			seen = append(seen, buf[:n]...)
			seen = seen[max(0, len(seen)-64):]
		}
		seen = seen[:0]
	}
	return size, nil
}
