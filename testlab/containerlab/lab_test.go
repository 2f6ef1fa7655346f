// Package containerlab holds a topology for containerlab and the same fabric
// as an intent. This test keeps the two in step; it starts nothing.
package containerlab

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

func load(t *testing.T) *intent.Fabric {
	t.Helper()
	f, err := intent.Load("fabric.yaml", intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// topology reads the part of roce.clab.yml that says what is connected: the
// management address of each node, its kind, and the links.
func topology(t *testing.T) (address, kind map[string]string, links [][2]string) {
	t.Helper()
	data, err := os.ReadFile("roce.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	root, errs := yaml.Parse("roce.clab.yml", data)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	top := root.Get("topology")
	address, kind = map[string]string{}, map[string]string{}
	for _, n := range top.Get("nodes").Pairs {
		address[n.Key.Value] = n.Value.Get("mgmt-ipv4").Value
		kind[n.Key.Value] = n.Value.Get("kind").Value
	}
	for _, l := range top.Get("links").Items {
		ends := l.Get("endpoints").Items
		links = append(links, [2]string{ends[0].Value, ends[1].Value})
	}
	return address, kind, links
}

// port translates an endpoint of containerlab into one of the intent:
// "leaf1:eth2" is leaf1/Ethernet4, the interface of a host keeps its name.
// Source: containerlab docs/manual/kinds/sonic-vm.md.
func port(t *testing.T, kind map[string]string, end string) string {
	t.Helper()
	node, iface, _ := strings.Cut(end, ":")
	if kind[node] != "sonic-vm" {
		return node + "/" + iface
	}
	n, err := strconv.Atoi(strings.TrimPrefix(iface, "eth"))
	if err != nil || n < 1 {
		t.Fatalf("%s is not eth1 or above", end)
	}
	return fmt.Sprintf("%s/Ethernet%d", node, 4*(n-1))
}

func TestIntentMatchesTopology(t *testing.T) {
	f := load(t)
	address, kind, links := topology(t)

	want, have := map[string]string{}, map[string]string{}
	for name, a := range address {
		want[name] = kind[name] + " " + a
	}
	for _, sw := range f.Switches {
		have[sw.Name] = "sonic-vm " + host(t, sw.Address.V)
	}
	for _, h := range f.Hosts {
		have[h.Name] = "linux " + host(t, h.Address.V)
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("nodes (-topology +intent):\n%s", d)
	}

	var cables, intended []string
	for _, l := range links {
		cables = append(cables, cable(port(t, kind, l[0]), port(t, kind, l[1])))
	}
	for _, l := range f.Links {
		intended = append(intended, cable(l.A.String(), l.B.String()))
	}
	slices.Sort(cables)
	slices.Sort(intended)
	if d := cmp.Diff(cables, intended); d != "" {
		t.Errorf("links (-topology +intent):\n%s", d)
	}
}

func cable(a, b string) string { return min(a, b) + " - " + max(a, b) }

func host(t *testing.T, address string) string {
	t.Helper()
	h, _, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestIntentFitsTheImage compares the intent with the model that the VM image
// presents: its ports, their speed, and headroom rows for every cable.
func TestIntentFitsTheImage(t *testing.T) {
	f := load(t)
	if _, err := render.New(f, nil); err != nil {
		t.Error(err)
	}
	for _, sw := range f.Switches {
		m, ok := catalog.Lookup(sw.Model.V)
		if !ok {
			t.Fatalf("%s: model %q is not in the catalogue", sw.Name, sw.Model.V)
		}
		if len(sw.Ports) == 0 {
			t.Errorf("%s has no ports", sw.Name)
		}
		for _, p := range sw.Ports {
			if mp, ok := m.Port(p.Name); !ok || mp.Speed != p.Speed.V {
				t.Errorf("%s/%s at %s: the model's port is %+v", sw.Name, p.Name, p.Speed.V, mp)
			}
			if _, ok := m.HeadroomRow(p.Speed.V, p.Cable.V); !ok {
				t.Errorf("%s/%s: no headroom row for %s over %s", sw.Name, p.Name, p.Speed.V, p.Cable.V)
			}
		}
	}
}

// TestCertificates makes the lab's certificates and verifies them as a client
// of each switch's address in the intent would.
func TestCertificates(t *testing.T) {
	for _, bin := range []string{"bash", "openssl"} {
		if _, err := exec.LookPath(bin); err != nil {
			t.Skipf("skipped: %s is not installed", bin)
		}
	}
	dir := filepath.Join(t.TempDir(), "certs")
	cmd := exec.CommandContext(t.Context(), "bash", "prepare.sh", "certs")
	cmd.Env = append(os.Environ(), "CERTS="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("ca.pem holds no certificate")
	}
	f := load(t)
	for _, sw := range f.Switches {
		key := filepath.Join(dir, sw.Name+".key")
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, sw.Name+".cer"), key)
		if err != nil {
			t.Errorf("%s: %v", sw.Name, err)
			continue
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host(t, sw.Address.V)}); err != nil {
			t.Errorf("%s: %v", sw.Name, err)
		}
		if info, err := os.Stat(key); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, want it private (%v)", key, info.Mode(), err)
		}
	}
	made, err := filepath.Glob(filepath.Join(dir, "*.cer"))
	if err != nil || len(made) != len(f.Switches) {
		t.Errorf("certificates of %q (%v), the intent has %d switches", made, err, len(f.Switches))
	}
	if ca := f.Switches[0].Access.TLS.CA.V; ca != "certs/ca.pem" {
		t.Errorf("the intent trusts %s, prepare.sh makes certs/ca.pem", ca)
	}
}
