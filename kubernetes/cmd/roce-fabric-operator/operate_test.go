package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/manifests"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
	"github.com/roce-fabric/roce-fabric/kubernetes/operator"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// asProgram is the environment variable that makes the test program the operator.
const asProgram = "ROCE_FABRIC_OPERATOR"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(rig.Stop(m.Run()))
}

// patience limits all waits; a busy machine is slow.
const patience = 5 * time.Minute

func until(t *testing.T, what string, ok func() error) {
	t.Helper()
	tick, end := time.NewTicker(100*time.Millisecond), time.NewTimer(patience)
	defer tick.Stop()
	defer end.Stop()
	for {
		err := ok()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("not within %s: %s: %v", patience, what, err)
		}
	}
}

// replica is the program running as a process.
type replica struct {
	*exec.Cmd
	health, metrics, pprof, webhook string
	done                            chan error
	log                             *bytes.Buffer
}

// free returns addresses on which nothing listens.
func free(t *testing.T, n int) (out []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // after all addresses are chosen, so that they differ
		out = append(out, l.Addr().String())
	}
	return out
}

func start(t *testing.T, kubeconfig, ns string, args ...string) *replica {
	t.Helper()
	at := free(t, 4)
	p := &replica{health: at[0], metrics: at[1], pprof: at[2], webhook: at[3], done: make(chan error, 1), log: &bytes.Buffer{}}
	p.Cmd = exec.Command(os.Args[0], append([]string{
		"--kubeconfig", kubeconfig, "--watch-namespaces", ns, "--health-address", p.health, "--metrics-address", p.metrics,
		"--pprof-address", p.pprof, "--webhook-address", p.webhook, "--lease", "4s", "--takeover", "6s", "--work-dir", t.TempDir()}, args...)...)
	p.Env = []string{asProgram + "=1", ownNamespace + "=" + ns, "PATH=" + os.Getenv("PATH")}
	p.Stdout, p.Stderr = p.log, p.log
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.Wait() }()
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill() // the process may have ended
			<-p.done
		}
		if t.Failed() {
			t.Logf("%.8000s", p.log)
		}
	})
	return p
}

// end ends the process like the kubelet does.
func (p *replica) end(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.done:
		if err != nil {
			t.Errorf("SIGTERM: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end at SIGTERM")
	}
}

func get(url string) (string, error) {
	r, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", url, r.Status, b)
	}
	return string(b), err
}

// tells waits until the metrics contain the lines.
func (p *replica) tells(t *testing.T, lines ...string) {
	t.Helper()
	until(t, "the metrics", func() error {
		text, err := get("http://" + p.metrics + "/metrics")
		for _, want := range lines {
			if err == nil && !strings.Contains("\n"+text, "\n"+want) {
				err = fmt.Errorf("no %s", want)
			}
		}
		return err
	})
}

const intentText = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
switches:
  leaf[1-2]: {os: sonic, role: leaf, address: "192.0.2.[1-2]:8080", model: ACS-MSN4700, release: 202511}
links:
  - {a: leaf1/Ethernet0, b: leaf2/Ethernet0, cable: 40m, speed: 400G}
credentials:
  switches: {username: env:FABRIC_USER, password: env:FABRIC_PASSWORD, ssh: {knownHosts: ~/.ssh/known_hosts}}
`

// switches starts a lab of two switches and creates a Fabric for them.
func switches(t *testing.T, r *rig.Rig, ns string) (*v1alpha1.Fabric, *lab.Lab) {
	t.Helper()
	in, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(intentText)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(in, t.TempDir(), lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	login := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "login"}, StringData: map[string]string{"FABRIC_USER": "lab", "FABRIC_PASSWORD": "lab", "known_hosts": ""}}
	f := &v1alpha1.Fabric{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pod1"}, Spec: v1alpha1.FabricSpec{
		Intent: v1alpha1.IntentSource{Inline: intentText}, Policy: v1alpha1.Plan,
		CredentialsSecret: &v1alpha1.LocalReference{Name: "login"}, Interval: metav1.Duration{Duration: 10 * time.Second},
	}}
	for _, o := range []client.Object{login, f} {
		if err := r.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return f, l
}

// certificate writes a certificate for the webhook to a folder, and returns a configuration that
// trusts it.
func certificate(t *testing.T, dir string) *tls.Config {
	t.Helper()
	conf, ca, err := sim.NewTLS()
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(conf.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	var chain []byte
	for _, c := range conf.Certificates[0].Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c})...)
	}
	for name, b := range map[string][]byte{"tls.crt": chain, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		t.Fatal("no CA")
	}
	return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}
}

// The program validates and plans with only the permissions of its role, reports to Prometheus
// and to probes, serves the webhook, ends on SIGTERM, and leaves the work to the other replica.
func TestProgram(t *testing.T) {
	r := rig.Start(t)
	ns := r.Namespace(t)
	kubeconfig := rig.Kubeconfig(t, r.As(t, "roce-fabric-operator", ns))
	f, l := switches(t, r, ns)
	certs := t.TempDir()
	trust := certificate(t, certs)
	first := start(t, kubeconfig, ns, "--lab", l.Path(), "--webhook-certs", certs)
	label := fmt.Sprintf(`{fabric="pod1",namespace=%q`, ns)
	first.tells(t,
		`roce_fabric_operator_build_info{version="devel"} 1`, "roce_fabric_operator_elected 1", "roce_fabric_operator_member 1", "roce_fabric_operator_replicas 1", `leader_election_master_status{name="roce-fabric-operator"} 1`,
		"roce_fabric_operator_fabric_verdict"+label+`,verdict="errors"} 1`, "roce_fabric_operator_fabric_verdict"+label+`,verdict="ok"} 0`,
		"roce_fabric_operator_fabric_devices"+label+"} 2", "roce_fabric_operator_fabric_devices_reachable"+label+"} 2", "roce_fabric_operator_fabric_devices_drifted"+label+"} 2",
		"roce_fabric_operator_fabric_findings"+label+`,severity="error"} `, "roce_fabric_operator_fabric_last_validation_timestamp_seconds"+label,
		"roce_fabric_operator_fabric_condition"+label+`,type="InSync"} 0`, "roce_fabric_operator_fabric_condition"+label+`,type="Validated"} 1`,
		"roce_fabric_operator_plans"+label+`,phase="Pending"} 1`, "roce_fabric_operator_plan_waiting_timestamp_seconds"+label,
		`controller_runtime_reconcile_total{controller="fabric"`)
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(f), f); err != nil || f.Status.Plan == nil {
		t.Fatalf("%+v, %v", f.Status, err)
	}
	second := start(t, kubeconfig, ns, "--lab", l.Path())
	for _, url := range []string{first.health + "/healthz", first.health + "/readyz", second.health + "/healthz", second.health + "/readyz", first.pprof + "/debug/pprof/cmdline"} {
		until(t, url, func() error {
			_, err := get("http://" + url)
			return err
		})
	}
	first.tells(t, "roce_fabric_operator_replicas 2")
	second.tells(t, "roce_fabric_operator_elected 0", "roce_fabric_operator_member 1", "roce_fabric_operator_replicas 2", `leader_election_master_status{name="roce-fabric-operator"} 0`)
	if text, err := get("http://" + second.metrics + "/metrics"); err != nil || strings.Contains(text, "roce_fabric_operator_fabric_") {
		t.Errorf("a replica that waits tells of fabrics: %v", err)
	}
	review(t, first.webhook, trust, f)

	first.end(t)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "roce-fabric-operator"}}
	until(t, "the Lease is the other one's", func() error {
		err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(lease), lease)
		if id := lease.Spec.HolderIdentity; err == nil && (id == nil || *id == "" || *lease.Spec.LeaseTransitions < 1) {
			err = fmt.Errorf("the holder is %v", id)
		}
		return err
	})
	second.tells(t, "roce_fabric_operator_elected 1", "roce_fabric_operator_replicas 1", "roce_fabric_operator_fabric_devices"+label+"} 2")
	second.end(t)
	if text := first.log.String() + second.log.String(); strings.Contains(text, "forbidden") || strings.Contains(text, l.Password) {
		t.Error("the log tells of something forbidden, or of a password")
	}
}

// The trial of config/kind, with processes instead of its Pod's containers: the lab, and the
// operator that connects to it. A plan waits for approval, and after approval the fabric is in
// sync.
func TestTrial(t *testing.T) {
	r := rig.Start(t)
	ns, dir := r.Namespace(t), t.TempDir()
	all, err := manifests.Kustomize("../../config/kind")
	if err != nil {
		t.Fatal(err)
	}
	f := &v1alpha1.Fabric{}
	intentFile := filepath.Join(dir, "fabric.yaml")
	args := map[string][]string{}
	for _, o := range all {
		switch o.GetKind() {
		case "Deployment":
			d := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, d); err != nil {
				t.Fatal(err)
			}
			for _, c := range d.Spec.Template.Spec.Containers {
				for _, a := range c.Args {
					args[c.Name] = append(args[c.Name], strings.NewReplacer("/intent/fabric.yaml", intentFile, "/lab/lab.json", dir+"/lab.json", "/lab", dir, "=roce-fabric", "="+ns).Replace(a))
				}
			}
			continue
		case "ConfigMap":
			text, _, _ := unstructured.NestedString(o.Object, "data", "fabric.yaml")
			if err := os.WriteFile(intentFile, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		case "Fabric":
			f.Name, f.Namespace = o.GetName(), ns
		case "Secret":
		default:
			continue
		}
		o.SetNamespace(ns)
		if err := r.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "roce-fabric")
	if out, err := exec.Command("go", "build", "-C", "../../..", "-o", program, "./cmd/roce-fabric").CombinedOutput(); err != nil {
		t.Fatalf("build roce-fabric: %v\n%s", err, out)
	}
	lab := exec.Command(program, args["lab"]...)
	log := &bytes.Buffer{}
	lab.Stdout, lab.Stderr = log, log
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := lab.Wait(); err != nil || t.Failed() {
			t.Logf("roce-fabric %q: %v\n%s", args["lab"], err, log)
		}
	})
	// Otherwise the lab might take a port meant for the operator.
	until(t, "the lab is up", func() error {
		_, err := os.Stat(filepath.Join(dir, "lab.json"))
		return err
	})
	start(t, rig.Kubeconfig(t, r.As(t, "roce-fabric-operator", ns)), ns, args["operator"]...)
	is := func(kind string) func() error {
		return func() error {
			err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(f), f)
			if c := apimeta.FindStatusCondition(f.Status.Conditions, kind); err == nil && (c == nil || c.Status != metav1.ConditionTrue) {
				err = fmt.Errorf("%s is %+v", kind, c)
			}
			return err
		}
	}
	until(t, "it is validated", is(v1alpha1.Validated))
	until(t, "a plan", is("Planned"))
	if s := f.Status; s.Devices != 8 || s.Reachable != 8 || s.Plan == nil {
		t.Fatalf("%+v", s)
	}
	yes := &v1alpha1.FabricPlanApproval{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: f.Status.Plan.Name}, Spec: v1alpha1.FabricPlanApprovalSpec{Plan: f.Status.Plan.Name, Digest: f.Status.Plan.Digest}}
	if err := r.Client.Create(t.Context(), yes); err != nil {
		t.Fatal(err)
	}
	p := &v1alpha1.FabricPlan{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: yes.Name}}
	until(t, "it is applied", func() error {
		err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p)
		if err == nil && p.Status.Phase != v1alpha1.Applied {
			err = fmt.Errorf("%+v", p.Status)
		}
		return err
	})
	until(t, "it is in sync", is(v1alpha1.InSync))
}

// review calls the webhook like the API server does.
func review(t *testing.T, address string, trust *tls.Config, f *v1alpha1.Fabric) {
	t.Helper()
	bad := f.DeepCopy()
	bad.APIVersion, bad.Kind = v1alpha1.GroupVersion.String(), "Fabric"
	bad.Spec.Intent.Inline = strings.Replace(bad.Spec.Intent.Inline, "classes:", "clases:", 1)
	raw, err := json.Marshal(bad)
	if err != nil {
		t.Fatal(err)
	}
	q := admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &admissionv1.AdmissionRequest{UID: "1", Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: raw}}}
	body, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	c := http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
	var out admissionv1.AdmissionReview
	until(t, "the webhook answers", func() error {
		resp, err := c.Post("https://"+address+operator.WebhookPath, "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return json.NewDecoder(resp.Body).Decode(&out)
	})
	if a := out.Response; a == nil || a.Allowed || !strings.Contains(a.Result.Message, `spec.intent.inline:4:1: unknown key "clases"`) {
		t.Errorf("the webhook says %+v", out.Response)
	}
}

func TestUsage(t *testing.T) {
	t.Setenv(ownNamespace, "")
	for _, c := range []struct {
		args []string
		want int
		text string
	}{
		{[]string{"--help"}, 0, ""},
		{[]string{"--version"}, 0, ""},
		{nil, 2, "the namespace of the operator is not known"},
		{[]string{"--namespace", "a", "now"}, 2, `unknown argument "now"`},
		{[]string{"--namespace", "a", "--watch-namespaces", "b,,c"}, 2, `"" is not a valid name of a namespace`},
		{[]string{"--namespace", "a", "--lease", "1s"}, 2, "--lease 1s: use 3s to 1h"},
		{[]string{"--namespace", "a", "--parallel", "0"}, 2, "1 or more"},
		{[]string{"--frob"}, 2, "-frob"},
		{[]string{"--namespace", "a", "--kubeconfig", "/nowhere"}, 1, "API server configuration"},
		{[]string{"node", "--help"}, 0, "RoCEReady"},
		{[]string{"node"}, 2, "the Node is not known"},
		{[]string{"node", "--node", "a", "--policy", "fix"}, 2, "--policy fix: use report or repair"},
		{[]string{"node", "--node", "a", "--allow", "all"}, 2, "allow"},
		{[]string{"node", "--node", "a", "--host", "b"}, 2, "it needs --file"},
		{[]string{"node", "--node", "a", "--kubeconfig", "/nowhere"}, 1, "API server configuration"},
	} {
		cmd := exec.Command(os.Args[0], c.args...)
		cmd.Env = []string{asProgram + "=1"}
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != c.want || !strings.Contains(string(out), c.text) {
			t.Errorf("%q: status %d, %s", c.args, got, out)
		}
	}
}
