package fleet_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/examples"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

// tampered modifies v in one place at a time, at most levels deep, and calls do for each
// modification: a changed value, a removed element, two swapped elements, a repeated list. The
// argument of do is path followed by the place.
func tampered(v any, levels int, path string, do func(path string)) {
	if levels == 0 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for k, was := range v {
			set := func(now any, what string) {
				v[k] = now
				do(path + "." + k + what)
				v[k] = was
			}
			switch of := was.(type) {
			case string:
				set("x"+of, "")
			case json.Number:
				set(json.Number("1"+strings.TrimLeft(string(of), "-0.")), "")
			case bool:
				set(!of, "")
			case []any:
				if len(of) > 0 {
					set(of[1:], "[gone]")
				}
				if len(of) > 1 {
					set(append([]any{of[1], of[0]}, of[2:]...), "[swapped]")
				}
				set(append([]any{}, append(of, of...)...), "[twice]")
				for _, one := range of[:min(len(of), 2)] { // the other elements are alike
					tampered(one, levels-1, path+"."+k, do)
				}
			case map[string]any:
				set(map[string]any{}, "{gone}")
				tampered(of, levels-1, path+"."+k, do)
			}
		}
	}
}

// harmless matches the parts of a plan that do not affect a run.
var harmless = regexp.MustCompile(`^(header\.(tool|created)|device\.notes|rollout\.(worse_seconds|together|links|of_links|states|inconclusive|seen|waves\.(seconds|proof|worse\.seconds)))`)

// A saved plan that was edited in any place and signed again with a trusted key is refused
// before the first write. Edits of harmless parts may pass; the waves are then still
// those of the intent.
func TestTamperedPlansAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("many combinations of one kind, in one goroutine each")
	}
	synctest.Test(t, func(t *testing.T) {
		text, err := examples.Intent("quickstart")
		if err != nil {
			t.Fatal(err)
		}
		f := load(t, string(text)+"\nrollout: {canary: [leaf2], maxUnavailable: 1, windows: [{from: \"00:00\", to: \"24:00\"}]}\n")
		_, at := startLab(t, f.Fabric(), lab.Options{})
		devices, _ := f.Devices(at)
		devices = slices.DeleteFunc(devices, func(d fleet.Device) bool { return !slices.Contains([]string{"leaf1", "leaf2", "spine1"}, d.Name) })
		plan := prepare(t, f, devices, fleet.GateFull)
		ring, err := keys.Open(t.TempDir())
		must(err)
		path := filepath.Join(t.TempDir(), "p.plan")
		must(plan.Save(path, ring))
		whole, err := os.ReadFile(path)
		must(err)
		lines := bytes.SplitAfter(whole, []byte("\n"))
		lines = lines[:len(lines)-1]

		// apply applies a plan file with the given lines, signed again. It stops before the
		// first write and returns the devices of the first wave.
		apply := func(lines [][]byte) (wave string, err error) {
			body := bytes.Join(lines[:len(lines)-1], nil)
			sum := sha256.Sum256(body)
			hash := hex.EncodeToString(sum[:])
			last, err := json.Marshal(map[string]any{"end": true, "devices": len(lines) - 3, "sha256": hash, "sig": ring.Sign("plan", []byte(hash))})
			must(err)
			last = []byte(strings.Replace(string(last), `{"devices":`+fmt.Sprint(len(lines)-3)+`,"end":true,`, `{"end":true,"devices":`+fmt.Sprint(len(lines)-3)+`,`, 1) + "\n")
			must(os.WriteFile(path, slices.Concat(body, last), 0o600))
			p, err := fleet.OpenPlan(path)
			if err != nil {
				return "", err
			}
			defer p.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := fleet.ApplyOptions{RunOptions: fleet.RunOptions{Fabric: f.Fabric(), Store: store.Dir(t.TempDir()), Workers: 4, Keys: ring, Gate: &fleet.Gate{Mode: fleet.GateFull, Fabric: f, Access: at}}, Allow: qos.ImpactLoss}
			o.Progress = func(e fleet.Event) {
				if e.Kind == fleet.WaveBegins && wave == "" {
					cancel()
					wave = e.Text
				}
			}
			_, err = fleet.Apply(ctx, devices, p, o)
			return wave, err
		}
		if wave, err := apply(lines); wave != "leaf2" {
			t.Fatalf("the plan itself: wave 1 is %q, %v", wave, err)
		}
		tried, refused := map[string]bool{}, 0
		for i, line := range lines[:len(lines)-1] {
			if 1 < i && i < len(lines)-2 && !sharedtest.Nightly() {
				continue // the lines of the devices are alike; make nightly edits all of them
			}
			name, levels := "device", sharedtest.Sized(2, 9)
			switch i {
			case 0:
				name = "header"
			case len(lines) - 2:
				name, levels = "rollout", 9
			}
			var doc map[string]any
			dec := json.NewDecoder(bytes.NewReader(line))
			dec.UseNumber()
			must(dec.Decode(&doc))
			tampered(doc, levels, name, func(at string) {
				if tried[at] {
					return
				}
				tried[at] = true
				edited := slices.Clone(lines)
				b := ordered(t, line, doc)
				edited[i] = append(b, '\n')
				wave, err := apply(edited)
				switch e := (*fleet.Error)(nil); {
				case harmless.MatchString(at):
					if wave != "leaf2" && !strings.Contains(fmt.Sprint(err), "plan file") {
						t.Errorf("%s: wave 1 is %q, %v", at, wave, err)
					}
				case wave != "":
					t.Errorf("%s: the run began with %q", at, wave)
				case err == nil, errors.As(err, &e) && e.Op != fleet.OpJudge:
					t.Errorf("%s: %v", at, err)
				default:
					refused++
				}
			})
		}
		if t.Logf("%d edits, %d refused", len(tried), refused); refused < 30 {
			t.Errorf("only %d edits", refused)
		}
	})
}

// ordered encodes a document with the same first key as line, because OpenPlan recognises a
// line by its first key.
func ordered(t *testing.T, line []byte, doc map[string]any) []byte {
	t.Helper()
	first := string(line[2 : 2+bytes.IndexByte(line[2:], '"')])
	rest := map[string]any{}
	for k, v := range doc {
		if k != first {
			rest[k] = v
		}
	}
	head, err := json.Marshal(map[string]any{first: doc[first]})
	must(err)
	tail, err := json.Marshal(rest)
	must(err)
	return append(append(head[:len(head)-1], ','), tail[1:]...)
}
