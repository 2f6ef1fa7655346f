package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every command has a manual page with the content of its help, which passes a strict checker.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if status, _, errOut := runHere(t, "man", "--out", dir); status != exitOK {
		t.Fatalf("status %d: %s", status, errOut)
	}
	var files []string
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.HasParent() && !c.IsAvailableCommand() {
			return
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		file := filepath.Join(dir, name+".1")
		files = append(files, file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := strings.ReplaceAll(string(text), `\-`, "-")
		for _, want := range []string{".SH NAME\n" + name + " - " + c.Short, ".SH SYNOPSIS\n\\fB" + c.CommandPath(), ".SH DESCRIPTION\n", ".SH OPTIONS\n", ".SH EXAMPLES\n", ".SH EXIT STATUS\n.TP\n\\fB0\\fR\n", "\\fB130\\fR\ninterrupted\n", ".SH SEE ALSO\n"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, `\fB--`+f.Name+`\fR`) {
				t.Errorf("%s does not name --%s", name, f.Name)
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newPlainApp().root())
	if got, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(got) != len(files) {
		t.Errorf("%d files of %d commands (%v)", len(got), len(files), err)
	}
	lint, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("no mandoc: the pages are not linted")
	}
	out, _ := exec.Command(lint, append([]string{"-T", "lint", "-W", "warning"}, files...)...).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		// The date is set by a release.
		if !strings.Contains(line, "missing date") {
			t.Error(line)
		}
	}
}

func TestManOfOneCommand(t *testing.T) {
	status, out, errOut := runHere(t, "man", "plan", "show")
	if status != exitOK || !strings.HasPrefix(out, `.TH ROCE\-FABRIC\-PLAN\-SHOW 1 "" `) {
		t.Errorf("status %d: %.80q %s", status, out, errOut)
	}
	if status, _, errOut := runHere(t, "man", "plann"); status != exitUsage || !strings.Contains(errOut, "did you mean roce-fabric plan?") {
		t.Errorf("status %d: %s", status, errOut)
	}
	if status, _, errOut := runHere(t, "man", "plan", "--out", t.TempDir()); status != exitUsage {
		t.Errorf("status %d: %s", status, errOut)
	}
}

// The pages do not depend on the machine or on environment variables that set the default of
// flags.
func TestManIsOfNoMachine(t *testing.T) {
	a := newPlainApp()
	var out lockedBuffer
	a.Out = &out
	a.Getenv = func(name string) string {
		switch name {
		case "ROCE_FABRIC_FILE":
			return "/home/me/pod1.yaml"
		case "SOURCE_DATE_EPOCH":
			return "1790000000"
		}
		return ""
	}
	if status := a.run(t.Context(), []string{"man", "plan"}); status != exitOK {
		t.Fatalf("status %d", status)
	}
	page := strings.Join(strings.Fields(out.String()), " ")
	if strings.Contains(page, "pod1") || !strings.Contains(page, "(default fabric.yaml)") {
		t.Error("the page has a default of the environment")
	}
	if !strings.Contains(page, "(default 16 for each processor, at most 64)") {
		t.Error("the page does not say how many devices are worked on")
	}
	if !strings.HasPrefix(page, `.TH ROCE\-FABRIC\-PLAN 1 "2026-09-21" `) {
		t.Errorf("the date: %.60s", page)
	}
}

// The manual lists exactly the variables that flags name as their default.
func TestManNamesEveryVariable(t *testing.T) {
	inHelp := map[string]bool{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, name := range regexp.MustCompile(`\bROCE_FABRIC_[A-Z_]+`).FindAllString(f.Usage, -1) {
				inHelp[name+" --"+f.Name] = true
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newPlainApp().root())
	for line := range strings.Lines(helpText("environment")) {
		line = strings.TrimSuffix(line, "\n")
		if _, _, of := strings.Cut(line, " --"); !of || strings.HasPrefix(line, " ") {
			continue
		}
		if !inHelp[line] {
			t.Errorf("help/environment.txt has %q, and no flag says so", line)
		}
		delete(inHelp, line)
	}
	for name := range inHelp {
		t.Errorf("help/environment.txt lacks %q", name)
	}
}
