// Package sonic simulates a SONiC switch for real clients: a gNMI server and an SSH server on
// loopback that accept, reject and answer like a real switch, with its databases and the daemons
// between them.
package sonic

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/crypto/ssh"
	"google.golang.org/grpc"

	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// DefaultUser and DefaultPassword are the account of a fresh community image. The SSH server
// accepts them if Options has no account.
const (
	DefaultUser     = "admin"
	DefaultPassword = "YourPaSsWoRd"
)

// maxSets limits the recorded Set requests; the oldest are dropped first.
const maxSets = 256

// Options describes a simulated SONiC switch. The zero value is a nameless switch without ports on
// the newest release.
type Options struct {
	Name string
	// Release is a branch name: 202311, 202405, 202411, 202505, 202511, 202605 or master; "" means
	// master.
	Release  string
	HWSKU    string
	Platform string
	// ASIC is the ID in the generic config updater's own lists ("th3", "spc3", "td2"); "" for a
	// switch that those lists do not contain.
	ASIC string
	// Dynamic selects the dynamic buffer model.
	Dynamic bool
	// Model provides the ports and buffers of the factory configuration; nil looks up HWSKU in the
	// catalogue. `config qos reload` renders from it.
	Model *catalog.Model
	// Config is the CONFIG_DB at boot, table -> key -> field -> value, with leaf-lists as `field@`;
	// it is copied. Nil means FactoryConfig(Model).
	Config map[string]map[string]map[string]string
	// Running is a configuration to boot with, in the format of config_db.json; it overrides
	// Config. [Refuses] returns the parts of it that the switch rejects.
	Running []byte
	// Headroom holds the rows of pg_profile_lookup.ini; nil means the rows of Model.
	Headroom []catalog.HeadroomRow
	// MaxHeadroom is the limit for all groups of a port together, in bytes; 0 for an ASIC that does
	// not report it.
	MaxHeadroom int64

	// Version is the version shown by 'show version', ASICs the number of ASICs; "" means a
	// community image of Release, 0 means one ASIC.
	Version string
	ASICs   int
	// Lacks names programs that the image does not have, such as sonic-db-dump.
	Lacks []string
	// Models holds the files of /usr/local/yang-models; nil for an image without them. See the
	// function [Models].
	Models map[string][]byte

	// Username and Password are required by both servers. Without Username, the gNMI server
	// requires no login, and SSH accepts the image's defaults.
	Username, Password string
	// AuthorizedKeys log in over SSH without a password.
	AuthorizedKeys []ssh.PublicKey
	// Listen opens the ports of the servers.
	Listen sim.ListenFunc
	// TLS is the gNMI server's configuration; nil creates a separate CA and certificate. Switches
	// can share one. It may require client certificates.
	TLS *tls.Config
	// Plaintext serves gNMI without TLS.
	Plaintext bool
	// GNMIAddr and SSHAddr are listening addresses; "" means 127.0.0.1:0.
	GNMIAddr, SSHAddr string
	NoSSH, NoGNMI     bool
	// HostKey identifies the SSH server; nil creates an Ed25519 key.
	HostKey ssh.Signer
	// TimeScale scales the measured times of a real switch: 0 does not wait, 1 is real time.
	TimeScale float64
	// Shuffle seeds the choices that the switch may make either way, see [sim.Shuffler]; 0 turns it
	// off.
	Shuffle uint64
	// Logf receives the syslog of the switch; nil discards it.
	Logf func(format string, args ...any)
}

// Switch is a simulated switch. Its methods are safe for concurrent use.
type Switch struct {
	o       Options
	rel     int
	faults  *Faults
	tally   sim.Tally
	loads   int
	dice    sim.Shuffler
	chassis sim.Chassis
	user    string
	pass    string

	caPEM   []byte
	tlsConf *tls.Config
	badTLS  *tls.Config
	hostKey ssh.Signer

	mu        sync.Mutex
	cfg       tables
	saved     tables
	rawSaved  []byte // what a user wrote over the startup file; nil otherwise
	intern    map[string]row
	entries   map[uintptr]shownRow // tree entries of rows, by the address of the row
	derived   derived
	orch      map[string]map[string]row // what orchagent accepted
	overlay   map[string]tables         // direct writes to databases other than CONFIG_DB
	mgr       buffermgr
	pendingPG map[string]bool   // ports that buffermgrd retries
	dead      map[string]bool   // daemons that have ended
	still     map[string]tables // databases frozen when orchagent ended
	loose     map[spot]bool     // queues and groups that a removed row unbound
	bouncing  map[string]bool   // ports that were up and are down
	flaps     map[string]int    // completed down/up cycles
	files     map[string]file   // what users wrote
	links     map[string]link   // symbolic links, all dangling
	checks    map[string]tables // config checkpoints
	processes map[string]int    // command lines of running programs
	snapshot  map[string]any    // checkpoint of a Set in progress; nil otherwise
	sets      []*gnmi.SetRequest
	subs      map[*subscription]bool
	syslog    []string
	started   bool
	closed    bool

	gcuLock chan struct{} // the host service applies one request at a time
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	grpcSrv *grpc.Server
	gnmiLn  *sim.Listener
	sshLn   *sim.Listener
}

// New returns a switch that has booted with the configuration of o but does not listen yet. It
// fails for an unknown release, and if a certificate or key cannot be created.
func New(o Options) (*Switch, error) {
	rel, err := releaseIndex(o.Release)
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = "sonic"
	}
	if o.Release == "" {
		o.Release = "master"
	}
	if o.Model == nil && o.HWSKU != "" {
		o.Model, _ = catalog.Lookup(o.HWSKU)
	}
	if o.Headroom == nil && o.Model != nil {
		o.Headroom = o.Model.Headroom
	}
	if o.GNMIAddr == "" {
		o.GNMIAddr = "127.0.0.1:0"
	}
	if o.SSHAddr == "" {
		o.SSHAddr = "127.0.0.1:0"
	}
	s := &Switch{o: o, rel: rel, user: o.Username, pass: o.Password, hostKey: o.HostKey,
		gcuLock: make(chan struct{}, 1), intern: map[string]row{}, processes: map[string]int{}}
	s.faults = &Faults{s: s}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if s.user == "" {
		s.user, s.pass = DefaultUser, DefaultPassword
	}
	if err := s.prepareTLS(); err != nil {
		return nil, err
	}
	if s.hostKey == nil && !o.NoSSH {
		if s.hostKey, err = sim.NewHostKey(); err != nil {
			return nil, err
		}
	}
	s.dice.Shuffle(o.Shuffle)
	s.chassis.Install(o.Name)
	t, err := s.start()
	if err != nil {
		return nil, err
	}
	s.spellOut(t)
	s.boot(t)
	s.saved = s.cfg.clone()
	s.o.Config, s.o.Running = nil, nil // would keep a second copy of every switch alive
	return s, nil
}

// start returns the initial configuration of the switch according to its options.
func (s *Switch) start() (tables, error) {
	switch {
	case s.o.Running != nil:
		return s.runningTables()
	case s.o.Config != nil:
		return s.internAll(s.o.Config), nil
	}
	return s.internAll(FactoryConfig(s.o.Model, factoryOf(s.o)...)), nil
}

// boot makes t the running configuration and starts the daemons. The caller holds mu or is the only
// user.
func (s *Switch) boot(t tables) {
	s.derived = derived{}
	s.cfg, s.orch, s.overlay = t, map[string]map[string]row{}, nil
	s.loose, s.dead, s.still = map[spot]bool{}, nil, nil
	s.pendingPG, s.bouncing, s.flaps = map[string]bool{}, map[string]bool{}, map[string]int{}
	s.startBuffermgr()
	for _, table := range rememberedTables {
		for _, key := range sortedKeys(t[table]) {
			s.orchApply(table, key, t[table][key])
		}
	}
	for _, port := range naturalKeys(t["PORT"]) {
		s.updatePortBuffers(port)
	}
}

// Start opens the servers. It fails if an address is in use, or if the switch is running or was
// closed.
func (s *Switch) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started || s.closed {
		return fmt.Errorf("switch %s: already started", s.o.Name)
	}
	refuse := func() bool { return s.faults.on(&s.faults.refuse) }
	var err error
	if !s.o.NoGNMI {
		if s.gnmiLn, err = s.o.Listen.Open(s.o.GNMIAddr, refuse); err != nil {
			return fmt.Errorf("switch %s: gnmi: %w", s.o.Name, err)
		}
	}
	if !s.o.NoSSH {
		if s.sshLn, err = s.o.Listen.Open(s.o.SSHAddr, refuse); err != nil {
			return errors.Join(fmt.Errorf("switch %s: ssh: %w", s.o.Name, err), s.gnmiLn.Close())
		}
		s.wg.Go(s.serveSSH)
	}
	s.grpcSrv = s.newGRPCServer()
	if !s.o.NoGNMI {
		s.wg.Go(func() { _ = s.grpcSrv.Serve(s.gnmiLn) }) // returns when the listener closes
	}
	s.started = true
	return nil
}

// Close stops both servers and waits for everything that they started, including a change that
// outlived its request. A second Close does nothing.
func (s *Switch) Close() error {
	s.mu.Lock()
	started, closed := s.started, s.closed
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	if !started || closed {
		return nil
	}
	_ = s.sshLn.Close()
	s.sshLn.DropAll()
	s.grpcSrv.Stop()
	s.gnmiLn.DropAll()
	s.wg.Wait()
	return nil
}

// GNMIAddr returns the host:port of the gNMI server, "" before Start.
func (s *Switch) GNMIAddr() string { return s.gnmiLn.Address() }

// SSHAddr returns the host:port of the SSH server, "" if there is none.
func (s *Switch) SSHAddr() string { return s.sshLn.Address() }

// MostSessions returns the maximum number of simultaneous connections to each of the two servers.
func (s *Switch) MostSessions() (gnmi, ssh int) { return s.gnmiLn.Most(), s.sshLn.Most() }

// Sessions returns the newest connections to each of the two servers, and which of them changed the
// configuration, or tried to.
func (s *Switch) Sessions() (gnmi, ssh []sim.Session) { return s.gnmiLn.Sessions(), s.sshLn.Sessions() }

// CAPEM returns the certificate that a client must trust to reach the gNMI server; nil in
// plaintext.
func (s *Switch) CAPEM() []byte { return append([]byte(nil), s.caPEM...) }

// Shuffle makes the switch answer like another one of its kind from now on.
func (s *Switch) Shuffle(seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.derived = derived{}
	s.dice.Shuffle(seed)
}

// Faults returns the switch's fault injection.
func (s *Switch) Faults() *Faults { return s.faults }

// Config returns a copy of the running CONFIG_DB.
func (s *Switch) Config() map[string]map[string]map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg.deep()
}

// DB returns a copy of one database, table -> key -> field -> value: CONFIG_DB, APPL_DB, ASIC_DB,
// STATE_DB or COUNTERS_DB. A table that is a single hash (COUNTERS_PORT_NAME_MAP) has the key "".
// Other names return nil.
func (s *Switch) DB(name string) map[string]map[string]map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.database(name, ""); t != nil {
		return t.deep()
	}
	return nil
}

// Saved returns the startup file, /etc/sonic/config_db.json.
func (s *Switch) Saved() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.savedJSON()
}

func (s *Switch) savedJSON() []byte {
	if s.rawSaved != nil {
		return append([]byte(nil), s.rawSaved...)
	}
	return s.saved.json()
}

// Save simulates someone else's "config save".
func (s *Switch) Save() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.save()
}

func (s *Switch) save() { s.saved, s.rawSaved = s.cfg.clone(), nil }

// SetRow writes one whole CONFIG_DB row like another writer does through Redis: without validation,
// and the daemons react.
func (s *Switch) SetRow(table, key string, fields map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeRow(table, key, copyRow(fields))
}

// DelRow removes one CONFIG_DB row in the same way.
func (s *Switch) DelRow(table, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeRow(table, key, nil)
}

// SetDBRow overrides fields of a row of APPL_DB, ASIC_DB, STATE_DB or COUNTERS_DB, which are
// otherwise derived, for example to count packets or to make the hardware differ from the
// configuration. In CONFIG_DB, it merges the fields into the row.
func (s *Switch) SetDBRow(db, table, key string, fields map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mergeRow(db, table, key, fields)
}

// Unplug removes the cable from a port, or puts it back.
func (s *Switch) Unplug(port string, out bool) {
	state := "up"
	if out {
		state = "down"
	}
	s.SetDBRow("APPL_DB", "PORT_TABLE", port, map[string]string{"oper_status": state})
}

// Restart reboots the switch: connections drop, the startup file is loaded, and unsaved changes are
// lost.
func (s *Switch) Restart() error {
	err := s.reload()
	s.mu.Lock()
	maps.DeleteFunc(s.links, func(name string, _ link) bool { return strings.HasPrefix(name, "/run/") }) // in memory (Debian, tmpfs)
	s.mu.Unlock()
	s.dropConnections()
	return err
}

// reload loads the startup file.
func (s *Switch) reload() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.saved.clone()
	if s.rawSaved != nil {
		var m map[string]any
		if err := json.Unmarshal(s.rawSaved, &m); err != nil {
			return fmt.Errorf("switch %s: startup file: %w", s.o.Name, err)
		}
		t = s.tablesOf(m)
	}
	s.tally.Reset()
	flaps := s.flaps
	s.boot(t)
	s.flaps = flaps
	return nil
}

func (s *Switch) dropConnections() {
	s.gnmiLn.DropAll()
	s.sshLn.DropAll()
}

// Sets returns the latest Set requests that passed authentication, oldest first.
func (s *Switch) Sets() []*gnmi.SetRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*gnmi.SetRequest(nil), s.sets...)
}

// Loads returns the number of SSH commands that were to change CONFIG_DB.
func (s *Switch) Loads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}

// Flaps returns, by port, how often it went from up to down and up again.
func (s *Switch) Flaps() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := make(map[string]int, len(s.flaps))
	for k, v := range s.flaps {
		m[k] = v
	}
	return m
}

// Unbound returns the queues and groups that a row names but that have no binding, because the
// removal of another row unbound them: "BUFFER_PG|Ethernet0|3".
func (s *Switch) Unbound() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, table := range rangedTables {
		for _, key := range naturalKeys(s.cfg[table]) {
			port, indexes, _ := strings.Cut(key, "|")
			for _, i := range expand(indexes) {
				if s.loose[spot{table, port, i}] {
					out = append(out, fmt.Sprintf("%s|%s|%d", table, port, i))
				}
			}
		}
	}
	return out
}

// Syslog returns the latest daemon messages, oldest first.
func (s *Switch) Syslog() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.syslog...)
}

func (s *Switch) logf(format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if len(s.syslog) >= 512 {
		s.syslog = append(s.syslog[:0], s.syslog[256:]...)
	}
	s.syslog = append(s.syslog, msg)
	if s.o.Logf != nil {
		s.o.Logf("%s: %s", s.o.Name, msg)
	}
}

// Releases are the branches that a switch can run, oldest first.
var Releases = []string{"202311", "202405", "202411", "202505", "202511", "202605", "master"}

const (
	r202311 = iota
	r202405
	r202411
	r202505
	r202511
	r202605
	rMaster
)

func releaseIndex(name string) (int, error) {
	if name == "" {
		return rMaster, nil
	}
	for i, r := range Releases {
		if r == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("sonic release %q: not one of %v", name, Releases)
}

// Keep returns a function that restores the current state of the switch: its configuration and
// startup file, the state of its daemons, and the overrides of its databases.
func (s *Switch) Keep() (back func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cfg, saved, raw, overlay := s.cfg.clone(), s.saved.clone(), s.rawSaved, cloned(s.overlay)
	orch, pending, loose := tables(s.orch).clone(), maps.Clone(s.pendingPG), maps.Clone(s.loose)
	dead, still := maps.Clone(s.dead), s.still // its contents are never modified
	mgr := buffermgr{maps.Clone(s.mgr.pfc), maps.Clone(s.mgr.cable)}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.derived = derived{}
		s.cfg, s.saved, s.rawSaved, s.overlay = cfg.clone(), saved.clone(), raw, cloned(overlay)
		s.orch, s.pendingPG, s.loose = orch.clone(), maps.Clone(pending), maps.Clone(loose)
		s.dead, s.still = maps.Clone(dead), still
		s.mgr = buffermgr{maps.Clone(mgr.pfc), maps.Clone(mgr.cable)}
	}
}

func cloned(dbs map[string]tables) map[string]tables {
	out := map[string]tables{}
	for name, t := range dbs {
		out[name] = t.clone()
	}
	return out
}
