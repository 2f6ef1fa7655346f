package yang

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

var mutations = flag.Int("mutations", sharedtest.Sized(18, 600), "random changes per release in TestAgainstYanglint (6 with -short)")

// exceptions are the intended differences between this package and the reference. applies decides
// from the reference's errors.
var exceptions = []struct {
	why     string
	applies func(errs []verdictError) bool
}{
	{"lanes used twice are a rule of the incremental updater, in no model", func(errs []verdictError) bool {
		for _, e := range errs {
			if !strings.HasPrefix(e.Path, "PORT|") || !strings.HasSuffix(e.Path, " lanes") ||
				!strings.Contains(e.Message, "is also used by") && !strings.Contains(e.Message, "non-numeric lane") {
				return false
			}
		}
		return len(errs) > 0
	}},
}

type verdictError struct{ Path, Message string }

type verdict struct {
	File   string
	Valid  bool
	Errors []verdictError
}

// TestAgainstYanglint compares verdicts with yanglint on the worked examples and random changes of
// them, for every release.
func TestAgainstYanglint(t *testing.T) {
	tool := sharedtest.Dir(t, "tools", "sonic-yang-check")
	for _, bin := range []string{"yanglint", "python3"} {
		if _, err := exec.LookPath(bin); err != nil {
			t.Skipf("%s is not installed", bin)
		}
	}
	n := *mutations
	if testing.Short() {
		n = min(n, 6)
	}
	bases := []config{readConfig(t, "testdata/leaf-traditional.json"), readConfig(t, "testdata/leaf-dynamic.json"),
		readConfig(t, "testdata/wide.json")}
	for ri, rel := range releases {
		t.Run(rel, func(t *testing.T) {
			t.Parallel()
			m := loadRelease(t, rel)
			dir := t.TempDir()
			cfgs, did := []config{}, []string{}
			for i, b := range bases[:2] {
				cfgs, did = append(cfgs, b), append(did, fmt.Sprintf("worked example %d", i+1))
			}
			for i := range n {
				seed := uint64(ri*1000000 + i)
				c, what := mutate(m, bases[i%len(bases)], seed)
				cfgs, did = append(cfgs, c), append(did, fmt.Sprintf("seed %d of base %d: %s", seed, i%len(bases), what))
			}
			good, bad, excepted := 0, 0, 0
			for i, ref := range reference(t, tool, sharedtest.YANG(t, rel), dir, cfgs) {
				vs := m.Check(cfgs[i])
				switch ours := len(vs) == 0; {
				case ours == ref.Valid && ours:
					good++
				case ours == ref.Valid:
					bad++
					if e := unplaced(vs, ref); e != nil {
						t.Errorf("%s:\n yanglint finds %v\n ours is elsewhere: %v", did[i], *e, vs)
					}
				case isException(ref):
					excepted++
				default:
					t.Errorf("%s:\n yanglint valid=%v %v\n ours %v", did[i], ref.Valid, ref.Errors, vs)
				}
			}
			t.Logf("%d valid and %d invalid agreed, %d named exceptions", good, bad, excepted)
			if !testing.Short() && n >= 60 && (good < n/10 || bad < n/10) {
				t.Errorf("the changes no longer make both valid and invalid data: %d and %d", good, bad)
			}
		})
	}
}

func isException(v verdict) bool {
	for _, e := range exceptions {
		if e.applies(v.Errors) {
			return true
		}
	}
	return false
}

// unplaced returns an error of the reference in a field for which we report none, nil if there is
// none.
func unplaced(vs []Violation, ref verdict) *verdictError {
	// Once one field of a row is unknown, the reference ignores the others and then reports them as
	// missing.
	if slices.ContainsFunc(ref.Errors, func(e verdictError) bool { return strings.Contains(e.Message, "not in the model") }) {
		return nil
	}
	for i, e := range ref.Errors {
		words := strings.FieldsFunc(e.Path, func(r rune) bool { return r == '|' || r == ' ' })
		// For a when, the reference names a path in the rule instead of the row.
		found := len(words) == 0 || strings.HasSuffix(e.Path, " lanes") || strings.HasPrefix(e.Message, "When condition")
		mapRow := len(words) > 2 && words[2] == words[0]
		for _, v := range vs {
			// A row that is wrong as a whole (its key, its fields) has no field here.
			found = found || v.Table == words[0] && (v.Field == "" || mapRow && strings.TrimSpace(v.Key) == strings.TrimSpace(words[1]) || slices.Contains(words, strings.TrimLeft(strings.TrimSpace(v.Field), "+0")) || slices.Contains(words, v.Field) || strings.Contains(e.Message, v.Field))
		}
		if !found {
			return &ref.Errors[i]
		}
	}
	return nil
}

// reference runs the reference tool on all configurations with a folder of models.
func reference(t *testing.T, tool, models, dir string, cfgs []config) []verdict {
	t.Helper()
	args := []string{tool, "--json", "--strict-tables", "-y", models}
	for i, c := range cfgs {
		b, err := json.Marshal(asJSON(c))
		if err != nil {
			t.Fatal(err)
		}
		f := filepath.Join(dir, fmt.Sprintf("%05d.json", i))
		if err := os.WriteFile(f, b, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, f)
	}
	out, err := exec.CommandContext(t.Context(), "python3", args...).Output()
	var ee *exec.ExitError
	if err != nil && !(errors.As(err, &ee) && ee.ExitCode() == 1) {
		t.Fatalf("%s: %v", tool, err)
	}
	var vs []verdict
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		var v verdict
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v: %s", tool, err, sc.Text())
		}
		vs = append(vs, v)
	}
	if len(vs) != len(cfgs) {
		t.Fatalf("%s judged %d of %d files", tool, len(vs), len(cfgs))
	}
	return vs
}

// asJSON converts the Redis form to the form of config_db.json: a field "x@" becomes an array, a
// row with only NULL becomes empty.
func asJSON(c config) map[string]map[string]map[string]any {
	out := map[string]map[string]map[string]any{}
	for t, rows := range c {
		out[t] = map[string]map[string]any{}
		for k, fields := range rows {
			row := map[string]any{}
			for f, v := range fields {
				if name, ok := strings.CutSuffix(f, "@"); ok {
					row[name] = strings.Split(v, ",")
				} else if !(len(fields) == 1 && f == "NULL" && v == "NULL") {
					row[f] = v
				}
			}
			out[t][k] = row
		}
	}
	return out
}
