// Package cumulus simulates a switch with NVIDIA Cumulus Linux: NVUE's REST API over HTTPS with
// its revisions, prompts and rejections, and the nv command over SSH.
//
// It follows NVIDIA's documentation. Where that says nothing, it behaves as expected by programs
// that are known to work with real switches; the states of a revision and the timer of an apply
// come from such programs. Behavior that neither determines is configurable, see [Options].
package cumulus

import (
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
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Options configures the simulated switch.
type Options struct {
	Hostname string
	Model    string // "SN5600"
	ASIC     string // "Spectrum-4"; "" derives it from the model
	Version  string // "5.15.0"

	Username, Password string
	// Factory means that the password was never changed, in which case the switch forbids
	// everything.
	Factory bool

	TLS     *tls.Config // nil creates one
	HostKey ssh.Signer  // nil creates one
	Listen  sim.ListenFunc

	// Interfaces lists the ports. Speeds holds their speeds in bits per second; the default is
	// 400G.
	Interfaces []string
	Speeds     map[string]int64
	// Running is the configuration to start with, as shown by "nv config show" or the REST API, in
	// YAML, JSON or commands; nil means the factory configuration.
	Running []byte

	// TimeScale is the duration of each step of an apply in seconds; 0 means no delay.
	TimeScale float64
	// Clock scales the confirmation timer of an apply; 0 means 1.
	Clock float64
	// Patience is how long a prompt waits for an answer; 0 means 30 s.
	Patience time.Duration
	Shuffle  uint64

	// The following behavior is not documented.

	// AnyWords accepts the state keywords from before and after 5.15.
	AnyWords bool
	// Whole makes an apply activate a revision as a whole, which reverts what others applied since
	// the revision was created. Otherwise only the changes of the revision are merged.
	Whole bool
	// Hollow keeps branches that become empty by an unset.
	Hollow bool
	// MaxLossless is the maximum number of lossless priorities in an apply; 0 means no limit.
	MaxLossless int
	// Rounded rounds thresholds to the ASIC's cells when they are read back, in the configuration
	// too.
	Rounded bool
	// Spelled shows sizes in operational data as the command does ("153.00 KB") instead of as
	// numbers.
	Spelled bool
	// Wrapped wraps a single revision in an object with its ID as the key.
	Wrapped bool
}

// neighbor is the device and port at the other end of a link.
type neighbor struct{ device, port string }

// Switch is a simulated switch. New creates it; Start and Close start and stop it.
type Switch struct {
	o       Options
	release int // 100 times the major plus the minor number: 515 for 5.15
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
	edited    bool // files were edited by hand
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

// Install replaces the chassis with the one of the given name; "" means the switch's own.
func (s *Switch) Install(chassis string) { s.chassis.Install(cmp.Or(chassis, s.o.Hostname)) }

var versionForm = regexp.MustCompile(`^(\d+)\.(\d+)\.\d+`)

// wrong and wrongKey create the certificate and the host key for WrongCertificate. One of each is
// enough for the whole process.
var wrong = sync.OnceValues(func() (*tls.Config, error) { c, _, err := sim.NewTLS(); return c, err })
var wrongKey = sync.OnceValues(sim.NewHostKey)

// releaseNumber returns 100 times the major plus the minor number of a version: 515 for 5.15.0.
func releaseNumber(version string) (int, error) {
	m := versionForm.FindStringSubmatch(version)
	if m == nil {
		return 0, fmt.Errorf("version %q is not like 5.15.0", version)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major*100 + minor, nil
}

// New returns a switch. It fails if it cannot parse the version or the configuration.
func New(o Options) (*Switch, error) {
	release, err := releaseNumber(o.Version)
	if err != nil {
		return nil, fmt.Errorf("switch %s: %w", o.Hostname, err)
	}
	if o.Clock == 0 {
		o.Clock = 1
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	s := &Switch{o: o, release: release, ports: map[string]bool{}, revisions: map[string]*revision{}, flaps: map[string]int{},
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

// factory returns the configuration of a new switch.
func (s *Switch) factory() tree {
	ports := tree{"eth0": tree{"type": "eth", "ip": tree{"address": tree{"dhcp": tree{}}}}}
	for p := range s.ports {
		ports[p] = tree{"type": "swp"}
	}
	return tree{"interface": ports, "system": tree{"hostname": s.o.Hostname}}
}

// prune removes the parts of a configuration that the switch rejects, and returns the reasons.
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

// Refuses returns the parts of a configuration that a switch rejects, with the reasons.
func Refuses(_ string, config []byte) []string {
	release, err := releaseNumber(threeNumbers(releaseOf(config)))
	if err != nil {
		return []string{err.Error()}
	}
	_, refused, err := (&Switch{release: release, o: Options{AnyWords: true}}).read(config)
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

// Close stops the servers and waits for everything they started.
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

// Restart reboots the switch: unsaved changes are lost, and all connections are cut.
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

// GNMIAddr returns the host:port of the REST API, which this system has instead of gNMI.
func (s *Switch) GNMIAddr() string { return s.restLn.Address() }

// SSHAddr returns the host:port of the SSH server.
func (s *Switch) SSHAddr() string { return s.sshLn.Address() }

// HostKeyLine returns the known_hosts line of the SSH server.
func (s *Switch) HostKeyLine() string {
	return knownhosts.Line([]string{knownhosts.Normalize(s.sshLn.Address())}, s.key.PublicKey())
}

// CAPEM returns the CA certificate for the REST API as PEM.
func (s *Switch) CAPEM() []byte { return slices.Clone(s.caPEM) }

// MostSessions returns the largest number of simultaneous connections to each server so far.
func (s *Switch) MostSessions() (rest, ssh int) { return s.restLn.Most(), s.sshLn.Most() }

// Shuffle makes the switch answer like a different one of its kind.
func (s *Switch) Shuffle(seed uint64) { s.dice.Shuffle(seed) }

// Faults returns the switch's fault injection.
func (s *Switch) Faults() *Faults { return &s.faults }

// Counters returns the switch's counters.
func (s *Switch) Counters() *sim.Tally { return &s.tally }

// Running returns the applied configuration as JSON with one value per line.
func (s *Switch) Running() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return printed(s.applied)
}

// Startup returns the saved configuration as JSON with one value per line.
func (s *Switch) Startup() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return printed(s.startup)
}

func printed(t tree) string {
	b, _ := json.MarshalIndent(t, "", " ") // cannot fail: only objects, strings and numbers
	return string(b) + "\n"
}

// Configure changes the applied configuration like another user, with "nv set" and "nv unset"
// lines. It saves nothing.
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

// Keep returns a function that restores the current configurations, neighbors and cables, and ends
// pending applies.
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

// EditFiles simulates an edit of switchd's files by hand, which NVUE does not know about.
func (s *Switch) EditFiles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edited = true
}

// State returns the state of the newest revision.
func (s *Switch) State() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.revisions[strconv.Itoa(s.last)]; r != nil {
		return r.state
	}
	return ""
}

// Waits reports whether an apply is running or waits for its confirmation.
func (s *Switch) Waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy() != nil
}

// Down returns the ports that are configured down.
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

// Flaps returns how often each port was set down and up again.
func (s *Switch) Flaps() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.flaps)
}

// Writes returns the number of write requests that reached the switch.
func (s *Switch) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// SetNeighbor sets the device and port that LLDP shows on a port. An empty device removes the
// neighbor.
func (s *Switch) SetNeighbor(port, device, remotePort string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if device == "" {
		delete(s.neighbors, port)
		return
	}
	s.neighbors[port] = neighbor{device, remotePort}
}

// Unplug unplugs or plugs in the cable of a port.
func (s *Switch) Unplug(port string, out bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unplugged[port] = out
}

// Connect sets the function that returns the settings of the port at the other end of a link.
func (s *Switch) Connect(port string, peer func() cli.Wire) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers[port] = peer
}

// Wire returns the settings of a port for the other end of its link.
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

// speed returns the speed of a port in bits per second.
func (s *Switch) speed(port string) int64 {
	if n, err := strconv.ParseFloat(strings.TrimSuffix(text(s.applied, "interface", port, "link", "speed"), "G"), 64); err == nil {
		return int64(n * 1e9)
	}
	return s.nominal(port)
}
