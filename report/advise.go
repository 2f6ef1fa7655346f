package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/libraries"
)

// JobAdvice is what libraries must be told so that they use the classes of an intent.
type JobAdvice struct {
	Fabric    string    `json:"fabric"`
	Libraries []Advised `json:"libraries"`
}

// Advised is the advice for one library on the NICs of one mark.
type Advised struct {
	libraries.Library
	Mark nic.Mark `json:"mark"`
	NICs []string `json:"nics"`
}

// Advice writes the advice for people.
func (t *Text) Advice(a JobAdvice) {
	for i, l := range a.Libraries {
		if i > 0 {
			t.printf("\n")
		}
		m := l.Mark
		t.printf("%s\n", t.S.Bold(l.Title))
		t.indented("  ", "", fmt.Sprintf("class %s: DSCP %d, traffic class %d, priority %d (%s), for %s", m.Class, m.DSCP, m.ToS, m.Priority, m.From, nicsOf(l.NICs)), 2)
		for _, s := range l.Settings {
			line := assignment(s)
			t.indented("  ", t.S.Bold(line), line+": "+s.Does+sinceOf(s), 4)
			t.dim(s.Source)
		}
		for _, n := range l.Notes {
			t.indented("  ", "", "note: "+n.Text, 4)
			t.dim(n.Source)
		}
	}
}

// nicsOf names NICs, or counts them if they are many.
func nicsOf(nics []string) string {
	if s := natural.Fold(natural.Sorted(nics)); len(s) <= textWidth/2 {
		return term.CleanLine(s)
	}
	return words.Count(len(nics), "NIC")
}

// assignment returns a setting as it is written: "A=1", or "--a 1" for an option of a command line.
func assignment(s libraries.Setting) string {
	if s.As == libraries.Option && strings.Contains(s.Name, "--") {
		return s.Name + " " + s.Value
	}
	return s.Name + "=" + s.Value
}

func sinceOf(s libraries.Setting) string {
	if s.Since == "" {
		return ""
	}
	return " (since " + s.Since + ")"
}

// Forms of advice that programs read.
const (
	AdviceEnv        = "env"        // lines of an environment file
	AdviceSlurm      = "slurm"      // lines of a batch script
	AdviceKubernetes = "kubernetes" // variables of a container
)

// variable matches a name that every shell and every container takes.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// WriteAdvice writes the variables of the advice in one of the forms. What is no variable is a
// comment. A variable of two libraries appears once.
func WriteAdvice(w io.Writer, a JobAdvice, form string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# RDMA of %s, by roce-fabric advise\n", term.CleanLine(a.Fabric))
	if form == AdviceKubernetes {
		b.WriteString("env:\n")
	}
	said := map[string]bool{}
	for _, l := range a.Libraries {
		fmt.Fprintf(&b, "# %s: class %s, DSCP %d\n", l.Title, l.Mark.Class, l.Mark.DSCP)
		for _, s := range l.Settings {
			if said[s.Name] && s.As == libraries.Env {
				continue
			}
			said[s.Name] = true
			b.WriteString(adviceLine(s, form))
		}
		if len(l.Settings) == 0 {
			for _, n := range l.Notes {
				fmt.Fprintf(&b, "#   %s\n", n.Text)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// adviceLine returns a setting in a form.
func adviceLine(s libraries.Setting, form string) string {
	switch {
	case s.As != libraries.Env || !variable.MatchString(s.Name):
		return fmt.Sprintf("#   %s: %s\n", assignment(s), s.Does)
	case form == AdviceSlurm:
		return fmt.Sprintf("export %s=%s\n", s.Name, words.Shell(s.Value))
	case form == AdviceKubernetes:
		return fmt.Sprintf("  - {name: %s, value: %q}\n", s.Name, s.Value)
	}
	return fmt.Sprintf("%s=%s\n", s.Name, cmp.Or(s.Value, `""`))
}
