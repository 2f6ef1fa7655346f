package cumulus

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func published(t testing.TB) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile("testdata/published.txtar")
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; refresh with -update and review:\n%s", path, diff.Diff("want", want, "got", got))
	}
}

// TestPublishedConfigurations records the account and the meaning of configurations that
// operators have published. The golden file is reviewed like code.
func TestPublishedConfigurations(t *testing.T) {
	files := published(t)
	if len(files) < 40 {
		t.Fatalf("%d configurations", len(files))
	}
	var b strings.Builder
	bare, _ := Decode(parse(t, "nv set interface swp1"))
	for _, f := range files {
		c := parse(t, string(f.Data))
		fmt.Fprintf(&b, "== %s", f.Name)
		if c.Release.String() != "" {
			fmt.Fprintf(&b, " (%s, %s, %s)", c.Hostname, c.Model, c.Release)
		}
		b.WriteByte('\n')
		told := map[int]bool{}
		for _, l := range Account(c) {
			told[l.No] = true
			fmt.Fprintf(&b, "%-14s %s", l.Fate, strings.TrimPrefix(strings.TrimSpace(l.Where+" | "+l.Text), "| "))
			if l.Why != "" {
				fmt.Fprintf(&b, "  (%s)", l.Why)
			}
			if l.Fate == render.Represented {
				var of []string
				for _, at := range l.Attrs {
					of = append(of, at.String())
				}
				fmt.Fprintf(&b, "  -> %s of %s", strings.Join(of, " "), natural.Fold(l.Ports))
			}
			b.WriteByte('\n')
			if l.Fate != render.Represented && l.Why == "" || l.Fate == render.Represented && len(l.Ports) == 0 {
				t.Errorf("%s: %+v", f.Name, l)
			}
		}
		// No line about QoS is missing from the account.
		for no, line := range strings.Split(string(f.Data), "\n") {
			if strings.Contains(line, "nv set") && (strings.Contains(line, " qos ") || strings.Contains(line, " mtu ")) && !told[no+1] {
				t.Errorf("%s: nothing is told of %q", f.Name, line)
			}
		}
		d, unknown := Decode(c)
		for _, u := range unknown {
			if u.Open {
				fmt.Fprintf(&b, "open: %s: %s\n", u.Path, u.Why)
			}
		}
		// The differences between the first port and an unconfigured one.
		if names := natural.Keys(d.Ports); len(names) > 0 {
			of := func(d *qos.Device, port string) *qos.Device {
				return &qos.Device{Ports: map[string]*qos.Port{names[0]: d.Ports[port]}}
			}
			for _, change := range qos.Diff(of(bare, "swp1"), of(d, names[0])) {
				fmt.Fprintf(&b, "  %s = %s\n", change.Path(), change.New)
			}
		}
	}
	golden(t, "testdata/published.golden", []byte(b.String()))
}

// Every published configuration can be changed to an intent, for some or all of its ports, and
// back. One that already means the desired state is left alone, whoever wrote it.
func TestPublishedConfigurationsSettle(t *testing.T) {
	releases := []string{"5.14", "5.17"}
	if sharedtest.Nightly() {
		releases = Releases()
	}
	for _, f := range published(t) {
		for _, release := range releases {
			t.Run(f.Name+"/"+release, func(t *testing.T) {
				have := parse(t, string(f.Data))
				have.Release, _ = ReleaseOf(release)
				running, _ := Decode(have)
				names := natural.Keys(running.Ports)
				for _, ports := range [][]string{names, names[:(len(names)+1)/2]} {
					want := plain(ports...)
					for _, name := range ports {
						if have.bonded(name) { // its bond determines its MTU and profiles
							delete(want.Ports, name)
						}
					}
					if !want.Empty() {
						settles(t, have, want)
					}
				}
				same := held(running)
				if e := Change(have, same); len(e) > 0 {
					t.Errorf("a switch that is as it is meant to be is changed: %v", e)
				}
			})
		}
	}
}

func (c *Config) bonded(port string) bool { return newView(c).bonds[port] != "" }

// held returns the running state as a desired state.
func held(running *qos.Device) *qos.Device {
	out := &qos.Device{Ports: map[string]*qos.Port{}, PollUsual: true}
	for name, p := range running.Ports {
		own := *p
		own.LAG = qos.Opt[string]{}
		m := *own.Maps.V
		own.Maps.V = &m
		for i := range own.Queues {
			if s := own.Queues[i].Scheduler.V; s.Weight == 0 && !s.Strict || s.Other != "" {
				own.Queues[i].Scheduler = qos.Opt[qos.Scheduler]{}
			}
		}
		out.Ports[name] = &own
	}
	Fit(out)
	for name, p := range out.Ports {
		for i := range p.Groups {
			if !running.Ports[name].Groups[i].Lossless.V {
				p.Groups[i].Lossless = qos.Opt[bool]{} // PFC without a lossless pool
			}
		}
	}
	return out
}

// Each fixture decodes to the same state in each of the three forms that a switch prints.
func TestFormsDecodeAlike(t *testing.T) {
	for _, f := range published(t) {
		c := parse(t, string(f.Data))
		want, unknown := Decode(c)
		for form, text := range map[string]string{"JSON": string(c.Tree.JSON()), "YAML": string(c.Tree.YAML()), "commands": strings.Join(c.Tree.Commands(), "\n")} {
			if strings.TrimSpace(text) == "" {
				continue
			}
			back := parse(t, text)
			back.Release, back.Model, back.Hostname = c.Release, c.Model, c.Hostname
			got, also := Decode(back)
			if diffs := qos.Diff(got, want); len(diffs) > 0 || len(got.Ports) != len(want.Ports) {
				t.Errorf("%s as %s: %v\n%s", f.Name, form, diffs, text)
			}
			if !slices.Equal(unknown, also) {
				t.Errorf("%s as %s: unknown is %v, was %v", f.Name, form, also, unknown)
			}
		}
	}
}
