package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/manifests"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/watch/keep"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	slog.SetLogLoggerLevel(slog.LevelWarn) // helm logs each symbolic link
	os.Exit(rig.Stop(m.Run()))
}

// tainted reports whether a Node has the operator's taint.
func tainted(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == Taint && t.Effect == corev1.TaintEffectNoSchedule })
}

// patience limits all waits; a busy machine is slow.
const patience = 2 * time.Minute

// agents is the namespace of the agents.
const agents = "roce-fabric-agent"

// as returns a client with the identity of a Node's agent: the service account of the chart, and
// the name of the Node as in the token of the agent's Pod.
func as(t *testing.T, r *rig.Rig, node string) client.Client {
	t.Helper()
	cfg := rest.CopyConfig(r.Config)
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + agents + ":roce-fabric-agent", Groups: []string{"system:serviceaccounts", "system:authenticated"},
		Extra: map[string][]string{"authentication.kubernetes.io/node-name": {node}},
	}
	c, err := client.New(cfg, client.Options{Scheme: r.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// install creates the chart's objects for the agent.
func install(t *testing.T, r *rig.Rig) {
	t.Helper()
	all, err := manifests.Chart(agents, map[string]any{
		"operator": map[string]any{"enabled": false}, "crds": map[string]any{"install": false}, "rbac": map[string]any{"roles": false},
		"agent": map[string]any{"enabled": true, "taint": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.GetNamespace() != "" {
			continue // no kubelet is running
		}
		if err := r.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func newNode(t *testing.T, r *rig.Rig, name string) *corev1.Node {
	t.Helper()
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "a", rail + "7": "gone"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoSchedule}}},
	}
	if err := r.Client.Create(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}
	if err := r.Client.Status().Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return n
}

// until waits until ok returns true for a Node.
func until(t *testing.T, r *rig.Rig, n *corev1.Node, what string, ok func() bool) {
	t.Helper()
	tick, end := time.NewTicker(20*time.Millisecond), time.NewTimer(patience)
	defer tick.Stop()
	defer end.Stop()
	for {
		err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(n), n)
		if err == nil && ok() {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("not within %s: %s: %v\n%+v\n%+v\n%+v", patience, what, err, n.Labels, n.Spec.Taints, n.Status.Conditions)
		}
	}
}

func conditionOf(n *corev1.Node, kind corev1.NodeConditionType) corev1.NodeCondition {
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.NodeCondition{}
}

// fast is a clock that runs 20 times as fast.
type fast struct{ start time.Time }

const times = 20

func (f fast) Now() time.Time { return f.start.Add(times * time.Since(f.start)) }
func (f fast) Timer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d / times)
	return t.C, func() { t.Stop() }
}

// source is a fixed wanted state.
type source struct{ *nic.Host }

func (s source) Load(context.Context) (keep.Wanted, error) { return keep.Wanted{Host: s.Host}, nil }
func (s source) Stamp() string                             { return "" }
func (s source) String() string                            { return "host.json" }

const (
	ens0 = "ens1f0np0"
	ens1 = "ens2f0np0"
)

// host returns a host whose NICs are in their wanted state.
func host(t *testing.T) (*localtest.Host, *local.Machine, *nic.Host) {
	t.Helper()
	h := localtest.InMemory(t.TempDir())
	if err := errors.Join(os.MkdirAll(h.Roots.Run, 0o755), os.MkdirAll(h.Roots.Etc, 0o755)); err != nil {
		t.Fatal(err)
	}
	want := &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{}}
	for i, name := range []string{ens0, ens1} {
		rdma := fmt.Sprintf("mlx5_%d", i)
		h.Add(localtest.Port{Name: name, RDMA: rdma, PCI: fmt.Sprintf("0000:3%d:00.0", i), Driver: nic.DriverMLX5, OFED: true})
		want.Ports[name] = &nic.Port{Name: name, RDMA: rdma, DCBX: qos.Of(nic.OwnerHost), PFC: qos.Of(qos.Priorities(3)), ToS: qos.Of(106), Mode: qos.Of(nic.ModeRoCEv2), MTU: qos.Of(9000)}
	}
	m := h.Machine()
	running, err := m.Read(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Apply(t.Context(), m.Plan(running, want, local.Options{}), nil); err != nil {
		t.Fatal(err)
	}
	return h, m, want
}

// A Node whose rail loses PFC is not RoCEReady, reports the reason, and is tainted at the next
// check. All of that is undone in the end, and changes by others to the Node are kept.
func TestNode(t *testing.T) {
	r := rig.Start(t)
	install(t, r)
	n := newNode(t, r, "gpu1")
	h, m, want := host(t)
	clock := fast{time.Now()}
	reporter := New(Reporter{Client: as(t, r, n.Name), Node: n.Name, Taint: true, Rails: func() map[int]string { return map[int]string{1: "leaf1", 2: "leaf2"} }, Log: testr.New(t)})
	k := keep.New(keep.Config{Machine: m, Source: source{want}, Policy: keep.Report, Interval: time.Hour, Clock: clock, Looked: reporter.Looked})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { reporter.Run(ctx); done <- nil }()
	go func() { done <- k.Run(ctx) }()
	defer func() {
		cancel()
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
	}()
	until(t, r, n, "it is ready", func() bool { return conditionOf(n, Ready).Status == corev1.ConditionTrue })
	ready := conditionOf(n, Ready)
	if ready.Reason != "AsWanted" || ready.Message != "2 ports are as wanted, by host.json" || ready.LastTransitionTime.IsZero() {
		t.Errorf("%+v", ready)
	}
	if got := n.Labels; got[rail+"1"] != "leaf1" || got[rail+"2"] != "leaf2" || got["zone"] != "a" || got[rail+"7"] != "" || tainted(n) {
		t.Errorf("the labels are %v, the taints %v", got, n.Spec.Taints)
	}

	lost := time.Now()
	h.Corrupt(ens0, func(s *dcb.State) { s.PFC.Enabled = 0 })
	k.Wake(ens0)
	until(t, r, n, "it is not ready, and tainted", func() bool {
		return conditionOf(n, Ready).Status == corev1.ConditionFalse && tainted(n)
	})
	took := time.Since(lost) * times
	t.Logf("RoCEReady=False %s after PFC was lost, on the clock of the agent", took.Round(time.Second))
	c := conditionOf(n, Ready)
	if c.Reason != "Differs" || c.Message != "pfc of ens1f0np0 is 0x00 {}, wanted 0x08 {3}" || c.LastTransitionTime.Equal(&ready.LastTransitionTime) {
		t.Errorf("%+v", c)
	}

	h.Corrupt(ens0, func(s *dcb.State) { s.PFC.Enabled = qos.Priorities(3) })
	k.Wake(ens0)
	until(t, r, n, "it is ready again", func() bool {
		return conditionOf(n, Ready).Status == corev1.ConditionTrue && !tainted(n)
	})
	if conditionOf(n, corev1.NodeReady).Reason != "KubeletReady" || !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "nvidia.com/gpu" }) {
		t.Errorf("%+v %+v", n.Status.Conditions, n.Spec.Taints)
	}
	confined(t, r, n)
}

// confined checks that an agent can write only to its own Node, and only what it needs.
func confined(t *testing.T, r *rig.Rig, own *corev1.Node) {
	t.Helper()
	other := newNode(t, r, "gpu2")
	c := as(t, r, own.Name)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(own), &corev1.Node{}); !apierrors.IsForbidden(err) {
		t.Errorf("it may read Nodes: %v", err)
	}
	ready := `{"status":{"conditions":[{"type":"RoCEReady","status":"False"}]}}`
	for _, q := range []struct {
		of          *corev1.Node
		patch, want string
	}{
		{own, ready, ""},
		{own, `{"metadata":{"labels":{"roce-fabric.io/rail-3":"leaf3"}}}`, ""},
		{other, ready, "writes to its own Node alone"},
		{own, `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, "writes no condition but RoCEReady"},
		{own, `{"status":{"capacity":{"cpu":"99"}}}`, "writes no condition but RoCEReady"},
		{own, `{"metadata":{"labels":{"zone":"b"}}}`, "writes no label but those of roce-fabric.io"},
		{own, `{"metadata":{"labels":{"zone":null}}}`, "writes no label but those of roce-fabric.io"},
	} {
		// The API server needs some time to apply a new policy.
		end := time.Now().Add(patience)
		for {
			n := q.of.DeepCopy()
			err := c.Status().Patch(t.Context(), n, client.RawPatch(types.StrategicMergePatchType, []byte(q.patch)), client.DryRunAll)
			if q.want == "" && err == nil || q.want != "" && err != nil && strings.Contains(err.Error(), q.want) {
				break
			}
			if time.Now().After(end) {
				t.Errorf("%s of %s: %v, want %q", q.patch, q.of.Name, err, q.want)
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func TestReport(t *testing.T) {
	up, down := &nic.Port{Carrier: qos.Of(true)}, &nic.Port{Carrier: qos.Of(false)}
	lit := &nic.Host{Ports: map[string]*nic.Port{ens0: up, ens1: up}}
	pfc := func(port string, kind nic.Kind) keep.Difference {
		return keep.Difference{Change: nic.Change{Port: port, Field: nic.FieldPFC, Kind: kind, Old: "0x00 {}", New: "0x08 {3}"}}
	}
	for _, c := range []struct {
		state   keep.State
		running *nic.Host
		want    string
	}{
		{keep.State{From: "host.json"}, lit, "True AsWanted 2 ports are as wanted, by host.json"},
		{keep.State{Differences: []keep.Difference{pfc(ens0, nic.KindDrift), pfc(ens1, nic.KindDrift)}}, lit, "False Differs pfc of ens1f0np0,ens2f0np0 is 0x00 {}, wanted 0x08 {3}"},
		{keep.State{Differences: []keep.Difference{pfc(ens0, nic.KindUnknown)}}, lit, "Unknown NotChecked pfc of ens1f0np0 is not known, wanted 0x08 {3}"},
		{keep.State{}, &nic.Host{Ports: map[string]*nic.Port{ens0: down, ens1: up}}, "False NoCarrier no carrier: ens1f0np0"},
		{keep.State{Differences: []keep.Difference{{Change: nic.Change{Port: ens1, Field: nic.FieldPort, Kind: nic.KindMissing, Old: "-", New: "present", Blocked: "no interface"}}}}, lit, "False Missing ens2f0np0 is missing: no interface"},
		{keep.State{Differences: []keep.Difference{pfc(ens1, nic.KindDrift)}}, &nic.Host{Ports: map[string]*nic.Port{ens0: down}}, "False Differs pfc of ens2f0np0 is 0x00 {}, wanted 0x08 {3}; no carrier: ens1f0np0"},
		{keep.State{Error: "no sysfs"}, nil, "Unknown NotRead the host cannot be read: no sysfs"},
		{keep.State{From: "x", LoadError: "bad file"}, &nic.Host{Ports: map[string]*nic.Port{ens0: up}}, "True AsWanted 1 port is as wanted, by x; a newer wanted state could not be read: bad file"},
	} {
		r := reportOf(c.state, c.running)
		if got := fmt.Sprintf("%s %s %s", r.status, r.reason, r.message); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	long := reportOf(keep.State{Error: strings.Repeat("x", 9999)}, nil)
	if len(long.message) > maxMessage {
		t.Errorf("a message of %d bytes", len(long.message))
	}
}

const rails = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
switches:
  leaf[1-2]: {os: sonic, role: leaf, address: "192.0.2.[1-2]:8080", model: ACS-MSN4700, release: 202511}
hosts:
  gpu1: {address: 192.0.2.101, nics: {ens1f0np0: {rdma: mlx5_0}, ens2f0np0: {rdma: mlx5_1}}}
links:
  - {a: leaf1/Ethernet0, b: gpu1/ens1f0np0, cable: 5m, speed: 400G}
  - {a: leaf2/Ethernet0, b: gpu1/ens2f0np0, cable: 5m, speed: 400G}
`

// The intent is a ConfigMap as mounted by the kubelet: a link to a folder that is replaced.
func TestIntent(t *testing.T) {
	dir := t.TempDir()
	mount := func(version, text string) {
		t.Helper()
		if err := errors.Join(os.Mkdir(filepath.Join(dir, version), 0o755), os.WriteFile(filepath.Join(dir, version, "fabric.yaml"), []byte(text), 0o644),
			os.Symlink(version, filepath.Join(dir, "..data_tmp")), os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	mount("..2026_1", rails)
	if err := os.Symlink("..data/fabric.yaml", filepath.Join(dir, "fabric.yaml")); err != nil {
		t.Fatal(err)
	}
	i := &Intent{Intent: keep.Intent{Path: dir, Host: "gpu1", Roots: local.Roots{Etc: t.TempDir()}, Warn: func(string) {}}}
	w, err := i.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := i.Rails(), map[int]string{1: "leaf1", 2: "leaf2"}; !maps.Equal(got, want) || w.Host.Ports[ens0] == nil {
		t.Errorf("the rails are %v, want %v", got, want)
	}
	stamp := i.Stamp()
	mount("..2026_2", strings.Replace(rails, "b: gpu1/ens2f0np0", "b: gpu1/ens1f0np0", 1))
	if i.Stamp() == stamp {
		t.Error("a new version of the ConfigMap is not seen")
	}
	if _, err := i.Load(t.Context()); err == nil || !maps.Equal(i.Rails(), map[int]string{1: "leaf1", 2: "leaf2"}) {
		t.Errorf("a port in two links: %v, rails %v", err, i.Rails())
	}
}
