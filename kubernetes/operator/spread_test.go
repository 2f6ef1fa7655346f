package operator_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/operator"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// memory returns the peak memory use of a process in MiB.
func memory(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// shares waits until the given number of replicas share the devices, and returns the devices
// last read by each replica, by the name of its Lease.
func (b *bench) shares(f *v1alpha1.Fabric, replicas int) map[string][]string {
	b.Helper()
	share := map[string][]string{}
	b.until(f, "each replica has a share", func() bool {
		clear(share)
		var l v1alpha1.SwitchStatusList
		err := b.r.Client.List(b.Context(), &l, client.InNamespace(b.ns))
		for _, s := range l.Items {
			share[s.Status.Replica] = append(share[s.Status.Replica], s.Spec.Device)
		}
		return err == nil && len(share) == replicas
	})
	return share
}

// dead waits until the Lease of a replica is free, and returns its name.
func (b *bench) dead(f *v1alpha1.Fabric) (name string) {
	b.Helper()
	b.until(f, "the Lease of a replica is free", func() bool {
		var l coordinationv1.LeaseList
		err := b.r.Client.List(b.Context(), &l, client.InNamespace(b.ns), client.HasLabels{"roce-fabric.io/replicas"})
		for _, lease := range l.Items {
			if lease.Spec.HolderIdentity == nil {
				name = lease.Name
			}
		}
		return err == nil && name != ""
	})
	return name
}

// signal sends a signal to a replica.
func (b *bench) signal(cmd *exec.Cmd, s syscall.Signal) {
	b.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		b.Fatal(err)
	}
}

// The logs of the switches show that replicas share the devices: each device is read once per
// period, by one replica at a time, and the devices of a killed replica are taken over in time.
func TestSpread(t *testing.T) {
	leaves, replicas, every := 31, 3, 10*time.Second
	if nightly {
		leaves, replicas, every = 969, 5, 5*time.Minute
	}
	b := newBench(t)
	f := b.fabric(b.start(leaves), v1alpha1.Observe)
	b.change(f, func() { f.Spec.Interval = metav1.Duration{Duration: every} })
	started := time.Now()
	var all []*exec.Cmd
	for range replicas {
		all = append(all, b.startReplica())
	}
	n := len(b.lab.Switches)
	b.until(f, "a verdict of all devices", func() bool {
		return int(f.Status.Reachable) == n && condition(f, v1alpha1.Validated).Status == metav1.ConditionTrue
	})
	first := time.Since(started)
	share := b.shares(f, replicas)
	steady := time.Now()
	b.readSince(f, steady, 1)
	killed := time.Now()
	b.signal(all[1], syscall.SIGKILL)
	dead := b.dead(f)
	freed := time.Since(killed)
	b.readSince(f, killed.Add(replicaTTL), 1)
	over := time.Now()

	b.apart("readers", b.reads)
	var late, taken time.Duration
	reads := 0
	for device := range b.lab.Switches {
		log := b.reads(device)
		reads += len(log)
		ofDead := slices.Contains(share[dead], device)
		key := b.ns + "/pod1/" + device
		for w := operator.Period(key, every, steady).Add(every); !w.Add(every).After(over); w = w.Add(every) {
			var in []sim.Session
			for _, s := range log {
				if !s.Begin.Before(w) && s.Begin.Before(w.Add(every)) {
					in = append(in, s)
				}
			}
			switch cut := ofDead && killed.After(w.Add(-replicaTTL)) && killed.Before(w.Add(every)); {
			case !cut && len(in) != 1:
				t.Errorf("%s was read %d times in its period from %s: %v", device, len(in), w.Format(time.TimeOnly), in)
			case !cut:
				late = max(late, in[0].Begin.Sub(w))
			case len(in) == 0 && w.Add(every).Sub(killed) > replicaTTL:
				t.Errorf("%s was not read in its period from %s, and its replica was killed at %s", device, w.Format(time.TimeOnly), killed.Format(time.TimeOnly))
			case len(in) > 2:
				t.Errorf("%s was read %d times in its period from %s", device, len(in), w.Format(time.TimeOnly))
			}
			if ofDead && !killed.After(w) && len(in) > 0 && in[0].Begin.Before(killed.Add(replicaTTL+every)) {
				taken = max(taken, in[0].Begin.Sub(w))
			}
		}
	}
	most, workers := b.atOnce(), parallel*replicas
	if most > workers {
		t.Errorf("%d devices were read at once, and %d replicas have %d workers", most, replicas, workers)
	}
	if freed > replicaTTL+replicaTTL/5 {
		t.Errorf("the replica that was killed was taken for dead after %s of %s", freed, replicaTTL)
	}
	if taken > replicaTTL+every/4 {
		t.Errorf("a device of the replica that was killed was read %s after it was due", taken)
	}
	var used []int
	for i, cmd := range all {
		if i != 1 {
			used = append(used, memory(t, cmd.Process.Pid))
		}
	}
	largest := 0
	var l v1alpha1.SwitchStatusList
	if err := b.r.Client.List(t.Context(), &l, client.InNamespace(b.ns)); err != nil {
		t.Fatal(err)
	}
	for _, s := range l.Items {
		largest = max(largest, len(s.Status.Summary))
	}
	t.Logf("%d switches, %d replicas, a period of %s: all compared after %s; reads began at most %s into their period; %d sessions, %d at once; the share of the one that was killed %d devices, free %s after the kill, read at most %s after they were due; MiB a replica %v; bytes of the largest summary %d",
		n, replicas, every, first.Round(time.Second), late.Round(time.Millisecond), reads, most, len(share[dead]), freed.Round(time.Millisecond), taken.Round(time.Millisecond), used, largest)
}

// A replica is stopped during its reads for longer than its Lease lasts. When it continues, it
// cancels its reads, because others read its devices by then, and later takes its share again.
func TestStoppedReader(t *testing.T) {
	const leaves, replicas = 14, 2
	b := newBench(t)
	f := b.fabric(b.start(leaves), v1alpha1.Observe)
	all := []*exec.Cmd{b.startReplica(), b.startReplica()}
	b.shares(f, replicas)
	// Delay the responses to all reads until one replica is stopped, so that they are waiting
	// for it when it continues.
	asked, answer := make(chan struct{}, len(b.lab.Switches)), make(chan struct{})
	for device := range b.lab.Switches {
		b.of(device).Faults().OnEvent(func(e sonic.Event) {
			if e == sonic.Asked {
				select {
				case asked <- struct{}{}:
				default:
				}
				<-answer
			}
		})
	}
	for range parallel * replicas {
		<-asked
	}
	stopped := time.Now()
	b.signal(all[1], syscall.SIGSTOP)
	close(answer)
	b.dead(f)
	b.readSince(f, stopped, 1)
	b.signal(all[1], syscall.SIGCONT)
	back := time.Now()
	b.shares(f, replicas)
	b.readSince(f, back, 1)
	b.apart("readers", b.reads)
}
