package intent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

func load(t *testing.T, text string) *Fabric {
	t.Helper()
	f, err := Load("-", Options{Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// folder writes files to a new folder and returns its path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestHints(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{good + "swiches: {}\n", `did you mean "switches"?`},
		{good + "mtu: {zzz: 1}\n", "known: fabric, host, rdma"},
		{good + "mtu: {hots: 1}\n", `did you mean "host"?`},
		{good + "trust: dcsp\n", `did you mean "dscp"?`},
		{good + "roles: {leaf: {classes: {rmda: {}}}}\nswitches: {a: {os: sonic, role: leaf}}\n", `did you mean "rdma"?`},
		{wired + "links: [{a: l1/e0, b: h1/no, cable: 5m, speed: 400G}]\n", `did you mean "n0"?`},
		{wired + "links: [{a: l1/e0, b: l22/e0, cable: 5m, speed: 400G}]\n", `did you mean "l2"?`},
		{class3 + "  a: {priority: 3, dscp: [26]}\n", "write dscp: rest in the class that takes everything else, or keep: {codePoints: true}"},
		{class3 + "  a: {priority: 3, dscp: 26}\n", "write [26]"},
		{class3 + "  a: {priority: 3, dscp: rest, bandwidth: 60}\n", "write a percentage such as 60%"},
		{good + "credentials: {switches: {password: hunter2}}\n", "write env:NAME, file:PATH or keyring:SERVICE/USER, never the secret itself"},
		{good + "switches: {a: {os: sonic, address: 192.0.2.[1-2]}}\n", "inside { } and [ ], quote a text that holds [ ] { } or a comma"},
	} {
		_, err := Load("-", Options{Stdin: strings.NewReader(c.in)})
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("%q: %v", c.in, err)
		}
		if e.Hint != c.want {
			t.Errorf("%q: %v: hint %q, want %q", c.in, e, e.Hint, c.want)
		}
	}
}

func TestFolder(t *testing.T) {
	dir := folder(t, map[string]string{
		"10-base.yaml":   good + "credentials: {switches: {username: u}}\nlinks: [{a: a/e0, b: h/n0, cable: 5m, speed: 400G}]\n",
		"20-leaves.yml":  "apiVersion: roce-fabric/v1\nkind: Fabric\nname: f\nswitches: {a: {os: sonic}}\ncredentials: {hosts: {username: v}}\n",
		"30-hosts.yaml":  "apiVersion: roce-fabric/v1\nkind: Fabric\nswitches: {b: {os: eos}}\nhosts: {h: {nics: {n0: {}, n1: {}}}}\nlinks: [{a: b/e0, b: h/n1, cable: 5m, speed: 400G}]\n",
		".hidden.yaml":   "broken: [",
		"notes.txt":      "broken: [",
		"sub/ports.yaml": "broken: [",
	})
	f, err := Load(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(n string) string { return filepath.Join(dir, n) }
	if diff := cmp.Diff([]string{at("10-base.yaml"), at("20-leaves.yml"), at("30-hosts.yaml")}, f.Files); diff != "" {
		t.Error(diff)
	}
	if len(f.Links) != 2 || f.Links[1].Pos.String() != at("30-hosts.yaml")+":5:9" {
		t.Errorf("links %v", f.Links)
	}
	if f.Switch("b") == nil || f.Switch("a").Access.Username.V != "u" {
		t.Error("the maps did not merge")
	}
	below, err := Load(dir, Options{Below: filepath.Dir(dir)})
	if err != nil || below.Links[1].Pos.String() != filepath.Base(dir)+"/30-hosts.yaml:5:9" || below.Hash != f.Hash {
		t.Errorf("below a folder: %v, %v", below.Links, err)
	}

	other := folder(t, map[string]string{"a.yaml": good, "b.yaml": "apiVersion: roce-fabric/v1\nkind: Fabric\nname: g\nclasses:\n  cnp: {priority: 6, dscp: [48]}\n  rdma: {priority: 4}\n", "c.yaml": "kind: Fabric\nzz: 1\n"})
	_, err = Load(other, Options{})
	want := []string{
		filepath.Join(other, "b.yaml") + `:3:1: duplicate key "name", first at ` + filepath.Join(other, "a.yaml") + ":3:7",
		filepath.Join(other, "b.yaml") + `:6:3: duplicate key "rdma", first at ` + filepath.Join(other, "a.yaml") + ":5:3",
		filepath.Join(other, "c.yaml") + `:1:1: the file has no apiVersion`,
		filepath.Join(other, "c.yaml") + `:2:1: unknown key "zz"`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}

	broken := folder(t, map[string]string{"a.yaml": "a: [\n", "b.yaml": "b: {\n"})
	if _, err := Load(broken, Options{}); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("one error for each broken file, got %v", err)
	}
}

// An error about two conflicting values has the position of the value that comes later in the
// files.
func TestConflictIsReportedAtTheLaterPlace(t *testing.T) {
	for fabric, host := range map[string]string{"a.yaml": "b.yaml", "b.yaml": "a.yaml"} {
		dir := folder(t, map[string]string{
			"0.yaml": good, fabric: "apiVersion: roce-fabric/v1\nkind: Fabric\nmtu: {fabric: 4000}\n", host: "apiVersion: roce-fabric/v1\nkind: Fabric\n\nmtu: {host: 4200}\n",
		})
		line := map[string]string{fabric: ":3:15", host: ":4:13"}["b.yaml"]
		if _, err := Load(dir, Options{}); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "b.yaml")+line+": host MTU 4200 is above fabric MTU 4000") {
			t.Errorf("the host's in %s: %v", host, err)
		}
	}
}

func TestFilesThatCannotBe(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	empty := t.TempDir()
	if _, err := Load(empty, Options{}); err == nil || err.Error() != empty+": the folder holds no YAML file" {
		t.Errorf("empty folder: %v", err)
	}
	if _, err := Load("-", Options{}); err == nil {
		t.Error("standard input without a reader is accepted")
	}
	big := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 1<<40); err != nil { // a sparse file, too large to read into memory
		t.Skip("no sparse files here:", err)
	}
	if _, err := Load(big, Options{}); err == nil || err.Error() != big+": the file is larger than 16 MiB" {
		t.Errorf("large file: %v", err)
	}
	r := &endless{}
	if _, err := Load("-", Options{Stdin: r}); err == nil || err.Error() != "<stdin>: the file is larger than 16 MiB" {
		t.Errorf("endless input: %v", err)
	}
	if r.n > 2*maxFileBytes {
		t.Errorf("read %d bytes of an endless input", r.n)
	}
}

type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	e.n += len(p)
	return len(p), nil
}

func TestHash(t *testing.T) {
	sum := sha256.Sum256([]byte(good))
	if got := load(t, good).Hash; got != hex.EncodeToString(sum[:]) {
		t.Errorf("one file: %s", got)
	}
	second := "apiVersion: roce-fabric/v1\nkind: Fabric\n"
	hash := func(files map[string]string) string {
		f, err := Load(folder(t, files), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return f.Hash
	}
	a := hash(map[string]string{"a.yaml": good, "b.yaml": second})
	if a != hash(map[string]string{"a.yaml": good, "b.yaml": second}) {
		t.Error("the hash depends on where the folder is")
	}
	if a == hash(map[string]string{"a.yaml": good, "b.yaml": second + "# x\n"}) || a == hash(map[string]string{"a.yaml": good, "c.yaml": second}) {
		t.Error("the hash misses a change")
	}
}

func TestDefaults(t *testing.T) {
	f := load(t, good+"switches: {s: {os: sonic, address: s.example.net}, e: {os: eos, address: \"2001:db8::1\"}, n: {os: nxos, address: \"[2001:db8::1]:9339\"}}\nhosts: {h: {address: 192.0.2.9}}\n")
	s := f.Settings
	rdma, def := s.Class("rdma"), s.Class("default")
	if rdma.Queue.V != 3 || !cmp.Equal(rdma.PCP.V, []int{3}) || rdma.ECN.Mode.V != ECNAuto || def.ECN.Mode.V != ECNOff {
		t.Errorf("classes %+v %+v", rdma, def)
	}
	if rdma.Bandwidth.V != 50 || def.Bandwidth.V != 50 || !rdma.Bandwidth.IsDefault() {
		t.Errorf("bandwidth %v %v", rdma.Bandwidth, def.Bandwidth)
	}
	if len(def.DSCP.V) != 63 || def.DSCP.V[26] != 27 || !def.Rest {
		t.Errorf("rest %v", def.DSCP.V)
	}
	w := s.Watchdog
	if !w.Enabled.V || w.Detect.V != 400*time.Millisecond || w.Restore.V != 400*time.Millisecond || w.Poll.V != 200*time.Millisecond || w.Action.V != qos.ActionDrop {
		t.Errorf("watchdog %+v", w)
	}
	if s.MTU.Fabric.V != 9100 || s.MTU.Host.V != 9000 || s.MTU.RDMA.V != 4096 || s.Trust.V != qos.TrustDSCP || !s.Trust.IsDefault() {
		t.Errorf("%+v", s.MTU)
	}
	if s.Buffers.Alpha.V != nil || s.Buffers.MinLosslessPacket.V != 1024 || s.Buffers.OverSubscription.V != 0 || f.Rollout.PortGroup.V != 4 {
		t.Errorf("%+v", s.Buffers)
	}
	for name, want := range map[string]string{"s": "s.example.net:8080", "e": "[2001:db8::1]:6030", "n": "[2001:db8::1]:9339"} {
		if got := f.Switch(name).Address.V; got != want {
			t.Errorf("address %s, want %s", got, want)
		}
		if f.Switch(name).Access.SSH.Configured() {
			t.Error("SSH without an ssh block")
		}
	}
	if h := f.Host("h"); h.Address.V != "192.0.2.9:22" || h.Access.SSH.Address.V != "192.0.2.9:22" {
		t.Errorf("host %+v", h)
	}

	lossy := load(t, class3+"  a: {priority: 0, dscp: rest, strict: true}\n")
	if lossy.Settings.Watchdog.Enabled.V || lossy.Settings.Classes[0].Bandwidth.V != 0 {
		t.Error("a watchdog without lossless classes, or a share of a strict class")
	}
	quick := load(t, good+"pfc: {watchdog: {detect: 100ms}}\n")
	if quick.Settings.Watchdog.Poll.V != 100*time.Millisecond {
		t.Error("the default of poll is above detect")
	}
	pcp := load(t, class3+"  a: {priority: 3, pcp: [3, 4]}\n  b: {priority: 0}\ntrust: pcp\n")
	if !cmp.Equal(pcp.Settings.Class("a").PCP.V, []int{3, 4}) || pcp.Settings.Class("a").DSCP.V != nil {
		t.Errorf("PCP fabric %+v", pcp.Settings.Classes)
	}
}

const layered = good + `roles:
  leaf: {mtu: {fabric: 9150}, classes: {rdma: {ecn: {min: 100KB, max: 1MB}, bandwidth: 60%}}}
switches:
  "l[1-2]":
    os: sonic
    role: leaf
    mtu: {host: 8000}
    classes: {rdma: {ecn: {max: 2MB}}}
    ports:
      Ethernet[0-12:4]: {admin: up}
      Ethernet16: {pfc: {watchdog: off}, classes: {default: {lossless: true}, rdma: {ecn: {probability: 7%}, queue: 4}}}
  l3: {os: sonic, role: leaf}
  x: {os: sonic, role: other}
`

func TestLayers(t *testing.T) {
	f := load(t, layered)
	l1, l2, l3 := f.Switch("l1"), f.Switch("l2"), f.Switch("l3")
	from := func(v interface{ String() string }) string { return strings.TrimPrefix(v.String(), Stdin+":") }
	s := l1.Settings
	ecn := s.Class("rdma").ECN
	for _, c := range []struct{ what, got, want string }{
		{"fabric MTU", from(s.MTU.Fabric.From), "8:24"},
		{"host MTU", from(s.MTU.Host.From), "13:17"},
		{"rdma MTU", from(s.MTU.RDMA.From), "default"},
		{"min", ecn.Min.V.String() + " " + from(ecn.Min.From), "100KB 8:59"},
		{"max", ecn.Max.V.String() + " " + from(ecn.Max.From), "2MB 14:33"},
		{"bandwidth", from(s.Class("rdma").Bandwidth.From), "8:88"},
		{"what is left", s.Class("default").Bandwidth.V.String(), "40%"},
		{"fabric", f.Settings.Class("rdma").Bandwidth.V.String(), "50%"},
		{"role of another", f.Switch("x").Settings.MTU.Fabric.From.Rule, "default"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
	if s != l2.Settings || f.Switch("x").Settings != f.Settings || l3.Settings == s {
		t.Error("settings are not shared where they are the same, or are where they differ")
	}
	p := l1.Port("Ethernet16")
	if p.Settings.Watchdog.Enabled.V || p.Settings.Class("rdma").ECN.Probability.V != 7 || p.Settings.Class("rdma").ECN.Max.V.N != 2e6 ||
		p.Settings.Class("rdma").Queue.V != 4 || p.Settings.Class("default").ECN.Mode.V != ECNAuto || p.Settings.MTU.Host.V != 8000 {
		t.Errorf("port settings %+v", p.Settings)
	}
	if l1.Port("Ethernet4").Settings != s || p.Settings != l2.Port("Ethernet16").Settings {
		t.Error("ports do not share")
	}
	if up := l1.Port("Ethernet12").AdminUp.V; up == nil || !*up || p.AdminUp.V != nil {
		t.Error("admin state")
	}
	if s.Class("rdma").Queue.V != 3 || s.Watchdog.Enabled.V != true {
		t.Error("a port's override reached its device")
	}
	if p.Link != nil || len(l3.Ports) != 0 {
		t.Error("ports that nobody names")
	}
}

func TestAccess(t *testing.T) {
	f := load(t, good+`switches:
  "l[1-2]": {os: sonic, address: "192.0.2.[1-2]", access: {password: file:/p, tls: {serverName: "l[1-2].example.net"}, ssh: {address: "198.51.100.[1-2]:2222"}}}
  s: {os: eos, address: 192.0.2.3, access: {tls: {serverName: s.example.net}}}
hosts: {h: {address: "192.0.2.9:2200"}}
credentials:
  switches: {username: env:U, password: env:P, tls: {cert: c.pem, key: k.pem}, ssh: {username: admin, knownHosts: kh}}
`)
	a := f.Switch("l2").Access
	got := []string{a.Username.V, a.Password.V, a.TLS.Cert.V, a.TLS.ServerName.V, a.SSH.Address.V, a.SSH.Username.V, a.SSH.Password.V, a.SSH.KnownHosts.V}
	if diff := cmp.Diff([]string{"env:U", "file:/p", "c.pem", "l2.example.net", "198.51.100.2:2222", "admin", "file:/p", "kh"}, got); diff != "" {
		t.Error(diff)
	}
	s := f.Switch("s").Access
	if s.SSH.Address.V != "192.0.2.3:22" || s.TLS.ServerName.V != "s.example.net" || a.TLS.Insecure.V || s.Password.V != "env:P" {
		t.Errorf("%+v", s)
	}
	if h := f.Host("h").Access; h.SSH.Address.V != "192.0.2.9:2200" || h.Username.V != "" {
		t.Errorf("%+v", h)
	}
}

func TestExamples(t *testing.T) {
	for _, c := range []struct {
		name                   string
		switches, hosts, links int
	}{{"quickstart", 4, 4, 8}, {"rail-512", 48, 64, 512 + 512}} {
		f, err := Load(filepath.Join("..", "examples", c.name, "fabric.yaml"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Switches) != c.switches || len(f.Hosts) != c.hosts || len(f.Links) != c.links {
			t.Errorf("%s: %d switches, %d hosts, %d links", c.name, len(f.Switches), len(f.Hosts), len(f.Links))
		}
		for _, h := range f.Hosts {
			for _, n := range h.NICs {
				if n.Link == nil {
					t.Errorf("%s: %s %s is not linked", c.name, h.Name, n.Name)
				}
			}
		}
	}
}

func TestSelect(t *testing.T) {
	f := load(t, good+"switches:\n  leaf[1-12]: {os: sonic, role: leaf}\n  spine[1-2]: {os: eos, role: spine}\n")
	for _, c := range []struct{ in, want string }{
		{"", "leaf1 leaf2 leaf3 leaf4 leaf5 leaf6 leaf7 leaf8 leaf9 leaf10 leaf11 leaf12 spine1 spine2"},
		{"leaf2", "leaf2"},
		{"role:spine leaf1", "leaf1 spine1 spine2"},
		{"os:eos", "spine1 spine2"},
		{"leaf1*", "leaf1 leaf10 leaf11 leaf12"},
		{"leaf[9-11]", "leaf9 leaf10 leaf11"},
		{"spine? spine1", "spine1 spine2"},
		{"!spine2 !leaf[2-12]", "leaf1 spine1"},
		{"role:spine !spine2 leaf1", "leaf1 spine1"},
		{"!leaf1 leaf[1-3]", "leaf2 leaf3"},
		{"!os:sonic", "spine1 spine2"},
		{"!laef2", `selection: no switch matches "laef2" / did you mean "leaf2"?`},
		{"spine1 !spine*", `selection: "spine1,!spine*" leaves no switch / `},
		{"laef2", `selection: no switch matches "laef2" / did you mean "leaf2"?`},
		{"role:lead", `selection: no switch matches "role:lead" / did you mean "role:leaf"?`},
		{"leaf1 role:", `selection: no switch matches "role:" / known: leaf1, leaf2, leaf3, leaf4, leaf5, leaf6, leaf7, leaf8, leaf9, leaf10, leaf11, leaf12, os:eos, os:sonic, role:leaf, role:spine, spine1, spine2`},
		{"name:x", `selection: "name:x": unknown kind of selection "name" / write a name, a glob such as leaf*, role:leaf or os:sonic`},
		{"leaf[11-13]", `selection: no switch "leaf13", which "leaf[11-13]" names / did you mean "leaf1"?`},
		{"leaf[", `selection: "leaf[": syntax error in pattern / write a name, a glob such as leaf*, role:leaf or os:sonic`},
	} {
		l, err := f.Select(strings.Fields(c.in))
		var names []string
		for _, s := range l {
			names = append(names, s.Name)
		}
		got := strings.Join(names, " ")
		var e *Error
		if errors.As(err, &e) {
			got = e.Error() + " / " + e.Hint
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
}

// Of lossless and mode, the one in the inner layer applies; both turn ECN marking on.
func TestMode(t *testing.T) {
	f, err := Load("-", Options{Stdin: strings.NewReader(header + `classes:
  rdma: {priority: 3, dscp: [26], mode: lossy}
  bulk: {priority: 4, dscp: [28], mode: lossless}
  default: {priority: 0, dscp: rest}
switches:
  a: {os: sonic, classes: {rdma: {lossless: true}, bulk: {mode: lossy}}, ports: {Ethernet0: {classes: {rdma: {mode: lossy}}}}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	port := f.Switch("a").Port("Ethernet0").Settings
	for _, c := range []struct {
		s              *Settings
		class          string
		lossless, rdma bool
		ecn            ECNMode
	}{
		{f.Settings, "rdma", false, true, ECNAuto}, {f.Settings, "bulk", true, true, ECNAuto}, {f.Settings, "default", false, false, ECNOff},
		{f.Switch("a").Settings, "rdma", true, true, ECNAuto}, {f.Switch("a").Settings, "bulk", false, true, ECNAuto},
		{port, "rdma", false, true, ECNAuto}, {port, "bulk", false, true, ECNAuto},
	} {
		k := c.s.Class(c.class)
		if k.Lossless.V != c.lossless || k.RDMA() != c.rdma || k.ECN.Mode.V != c.ecn {
			t.Errorf("%s: lossless %v from %s, RDMA %v, ECN %v", c.class, k.Lossless.V, k.Lossless.From, k.RDMA(), k.ECN.Mode.V)
		}
	}
}
