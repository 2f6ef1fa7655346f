package containerlab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

// real is a rig of containers and virtual machines that are run by containerlab.
type real struct {
	topology string
	b        bounds
	// nodes holds the last output of inspect, by container name.
	nodes map[string]container
	// sshPort returns the SSH port of a switch; a test replaces it.
	sshPort func(c container) string
}

// container is a node in the output of 'containerlab inspect'.
type container struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Image  string `json:"image"`
	State  string `json:"state"`
	Status string `json:"status"`
	IPv4   string `json:"ipv4_address"` // with the prefix length
}

func newReal(topology string, b bounds) *real {
	return &real{topology: topology, b: b, sshPort: func(container) string { return "22" }}
}

// run runs a command and returns its standard output.
func run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = 10 * time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), cmp.Or(ctx.Err(), err), last(said.String()))
	}
	return out.Bytes(), nil
}

// last returns the last line of a program's messages.
func last(said string) string {
	said = strings.TrimSpace(said)
	return said[strings.LastIndex(said, "\n")+1:]
}

func (r *real) start(ctx context.Context, f *fleet.Fabric) (*fleet.Access, error) {
	if _, err := run(ctx, "containerlab", "deploy", "-t", r.topology); err != nil {
		return nil, err
	}
	ok, err := drivers.Poll(ctx, r.b.every, r.b.start, func() (bool, error) {
		err := r.inspect(ctx)
		return err == nil, err
	})
	if !ok {
		return nil, fmt.Errorf("the nodes did not come up within %s: %w", r.b.start, err)
	}
	var known strings.Builder
	for _, sw := range f.Switches {
		host, _, err := net.SplitHostPort(sw.Access.SSH.Address.V)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sw.Name, err)
		}
		c, there := r.nodes[host]
		if !there {
			return nil, fmt.Errorf("%s: containerlab runs no %s", sw.Name, host)
		}
		ip, _, _ := strings.Cut(c.IPv4, "/")
		var key gossh.PublicKey
		ok, err := drivers.Poll(ctx, r.b.every, r.b.start, func() (bool, error) {
			key, err = hostKey(ctx, net.JoinHostPort(ip, r.sshPort(c)))
			return err == nil, err
		})
		if !ok {
			return nil, fmt.Errorf("%s: no SSH server within %s: %w", sw.Name, r.b.start, err)
		}
		known.WriteString(knownhosts.Line([]string{host}, key) + "\n")
	}
	return &fleet.Access{}, os.WriteFile(knownHosts, []byte(known.String()), 0o644)
}

// inspect runs 'containerlab inspect'. It returns an error if a node is not ready.
func (r *real) inspect(ctx context.Context) error {
	text, err := run(ctx, "containerlab", "inspect", "-t", r.topology, "-f", "json")
	if err != nil {
		return err
	}
	var labs map[string][]container
	if err := json.Unmarshal(text, &labs); err != nil {
		return fmt.Errorf("containerlab inspect: %w", err)
	}
	r.nodes = map[string]container{}
	var waits []string
	for _, nodes := range labs {
		for _, c := range nodes {
			r.nodes[c.Name] = c
			if c.State != "running" || strings.Contains(c.Status, "starting") || strings.Contains(c.Status, "unhealthy") {
				waits = append(waits, fmt.Sprintf("%s is %s, %s", c.Name, c.State, c.Status))
			}
		}
	}
	if slices.Sort(waits); len(r.nodes) == 0 {
		waits = []string{"containerlab runs no node of " + r.topology}
	}
	if len(waits) > 0 {
		return errors.New(strings.Join(waits, "; "))
	}
	return nil
}

// hostKey returns the host key of an SSH server without logging in.
func hostKey(ctx context.Context, at string) (key gossh.PublicKey, err error) {
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return nil, err
	}
	_, _, _, err = gossh.NewClientConn(conn, at, &gossh.ClientConfig{User: "admin", HostKeyCallback: func(_ string, _ net.Addr, k gossh.PublicKey) error {
		key = k
		return nil
	}})
	if key != nil {
		return key, nil // the server rightly refuses a login without a password
	}
	return nil, err
}

func (r *real) ssh(sw *intent.Switch) (ssh.Config, error) {
	return ssh.Config{Address: sw.Access.SSH.Address.V, User: "admin", Password: secret.Secret(os.Getenv("FABRIC_PASSWORD")), KnownHosts: knownHosts}, nil
}

func (r *real) image(sw *intent.Switch) string {
	host, _, _ := net.SplitHostPort(sw.Access.SSH.Address.V)
	return r.nodes[host].Image
}

// collect saves the output of inspect, the containers' logs and SONiC's syslog. It continues if
// one of them fails.
func (r *real) collect(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	keep := func(file string, args ...string) error {
		out, err := run(ctx, args...)
		return errors.Join(err, os.WriteFile(filepath.Join(dir, file), out, 0o644))
	}
	// A virtual machine logs its start on standard error.
	log := func(name string) error {
		cmd := exec.CommandContext(ctx, "docker", "logs", "--tail", "5000", name)
		out, err := cmd.CombinedOutput()
		return errors.Join(err, os.WriteFile(filepath.Join(dir, name+".log"), out, 0o644))
	}
	errs := []error{keep("inspect.json", "containerlab", "inspect", "-t", r.topology, "-f", "json")}
	containers := false
	for _, c := range r.nodes {
		containers = containers || c.Kind == "sonic-vs"
		errs = append(errs, log(c.Name))
	}
	if containers {
		errs = append(errs, keep("syslog.json", "containerlab", "exec", "-t", r.topology, "-f", "json", "--label", "clab-node-kind=sonic-vs", "--cmd", "tail -n 5000 /var/log/syslog"))
	}
	return errors.Join(errs...)
}

func (r *real) stop(ctx context.Context) error {
	_, err := run(ctx, "containerlab", "destroy", "-t", r.topology, "--cleanup")
	return err
}

// fake is a script that acts as containerlab, with its JSON and exit statuses, or as docker. It
// records its calls in its folder, and reads from there how many calls of inspect report that a
// node is starting.
const fake = `#!/usr/bin/env bash
set -euo pipefail
dir=$(dirname "$0")
me=$(basename "$0")
echo "$me $*" >>"$dir/asked"
die() { echo "$*" >&2; exit 1; }
node() {
	printf '{"lab_name":"mixed","name":"clab-mixed-%s","container_id":"1","image":"%s","kind":"%s","state":"running","status":"%s","ipv4_address":"127.0.0.1/24","owner":"root"}' "$@"
}
if [[ $me == docker ]]; then
	[[ $1 == logs && $2 == --tail ]] || die "unknown command"
	echo "the log of $4" >&2
	exit
fi
verb=$1
shift
topology= format=table cmd= label= cleanup=
while (($#)); do
	case $1 in
	-t) topology=$2; shift ;;
	-f) format=$2; shift ;;
	--cmd) cmd=$2; shift ;;
	--label) label=$2; shift ;;
	--cleanup) cleanup=1 ;;
	*) die "Error: unknown flag: $1" ;;
	esac
	shift
done
[[ -f $topology ]] || die "Error: stat $topology: no such file or directory"
case $verb in
deploy)
	[[ ! -f $dir/fails ]] || die "$(printf 'INFO Containerlab started\nERRO failed deploy: image not found')"
	[[ ! -f $dir/running ]] || die "Error: the 'mixed' lab has already been deployed"
	touch "$dir/running" ;;
inspect)
	[[ $format == json ]] || die "a table"
	[[ -f $dir/running ]] || { echo '{}'; exit; }
	status='Up 3 minutes (healthy)' left=$(cat "$dir/starting")
	if ((left > 0)); then status='Up 5 seconds (health: starting)'; echo $((left - 1)) >"$dir/starting"; fi
	echo "{\"mixed\":[$(node leaf1 docker-sonic-vs:202511 sonic-vs 'Up 3 minutes'),$(node spine1 ceos:4.34.2F arista_ceos "$status")]}" ;;
exec)
	[[ $format == json && -n $cmd && $label == clab-node-kind=sonic-vs ]] || die "Error: provide command to execute"
	echo '{"clab-mixed-leaf1":[{"cmd":["tail"],"return-code":0,"stdout":"orchagent: ready","stderr":""}]}' ;;
destroy)
	[[ $cleanup ]] || die "the folder of the lab stays"
	rm "$dir/running" ;;
*) die "Error: unknown command \"$verb\" for \"containerlab\"" ;;
esac
`

// faked prepares a lab of two nodes with the fake containerlab and simulated switches. It works in
// a folder with the lab's files.
func faked(t *testing.T, starting string) (r *real, f *fleet.Fabric, dir string) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: bash is not installed")
	}
	dir = t.TempDir()
	for name, text := range map[string]string{"containerlab": fake, "docker": fake, "starting": starting} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("FABRIC_PASSWORD", "admin")
	l, err := newLab(t, strings.Replace(head, "name: pod", "name: mixed", 1)+`switches:
  leaf1: {os: sonic}
  spine1: {os: eos, model: DCS-7060DX5-64S}
`, "mixed.clab.yml", "sonic-vs=docker-sonic-vs:202511")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := l.Write("."); err != nil {
		t.Fatal(err)
	}
	if f, err = fleet.Load(t.Context(), IntentFile, fleet.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	return newReal("mixed.clab.yml", bounds{every: time.Millisecond, start: 10 * time.Second}), f, dir
}

// TestContainerlabIsDriven runs everything that the suite asks of containerlab against the fake.
func TestContainerlabIsDriven(t *testing.T) {
	r, f, dir := faked(t, "2")
	sim, err := lab.Start(f.Fabric(), "", lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	}()
	r.sshPort = func(c container) string {
		_, port, _ := net.SplitHostPort(sim.Devices[strings.TrimPrefix(c.Name, "clab-mixed-")].SSH)
		return port
	}
	if _, err := r.start(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadFile(knownHosts)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile(sim.KnownHosts)
	if err != nil {
		t.Fatal(err)
	}
	key := bytes.Fields(theirs)[2]
	for _, sw := range f.Switches {
		if want := "clab-mixed-" + sw.Name + " ssh-ed25519 " + string(key) + "\n"; !strings.Contains(string(known), want) {
			t.Errorf("known_hosts has no %q:\n%s", want, known)
		}
		c, err := r.ssh(sw)
		if err != nil || c.Address != "clab-mixed-"+sw.Name+":22" || c.KnownHosts != knownHosts {
			t.Errorf("%s: %+v, %v", sw.Name, c, err)
		}
	}
	if image := r.image(f.Fabric().Switch("spine1")); image != "ceos:4.34.2F" {
		t.Errorf("spine1 runs %q", image)
	}
	logs := filepath.Join(dir, "logs")
	if err := r.collect(t.Context(), logs); err != nil {
		t.Error(err)
	}
	for file, want := range map[string]string{"inspect.json": `"kind":"sonic-vs"`, "clab-mixed-leaf1.log": "the log of clab-mixed-leaf1", "clab-mixed-spine1.log": "the log of", "syslog.json": "orchagent: ready"} {
		if text, err := os.ReadFile(filepath.Join(logs, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if err := r.stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := r.inspect(t.Context()); err == nil || !strings.Contains(err.Error(), "runs no node of mixed.clab.yml") {
		t.Errorf("a destroyed lab: %v", err)
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if n := strings.Count(string(asked), "containerlab inspect"); err != nil || n != 5 {
		t.Errorf("%d inspects, want 3 until all was up, 1 to collect and 1 at the end: %v\n%s", n, err, asked)
	}
}

// TestContainerlabFails checks that errors contain containerlab's message and the missing node.
func TestContainerlabFails(t *testing.T) {
	ctx := t.Context()
	r, f, dir := faked(t, "1000000")
	r.b.start = 300 * time.Millisecond
	if _, err := r.start(ctx, f); err == nil || !strings.Contains(err.Error(), "clab-mixed-spine1 is running, Up 5 seconds (health: starting)") {
		t.Errorf("a node that never comes up: %v", err)
	}
	if _, err := r.start(ctx, f); err == nil || !strings.Contains(err.Error(), "already been deployed") {
		t.Errorf("a lab that is there: %v", err)
	}
	if err := r.stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := r.stop(ctx); err == nil {
		t.Error("a lab that is not there is destroyed")
	}
	if err := os.WriteFile(filepath.Join(dir, "fails"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.start(ctx, f); err == nil || !strings.HasSuffix(err.Error(), "exit status 1: ERRO failed deploy: image not found") {
		t.Errorf("a deploy that fails: %v", err)
	}
	r.topology = "other.clab.yml"
	if err := r.inspect(ctx); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no topology: %v", err)
	}
	if _, err := hostKey(ctx, "127.0.0.1:1"); err == nil {
		t.Error("a key of nobody")
	}
}
