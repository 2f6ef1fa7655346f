package host_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/nic/remote"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ens      = "ens1f0np0"
	password = "correct-horse"
)

// box is a simulated host and the SSH configuration to reach it.
type box struct {
	*host.Host
	config ssh.Config
}

func start(t *testing.T, change func(*host.Options)) *box {
	t.Helper()
	o := host.Options{
		Name: "gpu1", NICs: []host.NIC{{Name: ens, RDMA: "mlx5_0"}}, Dir: filepath.Join(t.TempDir(), "gpu1"),
		Username: "admin", Password: password, Tools: mlxconfigtest.V431,
		Processor: map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH],
	}
	if change != nil {
		change(&o)
	}
	h, err := host.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	known := filepath.Join(t.TempDir(), "known")
	if err := os.WriteFile(known, []byte(h.HostKeyLine()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &box{h, ssh.Config{Address: h.SSHAddr(), User: o.Username, Password: password, KnownHosts: known, Timeout: 20 * time.Second}}
}

// program returns a file that the host accepts as a program: these tests copy tens of bytes instead
// of megabytes.
func program(t *testing.T, processor byte) string {
	t.Helper()
	var h [64]byte
	copy(h[:], "\x7fELF\x02\x01\x01")
	h[16], h[18], h[20], h[52], h[54], h[58] = 2, processor, 1, 64, 56, 64
	name := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(name, h[:], 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

func own(t *testing.T) string {
	return program(t, map[string]byte{"amd64": 62, "arm64": 183}[runtime.GOARCH])
}

func open(t *testing.T, b *box, o remote.Options) *remote.Host {
	t.Helper()
	if o.Binary == "" {
		o.Binary = own(t)
	}
	if o.Sudo == "" {
		o.Sudo = remote.SudoNoPassword
	}
	h, err := remote.Open(t.Context(), b.config, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() }) // the test may have cut the connection
	return h
}

func read(t *testing.T, h *remote.Host) *nic.Host {
	t.Helper()
	r, err := h.Read(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// desired returns a host with some settings of each layer.
func desired() *nic.Host {
	p := &nic.Port{
		Name: ens, RDMA: "mlx5_0", DCBX: qos.Of(nic.OwnerHost), PFC: qos.Of(qos.Priorities(3)), LinkPause: qos.Of(false),
		Trust: qos.Of(qos.TrustDSCP), CNPDSCP: qos.Of(46), ToS: qos.Of(106), Mode: qos.Of(nic.ModeRoCEv2), MTU: qos.Of(9000),
		Wanted: qos.Of(mlxconfig.Settings{CCPriorities: qos.Priorities(3), CNPDSCP: 46, CNPPriority: 6, FirmwareLLDPOff: true}),
	}
	var m [qos.NumDSCP]int8
	for d := range m {
		m[d] = int8(d / 8)
	}
	m[26] = 3
	p.DSCP = qos.Of(m)
	return &nic.Host{Name: "gpu1", Ports: map[string]*nic.Port{ens: p}}
}

// apply applies the desired settings to the host.
func apply(t *testing.T, h *remote.Host) error {
	t.Helper()
	steps, err := h.Plan(t.Context(), read(t, h), desired(), local.Options{})
	if err != nil || len(steps) == 0 {
		t.Fatalf("%v, %v", steps, err)
	}
	_, err = h.Apply(t.Context(), steps, nil)
	return err
}

func left(t *testing.T, h *remote.Host) []string {
	t.Helper()
	steps, err := h.Plan(t.Context(), read(t, h), desired(), local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range steps {
		out = append(out, s.Field)
	}
	return out
}

func TestHost(t *testing.T) {
	b := start(t, nil)
	h := open(t, b, remote.Options{})
	before := read(t, h)
	p := before.Ports[ens]
	if p == nil || p.RDMA != "mlx5_0" || p.Driver != nic.DriverMLX5 || p.MTU.V != 1500 || p.PFC.V != 0 || p.NV["CNP_DSCP_P1"].Current != "48" {
		t.Fatalf("%+v", p)
	}
	if err := apply(t, h); err != nil {
		t.Fatal(err)
	}
	after := read(t, h).Ports[ens]
	if after.CarrierChanges.V != p.CarrierChanges.V+2 {
		t.Errorf("the link went up or down %d times, then %d", p.CarrierChanges.V, after.CarrierChanges.V)
	}
	if got := left(t, h); len(got) > 0 {
		t.Errorf("left to do: %v", got)
	}
	// The state belongs to the machine, not to the connection.
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = open(t, b, remote.Options{})
	if got := left(t, h); len(got) > 0 {
		t.Errorf("left to do for another connection: %v", got)
	}
	nv := read(t, h).Ports[ens].NV["CNP_DSCP_P1"]
	if nv.Current != "48" || nv.Next != "46" {
		t.Errorf("staged: %+v", nv)
	}

	if err := b.Reboot(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Read(t.Context(), nil); err == nil {
		t.Error("a connection outlives a reboot")
	}
	h = open(t, b, remote.Options{})
	now := read(t, h).Ports[ens]
	if nv := now.NV["CNP_DSCP_P1"]; nv.Current != "46" || now.CNPDSCP.V != 46 {
		t.Errorf("after a reboot the firmware runs %+v, the driver shows %d", nv, now.CNPDSCP.V)
	}
	got := left(t, h)
	for _, lost := range []string{nic.FieldPFC, nic.FieldDSCP, nic.FieldToS, nic.FieldMode, nic.FieldMTU} {
		if !slices.Contains(got, lost) {
			t.Errorf("%s outlives a reboot; left to do: %v", lost, got)
		}
	}
	if slices.Contains(got, nic.FieldNV) {
		t.Error("staged firmware settings are gone")
	}
}

// A boot unit restores the settings of drivers and the RDMA stack after a reboot, and only root can
// install it.
func TestBootUnit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the unit copies the running program by /proc")
	}
	b := start(t, nil)
	if _, err := open(t, b, remote.Options{Sudo: remote.SudoNone}).InstallUnit(t.Context(), desired(), ""); !errors.Is(err, local.ErrPermission) {
		t.Errorf("a user installs a unit: %v", err)
	}
	h := open(t, b, remote.Options{})
	if err := apply(t, h); err != nil {
		t.Fatal(err)
	}
	if u := read(t, h).Unit; u.Present {
		t.Fatalf("%+v", u)
	}
	if _, err := h.InstallUnit(t.Context(), desired(), ""); err != nil {
		t.Fatal(err)
	}
	if err := b.Reboot(); err != nil {
		t.Fatal(err)
	}
	h = open(t, b, remote.Options{})
	if got := left(t, h); len(got) > 0 {
		t.Errorf("left to do after a reboot: %v", got)
	}
	if u := read(t, h).Unit; !u.Present || u.Digest != nic.Digest(desired()) {
		t.Errorf("%+v", u)
	}
	if _, err := h.RemoveUnit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.Reboot(); err != nil {
		t.Fatal(err)
	}
	if got := left(t, open(t, b, remote.Options{})); !slices.Contains(got, nic.FieldPFC) {
		t.Errorf("left to do without the unit: %v", got)
	}
}

// A ConnectX-4 Lx needs a power cycle.
func TestRebootLeavesOldFirmware(t *testing.T) {
	b := start(t, func(o *host.Options) { o.CardType = "ConnectX4LX" })
	if err := apply(t, open(t, b, remote.Options{})); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		how  func() error
		want string
	}{{b.Reboot, "48"}, {b.PowerCycle, "46"}} {
		if err := c.how(); err != nil {
			t.Fatal(err)
		}
		if nv := read(t, open(t, b, remote.Options{})).Ports[ens].NV["CNP_DSCP_P1"]; nv.Current != c.want || nv.Next != "46" {
			t.Errorf("%+v, want %s", nv, c.want)
		}
	}
}

// The running program is copied to the host completely, and only once.
func TestProgramIsCopied(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this test is no program for Linux")
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, self); err != nil {
		t.Fatal(err)
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	b := start(t, nil)
	h, err := remote.Open(t.Context(), b.config, remote.Options{Dynamic: true, Sudo: remote.SudoNoPassword})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	name := "/home/admin/.cache/roce-fabric/" + digest
	if got := b.Programs(); len(got) != 1 || got[name] != digest {
		t.Errorf("the host has %v, want %s", got, digest)
	}
	read(t, h)
	// A damaged copy is replaced; a missing one is not found.
	if err := b.Damage(name, strings.Repeat("0", 64)); err != nil {
		t.Fatal(err)
	}
	again, err := remote.Open(t.Context(), b.config, remote.Options{Dynamic: true, Sudo: remote.SudoNoPassword})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := b.Programs(); len(got) != 1 || got[name] != digest {
		t.Errorf("the host has %v, want %s", got, digest)
	}
	if err := b.Damage(name, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Read(t.Context(), nil); !errors.Is(err, agent.ErrStart) {
		t.Errorf("the program is gone: %v", err)
	}
}

func TestProgramOfAnotherProcessor(t *testing.T) {
	b := start(t, nil)
	_, err := remote.Open(t.Context(), b.config, remote.Options{Binary: program(t, 243), Sudo: remote.SudoNone})
	if !errors.Is(err, remote.ErrArch) || len(b.Programs()) > 0 {
		t.Errorf("%v, %v", err, b.Programs())
	}
}

func TestSudo(t *testing.T) {
	for _, c := range []struct {
		name  string
		rule  host.Sudo
		user  string
		how   remote.Options
		wrong error
	}{
		{name: "free", rule: host.SudoFree, how: remote.Options{Sudo: remote.SudoNoPassword}},
		{name: "free, and a password", rule: host.SudoFree, how: remote.Options{Sudo: remote.SudoPassword, Password: password}},
		{name: "password", rule: host.SudoPassword, how: remote.Options{Sudo: remote.SudoPassword, Password: password}},
		{name: "none for root", user: "root", how: remote.Options{Sudo: remote.SudoNone}},
		{name: "no password", rule: host.SudoPassword, how: remote.Options{Sudo: remote.SudoNoPassword}, wrong: remote.ErrSudo},
		{name: "wrong password", rule: host.SudoPassword, how: remote.Options{Sudo: remote.SudoPassword, Password: "wrong"}, wrong: remote.ErrSudo},
		{name: "not in sudoers", rule: host.SudoNobody, how: remote.Options{Sudo: remote.SudoPassword, Password: password}, wrong: remote.ErrSudo},
		{name: "a user alone", how: remote.Options{Sudo: remote.SudoNone}, wrong: local.ErrPermission},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := start(t, func(o *host.Options) {
				o.Sudo = c.rule
				if c.user != "" {
					o.Username = c.user
				}
			})
			h := open(t, b, c.how)
			running, err := h.Read(t.Context(), nil)
			if errors.Is(c.wrong, remote.ErrSudo) {
				if !errors.Is(err, c.wrong) || strings.Contains(err.Error(), password) {
					t.Errorf("%v, want %v", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			steps, err := h.Plan(t.Context(), running, desired(), local.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Apply(t.Context(), steps, nil); !errors.Is(err, c.wrong) || (err == nil) != (c.wrong == nil) {
				t.Errorf("%v, want %v", err, c.wrong)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	ok := host.Options{Name: "gpu1", Dir: t.TempDir()}
	for want, change := range map[string]func(*host.Options){
		"processor": func(o *host.Options) { o.Processor = "vax" },
		"no folder": func(o *host.Options) { o.Dir = "" },
		"of kind":   func(o *host.Options) { o.NICs = []host.NIC{{Name: "a", Kind: "b"}} },
		"be called": func(o *host.Options) { o.NICs = []host.NIC{{Name: "a"}, {Name: "a"}} },
		"are simulate": func(o *host.Options) {
			o.NICs = make([]host.NIC, 0, 1)
			for i := range 200 {
				o.NICs = append(o.NICs, host.NIC{Name: "e" + string(rune('0'+i%10)) + string(rune('a'+i/10))})
			}
		},
	} {
		o := ok
		change(&o)
		if _, err := host.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
