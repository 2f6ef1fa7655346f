package keep

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/unit"
)

// put writes a file with the given modification time.
func put(t *testing.T, name, text string, at time.Time) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600), os.Chtimes(name, at, at)); err != nil {
		t.Fatal(err)
	}
}

func hostFile(t *testing.T, roots local.Roots, h *nic.Host, at time.Time) {
	t.Helper()
	files, err := unit.Files(unit.Settings{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	put(t, unit.HostFile(roots), string(files[0].Content), at)
}

// The state that the boot unit restores is the wanted state, and changes with its file.
func TestHostFile(t *testing.T) {
	src := HostFile{local.Roots{Etc: filepath.Join(t.TempDir(), "etc")}}
	var wrong *fleet.OptionError
	if _, err := src.Load(t.Context()); !errors.As(err, &wrong) || !strings.Contains(wrong.Advice, "nic unit install") {
		t.Errorf("%v", err)
	}
	none := src.Stamp()
	at := time.Date(2026, 11, 26, 1, 2, 3, 0, time.UTC)
	hostFile(t, src.Roots, wanted(), at)
	w, err := src.Load(t.Context())
	if err != nil || nic.Digest(w.Host) != nic.Digest(wanted()) || !w.Written.Equal(at) {
		t.Errorf("%+v, %v", w, err)
	}
	first := src.Stamp()
	put(t, src.String(), "{}", at.Add(time.Second))
	if _, err := src.Load(t.Context()); !errors.Is(err, unit.ErrDamaged) {
		t.Errorf("%v", err)
	}
	if none == first || src.Stamp() == first {
		t.Errorf("the stamps are %q, %q, %q", none, first, src.Stamp())
	}
}

const fabric = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
switches:
  leaf1: {os: sonic, address: "192.0.2.11:8080", model: DellEMC-Z9332f-O32, release: 202511}
`

const hosts = `apiVersion: roce-fabric/v1
kind: Fabric
hosts:
  gpu1: {nics: {ens1f0np0: {rdma: mlx5_0}}}
  store1: {nics: {ens1f0np0: {}}}
`

// An intent may be a folder of files; the boot unit should have the same settings.
func TestIntent(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 11, 26, 1, 2, 3, 0, time.UTC)
	put(t, filepath.Join(dir, "fabric", "a.yaml"), fabric, at.Add(-time.Hour))
	put(t, filepath.Join(dir, "fabric", "b.yaml"), hosts, at)
	if err := os.Chtimes(filepath.Join(dir, "fabric"), at, at); err != nil {
		t.Fatal(err)
	}
	var warned []string
	src := Intent{Path: filepath.Join(dir, "fabric"), Host: "gpu1", Roots: local.Roots{Etc: filepath.Join(dir, "etc")}, Warn: func(text string) { warned = append(warned, text) }}
	w, err := src.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p := w.Host.Ports["ens1f0np0"]; p == nil || p.ToS.V != 106 || p.MTU.V != 9000 || !w.Written.Equal(at) {
		t.Errorf("%+v", w)
	}
	warned = nil
	hostFile(t, src.Roots, w.Host, at)
	if _, err := src.Load(t.Context()); err != nil || strings.Contains(strings.Join(warned, "\n"), "boot unit") {
		t.Errorf("%v, %v", err, warned)
	}
	hostFile(t, src.Roots, wanted(), at)
	if _, err := src.Load(t.Context()); err != nil || !strings.Contains(strings.Join(warned, "\n"), "the boot unit has other settings") {
		t.Errorf("%v, %v", err, warned)
	}
	before := src.Stamp()
	put(t, filepath.Join(dir, "fabric", "b.yaml"), hosts+"  gpu2: {}\n", at.Add(time.Second))
	if src.Stamp() == before {
		t.Error("a file of the folder has changed, and the stamp has not")
	}
	for name, says := range map[string]string{"gpu9": `no host "gpu9"`, "store1": "no NIC in the intent with an RDMA device or a link"} {
		src.Host = name
		if _, err := src.Load(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
