package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

// 512 hosts take minutes on two cores.
var benchHosts = flag.Int("hosts", 128, "hosts of BenchmarkHosts, a multiple of 4")

// cards is the number of NICs of a host.
const cards = 8

// readHostsAlone is the environment variable that makes this program only read hosts.
const readHostsAlone = "ROCE_FABRIC_BENCH_HOSTS"

// BenchmarkHosts plans and applies the NICs of simulated hosts with 8 cards in factory state,
// over SSH, in separate processes. The floor is a process that loads the same intent, connects to
// the same hosts with the same parallelism, reads them and discards the results. The hosts run in
// this process, so that the memory is the tool's alone, while their work is part of all times.
func BenchmarkHosts(b *testing.B) {
	tool := filepath.Join(b.TempDir(), "roce-fabric")
	if out, err := exec.Command("go", "build", "-o", tool, "../cmd/roce-fabric").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	n := *benchHosts
	path := save(b, fmt.Sprintf("%shosts:\n  gpu[1-%[2]d]: {address: \"gpu[1-%[2]d].example.net\", nics: {\"rail[0-%d]\": {rdma: \"mlx5_[0-%[3]d]\"}}}\n", header, n, cards-1))
	f, err := fleet.Load(b.Context(), path, fleet.LoadOptions{Take: fleet.TakeAll})
	if err != nil {
		b.Fatal(err)
	}
	l, err := lab.Start(f.Fabric(), b.TempDir(), lab.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	})
	var back []func()
	for _, h := range l.Servers {
		back = append(back, h.Kernel().Keep())
	}
	runs := 0
	do := func(verb, only string, more ...string) used {
		runs++
		args := append([]string{"nic", verb, "-f", path, "--lab", l.Path(), "--parallel", validateWorkers, "--only", only}, more...)
		return spend(b, 0, nil, tool, args...)
	}
	apply := func(only string) used {
		u := do("apply", only, "--yes", "--allow", "traffic-loss", "--state", filepath.Join(b.TempDir(), fmt.Sprint(runs)))
		if h := l.Servers["gpu1"]; h.Kernel().State("rail7").PFC.Enabled == 0 {
			b.Fatal("the NICs are as they were before the apply")
		}
		for _, f := range back {
			f()
		}
		return u
	}
	var r race
	of := map[string]used{}
	run := func(way string, do func() used) {
		r.run(way, func() {
			u := do()
			of[way] = used{max(of[way].mib, u.mib), of[way].cpu + u.cpu}
		})
	}
	quarter := fmt.Sprintf("gpu[1-%d]", n/4)
	for b.Loop() {
		run("read", func() used {
			return spend(b, 0, []string{readHostsAlone + "=" + l.Path(), readIntent + "=" + path}, os.Args[0])
		})
		run("plan", func() used { return do("plan", "*") })
		run("apply", func() used { return apply("*") })
		// These show how time and memory grow, not their size.
		run("plan-quarter", func() used { return do("plan", quarter) })
		run("apply-quarter", func() used { return apply(quarter) })
	}
	metrics := map[string]float64{"read-ms/host": r.median("read").Seconds() * 1000 / float64(n), "read-MiB": of["read"].mib}
	for _, verb := range []string{"plan", "apply"} {
		metrics[verb+"-x-read"] = r.ratio(verb, "read")
		metrics[verb+"-x-read-cpu"] = of[verb].cpu / of["read"].cpu
		metrics[verb+"-x-read-mem"] = of[verb].mib / of["read"].mib
		metrics[verb+"-ms/host"] = r.median(verb).Seconds() * 1000 / float64(n)
		metrics[verb+"-MiB"], metrics[verb+"-MiB-quarter"] = of[verb].mib, of[verb+"-quarter"].mib
	}
	report(b, metrics)
}

// readHosts reads the NICs of every host, with the same parallelism as the tool.
func readHosts(labFile, path string) error {
	l, err := lab.Read(labFile)
	if err != nil {
		return err
	}
	ctx := context.Background()
	f, err := fleet.Load(ctx, path, fleet.LoadOptions{Take: fleet.TakeAll})
	if err != nil {
		return err
	}
	workers := 0
	if _, err := fmt.Sscan(validateWorkers, &workers); err != nil {
		return err
	}
	devices, _ := f.Devices(&fleet.Access{At: l.At, Workers: workers})
	return pool.Ordered(ctx, workers, devices, func(ctx context.Context, d fleet.Device) error {
		ctx, cancel := context.WithTimeout(ctx, d.Timeout)
		defer cancel()
		drv, err := d.Open(ctx)
		if err != nil {
			return err
		}
		defer drv.Close()
		h, err := drv.(*host.Driver).Running(ctx)
		if err == nil && len(h.Ports) != cards {
			err = fmt.Errorf("%s: %d ports", d.Name, len(h.Ports))
		}
		return err
	}, func(err error) error { return err })
}
