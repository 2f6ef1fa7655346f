// Package cumulus simulates a switch with NVIDIA Cumulus Linux: NVUE's REST API over HTTPS
// with its revisions, prompts and refusals, and the command nv over SSH.
//
// It behaves as NVIDIA's documentation says, and where that is silent, as programs that
// are known to work with real switches expect: the states of a revision and the timer of an
// apply are from such. What neither tells can be had either way, see [Options].
package cumulus

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	yamltext "github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Options say what a switch is.
type Options struct {
	Hostname string
	Model    string // "SN5600"
	ASIC     string // "Spectrum-4"; "" follows from the model
	Version  string // "5.15.0"

	Username, Password string
	// Factory says that the password was never changed: everything is forbidden.
	Factory bool

	TLS     *tls.Config // nil: one of its own making
	HostKey ssh.Signer  // nil: a new one
	Listen  sim.ListenFunc

	// Interfaces are the ports, Speeds what they run at, bits a second; 400G without.
	Interfaces []string
	Speeds     map[string]int64
	// Running is the configuration to start with, as "nv config show" or the REST API shows
	// it, in YAML, JSON or commands; nil is that of the factory.
	Running []byte

	// TimeScale is how many seconds each step of an apply takes; 0: no time.
	TimeScale float64
	// Clock stretches the timer of an apply; 0 is 1.
	Clock float64
	// Patience is how long a prompt waits for an answer; 0 is 30 s.
	Patience time.Duration
	Shuffle  uint64

	// What no document tells.

	// AnyWords takes the words of a state from before and after 5.15 alike.
	AnyWords bool
	// Whole has an apply put a revision in force as a whole, with what others had applied
	// since it was made undone; else what the revision changes is merged.
	Whole bool
	// Hollow keeps the branches that an unset leaves empty.
	Hollow bool
	// MaxLossless is how many lossless priorities an apply takes; 0 is any number.
	MaxLossless int
	// Rounded reads thresholds back as the cells of the ASIC have them, in the
	// configuration as well.
	Rounded bool
	// Spelled shows sizes in operational data as the command does ("153.00 KB"), and not
	// as numbers.
	Spelled bool
	// Wrapped shows one revision within an object that has its ID as key.
	Wrapped bool
}

// neighbor is the other end of a link.
type neighbor struct{ device, port string }

// Switch is a simulated switch. New makes one, Start and Close start and stop it.
type Switch struct {
	o       Options
	release int // 515
	faults  Faults
	tally   sim.Tally
	dice    sim.Shuffler
	chassis sim.Chassis

	mu        sync.Mutex
	ports     map[string]bool
	applied   tree
	startup   tree
	revisions map[string]*revision
	last      int
	edited    bool // files were changed by hand
	pending   string
	flaps     map[string]int
	writes    int
	boot      int
	neighbors map[string]neighbor
	unplugged map[string]bool
	peers     map[string]func() cli.Wire

	turn   chan struct{}
	caPEM  []byte
	tls    *tls.Config
	bad    *tls.Config
	key    ssh.Signer
	badKey ssh.Signer
	restLn *sim.Listener
	sshLn  *sim.Listener
	server *http.Server
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	closed bool
}

// Install puts the chassis of a name in the place of the one that is there; "" is its own.
func (s *Switch) Install(chassis string) { s.chassis.Install(cmp.Or(chassis, s.o.Hostname)) }

var versionForm = regexp.MustCompile(`^(\d+)\.(\d+)\.\d+`)

// wrong are the certificate and the host key of WrongCertificate; one of each for the
// process is enough.
var wrong = sync.OnceValues(func() (*tls.Config, error) { c, _, err := sim.NewTLS(); return c, err })
var wrongKey = sync.OnceValues(sim.NewHostKey)

// New makes a switch. It fails for a version or a configuration that it cannot read.
func New(o Options) (*Switch, error) {
	m := versionForm.FindStringSubmatch(o.Version)
	if m == nil {
		return nil, fmt.Errorf("switch %s: version %q is not like 5.15.0", o.Hostname, o.Version)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if o.Clock == 0 {
		o.Clock = 1
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	s := &Switch{o: o, release: major*100 + minor, ports: map[string]bool{}, revisions: map[string]*revision{}, flaps: map[string]int{},
		neighbors: map[string]neighbor{}, unplugged: map[string]bool{}, peers: map[string]func() cli.Wire{}, turn: make(chan struct{}, 1)}
	s.faults.s, s.faults.cleared = s, make(chan struct{})
	s.dice.Shuffle(o.Shuffle)
	s.Install("")
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for _, p := range o.Interfaces {
		s.ports[p] = true
	}
	if err := s.keys(); err != nil {
		return nil, fmt.Errorf("switch %s: %w", o.Hostname, err)
	}
	s.applied = s.factory()
	if o.Running != nil {
		t, _, err := s.read(o.Running)
		if err != nil {
			return nil, fmt.Errorf("switch %s: %w", o.Hostname, err)
		}
		s.applied = t
	}
	s.startup = cloned(s.applied)
	return s, nil
}

// factory is the configuration of a switch as it comes.
func (s *Switch) factory() tree {
	ports := tree{"eth0": tree{"type": "eth", "ip": tree{"address": tree{"dhcp": tree{}}}}}
	for p := range s.ports {
		ports[p] = tree{"type": "swp"}
	}
	return tree{"interface": ports, "system": tree{"hostname": s.o.Hostname}}
}

// command is one of "nv config show -o commands".
var command = regexp.MustCompile(`(?m)^[ \t]*nv (?:set|unset) [^\r\n]*`)

// read reads a configuration: the object itself, the list of "nv config show", or commands.
// It leaves out and returns what the switch refuses.
func (s *Switch) read(b []byte) (out tree, refused []string, err error) {
	out = tree{}
	if lines := command.FindAll(b, -1); len(lines) > 0 {
		for _, line := range lines {
			if err := s.typed(out, strings.Fields(string(line))); err != nil {
				refused = append(refused, fmt.Sprintf("%s: %v", bytes.TrimSpace(line), err))
			}
		}
		return out, append(refused, s.prune(out)...), nil
	}
	var v any
	if json.Unmarshal(b, &v) != nil {
		doc, faults := yamltext.Parse("configuration", b)
		if len(faults) > 0 {
			return nil, nil, faults[0]
		}
		v = asJSON(doc)
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, one := range list {
		m, ok := one.(tree)
		if !ok {
			return nil, nil, errors.New("configuration: not an object")
		}
		if set, ok := m["set"].(tree); ok {
			m = set
		} else if m["header"] != nil {
			continue
		}
		merge(out, expand(m).(tree))
	}
	return out, s.prune(out), nil
}

// asJSON gives what was read of YAML the types that JSON has.
func asJSON(n *yamltext.Node) any {
	switch n.Kind {
	case yamltext.Map:
		out := tree{}
		for _, p := range n.Pairs {
			out[p.Key.Value] = asJSON(p.Value)
		}
		return out
	case yamltext.List:
		var out []any
		for _, one := range n.Items {
			out = append(out, asJSON(one))
		}
		return out
	case yamltext.Int, yamltext.Float:
		return value(n.Value)
	case yamltext.Bool:
		return n.Value == "true"
	case yamltext.Null:
		return nil
	}
	return n.Value
}

// prune takes out of a configuration what the switch refuses.
func (s *Switch) prune(t tree) (refused []string) {
	for range 10_000 {
		bad := s.check(t)
		if bad == "" {
			break
		}
		refused = append(refused, bad)
		place, _, _ := strings.Cut(bad, ": '")
		_, rest, _ := strings.Cut(bad, "'")
		word, _, _ := strings.Cut(rest, "'")
		path := strings.Fields(place)
		switch {
		case !strings.Contains(bad, ": '"):
			path = []string{word}
		case strings.HasSuffix(bad, "key"):
			path = append(path, word)
		}
		if !remove(t, path) {
			clear(t)
		}
	}
	return refused
}

// Refuses returns what a switch refuses of a configuration.
func Refuses(_ string, config []byte) []string {
	_, refused, err := (&Switch{release: relative, o: Options{AnyWords: true}}).read(config)
	if err != nil {
		return []string{err.Error()}
	}
	return refused
}

func (s *Switch) keys() (err error) {
	conf := s.o.TLS
	if conf == nil {
		if conf, s.caPEM, err = sim.NewTLS(); err != nil {
			return err
		}
	} else if len(conf.Certificates) > 0 && len(conf.Certificates[0].Certificate) > 0 {
		chain := conf.Certificates[0].Certificate
		s.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain[len(chain)-1]})
	}
	if s.bad, err = wrong(); err != nil {
		return err
	}
	s.tls = conf.Clone()
	s.tls.NextProtos = []string{"http/1.1"}
	s.tls.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if s.faults.on(&s.faults.badCert) {
			return s.bad, nil
		}
		return nil, nil
	}
	if s.key = s.o.HostKey; s.key == nil {
		if s.key, err = sim.NewHostKey(); err != nil {
			return err
		}
	}
	s.badKey, err = wrongKey()
	return err
}

// Start opens the servers.
func (s *Switch) Start() (err error) {
	refuse := func() bool { return s.faults.on(&s.faults.refuse) }
	if s.restLn, err = s.o.Listen.Open("127.0.0.1:0", refuse); err != nil {
		return fmt.Errorf("switch %s: rest: %w", s.o.Hostname, err)
	}
	if s.sshLn, err = s.o.Listen.Open("127.0.0.1:0", refuse); err != nil {
		return errors.Join(fmt.Errorf("switch %s: ssh: %w", s.o.Hostname, err), s.restLn.Close())
	}
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 30 * time.Second, ErrorLog: quiet}
	s.wg.Go(func() { _ = s.server.Serve(tls.NewListener(s.restLn, s.tls)) }) // returns when the listener closes
	s.wg.Go(s.serveSSH)
	return nil
}

// Close stops the servers and waits for all that they started.
func (s *Switch) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return nil
	}
	s.cancel()
	if s.server != nil {
		_ = s.server.Close()
	}
	_ = s.restLn.Close()
	_ = s.sshLn.Close()
	s.dropAll()
	s.wg.Wait()
	return nil
}

func (s *Switch) dropAll() {
	s.restLn.DropAll()
	s.sshLn.DropAll()
}

// Restart reboots the switch: what was not saved is lost, and all connections are cut.
func (s *Switch) Restart() error {
	s.restart()
	return nil
}

func (s *Switch) restart() {
	s.mu.Lock()
	s.boot++
	s.applied = cloned(s.startup)
	for _, r := range s.revisions {
		if !r.final() {
			r.state = "inactive"
			select {
			case r.answer <- "restart":
			default:
			}
		}
	}
	s.mu.Unlock()
	s.dropAll()
}

// GNMIAddr is the host:port of the REST API, which is this system's way in.
func (s *Switch) GNMIAddr() string { return s.restLn.Address() }

// SSHAddr is the host:port of the SSH server.
func (s *Switch) SSHAddr() string { return s.sshLn.Address() }

// HostKeyLine is the known_hosts line of the SSH server.
func (s *Switch) HostKeyLine() string {
	return knownhosts.Line([]string{knownhosts.Normalize(s.sshLn.Address())}, s.key.PublicKey())
}

// CAPEM is the certificate that a client trusts.
func (s *Switch) CAPEM() []byte { return slices.Clone(s.caPEM) }

// MostSessions are the largest numbers of connections to each server at once.
func (s *Switch) MostSessions() (rest, ssh int) { return s.restLn.Most(), s.sshLn.Most() }

// Shuffle has the switch answer as another one of its kind.
func (s *Switch) Shuffle(seed uint64) { s.dice.Shuffle(seed) }

// Faults make the switch misbehave.
func (s *Switch) Faults() *Faults { return &s.faults }

// Counters are what the switch counts.
func (s *Switch) Counters() *sim.Tally { return &s.tally }

// Running is the applied configuration, as JSON with a value a line.
func (s *Switch) Running() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return printed(s.applied)
}

// Startup is the saved configuration.
func (s *Switch) Startup() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return printed(s.startup)
}

func printed(t tree) string {
	b, _ := json.MarshalIndent(t, "", " ") // of objects, texts and numbers it cannot fail
	return string(b) + "\n"
}

// Configure changes the applied configuration as another user does, with "nv set" and "nv
// unset" lines. Nothing of it is saved.
func (s *Switch) Configure(lines string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := cloned(s.applied)
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := s.typed(now, strings.Fields(line)); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	if bad := s.invalid(now); len(bad) > 0 {
		return fmt.Errorf("%s: %s", bad[0].location, bad[0].reason)
	}
	s.inForce(s.applied, now)
	return nil
}

// Save saves the applied configuration.
func (s *Switch) Save() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startup = cloned(s.applied)
}

// Keep returns what brings the configurations, neighbours and cables of now back, and ends
// what waits.
func (s *Switch) Keep() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	applied, startup, neighbors, unplugged := cloned(s.applied), cloned(s.startup), maps.Clone(s.neighbors), maps.Clone(s.unplugged)
	return func() {
		s.restart()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.applied, s.startup, s.neighbors, s.unplugged, s.edited = cloned(applied), cloned(startup), maps.Clone(neighbors), maps.Clone(unplugged), false
	}
}

// EditFiles changes the files of switchd by hand, of which NVUE knows nothing.
func (s *Switch) EditFiles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edited = true
}

// State is the state of the newest revision.
func (s *Switch) State() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.revisions[strconv.Itoa(s.last)]; r != nil {
		return r.state
	}
	return ""
}

// Waits reports whether an apply waits for its confirmation, or is at work.
func (s *Switch) Waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy() != nil
}

// Down lists the ports that are down by configuration.
func (s *Switch) Down() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range natural.Keys(s.ports) {
		if down(s.applied, p) {
			out = append(out, p)
		}
	}
	return out
}

func down(t tree, port string) bool {
	_, is := at(t, "interface", port, "link", "state", "down")
	return is
}

// Flaps counts how often each port went down and up again.
func (s *Switch) Flaps() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.flaps)
}

// Writes counts the requests to write that reached the switch.
func (s *Switch) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// SetNeighbor says what LLDP sees on a port; an empty device is nothing.
func (s *Switch) SetNeighbor(port, device, remotePort string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if device == "" {
		delete(s.neighbors, port)
		return
	}
	s.neighbors[port] = neighbor{device, remotePort}
}

// Unplug takes the cable out of a port, or puts it in again.
func (s *Switch) Unplug(port string, out bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unplugged[port] = out
}

// Connect says how the port at the other end of a link is set.
func (s *Switch) Connect(port string, peer func() cli.Wire) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers[port] = peer
}

// Wire is how a port is set, for the other end of its link.
func (s *Switch) Wire(port string) cli.Wire {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wire(port)
}

func (s *Switch) wire(port string) cli.Wire {
	w := cli.Wire{Speed: s.speed(port)}
	switch fec := text(s.applied, "interface", port, "link", "fec"); fec {
	case "off":
		w.FEC = "none"
	case "rs":
		w.FEC = "rs"
	case "baser":
		w.FEC = "fc"
	}
	return w
}

func (s *Switch) has(port string) bool { return s.ports[port] }

// speed is what a port runs at, bits a second.
func (s *Switch) speed(port string) int64 {
	if n, err := strconv.ParseFloat(strings.TrimSuffix(text(s.applied, "interface", port, "link", "speed"), "G"), 64); err == nil {
		return int64(n * 1e9)
	}
	return s.nominal(port)
}
