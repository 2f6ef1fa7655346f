package fragments

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/writers"
)

func host() *nic.Host {
	var m nic.PCPs
	for i := range m {
		m[i] = qos.Unmanaged
	}
	m[2], m[3], m[6] = 3, 3, 6
	return &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{
		"ens1f0np0": {Name: "ens1f0np0", MTU: qos.Of(9000)}, "ens10f0np0": {Name: "ens10f0np0", MTU: qos.Of(4200)}, "ens2f0np0": {Name: "ens2f0np0", MTU: qos.Of(9000)},
		"off": {Name: "off"},
	}, Uppers: map[string]*nic.Upper{
		"bond0":     {Name: "bond0", Kind: nic.UpperBond, On: []string{"ens1f0np0", "ens2f0np0"}, MTU: qos.Of(9000)},
		"bond0.100": {Name: "bond0.100", Kind: nic.UpperVLAN, On: []string{"bond0"}, VLAN: qos.Of(100), MTU: qos.Of(9000), Egress: qos.Of(m)},
	}}
}

// rendered returns the fragments as one text.
func rendered(t *testing.T, of For) string {
	t.Helper()
	files, err := Render(host(), of)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range files {
		text, ok := strings.CutPrefix(strings.TrimPrefix(string(f.Content), "#!/bin/sh\n"), header)
		if !ok {
			t.Errorf("%s does not say who wrote it", f.Path)
		}
		fmt.Fprintf(&b, "== %s %o\n%s", f.Path, f.Mode, text)
	}
	return b.String()
}

func TestRender(t *testing.T) {
	for of, want := range map[For]string{
		Networkd: `== etc/systemd/network/ens1f0np0.network.d/50-roce-fabric.conf 644
[Link]
MTUBytes=9000
== etc/systemd/network/ens2f0np0.network.d/50-roce-fabric.conf 644
[Link]
MTUBytes=9000
== etc/systemd/network/ens10f0np0.network.d/50-roce-fabric.conf 644
[Link]
MTUBytes=4200
== etc/systemd/network/bond0.network.d/50-roce-fabric.conf 644
[Link]
MTUBytes=9000
== etc/systemd/network/bond0.100.network.d/50-roce-fabric.conf 644
[Link]
MTUBytes=9000
== etc/systemd/network/bond0.100.netdev.d/50-roce-fabric.conf 644
[VLAN]
EgressQOSMaps=2-3 3-3 6-6
`,
		Netplan: `== etc/netplan/90-roce-fabric.yaml 600
network:
  version: 2
  ethernets:
    "ens1f0np0":
      mtu: 9000
    "ens2f0np0":
      mtu: 9000
    "ens10f0np0":
      mtu: 4200
  bonds:
    "bond0":
      mtu: 9000
  vlans:
    "bond0.100":
      id: 100
      link: "bond0"
      mtu: 9000
== etc/systemd/network/10-netplan-bond0.100.netdev.d/50-roce-fabric.conf 644
[VLAN]
EgressQOSMaps=2-3 3-3 6-6
`,
		NetworkManager: `== etc/NetworkManager/conf.d/50-roce-fabric.conf 644
[connection-roce-fabric-ens1f0np0]
match-device=interface-name:=ens1f0np0
ethernet.mtu=9000

[connection-roce-fabric-ens2f0np0]
match-device=interface-name:=ens2f0np0
ethernet.mtu=9000

[connection-roce-fabric-ens10f0np0]
match-device=interface-name:=ens10f0np0
ethernet.mtu=4200

[connection-roce-fabric-bond0]
match-device=interface-name:=bond0
ethernet.mtu=9000

[connection-roce-fabric-bond0.100]
match-device=interface-name:=bond0.100
ethernet.mtu=9000
== etc/NetworkManager/dispatcher.d/pre-up.d/50-roce-fabric 755
[ "$2" = pre-up ] || exit 0
case "$1" in
bond0.100) exec ip link set dev bond0.100 type vlan egress-qos-map 2:3 3:3 6:6 ;;
esac
`,
	} {
		if got := rendered(t, of); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", of, got, want)
		}
	}
}

// A name can neither lead out of its directory nor inject anything into a file.
func TestNames(t *testing.T) {
	for _, bad := range []string{"../x", "a/b", "a\nb", "a b", "$(id)", "a:1", "*", "-x", strings.Repeat("x", 16), ""} {
		h := host()
		h.Ports = map[string]*nic.Port{bad: {Name: bad, MTU: qos.Of(9000)}}
		h.Uppers = nil
		vlan := host()
		vlan.Uppers["bond0.100"].On = []string{bad}
		for _, h := range []*nic.Host{h, vlan} {
			for _, of := range All {
				if files, err := Render(h, of); !errors.Is(err, ErrName) || files != nil {
					t.Errorf("%q: %v, %v", bad, files, err)
				}
			}
		}
	}
	if files, err := Render(&nic.Host{Ports: map[string]*nic.Port{"a": {}}}, Netplan); err != nil || files != nil {
		t.Errorf("nothing to say: %v, %v", files, err)
	}
}

// The search for other writers reads the wanted values in the fragments.
func TestFragmentsSetWantedValues(t *testing.T) {
	f := &writers.Finder{NICs: []writers.NIC{
		{Name: "ens1f0np0", Bond: "bond0", VLANs: []string{"bond0.100"}}, {Name: "ens2f0np0", Bond: "bond0", VLANs: []string{"bond0.100"}}, {Name: "ens10f0np0"},
	}}
	plan, err := Render(host(), Netplan)
	if err != nil {
		t.Fatal(err)
	}
	if root, errs := yaml.Parse(plan[0].Path, plan[0].Content); root == nil || len(errs) > 0 {
		t.Fatal(errs)
	}
	f.Netplan([]writers.File{{Path: "/" + plan[0].Path, Text: plan[0].Content}})
	nm, err := Render(host(), NetworkManager)
	if err != nil {
		t.Fatal(err)
	}
	f.Script("/"+nm[1].Path, nm[1].Content, "")
	seen := map[string]bool{}
	var want nic.PCPs
	for i, pcp := range host().Uppers["bond0.100"].Egress.V {
		want[i] = max(pcp, -1) // -1 is an entry that a writer leaves alone
	}
	for _, w := range f.Found {
		for _, port := range w.Ports {
			switch {
			case w.Field == nic.FieldMTU && w.Sets.MTU != host().Ports[port].MTU:
				t.Errorf("%s sets the MTU of %s to %d", w, port, w.Sets.MTU.V)
			case w.Field == nic.FieldEgress && *w.Egress != want:
				t.Errorf("%s sets %v", w, *w.Egress)
			}
			seen[w.Field+" of "+port] = true
		}
	}
	for _, what := range []string{"mtu of ens1f0np0", "mtu of ens10f0np0", "egress_qos_map of ens1f0np0"} {
		if !seen[what] {
			t.Errorf("nothing sets %s: %v", what, f.Found)
		}
	}
}

// put writes files below a directory.
func put(t *testing.T, root string, files ...File) {
	t.Helper()
	for _, f := range files {
		name := filepath.Join(root, filepath.FromSlash(f.Path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, f.Content, f.Mode)); err != nil {
			t.Fatal(err)
		}
	}
}

// netplan accepts the fragment, alone and with the files that it completes, and writes files with
// the names that the drop-ins expect.
func TestNetplanTakesThem(t *testing.T) {
	tool, err := exec.LookPath("netplan")
	if err != nil {
		t.Skip("skipped: no netplan (Debian: apt-get install netplan.io)")
	}
	files, err := Render(host(), Netplan)
	if err != nil {
		t.Fatal(err)
	}
	const main = `network:
  version: 2
  ethernets: {ens1f0np0: {}, ens2f0np0: {}, ens10f0np0: {dhcp4: true}}
  bonds: {bond0: {interfaces: [ens1f0np0, ens2f0np0], parameters: {mode: 802.3ad}}}
  vlans: {bond0.100: {id: 100, link: bond0, addresses: [192.0.2.1/24]}}
`
	for _, more := range [][]File{nil, {{"etc/netplan/50-main.yaml", []byte(main), 0o600}}} {
		root := t.TempDir()
		put(t, root, append(more, files...)...)
		if out, err := exec.CommandContext(t.Context(), tool, "generate", "--root-dir", root).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for name, want := range map[string]string{"ens1f0np0.network": "MTUBytes=9000", "ens10f0np0.network": "MTUBytes=4200", "bond0.network": "MTUBytes=9000", "bond0.100.netdev": "Id=100"} {
			b, err := os.ReadFile(filepath.Join(root, "run/systemd/network/10-netplan-"+name))
			if err != nil || !strings.Contains(string(b), want) {
				t.Errorf("%s: %v\n%s", name, err, b)
			}
		}
	}
}

// NetworkManager accepts the defaults.
func TestNetworkManagerTakesThem(t *testing.T) {
	tool, err := exec.LookPath("NetworkManager")
	if err != nil {
		t.Skip("skipped: no NetworkManager (Debian: apt-get install network-manager)")
	}
	files, err := Render(host(), NetworkManager)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	put(t, root, append(files, File{"main.conf", []byte("[main]\nplugins=keyfile\n"), 0o644})...)
	out, err := exec.CommandContext(t.Context(), tool, "--config", filepath.Join(root, "main.conf"), "--config-dir", filepath.Join(root, "etc/NetworkManager/conf.d"), "--print-config").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "match-device=interface-name:=bond0.100\nethernet.mtu=9000") {
		t.Errorf("%v\n%s", err, out)
	}
}
