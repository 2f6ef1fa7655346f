package containerlab

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

//go:generate go test . -run TestExamples -update

var update = flag.Bool("update", false, "write the labs of the examples")

// newLab returns the lab for the text of an intent.
func newLab(t *testing.T, text, file string, images ...string) (*Lab, error) {
	t.Helper()
	o := func() intent.Options { return intent.Options{Stdin: strings.NewReader(text), Name: "fabric.yaml"} }
	f, err := intent.Load("-", o())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := intent.Document("-", o())
	if err != nil {
		t.Fatal(err)
	}
	im, err := ParseImages(images)
	if err != nil {
		t.Fatal(err)
	}
	return New(f, doc, im, file)
}

// ofExample returns the lab of an example.
func ofExample(t *testing.T, name string, images ...string) *Lab {
	t.Helper()
	text, err := examples.Intent(name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLab(t, string(text), name+".clab.yml", images...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// labs returns the examples for whose switches containerlab has a kind of node. Every other
// example must fail with an error that says so.
func labs(t *testing.T) (names []string) {
	t.Helper()
	for _, name := range examples.Names() {
		text, err := examples.Intent(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := newLab(t, string(text), name+".clab.yml"); err == nil {
			names = append(names, name)
		} else if !strings.Contains(name, "cumulus") || !strings.Contains(err.Error(), "no kind of node with a free image for os cumulus") {
			t.Errorf("%s: %v", name, err)
		}
	}
	return names
}

// TestExamples compares the labs of the examples with the stored files.
func TestExamples(t *testing.T) {
	for _, name := range labs(t) {
		l := ofExample(t, name)
		dir := filepath.Join("..", "..", "examples", name, "containerlab")
		if *update {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := l.Write(dir); err != nil {
				t.Fatal(err)
			}
		}
		var have []string
		there, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range there {
			have = append(have, e.Name())
		}
		if d := gocmp.Diff(l.Files(), have); d != "" {
			t.Errorf("files of %s (-made +kept):\n%s", dir, d)
		}
		taken, err := l.Taken(dir)
		if err != nil || len(taken) > 0 {
			t.Errorf("stale, run make generate: %v %v", taken, err)
		}
	}
}

// schemaEnv names the environment variable for the path of containerlab's own topology schema:
// schemas/clab.schema.json of srl-labs/containerlab.
const schemaEnv = "ROCE_FABRIC_CLAB_SCHEMA"

// schema returns containerlab's own schema. It skips the test if the schema is not available.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	path := os.Getenv(schemaEnv)
	if path == "" {
		path = sharedtest.Dir(t, "data", "containerlab", "clab.schema.json")
	}
	s, err := jsonschema.NewCompiler().Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plainOf converts a tree to the Go values that a schema validates.
func plainOf(n *yaml.Node) any {
	switch n.Kind {
	case yaml.Map:
		out := map[string]any{}
		for _, p := range n.Pairs {
			out[p.Key.Value] = plainOf(p.Value)
		}
		return out
	case yaml.List:
		out := []any{}
		for _, i := range n.Items {
			out = append(out, plainOf(i))
		}
		return out
	case yaml.Null:
		return nil
	case yaml.Text:
		return n.Value
	}
	return json.Number(n.Value)
}

func TestTopologiesPassContainerlabsSchema(t *testing.T) {
	s := schema(t)
	for _, name := range examples.Names() {
		for _, images := range [][]string{nil, {"sonic=docker-sonic-vs:202511", "linux=ghcr.io/example/host:1"}} {
			if err := s.Validate(plainOf(topologyOf(t, ofExample(t, name, images...)))); err != nil {
				t.Errorf("%s %v: %v", name, images, err)
			}
		}
	}
	if err := s.Validate(map[string]any{"name": "x", "topology": map[string]any{"nodes": map[string]any{"a": map[string]any{"kind": "sonic"}}}}); err == nil {
		t.Error("the schema takes a kind that there is not")
	}
}

// topologyOf parses the topology of a lab.
func topologyOf(t *testing.T, l *Lab) *yaml.Node {
	t.Helper()
	i := slices.IndexFunc(l.Files(), func(f string) bool { return strings.HasSuffix(f, ".clab.yml") })
	return parsed(t, l.files[l.Files()[i]])
}

// topologyIn parses the topology of the lab whose files are in a folder.
func topologyIn(t *testing.T, dir string) *yaml.Node {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.clab.yml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("topologies: %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, text).Get("topology")
}

func parsed(t *testing.T, text []byte) *yaml.Node {
	t.Helper()
	root, errs := yaml.Parse("clab.yml", text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return root
}

// cables returns the cables of the topology and of the lab's intent, with each end named as on its
// switch.
func cables(t *testing.T, l *Lab) (topology, intended []string) {
	t.Helper()
	f, err := read(l.files[IntentFile])
	if err != nil {
		t.Fatal(err)
	}
	top := topologyOf(t, l).Get("topology")
	port := func(end string) string {
		node, iface, _ := strings.Cut(end, ":")
		number := strings.TrimPrefix(iface, "eth")
		switch top.Get("nodes").Get(node).Get("kind").Value {
		case "sonic-vm", "sonic-vs": // eth1 is Ethernet0, eth2 Ethernet4
			var n int
			if _, err := fmt.Sscan(number, &n); err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%s/Ethernet%d", node, 4*(n-1))
		case "arista_ceos":
			return node + "/Ethernet" + strings.ReplaceAll(number, "_", "/")
		case "cisco_n9kv":
			return node + "/Ethernet1/" + number
		}
		return node + "/" + iface
	}
	for _, link := range top.Get("links").Items {
		ends := link.Get("endpoints").Items
		topology = append(topology, port(ends[0].Value)+" "+port(ends[1].Value))
	}
	for _, link := range f.Links {
		intended = append(intended, link.A.String()+" "+link.B.String())
	}
	slices.Sort(topology)
	slices.Sort(intended)
	return topology, intended
}

// TestLabIntents compares each lab's intent with its topology and with the nodes' software: the
// ports, their speed, and a headroom row for every cable.
func TestLabIntents(t *testing.T) {
	for _, name := range labs(t) {
		l := ofExample(t, name)
		topology, intended := cables(t, l)
		if d := gocmp.Diff(topology, intended); d != "" {
			t.Errorf("%s: cables (-topology +intent):\n%s", name, d)
		}
		f, err := read(l.files[IntentFile])
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Links) != len(l.fabric.Links) || f.Name != "clab-"+name {
			t.Errorf("%s: %d links of %d, name %s", name, len(f.Links), len(l.fabric.Links), f.Name)
		}
		if _, err := render.New(f, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, sw := range f.Switches {
			if want := "clab-" + name + "-" + sw.Name + ":"; !strings.HasPrefix(sw.Address.V, want) || !sw.Access.SSH.Configured() || sw.Access.Password.V != "env:FABRIC_PASSWORD" {
				t.Errorf("%s %s: %+v", name, sw.Name, sw.Access)
			}
			if sw.OS != "sonic" {
				continue
			}
			m, ok := catalog.Lookup(sw.Model.V)
			if !ok {
				t.Fatalf("%s: model %q is not in the catalogue", sw.Name, sw.Model.V)
			}
			for _, p := range sw.Ports {
				if mp, ok := m.Port(p.Name); !ok || mp.Speed != p.Speed.V {
					t.Errorf("%s %s/%s at %s: the model's port is %+v", name, sw.Name, p.Name, p.Speed.V, mp)
				}
				if _, ok := m.HeadroomRow(p.Speed.V, p.Cable.V); !ok {
					t.Errorf("%s %s/%s: no headroom row for %s over %s", name, sw.Name, p.Name, p.Speed.V, p.Cable.V)
				}
			}
		}
		for _, h := range f.Hosts {
			if h.Address.V != "" {
				t.Errorf("%s %s has the address %s", name, h.Name, h.Address.V)
			}
		}
	}
}

func TestPortNames(t *testing.T) {
	for _, tt := range []struct{ kind, port, want string }{
		{"sonic-vm", "Ethernet0", "eth1"}, {"sonic-vm", "Ethernet4", "eth2"}, {"sonic-vs", "Ethernet124", "eth32"},
		{"sonic-vm", "Ethernet1", ""}, {"sonic-vm", "Ethernet128", ""}, {"sonic-vm", "PortChannel1", ""},
		{"arista_ceos", "Ethernet1", "eth1"}, {"arista_ceos", "Ethernet1/1", "eth1_1"}, {"arista_ceos", "Ethernet2/1/4", "eth2_1_4"},
		{"arista_ceos", "Ethernet0", ""}, {"arista_ceos", "Management1", ""}, {"arista_ceos", "Ethernet1/2/3/4", ""},
		{"cisco_n9kv", "Ethernet1/1", "eth1"}, {"cisco_n9kv", "Ethernet1/128", "eth128"}, {"cisco_n9kv", "Ethernet1/129", ""},
		{"cisco_n9kv", "Ethernet2/1", ""}, {"cisco_n9kv", "Ethernet1/1/1", ""}, {"cisco_n9kv", "Ethernet1/01", ""},
		{"linux", "ens1f0np0", "ens1f0np0"}, {"linux", "eth1", "eth1"}, {"linux", "eth0", ""}, {"linux", "eth1:0", ""},
	} {
		if got := kindOf(tt.kind, "").Interface(tt.port); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.kind, tt.port, got, tt.want)
		}
	}
}

func TestImages(t *testing.T) {
	for _, tt := range []struct{ arg, system, release, kind, image, runs string }{
		{"", "sonic", "", "sonic-vm", "vrnetlab/sonic_sonic-vs:202511", ""},
		{"", "sonic", "202405", "sonic-vm", "vrnetlab/sonic_sonic-vs:202405", "202405"},
		{"sonic=docker-sonic-vs:202411", "sonic", "202405", "sonic-vs", "docker-sonic-vs:202411", "202411"},
		{"sonic=registry.example:5000/docker-sonic-vs", "sonic", "202405", "sonic-vs", "registry.example:5000/docker-sonic-vs", ""},
		{"sonic=vrnetlab/sonic_sonic-vs:202411", "sonic", "", "sonic-vm", "vrnetlab/sonic_sonic-vs:202411", "202411"},
		{"sonic-vs=example/sonic:latest", "sonic", "202405", "sonic-vs", "example/sonic:latest", ""},
		{"eos=ceos:4.33.1F", "eos", "4.34.2F", "arista_ceos", "ceos:4.33.1F", "4.33.1F"},
		{"", "eos", "4.34.2F", "arista_ceos", "ceos:4.34.2F", "4.34.2F"},
		{"", "nxos", "10.4(3)", "cisco_n9kv", "vrnetlab/cisco_n9kv:9300-10.4.3", "10.4(3)"},
		{"", "nxos", "10.4(3)F", "cisco_n9kv", "vrnetlab/cisco_n9kv:9300-10.4.3.F", "10.4(3)F"},
		{"nxos=vrnetlab/cisco_n9kv:9300-10.5.2", "nxos", "10.4(3)", "cisco_n9kv", "vrnetlab/cisco_n9kv:9300-10.5.2", "10.5(2)"},
		{"cisco_n9kv=example/n9kv:mine", "nxos", "10.4(3)", "cisco_n9kv", "example/n9kv:mine", ""},
		{"linux=debian:12", "", "", "linux", "debian:12", ""},
	} {
		var args []string
		if tt.arg != "" {
			args = []string{tt.arg}
		}
		im, err := ParseImages(args)
		if err != nil {
			t.Fatal(err)
		}
		k := im.of(tt.system)
		image, runs := im.image(k, tt.release)
		if k.Kind != tt.kind || image != tt.image || runs != tt.runs {
			t.Errorf("%q of %s %s: %s %s %q", tt.arg, tt.system, tt.release, k.Kind, image, runs)
		}
	}
	for _, args := range [][]string{{"sonic"}, {"sonic="}, {"junos=x"}, {"=x"}, {"sonic=a", "sonic-vs=b"}} {
		if _, err := ParseImages(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

const head = "apiVersion: roce-fabric/v1\nkind: Fabric\nname: pod\nclasses:\n  default: {priority: 0, dscp: rest}\n"

// TestLabIntentDropsLoginsAndSafeguards checks that the lab's intent keeps the switches' settings
// but not their logins or the safeguards of a rollout.
func TestLabIntentDropsLoginsAndSafeguards(t *testing.T) {
	l, err := newLab(t, head+`switches:
  leaf1:
    os: sonic
    address: 192.0.2.1
    model: ACS-MSN4700
    release: "202405"
    bufferModel: dynamic
    access: {ssh: {address: 192.0.2.9}, username: env:ME}
    mtu: {fabric: 9050}
    ports: {"Ethernet[0,8,16]": {speed: 400G, cable: 5m, fec: rs, mtu: {fabric: 9010}}, PortChannel1: {}}
  leaf2: {os: sonic, address: 192.0.2.2, model: ACS-MSN4700}
links:
  - {a: leaf1/Ethernet24, b: leaf2/Ethernet248, cable: 5m, speed: 400G}
suppress:
  - {check: ECN-06, on: "leaf1/Ethernet8", reason: this port}
  - {check: ECN-06, on: "leaf*", reason: all}
rollout: {portGroup: 2, windows: [{from: "22:00", to: "04:00"}], approval: {command: [approve]}}
`, "clab.yml", "sonic-vs=example/sonic:202411")
	if err != nil {
		t.Fatal(err)
	}
	want := `# The intent of pod for its lab, clab.yml. Run roce-fabric in this folder.
# Ports Ethernet of leaf1, in the fabric=in the lab: 8=4 16=8 24=12
# Ports Ethernet of leaf2, in the fabric=in the lab: 248=16
apiVersion: roce-fabric/v1
kind: Fabric
name: clab-pod
classes:
  default: {priority: 0, dscp: rest}
switches:
  leaf1:
    os: sonic
    address: clab-pod-leaf1:8080
    model: Force10-S6000
    mtu: {fabric: 9050}
    ports: {'Ethernet[0-8:4]': {speed: 40G, cable: 5m, mtu: {fabric: 9010}}, PortChannel1: {}}
    release: '202411'
    write: direct
  leaf2: {os: sonic, address: clab-pod-leaf2:8080, model: Force10-S6000, release: '202411', write: direct}
links:
  - {a: leaf1/Ethernet12, b: leaf2/Ethernet16, cable: 5m, speed: 40G}
suppress:
  - {check: ECN-06, on: 'leaf*', reason: all}
rollout: {portGroup: 2}
credentials:
  switches: {username: admin, password: env:FABRIC_PASSWORD, ssh: {knownHosts: known_hosts}}
`
	if d := gocmp.Diff(want, string(l.files[IntentFile])); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestPortsKeepTheirNamesWhereTheVirtualSwitchHasThem(t *testing.T) {
	l, err := newLab(t, head+"switches:\n  a: {os: sonic, ports: {\"Ethernet[8,124]\": {}}}\n  b: {os: sonic, ports: {Ethernet0: {}}}\n", "clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	if l.renames() || strings.Contains(string(l.files[IntentFile]), "# Ports") {
		t.Errorf("%v", l.ports)
	}
}

// TestManyPorts checks that the ports are renumbered alike per model if all switches together use
// too many ports.
func TestManyPorts(t *testing.T) {
	text := head + "switches:\n  a1: {os: sonic, model: A, ports: {'Ethernet[0-248:8]': {}}}\n  a2: {os: sonic, model: B, ports: {'Ethernet[1-31]': {}}}\n"
	l, err := newLab(t, text, "clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := l.ports["a1"]["Ethernet248"], l.ports["a2"]["Ethernet31"]; a != "Ethernet124" || b != "Ethernet120" {
		t.Errorf("Ethernet248 is %s, Ethernet31 is %s", a, b)
	}
	_, err = newLab(t, text+"links:\n  - {a: \"a[1-2]/Ethernet8\", b: \"h[1-2]/e\", speed: 40G, cable: 5m}\nhosts: {'h[1-2]': {nics: {e: {}}}}\n", "clab.yml")
	if err == nil || hint.Of(err) == "" {
		t.Errorf("one entry of two models: %v, hint %q", err, hint.Of(err))
	}
}

// TestOneEntryOfTwoSystems covers a link range that includes switches whose ports keep their names
// and others whose ports are renamed.
func TestOneEntryOfTwoSystems(t *testing.T) {
	text := head + "switches:\n  a1: {os: eos}\n  a2: {os: sonic, ports: {MORE: {}}}\nhosts: {'h[1-2]': {nics: {e: {}}}}\n" +
		"links:\n  - {a: 'a[1-2]/Ethernet4', b: 'h[1-2]/e', speed: 40G, cable: 5m}\n"
	if _, err := newLab(t, strings.Replace(text, "MORE", "Ethernet8", 1), "x.clab.yml"); err != nil {
		t.Error(err)
	}
	if _, err := newLab(t, strings.Replace(text, "MORE", "Ethernet200", 1), "x.clab.yml"); err == nil || !strings.Contains(err.Error(), "Ethernet4 of a1 and of a2 have different names") {
		t.Errorf("ports of two names: %v", err)
	}
}

func TestUnsupportedTopologies(t *testing.T) {
	link := func(a, b string) string {
		return "links:\n  - {a: '" + a + "', b: '" + b + "', speed: 40G, cable: 5m}\n"
	}
	hosts := "hosts: {h: {nics: {e: {}, eth0: {}, 'e:1': {}}}}\n"
	for _, tt := range []struct{ text, file, want string }{
		{"switches:\n  a: {os: sonic, ports: {'Ethernet[0-32]': {}}}\n", "", "33 ports"},
		{"switches:\n  a: {os: nxos}\n" + hosts + link("a/Ethernet2/1", "h/e"), "", "a/Ethernet2/1 cannot be cabled: nodes of kind cisco_n9kv"},
		{"switches:\n  a: {os: eos}\n" + hosts + link("a/Ethernet1", "h/eth0"), "", "h/eth0 cannot be cabled"},
		{"switches:\n  a: {os: sonic}\n" + hosts + link("a/PortChannel1", "h/e"), "", "a/PortChannel1 cannot be cabled"},
		{"switches:\n  a: {os: sonic}\n", IntentFile, IntentFile},
	} {
		_, err := newLab(t, head+tt.text, cmp.Or(tt.file, "clab.yml"))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// TestLargeLabsHaveTheirOwnNetwork checks labs around the size of containerlab's default network,
// which has 253 addresses.
func TestLargeLabsHaveTheirOwnNetwork(t *testing.T) {
	for n, want := range map[int]bool{maxNodes: false, maxNodes + 1: true} {
		l, err := newLab(t, head+fmt.Sprintf("switches:\n  'a[1-%d]': {os: eos}\n", n), "x.clab.yml")
		if err != nil {
			t.Fatal(err)
		}
		if got := topologyOf(t, l).Get("mgmt") != nil; got != want {
			t.Errorf("%d nodes: a network of its own: %v", n, got)
		}
	}
}

// TestImagesOfSeveralReleases checks that a node states its image if it differs from the image of
// its kind.
func TestImagesOfSeveralReleases(t *testing.T) {
	l, err := newLab(t, head+"switches:\n  a: {os: eos, release: 4.34.2F}\n  b: {os: eos, release: 4.33.1F}\n", "x.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	top := topologyOf(t, l).Get("topology")
	if top.Get("kinds").Get("arista_ceos").Get("image").Value != "ceos:4.34.2F" || top.Get("nodes").Get("a").Get("image") != nil || top.Get("nodes").Get("b").Get("image").Value != "ceos:4.33.1F" {
		t.Errorf("%s", l.files["x.clab.yml"])
	}
}

// TestStartupScripts runs the nodes' startup scripts as far as possible without a node.
func TestStartupScripts(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: bash is not installed")
	}
	for _, s := range []string{"sonic-vm.sh", "sonic-vs.sh"} {
		if out, err := exec.CommandContext(t.Context(), "bash", "-n", filepath.Join("../sim/sonic/startup", s)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", s, err, out)
		}
	}
	// The script logs in to the machine with containerlab's credentials, and its last action there
	// is to restart the gNMI server.
	dir := t.TempDir()
	fake := "#!/usr/bin/env bash\n[[ $SSHPASS == secret && $* == *'me@localhost'* ]] || exit 1\n[[ $* == *'bash -euo pipefail -s' ]] && cat >" + dir + "/sent\nexit 0\n"
	if err := os.WriteFile(filepath.Join(dir, "sshpass"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "../sim/sonic/startup/sonic-vm.sh")
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "USERNAME=me", "PASSWORD=secret")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sent, err := os.ReadFile(filepath.Join(dir, "sent"))
	if err != nil || !bytes.HasSuffix(sent, []byte("\nsystemctl restart gnmi\n")) || !bytes.Contains(sent, []byte("user_auth password")) {
		t.Errorf("%v: the machine was sent\n%s", err, sent)
	}
	if out, err := exec.CommandContext(t.Context(), "bash", "-n", filepath.Join(dir, "sent")).CombinedOutput(); err != nil {
		t.Errorf("what the machine was sent: %v\n%s", err, out)
	}
}
