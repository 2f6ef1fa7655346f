package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

var prove = flag.Bool("prove", sharedtest.Nightly(), "undo each mend of reliability.json, and run the test that has to find it (minutes, and longer the first time); with -update on a clean checkout, record the commit")

// mend is a fault that was found and fixed.
type mend struct {
	Fault string `json:"fault"`
	Kind  string `json:"kind"`
	By    string `json:"by"`             // the way it was found, an entry of finders
	Test  string `json:"test"`           // the test that detects it, such as "fleet.TestResume" or "drivers/sonic.TestSave/direct"
	Args  string `json:"args,omitempty"` // further arguments of the test, such as -sweep.seed=7
	// Story is a story of TestFaultSweep that detects it as well, as -sweep.story takes it.
	Story string `json:"story,omitempty"`
	// Undo reintroduces the fault.
	Undo []edit `json:"undo,omitempty"`
	// Proven is the last commit at which the test failed with the fault reintroduced.
	Proven string `json:"proven,omitempty"`
}

// edit replaces the only occurrence of a text in a file.
type edit struct {
	File string `json:"file"`
	From string `json:"from"`
	To   string `json:"to"`
}

// mendKinds and finders list the values allowed in reliability.json, mendKinds with their
// meaning.
var (
	mendKinds = [][2]string{
		{"untrue", "a report, plan or verdict said what was not so"},
		{"left behind", "something of a run stayed on a device, or a device stayed between two states"},
		{"foreign", "something that is not the fabric's own was changed, hidden or lost"},
		{"wrong device", "a write or a record was about another device or fabric than meant"},
		{"traffic", "a change disturbed traffic, or had risks, beyond what was said"},
		{"not saved", "what runs was not what a restart brings back"},
		{"order", "a device or its daemons could not take the writes in the order in which they came"},
		{"hang", "a command waited without a bound"},
		{"crash", "the tool ended without a report"},
		{"at once", "two runs, or two parts of one, got in each other's way"},
		{"not seen", "a check passed over a fault of a fabric, or reported one that was none"},
		{"refused", "right input was refused, or wrong input accepted"},
		{"secret", "a secret was shown or written"},
	}
	finders = []string{"reading", "simulator", "sweep", "real software", "kernel", "user"}
)

// mends reads reliability.json.
func mends(t *testing.T) []*mend {
	t.Helper()
	b, err := os.ReadFile("reliability.json")
	var all []*mend
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		err = d.Decode(&all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// theSweep is the test that tells stories.
const theSweep = "cmd/roce-fabric.TestFaultSweep"

// told returns the fault with the sweep's story as the test that detects it.
func (m *mend) told() *mend {
	by := *m
	by.Test, by.Args = theSweep, ""
	return &by
}

// args returns the arguments of the test.
func (m *mend) args() []string {
	args := strings.Fields(m.Args)
	if m.Test == theSweep {
		args = append(args, "-sweep.story="+m.Story)
	}
	return args
}

// place returns the package and the test function.
func (m *mend) place() (dir, name string) {
	dir, name, _ = strings.Cut(m.Test, ".")
	return dir, name
}

// undone returns the files with the fault reintroduced, by absolute path.
func (m *mend) undone() (map[string]string, error) {
	files := map[string]string{}
	for _, e := range m.Undo {
		path, err := filepath.Abs(filepath.Join("..", e.File))
		text, ok := files[path]
		if !ok && err == nil {
			var b []byte
			b, err = os.ReadFile(path)
			text = string(b)
		}
		if err != nil {
			return nil, err
		}
		if n := strings.Count(text, e.From); n != 1 || e.From == e.To {
			return nil, fmt.Errorf("%s holds %q %d times, and it becomes %q", e.File, e.From, n, e.To)
		}
		files[path] = strings.Replace(text, e.From, e.To, 1)
	}
	return files, nil
}

// reliability.md must match reliability.json. The tests named there must exist, and every fault
// must apply to the current source.
func TestReliability(t *testing.T) {
	all := mends(t)
	faults := map[string]bool{}
	for _, m := range all {
		dir, name := m.place()
		function, _, _ := strings.Cut(name, "/")
		if !regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(function) + `\(`).MatchString(goText(t, dir)) {
			t.Errorf("%s: there is no test %s", m.Fault, m.Test)
		}
		if !slices.ContainsFunc(mendKinds, func(k [2]string) bool { return k[0] == m.Kind }) || !slices.Contains(finders, m.By) {
			t.Errorf("%s: found by %q, of the kind %q", m.Fault, m.By, m.Kind)
		}
		if _, err := m.undone(); err != nil {
			t.Errorf("%s: %v", m.Fault, err)
		}
		if faults[m.Fault] || m.Proven != "" && len(m.Undo) == 0 {
			t.Errorf("%s: it is there twice, or proven without a mend to undo", m.Fault)
		}
		faults[m.Fault] = true
	}
	generated(t, "reliability.md", "kinds", kindTable(all))
	generated(t, "reliability.md", "faults", faultTable(all))
}

func kindTable(all []*mend) string {
	var b strings.Builder
	b.WriteString("\n| kind | means | faults | proven | found by a story as well |\n|---|---|---|---|---|\n")
	for _, k := range mendKinds {
		n, proven, stories := 0, 0, 0
		for _, m := range all {
			if m.Kind == k[0] {
				n++
				if m.Proven != "" {
					proven++
				}
				if m.Story != "" {
					stories++
				}
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d |\n", k[0], k[1], n, proven, stories)
	}
	return b.String() + "\n"
}

func faultTable(all []*mend) string {
	var b strings.Builder
	b.WriteString("\n| fault | kind | found by | found again by | proven at |\n|---|---|---|---|---|\n")
	for _, m := range slices.SortedStableFunc(slices.Values(all), func(a, b *mend) int {
		return cmp.Compare(kindIndex(a.Kind), kindIndex(b.Kind))
	}) {
		test := "`" + strings.TrimSpace(m.Test+" "+m.Args) + "`"
		if m.Story != "" {
			test += " and a story of the sweep"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", strings.ReplaceAll(m.Fault, "|", `\|`), m.Kind, m.By, test, cmp.Or(m.Proven, "-"))
	}
	return b.String() + "\n"
}

func kindIndex(kind string) int {
	return slices.IndexFunc(mendKinds, func(k [2]string) bool { return k[0] == kind })
}

// Each reintroduced fault must be detected by its test.
func TestUndoneMendsAreFound(t *testing.T) {
	if !*prove {
		t.Skip("minutes: at night, or with -prove")
	}
	commit := ""
	if *update {
		out, err := exec.Command("git", "status", "--porcelain").Output()
		head, err2 := exec.Command("git", "rev-parse", "--short=8", "HEAD").Output()
		if err := errors.Join(err, err2); err != nil || len(out) > 0 {
			t.Fatalf("a proof is of a commit, and the checkout has changes: %v\n%s", err, out)
		}
		commit = strings.TrimSpace(string(head))
	}
	all := mends(t)
	bench := newBench(t, all)
	var mu sync.Mutex
	t.Run("mends", func(t *testing.T) {
		for i, m := range all {
			if len(m.Undo) == 0 {
				continue
			}
			t.Run(m.Test, func(t *testing.T) {
				t.Parallel()
				found, out := bench.found(t, i, m)
				if !found {
					t.Errorf("undone, and not found: %s\n%s", m.Fault, out)
				}
				if m.Story != "" {
					if seen, out := bench.found(t, i, m.told()); !seen {
						found = false
						t.Errorf("undone, and not found by the sweep: %s\n%s", m.Fault, out)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if m.Proven = ""; found {
					m.Proven = commit
				}
			})
		}
	})
	if commit == "" {
		return
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := errors.Join(e.Encode(all), os.WriteFile("reliability.json", b.Bytes(), 0o644)); err != nil {
		t.Error(err)
	}
}

// found is like [bench.found], with a separate build.
func (m *mend) found(t *testing.T) (bool, string) {
	files, err := m.undone()
	if err != nil {
		return false, err.Error()
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range files {
		to := filepath.Join(dir, fmt.Sprint(len(overlay.Replace), filepath.Ext(path)))
		overlay.Replace[path] = to
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return false, err.Error()
		}
	}
	b, err := json.Marshal(overlay)
	file := filepath.Join(dir, "overlay.json")
	if err := errors.Join(err, os.WriteFile(file, b, 0o600)); err != nil {
		return false, err.Error()
	}
	pkg, name := m.place()
	args := []string{"test", "-vet=off", "-count=1", "-failfast", "-timeout=5m", "-overlay", file, "-run", pattern(name), "./" + pkg}
	cmd := exec.Command("go", append(args, m.args()...)...)
	cmd.Dir = ".."
	cmd.Env = testEnvironment()
	out, err := cmd.CombinedOutput()
	return err != nil && testFailed(out), string(out)
}
