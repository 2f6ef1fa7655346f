package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// checks.md must contain the registry of checks.
func TestChecks(t *testing.T) {
	generated(t, "checks.md", "checks", listOfChecks())
}

// families groups the checks by the prefix of their IDs, in the order of the page.
var families = []struct{ prefix, title string }{
	{"CLS", "Classification"}, {"PFC", "PFC"}, {"BUF", "Buffers and headroom"}, {"ECN", "ECN"}, {"SCH", "Scheduling"},
	{"MTU", "MTU"}, {"WD", "PFC watchdog"}, {"NIC", "NICs"}, {"DCB", "DCBX"}, {"TOP", "Topology and deadlock"},
	{"ISL", "Islands"}, {"TUN", "Tunnels"}, {"TRM", "Packet trimming"}, {"LB", "Load balancing"}, {"PRT", "Ports"}, {"OPS", "Operations"}, {"gate:", "Counters"}, {"KNOWN", "Published faults"}, {"", "The rest"},
}

func listOfChecks() string {
	var b strings.Builder
	done := map[string]bool{}
	for _, f := range families {
		var list []*checks.Check
		for _, c := range validate.Checks() {
			if !done[c.ID] && (f.prefix == "" || strings.HasPrefix(c.ID, f.prefix)) {
				done[c.ID] = true
				list = append(list, c)
			}
		}
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| check | severity | reads | finding | why it matters | fix |\n|---|---|---|---|---|---|\n", f.title)
		for _, c := range list {
			title := c.Title
			if !c.Made() {
				title += " (not checked: " + c.Absent + ")"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", c.ID, c.Rule(), c.Reads, cell(title), cell(c.Why), cell(c.Fix))
		}
	}
	b.WriteString("\n")
	folded(&b)
	return b.String()
}

// folded lists the checks of the catalogue without a finding of their own, either always or when
// another check reports the same cause.
func folded(b *strings.Builder) {
	made, all := 0, validate.Checks()
	var rows []string
	for _, c := range all {
		how := "not made: " + c.Absent
		switch {
		case c.Made():
			made++
			how = "made, and folded where another finding has the same cause"
		case len(c.FoldedIn) > 0:
			how = "folded: " + c.Absent
		}
		if !c.Made() || len(c.FoldedIn) > 0 {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", c.ID, cell(how), strings.Join(c.FoldedIn, ", ")))
		}
	}
	fmt.Fprintf(b, "## Folded and not made\n\nOf %d checks %d are made. A finding that covers another check names it: \"also PFC-04\".\n\n| check | state | see |\n|---|---|---|\n%s\n", len(all), made, strings.Join(rows, ""))
}

// cell escapes a text for use in a table cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

var checkName = regexp.MustCompile(`\b(?:gate:[a-z]+(?:-[a-z]+)*|(?:CLS|PFC|BUF|ECN|SCH|MTU|WD|NIC|DCB|TOP|ISL|TUN|TRM|LB|PRT|OPS|KNOWN)-\d\d)\b`)

// Every check named on a page must be in the catalogue.
func TestNamesOfChecks(t *testing.T) {
	known := map[string]bool{}
	for _, c := range validate.Checks() {
		known[c.ID] = true
	}
	n := 0
	for page, text := range pages(t) {
		if page == "CHANGELOG.md" {
			continue // it names checks of earlier versions
		}
		for _, name := range checkName.FindAllString(text, -1) {
			n++
			if !known[name] {
				t.Errorf("%s names the unknown check %s", page, name)
			}
		}
	}
	if n < 300 {
		t.Errorf("%d names of checks, and there are more", n)
	}
}
