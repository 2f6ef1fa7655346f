// Package lab runs simulated devices for an intent on loopback, for `roce-fabric lab` and for
// tests. Each switch starts in factory state, and each host as it is after installation.
//
// A lab is described by a small file ([File]). Other commands read it to find the lab's devices
// instead of those named in the intent. Do not use any of it for real devices: the lab's only
// password is in that file.
package lab

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/testlab/proxy"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/testlab/sim/systems"
)

// File says where to find the devices of a running lab. It has mode 0600.
type File struct {
	Kind       string             `json:"kind"`
	Fabric     string             `json:"fabric"`
	Username   string             `json:"username"`
	Password   string             `json:"password"`
	CA         string             `json:"ca"`          // path of the CA certificate, PEM
	KnownHosts string             `json:"known_hosts"` // path of the SSH host keys
	Devices    map[string]Address `json:"devices"`     // switches
	Hosts      map[string]Address `json:"hosts"`       // have no gNMI
	// Program is the path of a file that is copied to the hosts in place of the program. The hosts
	// never run it, because a simulated host is part of the lab.
	Program string `json:"program"`
	// TimeScale is the lab's [Options.TimeScale].
	TimeScale float64 `json:"time_scale"`
	// Control is the path of the socket for fault requests, see [File.Do]; "" if there is none.
	Control string `json:"control,omitempty"`
}

// Kind identifies a lab file.
const Kind = "roce-fabric-lab"

// Address says where a device listens.
type Address struct {
	OS   string `json:"os,omitempty"` // only for switches
	GNMI string `json:"gnmi,omitempty"`
	SSH  string `json:"ssh"`
}

// At returns the address of a device of the lab, for [fleet.Access].
func (f *File) At(device string) (fleet.Address, error) {
	at, ok := f.Devices[device]
	if !ok {
		at, ok = f.Hosts[device]
	}
	if !ok {
		return fleet.Address{}, fmt.Errorf("the lab of %s has no such device", f.Fabric)
	}
	return fleet.Address{
		GNMI: at.GNMI, SSH: at.SSH, Username: f.Username, Password: f.Password, CA: f.CA, KnownHosts: f.KnownHosts, Program: f.Program,
	}, nil
}

// Lab is a set of running devices.
type Lab struct {
	File
	Switches map[string]sim.Switch
	Servers  map[string]*host.Host // the hosts
	names    []string
	hosts    []string
	dir      string
	far      []*proxy.Proxy
	own      bool // the folder was created by the lab and is removed with it
	listed   bool // the lab file has been written
	fabric   *intent.Fabric
	control  *control
}

// Options configures a lab.
type Options struct {
	// TimeScale scales the time that devices take: 0 waits for nothing, 1 is real time.
	TimeScale float64
	// Latency is the round-trip time between the devices and their clients.
	Latency time.Duration
	// NIC is the kind of all NICs of the hosts; "" means host.MLX5.
	NIC host.Kind
	// Running holds configurations with which switches start, by name, in the form that their
	// systems show. A simulator leaves out the lines that it rejects.
	Running map[string][]byte
	// Listen opens the ports of the devices; nil uses the machine's network. A lab on another
	// network has no control socket, and Latency must be 0.
	Listen sim.ListenFunc
	// Shuffle seeds the choices that the devices may make either way: order, optional lines,
	// timing; see [sim.Shuffler]. With 0 each device always does the same.
	Shuffle uint64
}

// seedOf derives the seed of one device.
func seedOf(seed uint64, name string) uint64 {
	if seed == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %s", seed, name) // a hash does not fail
	return h.Sum64() | 1
}

// setup says how a switch of the intent starts.
func (s *shared) setup(sw *intent.Switch, o Options) sim.Setup {
	out := sim.Setup{
		Name: sw.Name, Model: sw.Model.V, Release: sw.Release.V, Speeds: map[string]int64{}, DynamicBuffers: sw.Dynamic.V,
		Running: o.Running[sw.Name], Username: "admin", Password: s.password, TLS: s.tls, HostKey: s.hostKey,
		Listen: o.Listen, TimeScale: o.TimeScale, Shuffle: seedOf(o.Shuffle, sw.Name),
	}
	for _, p := range sw.Ports {
		out.Ports = append(out.Ports, p.Name)
		if p.Speed.V > 0 {
			out.Speeds[p.Name] = int64(p.Speed.V)
		}
	}
	return out
}

// shared is what the devices of a lab have in common.
type shared struct {
	tls      *tls.Config
	hostKey  ssh.Signer
	password string
	wire     *host.Wire
}

// Start starts the switches and hosts of an intent and writes the lab's files into dir, which it
// creates. If dir is "", it uses a temporary folder that is removed with the lab.
func Start(f *intent.Fabric, dir string, o Options) (l *Lab, err error) {
	own := dir == ""
	if own {
		if dir, err = os.MkdirTemp("", "roce-fabric-lab-"); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	l = &Lab{Switches: map[string]sim.Switch{}, Servers: map[string]*host.Host{}, dir: dir, own: own, fabric: f, File: File{
		Kind: Kind, Fabric: f.Name, Username: "admin", TimeScale: o.TimeScale,
		CA: dir + "/ca.pem", KnownHosts: dir + "/known_hosts", Program: dir + "/program",
		Devices: map[string]Address{}, Hosts: map[string]Address{},
	}}
	if err := l.start(f, o); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Lab) start(f *intent.Fabric, o Options) error {
	var s shared
	var pass [12]byte
	if _, err := rand.Read(pass[:]); err != nil {
		return fmt.Errorf("lab password: %w", err)
	}
	s.password = hex.EncodeToString(pass[:])
	conf, ca, err := sim.NewTLS()
	if err != nil {
		return err
	}
	s.tls, s.wire = conf, host.NewWire()
	s.wire.Hops, s.wire.Weight = hopsOf(f), weightOf(f)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("lab host key: %w", err)
	}
	if s.hostKey, err = ssh.NewSignerFromKey(key); err != nil {
		return fmt.Errorf("lab host key: %w", err)
	}
	l.Password = s.password
	var known strings.Builder
	overSSH := func(at string) (string, error) {
		at, err := l.withLatency(at, o.Latency)
		known.WriteString(knownhosts.Line([]string{knownhosts.Normalize(at)}, s.hostKey.PublicKey()) + "\n")
		return at, err
	}
	for _, sw := range f.Switches {
		system, ok := systems.Of(sw.OS)
		if !ok {
			return fmt.Errorf("%s: the lab has no simulator for os %q", sw.Name, sw.OS)
		}
		box, err := system.Start(s.setup(sw, o))
		if err != nil {
			return fmt.Errorf("%s: %w", sw.Name, err)
		}
		l.Switches[sw.Name] = box
		l.names = append(l.names, sw.Name)
		at := Address{OS: sw.OS}
		if at.GNMI, err = l.withLatency(box.GNMIAddr(), o.Latency); err != nil {
			return err
		}
		if at.SSH, err = overSSH(box.SSHAddr()); err != nil {
			return err
		}
		l.Devices[sw.Name] = at
	}
	l.cable(f)
	for _, h := range f.Hosts {
		box, err := startHost(h, s, l.dir, o)
		if err != nil {
			return err
		}
		l.Servers[h.Name] = box
		l.hosts = append(l.hosts, h.Name)
		at, err := overSSH(box.SSHAddr())
		if err != nil {
			return err
		}
		l.Hosts[h.Name] = Address{SSH: at}
	}
	if o.Listen == nil {
		if l.control, err = l.listen(); err != nil {
			return fmt.Errorf("control socket: %w", err)
		}
	}
	return errors.Join(atomicfile.Write(l.CA, ca, 0o600), atomicfile.Write(l.KnownHosts, []byte(known.String()), 0o600),
		atomicfile.Write(l.Program, standIn(), 0o700), l.write())
}

// withLatency returns the address of a proxy that adds a round-trip time to a server.
func (l *Lab) withLatency(at string, roundTrip time.Duration) (string, error) {
	if roundTrip == 0 || at == "" {
		return at, nil
	}
	p, err := proxy.Far(at, roundTrip)
	if err != nil {
		return "", err
	}
	l.far = append(l.far, p)
	return p.Addr(), nil
}

// Configured reads the configurations with which switches of f start, as given to --config. It
// returns them with the lines that the simulators reject. If f is nil, the fabric consists of
// these switches only, without classes and links. An invalid argument is a [*fleet.OptionError].
func Configured(f *intent.Fabric, configs []string) (_ *intent.Fabric, running map[string][]byte, refused []string, err error) {
	saved, err := fleet.ReadSwitches(configs)
	if err != nil {
		return nil, nil, nil, err
	}
	if f == nil {
		if f, err = fabricOf(saved); err != nil {
			return nil, nil, nil, err
		}
	}
	running = map[string][]byte{}
	for _, s := range saved {
		sw := f.Switch(s.Name)
		switch {
		case sw == nil:
			return nil, nil, nil, fleet.Wrong("config "+s.Name, "", "the intent has no such switch")
		case sw.OS != s.OS:
			return nil, nil, nil, fleet.Wrong("config "+s.Name, "", "the file is for %s, but the intent says os: %s", s.OS, sw.OS)
		}
		running[s.Name] = s.Text
		if system, ok := systems.Of(sw.OS); ok {
			for _, line := range system.Refuses(sw.Model.V, s.Text) {
				refused = append(refused, s.Name+" refuses "+line)
			}
		}
	}
	return f, running, refused, nil
}

// fabricOf returns a fabric of switches known only by their configurations.
func fabricOf(saved []fleet.SavedSwitch) (*intent.Fabric, error) {
	var b strings.Builder
	b.WriteString("apiVersion: roce-fabric/v1\nkind: Fabric\nname: lab\nswitches:\n")
	for _, s := range saved {
		fmt.Fprintf(&b, "  %q: {os: %q", s.Name, s.OS)
		if s.Model != "" {
			fmt.Fprintf(&b, ", model: %q", s.Model)
		}
		if s.Release != "" {
			fmt.Fprintf(&b, ", release: %q", s.Release)
		}
		b.WriteString("}\n")
	}
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(b.String()), NoClasses: true})
	if faults := (intent.Errors)(nil); errors.As(err, &faults) && len(faults) > 0 {
		return nil, fleet.Wrong("", faults[0].Hint, "%s", faults[0].Msg) // positions in a generated text do not help the user
	}
	return f, err
}

// Sources returns the devices of the lab, for an import.
func (f *File) Sources() (out []fleet.Source) {
	for _, n := range natural.Keys(f.Devices) {
		at := f.Devices[n]
		out = append(out, fleet.Source{Name: n, OS: at.OS, Address: at.GNMI, SSH: at.SSH})
	}
	return out
}

// Path returns the path of the lab file in a folder.
func Path(dir string) string { return dir + "/lab.json" }

// Path returns the path of the lab file.
func (l *Lab) Path() string { return Path(l.dir) }

func (l *Lab) write() error {
	b, err := json.MarshalIndent(l.File, "", "  ")
	if err != nil {
		return fmt.Errorf("lab file: %w", err)
	}
	err = atomicfile.Write(l.Path(), append(b, '\n'), 0o600)
	l.listed = err == nil
	return err
}

// Names returns the names of the switches in the order of the intent.
func (l *Lab) Names() []string { return l.names }

// HostNames returns the names of the hosts in the order of the intent.
func (l *Lab) HostNames() []string { return l.hosts }

// WriteTable writes a table of the devices' addresses.
func (l *Lab) WriteTable(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "DEVICE\tGNMI\tSSH")
	for _, n := range l.names {
		fmt.Fprintf(w, "%s\t%s\t%s\n", n, l.Devices[n].GNMI, l.Devices[n].SSH)
	}
	for _, n := range l.hosts {
		fmt.Fprintf(w, "%s\t%s\t%s\n", n, "-", l.Hosts[n].SSH)
	}
	return w.Flush()
}

// Shuffle makes all devices vary their answers from now on, as different devices of their kind do.
// Call it while there are no requests. With 0 each device always does the same.
func (l *Lab) Shuffle(seed uint64) {
	for name, s := range l.Switches {
		s.Shuffle(seedOf(seed, name))
	}
	for name, h := range l.Servers {
		h.Shuffle(seedOf(seed, name))
	}
}

// Close stops all devices and removes the lab file, so that nobody looks for devices that are
// gone.
func (l *Lab) Close() (err error) {
	err = l.control.Close()
	for _, p := range l.far {
		err = errors.Join(err, p.Close())
	}
	for _, s := range l.Switches {
		err = errors.Join(err, s.Close())
	}
	for _, h := range l.Servers {
		err = errors.Join(err, h.Close())
	}
	if l.own {
		return errors.Join(err, os.RemoveAll(l.dir))
	}
	if !l.listed { // the file in the folder belongs to another lab
		return err
	}
	if gone := os.Remove(l.Path()); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// Read reads the file of a running lab.
func Read(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the lab file: %w", err)
	}
	var f File
	if err := json.Unmarshal(b, &f); err != nil || f.Kind != Kind {
		return nil, fmt.Errorf("%s is not a lab file", path)
	}
	return &f, nil
}
