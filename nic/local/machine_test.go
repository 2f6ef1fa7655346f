package local_test

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/runner/runnertest"
)

// On the real kernel, the loopback device exists and has no DCB.
func TestThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: needs Linux")
	}
	if _, err := os.Stat("/sys/class/net/lo"); err != nil {
		t.Skipf("skipped: needs sysfs: %v", err)
	}
	m, err := local.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	h := read(t, m, "lo")
	p := h.Ports["lo"]
	if p == nil || !p.MTU.Set || p.MTU.V < 1280 || p.PFC.Set || p.Missing[nic.FieldDCB] == "" || p.VF || h.Kernel == "" {
		t.Errorf("%+v of %q", p, h.Kernel)
	}
	if p.Missing[nic.FieldLinkPause] != nic.NotInDriver {
		t.Errorf("link pause of lo: %+v, %q", p.LinkPause, p.Missing[nic.FieldLinkPause])
	}
	if p.Missing[nic.FieldRings] != nic.NotInDriver {
		t.Errorf("rings of lo: %+v, %q", p.Rings, p.Missing[nic.FieldRings])
	}
}

// 192.0.2.7 has no route here; another routing table may have one.
func TestRouteOfIPv6(t *testing.T) {
	h := newHost(t, mlx5(false), localtest.Port{Name: "eth0", PCI: "0000:01:00.0", Driver: "igb"})
	v6 := strings.Join([]string{
		"20010db8000000000000000000000000 20 " + strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " 00000100 00000001 00000000 00000001 " + ens0,
		strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth0",
		strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " 00 " + strings.Repeat("0", 32) + " ffffffff 00000001 00000000 00200200       lo", "",
	}, "\n")
	if err := os.WriteFile(filepath.Join(h.Roots.Proc, "net", "ipv6_route"), []byte(v6), 0o644); err != nil {
		t.Fatal(err)
	}
	m := h.Machine()
	running := read(t, m, ens0)
	for peer, cut := range map[string]bool{"2001:db8::9": true, "2001:db9::9": false, "192.0.2.7": true, "": false, "127.0.0.1": false} {
		o := local.Options{}
		if peer != "" {
			o.Peer = netip.MustParseAddr(peer)
		}
		for _, s := range m.Plan(running, desired(ens0), o) {
			if s.Field == nic.FieldPFC && (s.Blocked != "") != cut {
				t.Errorf("peer %q: %q", peer, s.Blocked)
			}
		}
	}
}

// Lockdown blocks access to a card's configuration space but not fwctl.
func TestFwctlUnderLockdown(t *testing.T) {
	h := newHost(t, mlx5(false))
	card := mlxconfigtest.New("mlxconfig", "/dev/fwctl/fwctl0")
	h.SetCard(card)
	dir := filepath.Join(h.Roots.Sys, "devices", "pci0000:00", pci0, "fwctl", "fwctl0")
	for _, d := range []string{dir, filepath.Join(h.Roots.Sys, "class", "fwctl")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../devices/pci0000:00/"+pci0+"/fwctl/fwctl0", filepath.Join(h.Roots.Sys, "class", "fwctl", "fwctl0")); err != nil {
		t.Fatal(err)
	}
	if p := read(t, h.Machine()).Ports[ens0]; p.NV != nil || p.Missing[nic.FieldNV] == "" {
		t.Errorf("without lockdown the address is used: %+v", p.NV)
	}
	h.SetFaults(localtest.Faults{Lockdown: true})
	if p := read(t, h.Machine()).Ports[ens0]; p.NV == nil {
		t.Errorf("nv: %q", p.Missing[nic.FieldNV])
	}
}

// foreign replaces the content of some of the machine's files.
type foreign struct {
	local.FS
	files map[string][]byte
}

func (f foreign) ReadFile(name string) ([]byte, error) {
	for suffix, b := range f.files {
		if strings.HasSuffix(name, suffix) {
			return b, nil
		}
	}
	return f.FS.ReadFile(name)
}

func (f foreign) Readlink(name string) (string, error) {
	if strings.HasSuffix(name, "/master") {
		return string(f.files["/master"]), nil
	}
	return f.FS.Readlink(name)
}

func FuzzForeignText(f *testing.F) {
	f.Add([]byte(strings.Join(routes(ens0), "\n")), []byte("Global tclass=106\n"), []byte("9000\n"), []byte("../bond0"))
	f.Add([]byte("a b c 0001 d e 1 00FFFFFF"), []byte("Global tclass=999999999999999999999\n"), []byte("-1"), []byte("../../.."))
	f.Add([]byte{0xff, 0, '\n'}, []byte("Global tclass="), []byte("\x1b[2J"), []byte("/"))
	h := localtest.New(f.TempDir())
	h.Add(mlx5(true))
	f.Fuzz(func(t *testing.T, route, tclass, number, master []byte) {
		m := h.Machine()
		m.FS = foreign{m.FS, map[string][]byte{
			"/net/route": route, "/net/ipv6_route": route, "/traffic_class": tclass, "/mtu": number, "/cnp_dscp": number,
			"/carrier": number, "/3": number, "/comm": number, "/vendor": master, "/phys_port_name": master, "/master": master,
			"/default_roce_tos": number, "/fw_ver": tclass, "/dev_port": number, "/osrelease": tclass,
		}}
		m.Tools = &runnertest.Fake{Programs: map[string]runnertest.Program{"ibv_devinfo": runnertest.Prints(string(tclass)+"active_mtu: "+string(number), "", 0)}}
		host, err := m.Read(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := host.Ports[ens0]
		if p == nil {
			return
		}
		if p.TrafficClass.V < -1 || p.TrafficClass.V > 255 || p.ToS.V < 0 || p.ToS.V > 255 || p.MTU.V < 0 {
			t.Errorf("%+v", p)
		}
		for _, s := range []string{p.Firmware, p.Vendor, p.DriverVersion, host.Kernel} {
			if strings.ContainsAny(s, "\n\x1b") || len(s) > 300 {
				t.Errorf("not safe to print: %q", s)
			}
		}
		for _, s := range m.Plan(host, desired(ens0), local.Options{}) {
			if strings.ContainsAny(s.What+s.Blocked+s.Bond, "\n\x1b") {
				t.Errorf("not safe to print: %q %q", s.What, s.Blocked)
			}
		}
	})
}

// A write does not create a file, and a read rejects a file above the size limit.
func TestFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	if err := (local.OS{}).WriteFile(filepath.Join(dir, "new"), []byte("1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("write of no file: %v", err)
	}
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, make([]byte, local.MaxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (local.OS{}).ReadFile(big); err == nil {
		t.Error("a file above the bound was read")
	}
}

func TestFirmwareOwnedDCBXIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, mlx5(false))
		m := h.Machine()
		apply(t, m, m.Plan(read(t, m), desired(ens0), local.Options{}))
		want := desired(ens0)
		want.Ports[ens0].DCBX = qos.Of(nic.OwnerFirmware)
		apply(t, m, m.Plan(read(t, m), want, local.Options{}))
		if got := read(t, m).Ports[ens0].DCBX; got != qos.Of(nic.OwnerFirmware) {
			t.Errorf("owner %+v", got)
		}
	})
}
