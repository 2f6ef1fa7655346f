package intent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const settable = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma: &rdma {priority: 3, dscp: [26], lossless: true, ecn: auto}
  default: {priority: 0, dscp: rest}
mtu:
switches:
  leaf[1-2]: {os: sonic, role: leaf, address: "192.0.2.[11-12]:8080"}
  a.b: {os: sonic, role: leaf, address: "192.0.2.13:8080"}
links:
  - {a: "leaf1/Ethernet[0,4]", b: "leaf2/Ethernet[0,4]", cable: 5m, speed: 400G}
`

func loadSet(t *testing.T, dir string, set ...string) (*Fabric, error) {
	t.Helper()
	name := filepath.Join(dir, "f.yaml")
	if err := os.WriteFile(name, []byte(settable), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Load(name, Options{Set: set})
	if text, rerr := os.ReadFile(name); rerr != nil || string(text) != settable {
		t.Errorf("the file has changed: %v", rerr)
	}
	return f, err
}

func TestSet(t *testing.T) {
	f, err := loadSet(t, t.TempDir(), "links[0].cable=30m", "classes.rdma.dscp=[26, 27]", "mtu.fabric=9100", "switches.leaf[1-2].model=ACS-MSN4700",
		"switches.a.b.role=spine", `switches."a.b".release=202511`, "switches.leaf[1-2].ports.Ethernet0.trust=pcp", "name=pod2")
	if err != nil {
		t.Fatal(err)
	}
	leaf, ab := f.Switch("leaf1"), f.Switch("a.b")
	p := leaf.Port("Ethernet0")
	for what, ok := range map[string]bool{
		"name":    f.Name == "pod2",
		"cable":   p.Cable.V.String() == "30m" && p.Cable.From.String() == "--set links[0].cable",
		"model":   leaf.Model.V == "ACS-MSN4700" && f.Switch("leaf2").Model.V == "ACS-MSN4700",
		"mtu":     p.Settings.MTU.Fabric.V == 9100,
		"trust":   string(p.Settings.Trust.V) == "pcp" && string(leaf.Port("Ethernet4").Settings.Trust.V) == "dscp",
		"dscp":    len(p.Settings.Classes[1].DSCP.V) == 2,
		"role":    ab.Role == "spine",
		"release": ab.Release.V == "202511",
	} {
		if !ok {
			t.Errorf("%s is not what was set", what)
		}
	}
}

func TestSetErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ set, want, hint string }{
		{"mtu", "--set mtu: a path and a value are needed", "write links[0].cable=30m"},
		{"=3", "--set =3: a path and a value are needed", "write links[0].cable=30m"},
		{"links[0]=", "--set links[0]=: a path and a value are needed", "write links[0].cable=30m"},
		{"links[0].cabel=3m", `--set links[0].cabel: unknown key "cabel"`, `did you mean "cable"?`},
		{"linkz[0].cable=3m", `--set linkz[0].cable: unknown key "linkz"`, `did you mean "links"?`},
		{"links[1].cable=3m", "--set links[1].cable: links has 1 entry, and no [1]", "its last one is links[0]"},
		{"links[-1].cable=3m", `--set links[-1].cable: "[-1]" is no number of an entry`, "write links[0].cable=30m; the first entry has number 0"},
		{"hosts[0].address=3m", "--set hosts[0].address: hosts is nothing, not a list", ""},
		{"links[0=3m", `--set links[0: "[0]" is no number of an entry`, "write links[0].cable=30m; the first entry has number 0"},
		{"links.0.cable=3m", "--set links.0.cable: links is a list", "name an entry by its number, from 0: links[0]"},
		{"links[0][1]=3m", "--set links[0][1]: links[0] is a map, not a list", ""},
		{"[0]=3m", "--set [0]: the intent is a map, not a list", ""},
		{"links[0].cable=30x", `--set links[0].cable: cable: "30x" is not a quantity`, "write a length such as 5m, 0.5m or 2km"},
		{"classes.rdam.ecn=auto", `--set classes.rdam.ecn: classes has no "rdam"`, `did you mean "rdma"?`},
		{"switches.leaf2.model=x", `--set switches.leaf2.model: switches has no "leaf2"`, "leaf[1-2] stands for it: --set 'switches.leaf[1-2].model=...'"},
		{"classes.rdma.ecn.min=1KB", "--set classes.rdma.ecn.min: classes.rdma.ecn is text, which has no min", "set it as a whole: --set 'classes.rdma.ecn={...}'"},
		{"classes.default.dscp=[26]", `--set classes.default.dscp: DSCP 26 of class "default" is in class "rdma" at`, ""},
		{"classes..ecn=auto", "--set classes..ecn: the path has an empty part", "write links[0].cable=30m"},
		{"classes.=auto", "--set classes.: the path has an empty part", "write links[0].cable=30m"},
		{"links[0].cable={", "--set links[0].cable:1:1: did not find expected node content", ""},
	} {
		_, err := loadSet(t, dir, c.set)
		faults, _ := err.(Errors)
		if len(faults) == 0 || !strings.HasPrefix(faults[0].Error(), c.want) || c.hint != "" && faults[0].Hint != c.hint {
			t.Errorf("%s gives %v, want %s", c.set, err, c.want)
			if len(faults) > 0 {
				t.Errorf("with %q", faults[0].Hint)
			}
		}
	}
}

// FuzzSet checks that no change makes Load panic and that every error has a position.
func FuzzSet(f *testing.F) {
	for _, s := range []string{"links[0].cable=30m", `switches."a.b".os=eos`, "switches.leaf[1-2].ports.Ethernet0.trust=pcp", "classes.rdma=*rdma", "mtu={fabric: 9000}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, set string) {
		_, err := Load("-", Options{Stdin: strings.NewReader(settable), Set: []string{set}})
		if err == nil {
			return
		}
		faults, ok := err.(Errors)
		if !ok {
			t.Fatalf("%T %v", err, err)
		}
		for _, e := range faults {
			if e.Pos.File == "" || e.Msg == "" {
				t.Fatalf("no place: %+v", e)
			}
		}
	})
}
