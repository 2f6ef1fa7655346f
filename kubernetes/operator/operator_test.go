package operator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/go-logr/logr/testr"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
	"github.com/roce-fabric/roce-fabric/kubernetes/operator"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

func TestMain(m *testing.M) {
	if os.Getenv(replicaVariable) != "" {
		os.Exit(replica())
	}
	os.Exit(rig.Stop(m.Run()))
}

// nightly is set if tests should run at full size.
var nightly = os.Getenv("ROCE_FABRIC_NIGHTLY") != ""

// patience limits all waits; a busy machine is slow.
var patience = map[bool]time.Duration{false: 2 * time.Minute, true: 30 * time.Minute}[nightly]

// bench is a namespace with a lab.
type bench struct {
	*testing.T
	r   *rig.Rig
	ns  string
	as  *rest.Config // the operator's user, with only its role
	lab *lab.Lab
}

func newBench(t *testing.T) *bench {
	t.Helper()
	r := rig.Start(t)
	ctrl.SetLogger(testr.NewWithOptions(t, testr.Options{Verbosity: -1}))
	ns := r.Namespace(t)
	return &bench{T: t, r: r, ns: ns, as: r.As(t, "roce-fabric-operator", ns)}
}

// text returns an intent with leaves and their spines. at returns the addresses of a switch.
func text(leaves int, at func(name string) (gnmi, ssh string)) string {
	var b strings.Builder
	device := func(name, role string) {
		gnmi, ssh := at(name)
		fmt.Fprintf(&b, "  %s: {os: sonic, role: %s, address: %q, access: {ssh: {address: %q}}, model: ACS-MSN4700, release: 202511}\n", name, role, gnmi, ssh)
	}
	b.WriteString(`apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
pfc: {watchdog: {detect: 400ms, restore: 400ms, action: drop}}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
switches:
`)
	for i := range leaves {
		device(fmt.Sprintf("leaf%d", i+1), "leaf")
	}
	const ports = 32 // ports of a spine
	for i := range (leaves + ports - 1) / ports {
		device(fmt.Sprintf("spine%d", i+1), "spine")
	}
	b.WriteString("links:\n")
	for i := range leaves {
		fmt.Fprintf(&b, "  - {a: leaf%d/Ethernet0, b: spine%d/Ethernet%d, cable: 40m, speed: 400G}\n", i+1, i/ports+1, i%ports*8)
	}
	b.WriteString(`credentials:
  switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD, tls: {ca: ca.pem}}
`)
	return b.String()
}

// nowhere returns addresses of a switch that does not exist.
func nowhere(name string) (gnmi, ssh string) { return name + ".example:8080", name + ".example:22" }

// start starts a lab of switches and creates the Secret with their credentials. It returns their
// intent.
func (b *bench) start(leaves int) string {
	b.Helper()
	b.startText(text(leaves, nowhere))
	return text(leaves, func(name string) (gnmi, ssh string) { return b.lab.Devices[name].GNMI, b.lab.Devices[name].SSH })
}

// startText is like start, for an intent without the addresses of its devices.
func (b *bench) startText(in string) string {
	b.Helper()
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(in)})
	if err == nil {
		b.lab, err = lab.Start(f, b.TempDir(), lab.Options{})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := b.lab.Close(); err != nil {
			b.Error(err)
		}
	})
	ca, err := os.ReadFile(b.lab.CA)
	if err != nil {
		b.Fatal(err)
	}
	known, err := os.ReadFile(b.lab.KnownHosts)
	if err != nil {
		b.Fatal(err)
	}
	b.create(&corev1.Secret{ObjectMeta: b.meta("login"), Data: map[string][]byte{"FABRIC_USER": []byte(b.lab.Username), "FABRIC_PASSWORD": []byte(b.lab.Password), "ca.pem": ca, "known_hosts": known}})
	return in
}

func (b *bench) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: b.ns, Name: name}
}

func (b *bench) create(o client.Object) {
	b.Helper()
	if err := b.r.Client.Create(b.Context(), o); err != nil {
		b.Fatal(err)
	}
}

// fabric creates a Fabric with an inline intent.
func (b *bench) fabric(text string, policy v1alpha1.Policy) *v1alpha1.Fabric {
	b.Helper()
	return b.fabricNamed("pod1", text, policy, "off")
}

func (b *bench) fabricNamed(name, text string, policy v1alpha1.Policy, gate string) *v1alpha1.Fabric {
	b.Helper()
	f := &v1alpha1.Fabric{ObjectMeta: b.meta(name), Spec: v1alpha1.FabricSpec{
		Intent: v1alpha1.IntentSource{Inline: text}, Policy: policy, CredentialsSecret: &v1alpha1.LocalReference{Name: "login"},
		Interval: metav1.Duration{Duration: 10 * time.Second}, Rollout: v1alpha1.Rollout{Gate: gate},
	}}
	b.create(f)
	return f
}

// replicaTTL is long enough for a busy machine.
var replicaTTL = map[bool]time.Duration{false: 15 * time.Second, true: 30 * time.Second}[nightly]

// parallel is the number of devices that a replica works on in parallel.
var parallel = map[bool]int{false: 4, true: 16}[nightly]

// options returns the operator's options for a test.
func options() operator.Options {
	return operator.Options{
		Version: "test", LockTTL: 10 * time.Second, ReplicaTTL: replicaTTL, Parallel: parallel,
		Access: func() *fleet.Access { return &fleet.Access{Scale: 0.001} },
	}
}

// newManager returns a manager with the operator for a namespace.
func newManager(cfg *rest.Config, ns string, o operator.Options, elect bool) (ctrl.Manager, error) {
	lease, renew, again := 10*time.Second, 8*time.Second, time.Second // long enough for a busy machine
	if nightly {
		lease, renew, again = 30*time.Second, 25*time.Second, 2*time.Second
	}
	skip, grace := true, patience
	o.Namespace = ns
	m, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: rig.Scheme(), Metrics: metrics.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache:          cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
		Controller:     config.Controller{SkipNameValidation: &skip},
		LeaderElection: elect, LeaderElectionID: "operator", LeaderElectionNamespace: ns,
		LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &again, GracefulShutdownTimeout: &grace,
	})
	if err != nil {
		return nil, err
	}
	return m, operator.Add(m, o)
}

// operate runs the operator until the test ends or stop is called.
func (b *bench) operate(o operator.Options) (stop func()) {
	b.Helper()
	m, err := newManager(b.as, b.ns, o, false)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	over := false
	stop = func() {
		if over {
			return
		}
		over = true
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	}
	b.Cleanup(stop)
	return stop
}

// until waits until ok returns true for an object.
func (b *bench) until(o client.Object, what string, ok func() bool) {
	b.Helper()
	tick, end := time.NewTicker(100*time.Millisecond), time.NewTimer(patience)
	defer tick.Stop()
	defer end.Stop()
	for {
		err := b.r.Client.Get(b.Context(), client.ObjectKeyFromObject(o), o)
		if err == nil && ok() {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			o.SetManagedFields(nil)
			text, _ := json.MarshalIndent(o, "", " ")
			b.Fatalf("not within %s: %s\n%v\n%s", patience, what, err, text)
		}
	}
}

func condition(f *v1alpha1.Fabric, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(f.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// events returns the notes of the namespace's events.
func (b *bench) events() (out []string) {
	b.Helper()
	var l eventsv1.EventList
	if err := b.r.Client.List(b.Context(), &l, client.InNamespace(b.ns)); err != nil {
		b.Fatal(err)
	}
	for _, e := range l.Items {
		out = append(out, e.Reason+" "+e.Note)
	}
	return out
}

// noSecret checks that no object in the namespace, except Secrets, contains the password or
// another given secret.
func (b *bench) noSecret(others ...string) {
	b.Helper()
	for _, l := range []client.ObjectList{
		&v1alpha1.FabricList{}, &v1alpha1.FabricPlanList{}, &v1alpha1.FabricPlanApprovalList{}, &v1alpha1.SwitchStatusList{}, &eventsv1.EventList{}, &corev1.ConfigMapList{},
	} {
		if err := b.r.Client.List(b.Context(), l, client.InNamespace(b.ns)); err != nil {
			b.Fatal(err)
		}
		text, err := json.Marshal(l)
		if err != nil {
			b.Fatal(err)
		}
		for _, secret := range append(others, b.lab.Password) {
			if strings.Contains(string(text), secret) {
				b.Errorf("%T has a password", l)
			}
		}
	}
}

// Switches in their factory state are read and differ from the intent, and nothing is written.
func TestObserve(t *testing.T) {
	b := newBench(t)
	in := b.start(2)
	f := b.fabric(in, v1alpha1.Observe)
	b.operate(options())
	b.until(f, "a verdict", func() bool { return f.Status.Verdict != "" })
	st := f.Status
	if st.Verdict != v1alpha1.Errors || st.Devices != 3 || st.Reachable != 3 || st.Drifted != 3 || st.Findings.Errors == 0 || st.Intent.Fabric != "pod1" || len(st.Intent.Digest) != 64 || st.Plan != nil {
		t.Errorf("the status is %+v", st)
	}
	for kind, want := range map[string]string{
		v1alpha1.IntentValid: "True Valid 3 switches and 0 hosts", v1alpha1.Validated: "True Validated 3 devices compared with the intent",
		v1alpha1.InSync: "False Drifted 3 switches differ from the intent", v1alpha1.Ready: "False NotInSync 3 switches differ from the intent",
	} {
		c := condition(f, kind)
		if got := fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message); got != want {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
	s := &v1alpha1.SwitchStatus{ObjectMeta: b.meta("pod1.leaf1")}
	b.until(s, "a status of leaf1", func() bool { return s.Status.LastSeen != nil })
	if d := s.Status; s.Spec.Device != "leaf1" || d.Verdict != v1alpha1.Errors || d.Drift == 0 || len(d.Findings) == 0 || d.Findings[0].Severity != "error" || d.Findings[0].What == "" || !metav1.IsControlledBy(s, f) {
		t.Errorf("the status of leaf1 is %+v %+v", s.ObjectMeta, d)
	}
	b.until(s, "the conditions of leaf1", func() bool {
		return meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.Reachable) && meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.InSync) && meta.IsStatusConditionFalse(s.Status.Conditions, v1alpha1.Ready)
	})
	var plans v1alpha1.FabricPlanList
	if err := b.r.Client.List(t.Context(), &plans, client.InNamespace(b.ns)); err != nil || len(plans.Items) > 0 {
		t.Errorf("%d plans, %v", len(plans.Items), err)
	}
	b.untilEvent("Drifted leaf1 differs from the intent in ")
	b.untilEvent("Verdict the verdict is errors, was unknown")

	// After a faulty change of the intent, the known state is kept, and the condition shows the
	// place of the fault.
	b.change(f, func() { f.Spec.Intent.Inline = strings.Replace(in, "classes:", "clases:", 1) })
	b.until(f, "the fault", func() bool { return condition(f, v1alpha1.IntentValid).Status == metav1.ConditionFalse })
	if c := condition(f, v1alpha1.IntentValid); c.Reason != "InvalidIntent" || !strings.Contains(c.Message, `spec.intent.inline:4:1: unknown key "clases" (did you mean "classes"?)`) || f.Status.Verdict != v1alpha1.Errors {
		t.Errorf("the condition is %+v, the verdict %s", c, f.Status.Verdict)
	}

	// A switch that is no longer in the intent has no status.
	b.change(f, func() {
		lines := strings.SplitAfter(in, "\n")
		var out strings.Builder
		for _, l := range lines {
			if !strings.Contains(l, "leaf2") {
				out.WriteString(l)
			}
		}
		f.Spec.Intent.Inline = out.String()
	})
	b.until(f, "two devices", func() bool { return f.Status.Devices == 2 })
	gone := &v1alpha1.SwitchStatus{ObjectMeta: b.meta("pod1.leaf2")}
	if err := b.r.Client.Get(t.Context(), client.ObjectKeyFromObject(gone), gone); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("leaf2: %v", err)
	}

	// A switch that does not respond is a finding, and its settings are not reported.
	if err := b.lab.Switches["leaf1"].Close(); err != nil {
		t.Fatal(err)
	}
	b.until(s, "leaf1 is unreachable", func() bool { return s.Status.Verdict == v1alpha1.Unreachable })
	if s.Status.Message == "" || s.Status.LastSeen == nil {
		t.Errorf("the status of leaf1 is %+v", s.Status)
	}
	b.until(f, "one device answers", func() bool { return f.Status.Reachable == 1 })
	if c := condition(f, v1alpha1.Validated); c.Reason != "InPart" || !strings.HasPrefix(c.Message, "1 device could not be read: leaf1: ") {
		t.Errorf("%+v", c)
	}
	b.noSecret()

	b.change(f, func() { f.Spec.Suspend = true })
	b.until(f, "suspended", func() bool { return condition(f, v1alpha1.Ready).Reason == "Suspended" })
}

// change edits a Fabric, even if others write to it at the same time.
func (b *bench) change(f *v1alpha1.Fabric, edit func()) {
	b.Helper()
	if err := b.r.Client.Get(b.Context(), client.ObjectKeyFromObject(f), f); err != nil {
		b.Fatal(err)
	}
	before := f.DeepCopy()
	edit()
	if err := b.r.Client.Patch(b.Context(), f, client.MergeFrom(before)); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) untilEvent(want string) {
	b.Helper()
	f := &v1alpha1.Fabric{ObjectMeta: b.meta("pod1")}
	var all []string
	b.until(f, "an event: "+want, func() bool {
		all = b.events()
		for _, e := range all {
			if strings.Contains(e, want) {
				return true
			}
		}
		return false
	})
}
