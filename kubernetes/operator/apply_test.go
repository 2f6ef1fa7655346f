package operator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/journal"
)

// plan waits for the pending plan of a fabric.
func (b *bench) plan(f *v1alpha1.Fabric) *v1alpha1.FabricPlan {
	b.Helper()
	b.until(f, "a plan", func() bool { return f.Status.Plan != nil })
	p := &v1alpha1.FabricPlan{ObjectMeta: b.meta(f.Status.Plan.Name)}
	b.until(p, "it is pending", func() bool { return p.Status.Phase == v1alpha1.Pending })
	return p
}

func (b *bench) approve(name, plan, digest string) *v1alpha1.FabricPlanApproval {
	b.Helper()
	a := &v1alpha1.FabricPlanApproval{ObjectMeta: b.meta(name), Spec: v1alpha1.FabricPlanApprovalSpec{Plan: plan, Digest: digest}}
	b.create(a)
	return a
}

// ends waits for the end of a plan and checks its phase.
func (b *bench) ends(p *v1alpha1.FabricPlan, phase v1alpha1.PlanPhase) {
	b.Helper()
	b.until(p, "it has ended", func() bool { return p.Status.Ended != nil })
	if p.Status.Phase != phase {
		text, _ := json.MarshalIndent(p.Status, "", " ")
		b.Fatalf("%s is %s, want %s\n%s", p.Name, p.Status.Phase, phase, text)
	}
}

// earlierRuns adds n runs without devices to the store.
func (b *bench) earlierRuns(fabric string, n int) *journal.Secrets {
	b.Helper()
	s, err := journal.Open(b.r.Client, b.ns, fabric, time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	l, err := s.Lock(b.Context(), store.Self("earlier", ""))
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		j, err := l.Create(b.Context(), fmt.Sprintf("earlier%d", i))
		for _, event := range []string{"begin", "end"} {
			if err == nil {
				err = j.Append(b.Context(), fmt.Appendf(nil, `{"event":%q,"time":"2026-01-01T00:00:00Z"}`, event))
			}
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Release(); err != nil {
		b.Fatal(err)
	}
	return s
}

// A plan waits until it is approved by its digest, and is then carried out exactly as approved;
// after that, nothing is left to do.
func TestApply(t *testing.T) {
	b := newBench(t)
	in := b.start(2)
	runs := b.earlierRuns("pod1", 22)
	f := b.fabric(in, v1alpha1.Plan)
	b.operate(options())
	p := b.plan(f)
	if s := p.Spec; s.Fabric != "pod1" || s.Changes != 3 || len(s.Devices) != 3 || s.Devices[0].Count == 0 || len(s.Devices[0].Changes) == 0 || s.Impact == "none" || s.Waves == 0 || !strings.HasPrefix(p.Name, "pod1-"+s.Digest[:12]) {
		t.Errorf("the plan is %+v", s)
	}
	for _, want := range []string{"  wave 1: ", "leaf1", "spine1", "impact "} {
		if !strings.Contains(p.Status.Text, want) {
			t.Errorf("the text of the plan has no %q:\n%s", want, p.Status.Text)
		}
	}
	if c := p.Status.Conditions; !meta.IsStatusConditionFalse(c, v1alpha1.Approved) || !meta.IsStatusConditionPresentAndEqual(c, v1alpha1.Succeeded, metav1.ConditionUnknown) {
		t.Errorf("the conditions of the plan are %+v", c)
	}
	if f.Status.Plan.Digest != p.Spec.Digest || condition(f, "Planned").Status != metav1.ConditionTrue {
		t.Errorf("%+v", f.Status)
	}
	a := b.approve("wrong", p.Name, strings.Repeat("0", 64))
	b.until(a, "an answer", func() bool { return a.Status.Phase != "" })
	if a.Status.Phase != "Refused" || !strings.Contains(a.Status.Message, "the plan has digest "+p.Spec.Digest) {
		t.Errorf("%+v", a.Status)
	}
	none := b.approve("none", "none", p.Spec.Digest)
	b.until(none, "an answer", func() bool { return none.Status.Message == "there is no FabricPlan none" })
	if err := b.r.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil || p.Status.Phase != v1alpha1.Pending || len(p.Status.Runs) > 0 {
		t.Fatalf("%+v, %v", p.Status, err)
	}

	a = b.approve("right", p.Name, p.Spec.Digest)
	b.ends(p, v1alpha1.Applied)
	if s := p.Status; s.ApprovedBy != "right" || len(s.Runs) != 1 || s.States["applied"] != 3 || len(s.Devices) > 0 {
		t.Errorf("%+v", s)
	}
	if c := p.Status.Conditions; !meta.IsStatusConditionTrue(c, v1alpha1.Approved) || !meta.IsStatusConditionTrue(c, v1alpha1.Succeeded) {
		t.Errorf("the conditions of the plan are %+v", c)
	}
	b.until(a, "it is accepted", func() bool {
		return a.Status.Phase == v1alpha1.ApprovalAccepted && meta.IsStatusConditionTrue(a.Status.Conditions, v1alpha1.Accepted)
	})
	b.until(f, "it has no finalizer", func() bool { return len(f.Finalizers) == 0 })
	b.until(f, "it is in sync", func() bool {
		return condition(f, v1alpha1.InSync).Status == metav1.ConditionTrue && f.Status.Plan == nil
	})
	if r := f.Status.LastRun; r == nil || r.Plan != p.Name || r.Phase != v1alpha1.Applied || r.Run != p.Status.Runs[0] {
		t.Errorf("the last run is %+v", r)
	}
	// The newest 20 runs are kept, but no locks of devices.
	b.until(f, "old journals are gone", func() bool {
		ids, err := runs.Journals(t.Context())
		return err == nil && len(ids) == 20 && ids[len(ids)-1].Run == p.Status.Runs[0]
	})
	var leases coordinationv1.LeaseList
	if err := b.r.Client.List(t.Context(), &leases, client.InNamespace(b.ns)); err != nil {
		t.Fatal(err)
	}
	for _, l := range leases.Items {
		if at := l.Annotations["roce-fabric.io/fabric-name"]; at != "" && at != "pod1" {
			t.Errorf("the Lease of %s remains", at)
		}
	}
	late := b.approve("late", p.Name, p.Spec.Digest)
	b.until(late, "an answer", func() bool { return late.Status.Phase == "Refused" })
	b.noSecret()

	var secrets corev1.SecretList
	if err := b.r.Client.List(t.Context(), &secrets, client.InNamespace(b.ns)); err != nil {
		t.Fatal(err)
	}
	kinds := map[corev1.SecretType]int{}
	for _, s := range secrets.Items {
		kinds[s.Type]++
		if s.Name != "login" && bytes.Contains([]byte(fmt.Sprint(s.Data)), []byte(b.lab.Password)) {
			t.Errorf("%s has the password", s.Name)
		}
	}
	if kinds["roce-fabric.io/journal"] == 0 || kinds["roce-fabric.io/plan"] == 0 {
		t.Errorf("the Secrets are %v", kinds)
	}
}

// An approval is for one digest: if the fabric has changed since, nothing is written. Drift is
// corrected only after an approval.
func TestMoved(t *testing.T) {
	b := newBench(t)
	in := b.start(1)
	f := b.fabric(in, v1alpha1.Plan)
	b.operate(options())
	p := b.plan(f)
	// A changed intent has a new plan, which supersedes the old one.
	b.change(f, func() { f.Spec.Intent.Inline = strings.Replace(in, "min: 150KB", "min: 200KB", 1) })
	b.until(p, "it is superseded", func() bool { return p.Status.Phase == v1alpha1.Superseded })
	a := b.approve("old", p.Name, p.Spec.Digest)
	b.until(a, "an answer", func() bool { return a.Status.Phase == "Refused" })
	if !strings.HasPrefix(a.Status.Message, "the plan is Superseded: a newer plan is pod1-") {
		t.Error(a.Status.Message)
	}
	b.until(f, "the next plan", func() bool { return f.Status.Plan != nil && f.Status.Plan.Name != p.Name })
	p = b.plan(f)
	b.change(f, func() { f.Spec.Suspend = true })
	b.until(f, "it is suspended", func() bool { return condition(f, v1alpha1.Ready).Reason == "Suspended" })
	a = b.approve("early", p.Name, p.Spec.Digest)
	b.until(p, "it waits", func() bool { return strings.Contains(p.Status.Message, "waits until the Fabric is not suspended") })
	// Someone changes a switch, so the approved plan is for another state.
	if err := b.lab.Inject("leaf1", "PORT_QOS_MAP|Ethernet0 pfc_enable=3,5"); err != nil {
		t.Fatal(err)
	}
	b.change(f, func() { f.Spec.Suspend = false })
	b.until(p, "it has ended", func() bool { return p.Status.Ended != nil })
	// Either the next validation or the approved run, which reads the switch again, comes first.
	refused := p.Status.Phase == v1alpha1.Refused && strings.Contains(p.Status.Message, "nothing was written") && strings.Contains(p.Status.Message, "1 device changed since the plan was made")
	if !refused && p.Status.Phase != v1alpha1.Superseded || p.Status.States["applied"] > 0 {
		t.Errorf("%+v", p.Status)
	}
	b.until(f, "a plan of what is there now", func() bool { return f.Status.Plan != nil && f.Status.Plan.Digest != p.Spec.Digest })
}

// An approval that is deleted before its run starts has no effect.
func TestWithdrawn(t *testing.T) {
	b := newBench(t)
	f := b.fabric(b.start(1), v1alpha1.Plan)
	b.operate(options())
	p := b.plan(f)
	suspend := func(is bool) { b.change(f, func() { f.Spec.Suspend = is }) }
	says := func(want string) {
		t.Helper()
		b.until(p, want, func() bool { return strings.Contains(p.Status.Message, want) })
	}
	withdraw := func(a *v1alpha1.FabricPlanApproval) {
		t.Helper()
		if err := b.r.Client.Delete(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	suspend(true)
	a := b.approve("one", p.Name, p.Spec.Digest)
	says("approved; waits until the Fabric is not suspended")
	withdraw(a)
	says("waits for a FabricPlanApproval")
	suspend(false)

	// Another run holds the lock of the fabric.
	s, err := journal.Open(b.r.Client, b.ns, "pod1", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Lock(t.Context(), store.Self("other", ""))
	if err != nil {
		t.Fatal(err)
	}
	a = b.approve("two", p.Name, p.Spec.Digest)
	says("approved by two; waits: another run is changing this fabric: run other")
	withdraw(a)
	b.ends(p, v1alpha1.Refused)
	if want := "nothing was written; FabricPlanApproval two was deleted before the run began"; p.Status.Message != want || p.Status.Runs != nil {
		t.Errorf("%+v", p.Status)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	b.until(f, "the next plan", func() bool { return f.Status.Plan != nil && f.Status.Plan.Name != p.Name })
}

// With policy apply, a plan within the allowed impact needs no approval; any other plan does.
func TestPolicyApply(t *testing.T) {
	b := newBench(t)
	f := b.fabric(b.start(1), v1alpha1.Apply)
	b.change(f, func() { f.Spec.Allow = "none" })
	b.operate(options())
	p := b.plan(f)
	b.change(f, func() { f.Spec.Allow = "reload" })
	b.change(f, func() { f.Spec.Intent.Inline = strings.Replace(f.Spec.Intent.Inline, "min: 150KB", "min: 200KB", 1) })
	b.until(f, "it was applied", func() bool { return f.Status.LastRun != nil && f.Status.LastRun.Phase == v1alpha1.Applied })
	if f.Status.LastRun.Plan == p.Name {
		t.Error("the plan was not allowed when it was made")
	}
	q := &v1alpha1.FabricPlan{ObjectMeta: b.meta(f.Status.LastRun.Plan)}
	b.until(q, "its end", func() bool { return q.Status.ApprovedBy == "policy apply" })
}

// replicaVariable is the environment variable that makes the test program a replica of the
// operator.
const replicaVariable = "ROCE_FABRIC_REPLICA"

// connection holds what a replica needs to connect.
type connection struct {
	Host          string
	CA, Cert, Key []byte
	Namespace     string
}

// replica runs the operator with leader election until it is killed.
func replica() int {
	var c connection
	if err := json.Unmarshal([]byte(os.Getenv(replicaVariable)), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctrl.SetLogger(zap.New())
	cfg := &rest.Config{Host: c.Host, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: c.CA, CertData: c.Cert, KeyData: c.Key}}
	m, err := newManager(cfg, c.Namespace, options(), true)
	if err == nil {
		err = m.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// startReplica starts a replica as a separate process.
func (b *bench) startReplica() *exec.Cmd {
	b.Helper()
	c := b.as
	env, err := json.Marshal(connection{c.Host, c.CAData, c.CertData, c.KeyData, b.ns})
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), replicaVariable+"="+string(env))
	log := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill() // the process may have ended
		_ = cmd.Wait()
		if b.Failed() {
			b.Logf("%.8000s", log.String())
		}
	})
	return cmd
}

// The active replica is killed in the middle of a wave, or is stopped for longer than its locks
// last and then continues. Another replica completes the approved plan; no switch has two
// writers at once, and a replica that has lost its lock writes to none.
func TestLostReplica(t *testing.T) {
	for name, how := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			lostReplica(t, how)
		})
	}
}

// strike approves a plan and sends a signal to a replica in the middle of its run: half of the
// switches have been written to, and one is just receiving its change.
func (b *bench) strike(replica *exec.Cmd, how syscall.Signal, p *v1alpha1.FabricPlan) time.Time {
	b.Helper()
	var sets atomic.Int32
	reached, lost := make(chan struct{}), make(chan struct{})
	for device := range b.lab.Switches {
		b.of(device).Faults().BeforeSet(func() {
			if int(sets.Add(1)) == len(b.lab.Switches)/2 {
				close(reached)
				<-lost
			}
		})
	}
	b.approve("yes", p.Name, p.Spec.Digest)
	select {
	case <-reached:
	case <-time.After(patience):
		b.Fatal("half of the switches were not written to")
	}
	at := time.Now()
	b.signal(replica, how)
	close(lost)
	return at
}

func lostReplica(t *testing.T, how syscall.Signal) {
	leaves := 7
	if nightly {
		leaves = 46
	}
	b := newBench(t)
	f := b.fabric(b.start(leaves), v1alpha1.Plan)
	first := b.startReplica()
	p := b.plan(f)
	b.startReplica() // it waits for the lease of the first replica
	gone := b.strike(first, how, p)
	b.ends(p, v1alpha1.Applied)
	t.Logf("%d switches: ended %s after a replica was lost, runs %v, states %v", p.Spec.Changes, time.Since(gone).Round(time.Millisecond), p.Status.Runs, p.Status.States)
	if len(p.Status.Runs) != 2 {
		t.Errorf("the runs are %v", p.Status.Runs)
	}
	back := time.Now()
	if how == syscall.SIGSTOP {
		b.signal(first, syscall.SIGCONT)
		if err := first.Wait(); err == nil {
			t.Error("the replica that is not the elected one any more has ended as if it were")
		}
	}
	b.oneWriter(gone)
	for device := range b.lab.Switches {
		for _, s := range b.writes(device) {
			if s.Wrote.After(back) {
				t.Errorf("%s was written to when the plan had ended: %+v", device, s)
			}
		}
	}
	b.until(f, "it is in sync", func() bool {
		return condition(f, v1alpha1.InSync).Status == metav1.ConditionTrue && f.Status.Plan == nil
	})
	if err := b.r.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil || p.Status.Phase != v1alpha1.Applied || p.Status.Interrupted {
		t.Errorf("%+v, %v", p.Status, err)
	}
}
