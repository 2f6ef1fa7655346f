package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// Paths of the CI examples, relative to the repository.
const (
	gitHubFile = "examples/ci/github/fabric.yml"
	gitLabFile = "examples/ci/gitlab/.gitlab-ci.yml"
)

// repositoryRoot is absolute, because scripts run in their own folders.
var repositoryRoot = func() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return dir
}()

// readCI parses a CI example and also returns its text.
func readCI(path string) (*yaml.Node, string, error) {
	b, err := os.ReadFile(filepath.Join(repositoryRoot, filepath.FromSlash(path)))
	if err != nil {
		return nil, "", err
	}
	n, faults := yaml.Parse(path, b)
	if len(faults) > 0 {
		return nil, "", faults[0]
	}
	return n, string(b), nil
}

func mustReadCI(t *testing.T, path string) (*yaml.Node, string) {
	t.Helper()
	n, text, err := readCI(path)
	if err != nil {
		t.Fatal(err)
	}
	return n, text
}

// nodeAt follows the keys of nested maps; nil if one is missing.
func nodeAt(n *yaml.Node, keys ...string) *yaml.Node {
	for _, k := range keys {
		if n == nil {
			return nil
		}
		n = n.Get(k)
	}
	return n
}

func nodeText(n *yaml.Node, keys ...string) string {
	if n = nodeAt(n, keys...); n == nil {
		return ""
	}
	return n.Value
}

func nodeKeys(n *yaml.Node) []string {
	var out []string
	if n != nil {
		for _, p := range n.Pairs {
			out = append(out, p.Key.Value)
		}
	}
	return out
}

// nodePairs returns the entries of a map; none for nil.
func nodePairs(n *yaml.Node) []yaml.Pair {
	if n == nil {
		return nil
	}
	return n.Pairs
}

func nodeItems(n *yaml.Node) []*yaml.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// scriptsOf returns the shell scripts of a CI example by their place.
func scriptsOf(t *testing.T, path string) map[string]string {
	t.Helper()
	n, _ := mustReadCI(t, path)
	out := map[string]string{}
	if path == gitHubFile {
		for _, job := range nodePairs(nodeAt(n, "jobs")) {
			for i, step := range nodeItems(nodeAt(job.Value, "steps")) {
				if run := nodeAt(step, "run"); run != nil {
					out[fmt.Sprintf("%s:%d: job %s, step %d", path, run.Line, job.Key.Value, i+1)] = run.Value
				}
			}
		}
		return out
	}
	for _, job := range nodePairs(n) {
		for _, part := range []string{"before_script", "script", "after_script"} {
			for i, line := range nodeItems(nodeAt(job.Value, part)) {
				out[fmt.Sprintf("%s:%d: job %s, %s %d", path, line.Line, job.Key.Value, part, i+1)] = line.Value
			}
		}
	}
	return out
}

var (
	pinned  = regexp.MustCompile(`^(actions|github)/[a-z-]+(/[a-z-]+)*@[0-9a-f]{40}$`)
	secrets = regexp.MustCompile(`\bsecrets\.`)
)

// textOf returns all text in a node.
func textOf(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(n.Value + "\n")
	for _, p := range n.Pairs {
		b.WriteString(p.Key.Value + "\n" + textOf(p.Value))
	}
	for _, i := range n.Items {
		b.WriteString(textOf(i))
	}
	return b.String()
}

// The GitHub workflow is safe to copy: scripts contain no text from a pull request, actions are
// pinned to commits, permissions are minimal, credentials exist only in environments, and only
// one apply runs at a time.
func TestGitHubExampleIsSafe(t *testing.T) {
	n, text := mustReadCI(t, gitHubFile)
	events := nodeKeys(nodeAt(n, "on"))
	if slices.Contains(events, "pull_request_target") || slices.Contains(events, "workflow_run") || !slices.Contains(events, "pull_request") {
		t.Errorf("events %v", events)
	}
	if p := nodeAt(n, "permissions"); p == nil || len(p.Pairs) > 0 || p.Kind != yaml.Map {
		t.Error("permissions: {} is missing at the top")
	}
	for place, script := range scriptsOf(t, gitHubFile) {
		if strings.Contains(script, "${{") {
			t.Errorf("%s: an expression in a script; use an environment variable", place)
		}
	}
	if secrets.MatchString(textOf(nodeAt(n, "env"))) {
		t.Error("a secret for all jobs")
	}
	for _, p := range nodePairs(nodeAt(n, "jobs")) {
		name, job := p.Key.Value, p.Value
		if nodeAt(job, "permissions") == nil || nodeAt(job, "timeout-minutes") == nil {
			t.Errorf("%s: no permissions, or no timeout-minutes", name)
		}
		for _, perm := range nodePairs(nodeAt(job, "permissions")) {
			if perm.Value.Value != "read" && name != "check" {
				t.Errorf("%s: %s: %s", name, perm.Key.Value, perm.Value.Value)
			}
		}
		guarded := nodeAt(job, "environment") != nil
		if !guarded && (secrets.MatchString(textOf(job)) || strings.Contains(textOf(nodeAt(job, "runs-on")), "self-hosted")) {
			t.Errorf("%s: secrets or a runner of one's own without an environment", name)
		}
		for i, step := range nodeItems(nodeAt(job, "steps")) {
			uses := nodeText(step, "uses")
			if uses == "" {
				continue
			}
			if !pinned.MatchString(uses) || !regexp.MustCompile(regexp.QuoteMeta(uses)+` # v\d+\.\d+\.\d+\n`).MatchString(text) {
				t.Errorf("%s, step %d: %s is not a commit of GitHub's own actions with its version", name, i+1, uses)
			}
			if strings.HasPrefix(uses, "actions/checkout@") && nodeText(step, "with", "persist-credentials") != "false" {
				t.Errorf("%s, step %d: the token stays in the checkout", name, i+1)
			}
		}
	}
	apply := nodeAt(n, "jobs", "apply")
	if nodeText(apply, "concurrency", "group") == "" || nodeText(apply, "concurrency", "cancel-in-progress") != "false" {
		t.Error("apply may run twice at a time, or be cancelled by the next")
	}
	if !strings.Contains(nodeText(apply, "if"), "github.event_name != 'pull_request'") || nodeText(apply, "needs") != "plan" {
		t.Error("apply runs on a pull request, or without the plan")
	}
}

// In a pipeline, an intent can refer to variables that start with FABRIC_: no job has other
// secrets with such names, and the permitted addresses do not come from files of the repository.
func TestPipelinesGiveIntentsNothingElse(t *testing.T) {
	n, text := mustReadCI(t, gitHubFile)
	if got := nodeText(n, "env", "ROCE_FABRIC_ADDRESSES"); got != "${{ vars.FABRIC_ADDRESSES }}" {
		t.Errorf("addresses from %q", got)
	}
	for _, m := range regexp.MustCompile(`(?m)^ +(FABRIC_\w+): \$\{\{ secrets\.`).FindAllStringSubmatch(text, -1) {
		if m[1] != "FABRIC_USER" && m[1] != "FABRIC_PASSWORD" {
			t.Errorf("a secret is in %s", m[1])
		}
	}
	_, lab := mustReadCI(t, gitLabFile)
	for _, m := range regexp.MustCompile(`TOKEN: \$(\w+)`).FindAllStringSubmatch(lab, -1) {
		if strings.HasPrefix(m[1], "FABRIC_") {
			t.Errorf("a token is in %s", m[1])
		}
	}
	for _, name := range []string{"ROCE_FABRIC_SECRETS", "ROCE_FABRIC_PROGRAMS"} {
		if strings.Contains(text+lab, name) {
			t.Errorf("the examples widen %s", name)
		}
	}
	if strings.Contains(lab, "ROCE_FABRIC_ADDRESSES:") {
		t.Error("the GitLab example states addresses, which a merge request could change")
	}
}

// The keywords of a GitLab job that the example uses; an unknown keyword is probably a typo
// (docs.gitlab.com/ci/yaml).
var gitLabJob = []string{
	"after_script", "artifacts", "before_script", "environment", "extends", "image", "interruptible",
	"needs", "resource_group", "rules", "script", "stage", "tags", "timeout",
}

// gitLabKey looks up a keyword in a job and in the jobs that it extends.
func gitLabKey(n *yaml.Node, job, key string) *yaml.Node {
	for range 5 {
		if v := nodeAt(n, job, key); v != nil {
			return v
		}
		if job = nodeText(n, job, "extends"); job == "" {
			return nil
		}
	}
	return nil
}

func TestGitLabExample(t *testing.T) {
	n, _ := mustReadCI(t, gitLabFile)
	var stages, jobs []string
	for _, s := range nodeItems(nodeAt(n, "stages")) {
		stages = append(stages, s.Value)
	}
	for _, k := range nodeKeys(n) {
		if !slices.Contains([]string{"stages", "workflow", "variables"}, k) {
			jobs = append(jobs, k)
		}
	}
	if len(jobs) < 8 {
		t.Fatalf("jobs %v", jobs)
	}
	for _, job := range jobs {
		for _, k := range nodeKeys(nodeAt(n, job)) {
			if !slices.Contains(gitLabJob, k) {
				t.Errorf("%s: unknown keyword %s", job, k)
			}
		}
		if from := nodeText(n, job, "extends"); from != "" && !slices.Contains(jobs, from) {
			t.Errorf("%s extends %s, which is not there", job, from)
		}
		if strings.HasPrefix(job, ".") {
			continue
		}
		if stage := gitLabKey(n, job, "stage"); stage == nil || !slices.Contains(stages, stage.Value) {
			t.Errorf("%s is in no stage", job)
		}
		for _, k := range []string{"script", "rules", "image"} {
			if gitLabKey(n, job, k) == nil {
				t.Errorf("%s has no %s", job, k)
			}
		}
		for _, need := range nodeItems(gitLabKey(n, job, "needs")) {
			name := need.Value
			if need.Kind == yaml.Map {
				name = nodeText(need, "job")
			}
			if !slices.Contains(jobs, name) {
				t.Errorf("%s needs %s, which is not there", job, name)
			}
		}
		// A runner that can reach the devices is protected by an environment.
		if gitLabKey(n, job, "tags") != nil && gitLabKey(n, job, "environment") == nil {
			t.Errorf("%s has no environment", job)
		}
		for _, path := range nodePairs(nodeAt(gitLabKey(n, job, "artifacts"), "reports")) {
			if !strings.Contains(textOf(gitLabKey(n, job, "script")), path.Value.Value) {
				t.Errorf("%s: no command writes the report %s", job, path.Value.Value)
			}
		}
	}
	for _, job := range []string{"apply", "plan-request"} {
		if rules := gitLabKey(n, job, "rules"); rules == nil || len(rules.Items) != 1 || nodeText(rules.Items[0], "when") != "manual" {
			t.Errorf("%s starts by itself", job)
		}
	}
	if gitLabKey(n, "apply", "resource_group") == nil {
		t.Error("apply may run twice at a time")
	}
}

// cirun N github JOB STEP and cirun N gitlab JOB run a script of a CI example like its runner
// does. It must end with status N.
func ciRun(ts *testscript.TestScript, neg bool, a []string) {
	if neg || len(a) < 3 {
		ts.Fatalf("usage: cirun N github JOB STEP | gitlab JOB")
	}
	var script string
	switch {
	case a[1] == "github" && len(a) == 4:
		n, _, err := readCI(gitHubFile)
		ts.Check(err)
		for _, step := range nodeItems(nodeAt(n, "jobs", a[2], "steps")) {
			if nodeText(step, "id") == a[3] {
				script = nodeText(step, "run")
			}
		}
	case a[1] == "gitlab" && len(a) == 3:
		n, _, err := readCI(gitLabFile)
		ts.Check(err)
		for _, line := range nodeItems(gitLabKey(n, a[2], "script")) {
			script += line.Value + "\n"
		}
	}
	if script == "" {
		ts.Fatalf("there is no script %s", strings.Join(a[1:], " "))
	}
	exitCode(ts, false, []string{a[0], "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script})
}

// cioutput FILE NAME VARIABLE sets a variable to the last value that a step wrote under a name:
// in GitHub's GITHUB_OUTPUT or GitLab's dotenv report.
func ciOutput(ts *testscript.TestScript, neg bool, a []string) {
	if neg || len(a) != 3 {
		ts.Fatalf("usage: cioutput FILE NAME VARIABLE")
	}
	got := map[string]string{}
	for line := range strings.Lines(ts.ReadFile(a[0])) {
		k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		got[k] = v
	}
	v, ok := got[a[1]]
	if !ok {
		ts.Fatalf("%s has no %s, only %s", a[0], strconv.Quote(a[1]), slices.Sorted(maps.Keys(got)))
	}
	ts.Setenv(a[2], v)
}
