package sonic

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// TestGNMIAndSSHAgree: over gNMI and over SSH alone, a switch gets the same configuration, and a
// revert restores the old one. Over SSH no port goes down.
func TestGNMIAndSSHAgree(t *testing.T) {
	for _, model := range []string{known, unknown, dynamic} {
		t.Run(model, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var after []string
				for _, o := range []boxOptions{{ssh: true}, {alone: true}, {direct: true}, {alone: true, lacks: []string{"sonic-db-dump"}}} {
					o.model, o.release = model, "202511"
					b := newBox(t, o)
					was := string(b.state())
					d := b.open()
					if b.alone {
						if err := d.Notify(t.Context(), func() {}, func() {}); !errors.Is(err, drivers.ErrUnsupported) {
							t.Errorf("notify: %v", err)
						}
					}
					tok, st := b.apply(d)
					if err := d.Confirm(t.Context(), tok); err != nil {
						t.Fatal(err)
					}
					after = append(after, string(b.state()))
					if string(b.startup()) != after[len(after)-1] {
						t.Error("not all of it is saved")
					}
					if bad, err := d.Applied(t.Context(), b.desired); err != nil || len(bad) > 0 {
						t.Errorf("in force: %v %v", bad, err)
					}
					if b.alone && (len(b.Flaps()) > 0 || len(st.Items) > 3 || !strings.Contains(strings.Join(st.Notes, "\n"), "no port is shut")) {
						t.Errorf("%d steps, down were %v, notes %q", len(st.Items), b.Flaps(), st.Notes)
					}
					if err := b.open().Revert(t.Context(), tok); err != nil {
						t.Fatal(err)
					}
					if string(b.state()) != was {
						t.Error("the revert leaves another configuration")
					}
					if b.alone && len(b.Flaps()) > 0 {
						t.Errorf("the revert took down %v", b.Flaps())
					}
				}
				if len(slices.Compact(after)) > 1 {
					t.Errorf("the ways differ:\n%s", strings.Join(after, "\n"))
				}
			})
		})
	}
}

// A switch that restarts after it was read back, but before the save, has lost the apply, both
// running and saved, and shows that.
func TestRestartBeforeTheSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", direct: true})
		was := string(b.state())
		d := b.open()
		tok, _ := b.apply(d)
		if err := b.Restart(); err != nil {
			t.Fatal(err)
		}
		_ = d.Confirm(t.Context(), tok)
		for name, read := range map[string]func(context.Context) (*drivers.Snapshot, error){"running": d.Read, "saved": d.Startup} {
			s, err := read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if gone, err := d.Undone(s, tok); !gone || err != nil {
				t.Errorf("%s: gone %v, %v", name, gone, err)
			}
		}
		if err := d.Revert(t.Context(), tok); err != nil || string(b.state()) != was || string(b.startup()) != was {
			t.Errorf("reverted to something else: %v", err)
		}
	})
}

// If the gNMI server is off or serves no databases, the switch is read over SSH, and the plan says
// why. With write: gnmi, or if SSH is not configured, that is an error.
func TestWithoutGNMI(t *testing.T) {
	for name, edit := range map[string]func(b *box){
		"off":      func(b *box) { b.target.GNMI.Address = "127.0.0.1:1" },
		"no model": func(b *box) { b.Faults().NoSonicDB(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
				edit(b)
				if _, st := b.plan(b.open()); len(st.Items) == 0 || st.Items[0].Via != "ssh" || !strings.Contains(strings.Join(st.Notes, "\n"), "everything goes over ssh") {
					t.Errorf("%+v", st)
				}
				for _, t2 := range []func(*drivers.Target){
					func(t *drivers.Target) { t.Write = intent.WriteGNMI },
					func(t *drivers.Target) { t.SSH = nil },
				} {
					target := b.target
					t2(&target)
					if _, err := b.openAs(target).Probe(context.Background()); err == nil {
						t.Error("no error without SSH")
					}
				}
			})
		})
	}
	if _, err := Open(drivers.Target{Name: "sw1", Write: intent.WriteDirect, GNMI: gnmi.Config{Address: "192.0.2.1:8080"}}); err == nil || !strings.Contains(err.Error(), "needs ssh") {
		t.Errorf("direct without SSH: %v", err)
	}
}

// An image without sonic-db-dump is read with redis-dump, which costs one extra command per driver.
// If both are missing, the error says so.
func TestImageWithoutDump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		commands := func(lacks ...string) (n int32, err error) {
			b := newBox(t, boxOptions{model: known, release: "202511", alone: true, lacks: lacks})
			var count atomic.Int32
			b.Faults().OnEvent(func(e simsonic.Event) {
				if e == simsonic.Command {
					count.Add(1)
				}
			})
			d := b.open()
			for range 2 {
				if _, err := d.tables(t.Context(), "APPL_DB", "PORT_TABLE", "BUFFER_POOL_TABLE"); err != nil {
					return 0, err
				}
			}
			return count.Load(), nil
		}
		whole, err := commands()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := commands("sonic-db-dump"); err != nil || n != whole+1 {
			t.Errorf("%d commands, %d with sonic-db-dump, %v", n, whole, err)
		}
		if _, err := commands("sonic-db-dump", "redis-dump"); err == nil || !strings.Contains(err.Error(), "sudo: redis-dump: command not found") {
			t.Errorf("without either: %v", err)
		}
	})
}

// TestModelsValidateDirectWrites: if the models of its image are available, a switch is written
// directly, and changes that they do not allow are blocked. The models are cached by image.
func TestModelsValidateDirectWrites(t *testing.T) {
	for _, release := range simsonic.Releases {
		t.Run(release, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, model := range []string{unknown, dynamic} {
					b := newBox(t, boxOptions{model: model, release: release, ssh: true, models: sharedtest.YANG(t, release)})
					b.target.Images = t.TempDir()
					d := b.open()
					tok, st := b.apply(d)
					if notes := strings.Join(st.Notes, "\n"); len(st.Blocked()) > 0 || st.Items[0].Via != "ssh" || !strings.Contains(notes, "because ssh is configured, after a check against the YANG models") {
						t.Errorf("%s: blocked %v, notes %q", model, st.Blocked(), notes)
					}
					if err := d.Revert(t.Context(), tok); err != nil {
						t.Fatal(err)
					}
					kept, _ := filepath.Glob(b.target.Images + "/*.tar.gz")
					reads := b.target
					reads.Reads, reads.Images = true, t.TempDir()
					if _, err := b.openAs(reads).Probe(t.Context()); err != nil {
						t.Fatal(err)
					}
					if unasked, _ := filepath.Glob(reads.Images + "/*"); len(unasked) > 0 {
						t.Error("who reads has no use for the models")
					}
					if len(kept) != 1 {
						t.Fatalf("kept %v", kept)
					}
					if err := os.WriteFile(kept[0], []byte("broken"), 0o600); err != nil {
						t.Fatal(err)
					}
					if _, st := b.plan(b.open()); st.Items[0].Via != "ssh" {
						t.Error("a broken copy is not read again")
					}
				}
			})
		})
	}
}

// Changes that the models of an image do not allow are blocked, and the rest is applied.
func TestStrictModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(sharedtest.YANG(t, "202511"))); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "sonic-pfcwd.yang")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		strict := bytes.Replace(text, []byte("range 100..60000"), []byte("range 100..300"), 1)
		if bytes.Equal(strict, text) {
			t.Fatal("the model has another range")
		}
		if err := os.WriteFile(file, strict, 0o600); err != nil {
			t.Fatal(err)
		}
		b := newBox(t, boxOptions{model: unknown, release: "202511", ssh: true, models: dir})
		_, st := b.apply(b.open())
		blocked := st.Blocked()
		if len(blocked) != len(b.ports) || !strings.HasPrefix(blocked[0].Blocked, "the models of the switch's image do not allow it: PFC_WD|"+b.ports[0]) {
			t.Errorf("%d blocked: %v", len(blocked), blocked)
		}
		if cfg := b.config(); cfg.Row(native.TWatchdog, b.ports[0]) != nil || cfg.Row(native.TPortQoS, b.ports[0])["pfc_enable"] != "3" {
			t.Errorf("%v", cfg.Row(native.TWatchdog, b.ports[0]))
		}
	})
}

// A second row that names a lossless group is removed, and the group keeps its headroom, although
// no port goes down and nothing makes buffermgrd look at it again.
func TestGroupNamedByTwoRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, model := range []string{known, unknown} {
			b := newBox(t, boxOptions{model: model, release: "202511", direct: true})
			b.apply(b.open())
			port := b.ports[2]
			want := string(b.state())
			b.SetRow(native.TGroup, port+"|3-4", b.config().Row(native.TGroup, port+"|3"))
			was := string(b.state())
			d := b.open()
			tok, st := b.apply(d)
			if string(b.state()) != want || len(b.Flaps()) > 0 {
				t.Errorf("%s: down were %v, %+v\n%s", model, b.Flaps(), st.Items, b.state())
			}
			if bad, err := d.Applied(t.Context(), b.desired); err != nil || len(bad) > 0 {
				t.Errorf("%s: in force: %v %v", model, bad, err)
			}
			if err := b.open().Revert(t.Context(), tok); err != nil || string(b.state()) != was {
				t.Errorf("%s: the revert leaves another configuration: %v", model, err)
			}
		}
	})
}

// Without models, auto uses the config updater, and direct says what validated the rows.
func TestModelsThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", ssh: true})
		if _, st := b.plan(b.open()); st.Items[0].Via != "gnmi" {
			t.Errorf("%+v", st.Items[0])
		}
		b.target.Write = intent.WriteDirect
		if _, st := b.plan(b.open()); !strings.Contains(strings.Join(st.Notes, "\n"), "checked only against this tool's own rules, as the YANG models of the image were not read (/usr/local/yang-models cannot be read: tar: ") {
			t.Errorf("%q", st.Notes)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	w := tar.NewWriter(packed)
	_ = w.WriteHeader(&tar.Header{Name: "./a.yang", Mode: 0o600, Size: 3})
	_, _ = w.Write([]byte("abc"))
	if err := errors.Join(w.Close(), packed.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, archive []byte) {
		files, err := unpack(archive)
		total := 0
		for name, text := range files {
			if total += len(text); strings.Contains(name, "/") {
				t.Errorf("name %q", name)
			}
		}
		if total > maxModels || err != nil && files != nil {
			t.Errorf("%d bytes, %v", total, err)
		}
	})
}

// Enterprise SONiC is read but never written.
func TestEnterpriseIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, o := range []boxOptions{{ssh: true}, {alone: true}} {
			o.model, o.release, o.version = known, "202511", "SONiC-OS-4.2.1-Enterprise_Advanced"
			b := newBox(t, o)
			was := string(b.state())
			_, st := b.plan(b.open())
			if len(st.Items) > 0 || len(st.Changes) == 0 || len(st.Blocked()) != len(st.Changes) || !strings.Contains(st.Blocked()[0].Blocked, "Enterprise SONiC") {
				t.Errorf("%+v", st)
			}
			if string(b.state()) != was {
				t.Error("something was written")
			}
		}
	})
}

// Enterprise SONiC's gNMI server has no native paths; the error names the system and how to read
// it.
func TestEnterpriseOverGNMIAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", version: "SONiC-OS-4.2.1-Enterprise_Advanced"})
		_, err := b.open().Probe(t.Context())
		if !errors.Is(err, drivers.ErrUnsupported) || !strings.Contains(err.Error(), "Enterprise SONiC, which is read over ssh (docs/sonic.md") {
			t.Error(err)
		}
	})
}

// The settings made by 'roce enable' of Enterprise SONiC match the intent: lossy traffic has
// priority group 7, and no map is switch-wide.
func TestEnterpriseAsIntended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", alone: true})
		b.apply(b.open())
		lossy := b.Config()["BUFFER_PG"][b.ports[0]+"|0"]
		for _, name := range b.ports {
			b.DelRow("BUFFER_PG", name+"|0")
			b.SetRow("BUFFER_PG", name+"|7", lossy)
		}
		groups := map[string]string{}
		for tc := range 8 {
			groups[strconv.Itoa(tc)] = map[bool]string{true: "3", false: "7"}[tc == 3]
		}
		b.SetRow("TC_TO_PRIORITY_GROUP_MAP", b.Config()["PORT_QOS_MAP"][b.ports[0]]["tc_to_pg_map"], groups)
		b.DelRow("PORT_QOS_MAP", "global")
		for _, on := range []bool{true, false} {
			b.SetRow("SWITCH", "switch", map[string]string{"roce_enable": strconv.FormatBool(on)})
			d := b.open()
			snap, st := b.plan(d)
			if (len(st.Changes) == 0) != on {
				t.Errorf("RoCE mode %v: %+v", on, st.Changes)
			}
			running, unknown := d.Decode(snap)
			if bad, err := d.Applied(t.Context(), b.desired.AsRun(running)); on && (err != nil || len(bad)+len(unknown) > 0) {
				t.Errorf("%v %v %v", bad, unknown, err)
			}
		}
	})
}

func TestSwitchWithSeveralASICs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{model: known, release: "202511", ssh: true, asics: 3})
		if _, err := b.open().Probe(t.Context()); !errors.Is(err, drivers.ErrUnsupported) || !strings.Contains(err.Error(), "3 ASICs") {
			t.Error(err)
		}
	})
}
