package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// notRun counts, for each page, the command blocks that no test runs. Each starts with a comment
// that says why. Keep them few.
var notRun = map[string]int{
	"README.md":                      1,
	"bench/README.md":                1,
	"docs/agent.md":                  2,
	"docs/install.md":                5,
	"docs/kubernetes.md":             2,
	"docs/nic.md":                    1,
	"docs/prove.md":                  1,
	"docs/telemetry.md":              1,
	"examples/ansible/README.md":     1,
	"testlab/containerlab/README.md": 2,
}

// ranElsewhere lists commands of the README that a step of .ci/run executes.
var ranElsewhere = []string{"go run ./cmd/roce-fabric lab demo", "go test ./..."}

const notRunMark = "# not run in tests: "

// block is a fenced block of a page.
type block struct {
	line       int
	info, text string
	// setup is a script for the test only, from a comment before the block.
	setup string
	// status is the expected exit status of the last command.
	status string
}

var (
	blockPattern  = regexp.MustCompile("(?ms)^([ \t]*)```([^\n]*)\n(.*?)^[ \t]*```[ \t]*$|^<!-- (test|status):?[ \n](.*?)-->$")
	commandInText = regexp.MustCompile(`(?m)^\s*(\$ |sudo )*(roce-fabric|go run \./cmd/roce-fabric) `)
)

// blocksOf finds the fenced blocks of a page.
func blocksOf(text string) []block {
	var out []block
	next := block{status: "0"}
	for _, m := range blockPattern.FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		switch group(4) {
		case "test":
			next.setup += group(5)
			continue
		case "status":
			next.status = strings.TrimSpace(group(5))
			continue
		}
		next.line = 1 + strings.Count(text[:m[0]], "\n")
		next.info = group(2)
		for l := range strings.Lines(group(3)) {
			next.text += strings.TrimPrefix(l, group(1))
		}
		out = append(out, next)
		next = block{status: "0"}
	}
	return out
}

// prelude makes the shell behave as for a person who follows a page: a lab and a watch run in
// other terminals, and questions are answered with yes.
const prelude = `
set -euo pipefail
others=()
trap '[[ ${#others[@]} == 0 ]] || { kill "${others[@]}"; wait; } 2>/dev/null' EXIT
roce-fabric() {
	case "$*" in
	*--help*) command roce-fabric "$@" ;;
	"lab demo"*) # seconds of a processor each: all at night; .ci/run runs that of the README
		[[ $NIGHTLY == false ]] || command roce-fabric "$@" ;;
	"lab up"*)
		local line ready=
		rm -f .ready; mkfifo .ready
		command roce-fabric "$@" >.ready & others+=($!)
		while IFS= read -r line; do
			echo "$line"
			if [[ $line == export* ]]; then ready=1; break; fi
		done <.ready
		[[ $ready ]] ;;
	"watch"*) command roce-fabric "${@//127.0.0.1:9600/127.0.0.1:0}" --rounds 1 ;;
	"apply"*|"rollback"*|"nic apply"*|"nic rollback"*|"nic reset"*|"nic unit"*)
		if [[ "$*" == *--list* || "$*" == *--plan && "$*" != *apply* ]]; then command roce-fabric "$@"; else command roce-fabric "$@" --yes; fi ;;
	*) command roce-fabric "$@" ;;
	esac
}
# lab starts one for a page that does not say where its devices come from.
lab() { roce-fabric lab up "$@" --dir lab >/dev/null; export ROCE_FABRIC_LAB=$PWD/lab/lab.json; }
`

// firstPages are the pages that a new user follows.
var firstPages = []string{"README.md", "docs/first-apply.md", "docs/quickstart.md"}

// startsLab matches the commands of a page that start a lab.
var startsLab = regexp.MustCompile(`(?m)^\s*(roce-fabric )?lab (up )?\S+\.yaml`)

// The command blocks of each page run from top to bottom in one shell, and end with the status
// that the page says. A following "text" block is the expected output. Of the pages that start a
// lab, the first pages and some others run; all of them run in make nightly.
func TestCommandBlocks(t *testing.T) {
	t.Parallel()
	skipped := map[string]int{}
	all := pages(t)
	var withLab []string
	for _, page := range slices.Sorted(maps.Keys(all)) {
		if startsLab.MatchString(all[page]) && !slices.Contains(firstPages, page) {
			withLab = append(withLab, page)
		}
	}
	sample := sharedtest.Sample(withLab, 5)
	t.Logf("%d pages start a lab, of which these run: %q", len(withLab), sample)
	for page, text := range all {
		blocks := blocksOf(text)
		run := slices.ContainsFunc(blocks, func(b block) bool { return b.info == "sh" }) && (!slices.Contains(withLab, page) || slices.Contains(sample, page))
		for _, b := range blocks {
			place := fmt.Sprintf("%s:%d", page, b.line)
			switch {
			case b.info != "sh" && b.info != "help": // the help has its own test
				if b.info != "yaml" && commandInText.MatchString(b.text) {
					t.Errorf("%s: a block of commands begins with ```sh", place)
				}
			case strings.HasPrefix(b.text, notRunMark):
				skipped[page]++
				if reason, _, _ := strings.Cut(strings.TrimPrefix(b.text, notRunMark), "\n"); len(reason) < 10 {
					t.Errorf("%s: no reason why it is not run", place)
				}
			}
		}
		if run {
			t.Run(page, func(t *testing.T) {
				t.Parallel()
				runBlocks(t, page, blocks)
			})
		}
	}
	for page := range all {
		if skipped[page] != notRun[page] {
			t.Errorf("%s: %d blocks are not run, and %d are expected", page, skipped[page], notRun[page])
		}
	}
}

// gated lists the pages whose runs use the gate, as a reader's runs do. The other pages skip it,
// because a gate spends time reading counters.
var gated = map[string]bool{"docs/quickstart.md": true}

// runBlocks runs the blocks of a page.
func runBlocks(t *testing.T, page string, blocks []block) {
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := prelude
	if !gated[page] {
		script += "export ROCE_FABRIC_GATE=off\n"
	}
	n := 0
	for i, b := range blocks {
		script += b.setup + "\n"
		if b.info != "sh" || strings.HasPrefix(b.text, notRunMark) || slices.Contains(ranElsewhere, strings.TrimSpace(b.text)) {
			continue
		}
		n++
		script += fmt.Sprintf("echo '@@@ %d'\n", i)
		if b.status == "0" {
			script += b.text
		} else {
			script += fmt.Sprintf("set +e; ( set -e\n%s\n); status=$?; set -e; [[ $status == %s ]] || { echo exit status $status, not %[2]s; exit 1; }\n", b.text, b.status)
		}
		script += fmt.Sprintf("\necho '@@@ end of %d'\n", i)
	}
	if n == 0 {
		return
	}
	// Readers of these pages are at the top of the repository.
	if !strings.HasPrefix(page, "docs/") {
		if err := os.Symlink(filepath.Join(repository, "examples"), filepath.Join(dir, "examples")); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "ROCE_FABRIC_") || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "CI=")
	}), "HOME="+dir, "REPOSITORY="+repository, fmt.Sprint("NIGHTLY=", sharedtest.Nightly()))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	printed, ran := "", false
	for i, b := range blocks {
		switch {
		case b.info == "text":
			if !ran {
				t.Errorf("%s:%d: a block text is what the commands before it print: take the word away where there are none", page, b.line)
			} else if line := missing(printed, b.text); line != "" {
				t.Errorf("%s:%d: the block before does not print %q but\n%s", page, b.line, line, printed)
			}
		case b.info == "sh":
			_, after, begun := strings.Cut(out.String(), fmt.Sprintf("@@@ %d\n", i))
			var ended bool
			ran = begun
			if printed, _, ended = strings.Cut(after, fmt.Sprintf("@@@ end of %d\n", i)); begun && !ended {
				t.Fatalf("%s:%d: %v\n%s%s", page, b.line, err, b.text, printed)
			}
		}
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", page, err, out.String())
	}
}

// missing returns the first line of text that does not appear in the output after the lines
// before it. An ellipsis matches any text; on a line of its own it matches any lines.
func missing(output, text string) string {
	have := strings.Split(output, "\n")
	for want := range strings.Lines(text) {
		want = strings.TrimRight(want, " \n")
		parts := strings.Split(want, "...")
		for i, p := range parts {
			parts[i] = regexp.QuoteMeta(p)
		}
		pattern := regexp.MustCompile("^" + strings.Join(parts, ".*") + `\s*$`)
		i := slices.IndexFunc(have, pattern.MatchString)
		switch {
		case want == "" || strings.Trim(want, " .") == "":
		case i < 0:
			return want
		default:
			have = have[i+1:]
		}
	}
	return ""
}

// A page with wrong output is detected.
func TestBlocksThatAreWrong(t *testing.T) {
	page := "text\n<!-- test\nx=1\n-->\n\n```sh\necho a\n```\n\n```text\na ... c\n...\nb\n```\n<!-- status: 3 -->\n```sh\nfalse\n```\n"
	got := blocksOf(page)
	want := []block{{6, "sh", "echo a\n", "x=1\n", "0"}, {10, "text", "a ... c\n...\nb\n", "", "0"}, {16, "sh", "false\n", "", "3"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for output, line := range map[string]string{
		"a b c\nx\nb\n": "", "0\na  c\nb\n": "", "b\na b c\n": "b", "a b cd\nb\n": "a ... c", "": "a ... c",
	} {
		if m := missing(output, got[1].text); m != line {
			t.Errorf("%q: %q, want %q", output, m, line)
		}
	}
}
