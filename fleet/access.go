package fleet

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/fleet/systems"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/netx"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/internal/trace"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/remote"
)

// Access connects to the devices of a fabric. It resolves each secret and reads each
// known_hosts file once for all devices. The zero value uses the addresses of the intent. Do
// not copy an Access after first use.
type Access struct {
	// Scale multiplies the times of the gate and the assumed update intervals of the devices'
	// counters; 0 is 1. A lab uses a small value.
	Scale float64

	// At returns the address of a device in place of the intent's; may be nil.
	At func(device string) (Address, error)
	// Sudo is how to become root on a host: "none", "nopassword", "password", or "", which is
	// "none" for user root and "nopassword" for others.
	Sudo string
	// Images is a folder that caches data shared by all devices with the same image; "" for
	// none.
	Images string
	// Workers is the maximum number of devices worked on at a time. The maximum size of an
	// answer of a device depends on it; 0 is one.
	Workers int
	// Log records the traffic with devices; may be nil.
	Log *trace.Log
	// Dial connects to devices; nil uses the network of this machine.
	Dial netx.Dialer
	// Policy is what the intent may use; nil is [secret.Usual] for the environment.
	Policy *secret.Policy
	// AcceptIdentity names devices that may be written to even if their identity differs from
	// the intent or from the record of an earlier run.
	AcceptIdentity []string
	// Local is set if the only host of the call is this machine.
	Local bool
	// CutOff allows a host to take down the port that carries its only management path.
	CutOff bool
	// Peer is the address from which a Local host is managed. Zero is unknown: the default
	// route then counts as the management path.
	Peer netip.Addr

	mu      sync.Mutex
	secrets map[string]secret.Secret
	hosts   map[string]*ssh.KnownHosts
}

// Address holds the addresses of a device in a lab and its credentials.
type Address struct {
	GNMI, SSH      string // GNMI is "" for a host
	Username       string
	Password       string
	CA, KnownHosts string // file names
	// Program is copied to a host in place of this program.
	Program string
}

// rpcTimeout is the timeout of one read from a device. Reading the whole CONFIG_DB of a large
// switch takes a second or two.
const rpcTimeout = 20 * time.Second

// Switch returns a driver for a switch.
func (a *Access) Switch(ctx context.Context, sw *intent.Switch) (drivers.Driver, error) {
	return a.open(ctx, sw, false)
}

// open returns a driver for a switch; with reads, the driver must only read.
func (a *Access) open(ctx context.Context, sw *intent.Switch, reads bool) (drivers.Driver, error) {
	t, err := a.target(ctx, sw)
	if err != nil {
		return nil, err
	}
	t.Reads = reads
	t.GNMI.MaxMessage, t.GNMI.Dial = maxAnswer(a.Workers), a.Dial
	t.GNMI.Log = a.Log.For(sw.Name, t.GNMI.Password)
	if t.SSH != nil {
		t.SSH.Log = a.Log.For(sw.Name, t.SSH.Password)
		t.SSH.MaxOutput = int64(t.GNMI.MaxMessage)
	}
	return systems.All.Open(t)
}

// target resolves the addresses and credentials of a switch.
func (a *Access) target(ctx context.Context, sw *intent.Switch) (drivers.Target, error) {
	t := drivers.Target{Name: sw.Name, OS: sw.OS, Release: sw.Release.V, Model: sw.Model.V, Write: sw.Write.V, Images: a.Images}
	if a.At != nil {
		at, err := a.At(sw.Name)
		if err != nil {
			return t, err
		}
		t.GNMI = gnmi.Config{Address: at.GNMI, Username: at.Username, Password: secret.Secret(at.Password), Timeout: rpcTimeout, TLS: gnmi.TLS{CAFile: at.CA}}
		if sw.Access.SSH.Configured() && at.SSH != "" {
			t.SSH, err = a.sshAt(at)
		}
		return t, err
	}
	to := sw.Access
	if err := a.permitSwitch(sw); err != nil {
		return t, err
	}
	user, pass, err := a.login(ctx, to.Username.V, to.Password.V)
	if err != nil {
		return t, err
	}
	t.GNMI = gnmi.Config{
		Address: sw.Address.V, Username: user, Password: pass, Timeout: rpcTimeout,
		TLS: gnmi.TLS{
			CAFile: to.TLS.CA.V, CertFile: to.TLS.Cert.V, KeyFile: to.TLS.Key.V, Pin: to.TLS.Pin.V,
			ServerName: to.TLS.ServerName.V, Insecure: to.TLS.Insecure.V, Plaintext: to.TLS.Plaintext.V,
		},
	}
	if to.SSH.Configured() {
		t.SSH, err = a.ssh(ctx, to.SSH)
	}
	return t, err
}

// ssh resolves the address and credentials of a device for SSH.
func (a *Access) ssh(ctx context.Context, s intent.SSH) (*ssh.Config, error) {
	user, pass, err := a.login(ctx, s.Username.V, s.Password.V)
	if err != nil {
		return nil, err
	}
	hosts, err := a.knownHosts(s.KnownHosts.V)
	if err != nil {
		return nil, err
	}
	return &ssh.Config{Address: s.Address.V, User: user, Password: pass, KeyFile: s.Key.V, Agent: s.Agent.V, Hosts: hosts, Jump: s.Jump.V, Dial: a.Dial}, nil
}

func (a *Access) sshAt(at Address) (*ssh.Config, error) {
	hosts, err := a.knownHosts(at.KnownHosts)
	if err != nil {
		return nil, err
	}
	return &ssh.Config{Address: at.SSH, User: at.Username, Password: secret.Secret(at.Password), Hosts: hosts, Dial: a.Dial}, nil
}

// Lacks returns what the intent must still state before a host can be reached: "address" or
// "user name" (of SSH), or "" for nothing. With At or Local it is always "".
func (a *Access) Lacks(h *intent.Host) string {
	switch {
	case a.Local || a.At != nil:
	case h.Address.V == "":
		return "address"
	case h.Access.SSH.Username.V == "":
		return "user name"
	}
	return ""
}

// Reachable returns the hosts that can be reached, and a message about the others for each
// setting that they lack.
func (a *Access) Reachable(hosts []*intent.Host) (out []*intent.Host, without []string) {
	var by ordered.Groups[string, string]
	for _, h := range hosts {
		if lacks := a.Lacks(h); lacks != "" {
			by.Add(lacks, h.Name)
		} else {
			out = append(out, h)
		}
	}
	for lacks, names := range by.All() {
		had, was := words.Plural(len(names), "host has", "hosts have"), "were"
		if len(names) == 1 {
			was = "was"
		}
		without = append(without, fmt.Sprintf("%s no %s and %s not read: %s", had, lacks, was, natural.Fold(names)))
	}
	return out, without
}

// OneHost reduces f.Hosts to the host with the given name, or if name is "" to the host with
// the host name of this machine. It returns an error if that host cannot be reached.
func (f *Fabric) OneHost(a *Access, name string) error {
	h := f.Fabric().Host(name)
	if name == "" {
		full, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("host name: %w", err)
		}
		short, _, _ := strings.Cut(full, ".")
		if h = f.Fabric().Host(short); h == nil {
			return Wrong("", "say which host of the intent this is with --host", "the intent has no host %q, this machine's host name", short)
		}
	}
	switch {
	case h == nil:
		advice, hosts := "", []string(nil)
		for _, h := range f.Fabric().Hosts {
			hosts = append(hosts, h.Name)
		}
		if near := words.Nearest(name, hosts); near != "" {
			advice = "did you mean " + near + "?"
		}
		return Wrong("", advice, "the intent has no host %q", name)
	case !slices.Contains(f.Hosts, h):
		return Wrong("", "", "--host %s is not among the hosts that --only selects", name)
	case a.Lacks(h) != "":
		return Wrong("", wayIn, "%s has no %s", h.Name, a.Lacks(h))
	}
	f.Hosts = []*intent.Host{h}
	return nil
}

// SomeHost returns an error if no selected host can be reached.
func (f *Fabric) SomeHost(a *Access) error {
	switch reach, _ := a.Reachable(f.Hosts); {
	case len(reach) > 0:
		return nil
	case f.part:
		return Wrong("", wayIn, "none of the hosts of --only has an address and a user name")
	}
	return Wrong("", wayIn, "no host of %s has an address and a user name", f.Fabric().Name)
}

const wayIn = "give hosts an address and credentials.hosts, or run it on the host with --local"

// host returns a driver for a host.
func (a *Access) host(f *intent.Fabric, h *intent.Host, desired *nic.Host) *host.Driver {
	c := host.Config{
		Name: h.Name, Desired: desired, Options: local.Options{CutOff: a.CutOff, Peer: a.Peer},
		Accepted: func(check, port string) bool {
			now := time.Now()
			return slices.ContainsFunc(f.Suppressions, func(s *intent.Suppression) bool {
				return s.Check == check && !s.Over(now) && s.Covers(h.Name, port)
			})
		},
	}
	if !a.Local {
		c.Connect = func(ctx context.Context) (host.Conn, error) { return a.connect(ctx, h) }
	}
	return host.New(c)
}

// connect connects to a host.
func (a *Access) connect(ctx context.Context, h *intent.Host) (host.Conn, error) {
	opts := remote.Options{Sudo: remote.SudoNoPassword}
	cfg, err := a.hostSSH(ctx, h, &opts)
	if err != nil {
		return nil, err
	}
	cfg.Log = a.Log.For(h.Name, cfg.Password)
	switch {
	case a.Sudo == "password":
		opts.Sudo, opts.Password = remote.SudoPassword, cfg.Password
	case a.Sudo == "none" || a.Sudo == "" && cfg.User == "root":
		opts.Sudo = remote.SudoNone
	}
	r, err := remote.Open(ctx, *cfg, opts)
	if err != nil {
		return nil, err // not r: a Conn that holds a nil pointer is not nil
	}
	return r, nil
}

// hostSSH resolves the SSH address and credentials of a host.
func (a *Access) hostSSH(ctx context.Context, h *intent.Host, o *remote.Options) (*ssh.Config, error) {
	if a.At == nil {
		if err := a.permitHost(h); err != nil {
			return nil, err
		}
		return a.ssh(ctx, h.Access.SSH)
	}
	at, err := a.At(h.Name)
	if err != nil {
		return nil, err
	}
	o.Binary = at.Program
	return a.sshAt(at)
}

// Forget makes Access read secrets and known_hosts files again. In a long-running process
// they may have changed since the first read, so call Forget after a read of a device failed.
func (a *Access) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secrets, a.hosts = nil, nil
}

// login resolves the references to a user name and a password; "" stays "".
func (a *Access) login(ctx context.Context, username, password string) (user string, pass secret.Secret, err error) {
	if username != "" {
		if user, err = a.policy().Username(ctx, username); err != nil {
			return "", "", err
		}
	}
	if password != "" {
		pass, err = once(a, &a.secrets, password, func(ref string) (secret.Secret, error) { return a.policy().Resolve(ctx, ref) })
	}
	return user, pass, err
}

func (a *Access) knownHosts(path string) (*ssh.KnownHosts, error) {
	return once(a, &a.hosts, path, ssh.LoadKnownHosts)
}

// once returns the result of read for a key, and caches it unless read failed.
func once[T any](a *Access, had *map[string]T, key string, read func(string) (T, error)) (T, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if v, ok := (*had)[key]; ok {
		return v, nil
	}
	v, err := read(key)
	if err == nil {
		if *had == nil {
			*had = map[string]T{}
		}
		(*had)[key] = v
	}
	return v, err
}
