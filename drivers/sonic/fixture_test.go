package sonic

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/drivertest"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

func TestMain(m *testing.M) {
	sharedtest.CollectLess()
	sharedtest.Default(sharedtest.Parallel, "8")
	sharedtest.VerifyMain(m)
}

const testPassword = "s3cr3t-of-the-lab"

// identity is shared by all switches of the tests, because making keys takes time.
var identity = sync.OnceValue(func() (id struct {
	tls *tls.Config
	ca  []byte
	key xssh.Signer
}) {
	var err error
	if id.tls, id.ca, err = sim.NewTLS(); err != nil {
		panic(err)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	if id.key, err = xssh.NewSignerFromKey(key); err != nil {
		panic(err)
	}
	return id
})

// box is a simulated switch and the intent for it.
type box struct {
	*simsonic.Switch
	t       testing.TB
	model   *catalog.Model
	target  drivers.Target
	desired *qos.Device
	ports   []string
	policy  drivers.Policy
	alone   bool // gNMI is not used
}

type boxOptions struct {
	test           drivertest.Options
	model, release string
	ssh            bool
	// alone leaves gNMI out; direct writes over SSH although gNMI is configured.
	alone, direct bool
	// models is the folder with the YANG models of the image, "" for an image without models.
	models string
	// version is the version that the image reports, asics its number of ASICs.
	version string
	asics   int
	// lacks lists programs that the image does not have.
	lacks []string
	// dies is set if the test ends orchagent.
	dies bool
	// edit changes the initial configuration of the switch.
	edit func(map[string]map[string]map[string]string)
	// intent replaces parts of the text that fabric returns.
	intent []string // old, new, old, new
}

// fabric returns an intent with one switch, two hosts and two uplinks; the other switch is only
// there for the links.
func fabric(m *catalog.Model, release string, replace ...string) string {
	p := m.Ports
	speed := fmt.Sprintf("%gG", p[0].Speed.Gbps())
	text := fmt.Sprintf(`apiVersion: roce-fabric/v1
kind: Fabric
name: test
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%%, ecn: {min: 150KB, max: 1500KB, probability: 10%%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%%}
pfc:
  watchdog: {detect: 400ms, restore: 400ms, action: drop}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
switches:
  sw[1-2]: {os: sonic, role: leaf, address: "192.0.2.[1-2]:8080", model: %[1]s, release: %[2]s}
hosts:
  gpu[1-2]: {address: "192.0.2.[101-102]", nics: {eth0: {rdma: mlx5_0}}}
links:
  - {a: sw1/%[3]s, b: gpu1/eth0, cable: 5m, speed: %[7]s}
  - {a: sw1/%[4]s, b: gpu2/eth0, cable: 5m, speed: %[7]s}
  - {a: sw1/%[5]s, b: sw2/%[5]s, cable: 40m, speed: %[7]s}
  - {a: sw1/%[6]s, b: sw2/%[6]s, cable: 40m, speed: %[7]s}
`, m.Name, release, p[0].Name, p[1].Name, p[2].Name, p[3].Name, speed)
	return strings.NewReplacer(replace...).Replace(text)
}

func compile(t testing.TB, text string) *qos.Device {
	t.Helper()
	return drivertest.Compile(t, text, render.Fits{"sonic": native.Fit})
}

// filesOf reads the YANG files of a folder; none for "".
func filesOf(t testing.TB, dir string) map[string][]byte {
	files := map[string][]byte{}
	names, err := filepath.Glob(filepath.Join(dir, "*.yang"))
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func newBox(t testing.TB, o boxOptions) *box {
	t.Helper()
	m, ok := catalog.Lookup(o.model)
	if !ok {
		t.Fatalf("the catalogue has no %s", o.model)
	}
	o.test = o.test.Networked()
	id := identity()
	// Eight ports cover the same cases as 64, and are eight times as fast.
	small := *m
	small.Ports = m.Ports[:8]
	m = &small
	so := simsonic.ForModel("sw1", m)
	so.Release, so.Username, so.Password = o.release, "admin", testPassword
	o.ssh = o.ssh || o.alone || o.direct
	so.TLS, so.HostKey, so.Listen, so.NoSSH, so.NoGNMI = id.tls, id.key, o.test.Listen, !o.ssh, o.alone
	so.Models, so.Version, so.ASICs, so.Lacks = filesOf(t, o.models), o.version, o.asics, o.lacks
	if o.test.Slow {
		so.TimeScale = 1
	}
	so.Config = simsonic.FactoryConfig(m, simsonic.WithHostname("sw1"), simsonic.WithDynamicBuffers(so.Dynamic))
	if o.edit != nil {
		o.edit(so.Config)
	}
	s, err := simsonic.New(so)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if lost := s.Unbound(); len(lost) > 0 {
			t.Errorf("nothing is bound to %v any more", lost)
		}
		if slices.ContainsFunc(s.Syslog(), func(l string) bool { return strings.Contains(l, "orchagent: terminated") }) && !o.dies {
			t.Error("orchagent has ended")
		}
		_ = s.Close()
	})
	b := &box{Switch: s, t: t, model: m, desired: compile(t, fabric(m, o.release, o.intent...)), alone: o.alone || o.direct}
	for _, p := range m.Ports[:4] {
		b.ports = append(b.ports, p.Name)
	}
	b.policy = drivers.Policy{PortGroup: 2, Uplinks: b.ports[2:]}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, id.ca, 0o600); err != nil {
		t.Fatal(err)
	}
	b.target = drivers.Target{Name: "sw1", OS: "sonic", Release: o.release, Model: m.Name, GNMI: gnmi.Config{
		Address: s.GNMIAddr(), Username: "admin", Password: testPassword, TLS: gnmi.TLS{CAFile: ca}, Dial: o.test.Dial,
	}}
	if o.direct {
		b.target.Write = intent.WriteDirect
	}
	if o.test.Slow {
		s.Faults().AnswerWithin(3 * time.Second)
	}
	if o.ssh {
		hosts := filepath.Join(t.TempDir(), "known_hosts")
		if err := os.WriteFile(hosts, []byte(s.HostKeyLine()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b.target.SSH = &ssh.Config{Address: s.SSHAddr(), User: "admin", Password: testPassword, KnownHosts: hosts, Dial: o.test.Dial}
	}
	return b
}

// open creates a driver for the box.
func (b *box) open() *driver { return b.openAs(b.target) }

func (b *box) openAs(target drivers.Target) *driver {
	d, err := Open(target)
	if err != nil {
		b.t.Fatal(err)
	}
	drv := d.(*driver)
	b.t.Cleanup(func() { _ = drv.Close() })
	return drv
}

// config returns the running configuration in the driver's own types.
func (b *box) config() native.Config { return fromSim(b.Config()) }

func fromSim(cfg map[string]map[string]map[string]string) native.Config {
	out := native.Config{}
	for tn, t := range cfg {
		for k, r := range t {
			row := maps.Clone(native.Row(r))
			delete(row, "NULL")
			out.Put(tn, k, row)
		}
	}
	return out
}

// state returns the configuration without what cannot be undone. Profiles that buffermgrd derived
// stay, unreferenced, if the config updater cannot remove a BUFFER_PROFILE and there is no SSH.
// PFC_WD|GLOBAL stays, with orchagent's default interval, because its removal ends orchagent.
func (b *box) state() []byte { return b.canonical(b.config()) }

func (b *box) canonical(cfg native.Config) []byte {
	rel, _ := native.LookupRelease(b.target.Release)
	if !rel.BufferProfileRows && b.target.SSH == nil {
		maps.DeleteFunc(cfg[native.TProfile], func(name string, _ native.Row) bool { return native.Derived(name) })
	}
	if maps.Equal(cfg.Row(native.TWatchdog, "GLOBAL"), native.Row{"POLL_INTERVAL": "100"}) {
		cfg = cfg.After([]native.Op{{Table: native.TWatchdog, Key: "GLOBAL", Del: true}})
	}
	return cfg.AppendJSON(nil)
}

func (b *box) startup() []byte {
	cfg, err := native.Parse(b.Saved(), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.canonical(cfg)
}

// foreign holds rows of other owners, in tables that this tool writes.
var foreign = map[[2]string]map[string]string{
	{"DSCP_TO_TC_MAP", "STORAGE"}: {"10": "1", "12": "2"},
	{"WRED_PROFILE", "LOSSY_TCP"}: {"ecn": "ecn_none", "wred_green_enable": "true", "green_min_threshold": "100000", "green_max_threshold": "200000", "green_drop_probability": "2"},
	{"SCHEDULER", "telemetry"}:    {"type": "DWRR", "weight": "5"},
	{"ACL_TABLE", "EDGE"}:         {"type": "L3", "stage": "ingress", "policy_desc": "edge"},
	{"ACL_RULE", "EDGE|RULE_1"}:   {"PRIORITY": "100", "PACKET_ACTION": "DROP", "SRC_IP": "10.0.0.0/8"},
}

func (b *box) addForeign() {
	for at, row := range foreign {
		b.SetRow(at[0], at[1], row)
	}
	// A field in a row that both sides write.
	last := b.model.Ports[len(b.model.Ports)-1].Name
	row := b.Config()["PORT"][last]
	row["description"] = "to the printer"
	b.SetRow("PORT", last, row)
	row = b.Config()["PORT"][b.ports[0]]
	row["description"] = "to gpu1"
	b.SetRow("PORT", b.ports[0], row)
}

func (b *box) hasForeign() bool {
	cfg := b.Config()
	for at, row := range foreign {
		if !maps.Equal(cfg[at[0]][at[1]], row) {
			b.t.Logf("%s|%s = %v", at[0], at[1], cfg[at[0]][at[1]])
			return false
		}
	}
	return cfg["PORT"][b.ports[0]]["description"] == "to gpu1"
}

func (b *box) down() []string {
	var out []string
	for name, row := range b.Config()["PORT"] {
		if row["admin_status"] != "up" {
			out = append(out, name)
		}
	}
	return out
}

func (b *box) device() *drivertest.Device {
	f := b.Faults()
	d := &drivertest.Device{
		Desired: b.desired, Policy: b.policy,
		Count: b.count, ResetCounters: b.Counters().Reset, HoldCounters: b.Counters().Hold,
		Open: func() drivers.Driver { return b.open() },
		OpenWrongPassword: func() drivers.Driver {
			t := b.target
			t.GNMI.Password = secret.Secret("wrong")
			if t.SSH != nil {
				way := *t.SSH
				way.Password, t.SSH = t.GNMI.Password, &way
			}
			return b.openAs(t)
		},
		State: b.state, Startup: b.startup,
		Requests:    func() int { return len(b.Sets()) },
		Flaps:       b.Flaps,
		BeforeWrite: f.BeforeSet,
		Down:        b.down,
		Restart:     b.Restart,
		AddForeign:  b.addForeign, HasForeign: b.hasForeign,
		AddUnknown: func() {
			row := b.Config()["PORT_QOS_MAP"][b.ports[0]]
			row["scheduler"] = "scheduler.0"
			b.SetRow("PORT_QOS_MAP", b.ports[1], row)
		},
		ChangeManaged: func() {
			row := b.Config()["PORT_QOS_MAP"][b.ports[0]]
			row["pfc_enable"] = "5"
			b.SetRow("PORT_QOS_MAP", b.ports[0], row)
		},
		ChangeForeign: b.addForeign,
		Faults: drivertest.Faults{
			Reject:     func() { f.FailAt(0) },
			DropBefore: f.DropBeforeWrite, DropAfter: f.DropAfterWrite, FailAfterApply: f.FailAfterApply,
			FailHalfWay:   func() { f.FailAt(1) },
			RestartInside: func() { f.RestartAt(1) },
			GiveUp: func() {
				release := make(chan struct{})
				f.TimeoutNext(release)
				time.AfterFunc(5*time.Second, func() { close(release) })
			},
			Delay: f.Delay, ReadOnly: f.ReadOnly, TruncateAnswers: f.TruncateGet, WrongCertificate: f.WrongCertificate,
			Unreachable: f.RefuseConnections, NoModel: f.NoSonicDB, Clear: f.Clear,
		},
	}
	if b.alone {
		d.Faults.GiveUp, d.Faults.WrongCertificate = nil, nil // gNMI only
		d.Requests = b.Loads
	}
	if b.target.SSH != nil {
		d.Faults.NoModel = nil // the switch is then read over SSH
		d.Marked = func() bool { return len(b.Files()) > 0 }
	}
	return d
}
