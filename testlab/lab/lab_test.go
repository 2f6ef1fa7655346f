package lab

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/nic/remote"
	"github.com/roce-fabric/roce-fabric/testlab/proxy"
)

const fabric = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  default: {priority: 0, dscp: rest}
switches:
  leaf[1-2]: {os: sonic, address: "192.0.2.[1-2]", model: ACS-MSN4700}
  other: {os: OS, address: "192.0.2.3:8080", model: MODEL}
hosts:
  gpu[1-2]: {nics: {ens1f0np0: {rdma: mlx5_0}, ens2f0np0: {rdma: mlx5_1}}}
links:
  - {a: leaf1/Ethernet0, b: leaf2/Ethernet0, cable: 5m, speed: 400G}
`

func load(t *testing.T, system, model string) *intent.Fabric {
	t.Helper()
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(strings.NewReplacer("OS", system, "MODEL", model).Replace(fabric))})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLabIsFoundByItsFile(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	l, err := Start(load(t, "sonic", "DellEMC-Z9332f-O32"), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(Path(dir))
	if err != nil || f.Fabric != "pod1" || len(f.Devices) != 3 || len(f.Hosts) != 2 || f.Password == "" {
		t.Fatalf("%+v: %v", f, err)
	}
	for _, name := range []string{"lab.json", "ca.pem", "known_hosts"} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	for name, at := range f.Devices {
		for _, addr := range []string{at.GNMI, at.SSH} {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			_ = c.Close()
		}
	}
	readHost(t, f, "gpu2")
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", f.Hosts["gpu1"].SSH); err == nil {
		_ = c.Close()
		t.Error("a host of a closed lab still answers")
	}
	if c, err := net.Dial("tcp", f.Devices["leaf1"].GNMI); err == nil {
		_ = c.Close()
		t.Error("a closed lab still answers")
	}
}

// readHost reads a host using only what the lab file says.
func readHost(t *testing.T, f *File, name string) {
	t.Helper()
	h, err := remote.Open(t.Context(), ssh.Config{
		Address: f.Hosts[name].SSH, User: f.Username, Password: secret.Secret(f.Password), KnownHosts: f.KnownHosts,
	}, remote.Options{Binary: f.Program, Sudo: remote.SudoNoPassword})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := h.Read(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Ports["ens2f0np0"]; got.Name != name || len(got.Ports) != 2 || p == nil || p.RDMA != "mlx5_1" || !p.PFC.Set || p.NV == nil {
		t.Errorf("%+v", got)
	}
}

// The devices of a lab with latency can be reached, with their host keys and certificates.
func TestLatency(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := t.TempDir()
	l, err := Start(load(t, "eos", "DCS-7060DX5-64S"), dir, Options{Latency: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	readHost(t, f, "gpu2")
	target := gnmi.Config{Address: f.Devices["leaf1"].GNMI, Username: f.Username, Password: secret.Secret(f.Password), TLS: gnmi.TLS{CAFile: f.CA}}
	c, err := gnmi.Dial(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for name, at := range map[string]string{"leaf1": f.Devices["leaf1"].GNMI, "gpu2": f.Hosts["gpu2"].SSH} {
		i := slices.IndexFunc(l.far, func(p *proxy.Proxy) bool { return p.Addr() == at })
		if i < 0 || l.far[i].Trips() < 2 {
			t.Errorf("%s at %s is not far away", name, at)
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A lab that cannot start leaves nothing running and no file.
func TestStartFails(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, c := range []struct{ system, model, want string }{
		{"sonic", "Unheard-Of", `other: unknown model "Unheard-Of": the lab needs one from the catalog`},
	} {
		dir := t.TempDir()
		_, err := Start(load(t, c.system, c.model), dir, Options{})
		if err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
		if _, err := os.Stat(Path(dir)); err == nil {
			t.Error("there is a lab file")
		}
	}
}

// A lab that fails to start keeps the file of another lab in its folder.
func TestAFailedStartLeavesTheOtherLab(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(Path(dir), []byte("another lab"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := load(t, "sonic", "DellEMC-Z9332f-O32")
	f.Switches[2].OS = "unknown"
	if _, err := Start(f, dir, Options{}); err == nil {
		t.Fatal("it started")
	}
	if b, err := os.ReadFile(Path(dir)); err != nil || string(b) != "another lab" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestReadRefusesOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	for _, text := range []string{"", "{}", "[]", `{"kind":"other"}`, "\x00"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "is not a lab file") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
