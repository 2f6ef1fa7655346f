package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/internal/trace"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/remote"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

// opener makes drivers for the switches of an intent, and reaches its hosts. Secrets are resolved
// once, and known_hosts files read once, for all devices.
type opener struct {
	lab *lab.File
	log *trace.Log // of --debug and --verbose; nil for neither

	mu      sync.Mutex
	secrets map[string]secret.Secret
	hosts   map[string]*ssh.KnownHosts
}

// rpcTimeout bounds a read of one device. The whole CONFIG_DB of a large
// switch takes a second or two.
const rpcTimeout = 20 * time.Second

func (a *app) opener() (*opener, error) {
	o := &opener{log: a.log, secrets: map[string]secret.Secret{}, hosts: map[string]*ssh.KnownHosts{}}
	if a.lab != "" {
		f, err := lab.Read(a.lab)
		if err != nil {
			return nil, usageHint("start the lab with 'roce-fabric lab up INTENT', or unset ROCE_FABRIC_LAB to talk to real devices", "%w", err)
		}
		o.lab = f
		a.talk("lab: the devices of %s answer on loopback (%s)", f.Fabric, a.lab)
	}
	return o, nil
}

// loadDevices is load for commands that talk to the switches.
func (a *app) loadDevices() (*render.Compiler, []*intent.Switch, *opener, error) {
	c, switches, err := a.load()
	if err != nil {
		return nil, nil, nil, err
	}
	o, err := a.opener()
	if err != nil {
		return nil, nil, nil, err
	}
	a.loud(switches)
	return c, switches, o, nil
}

// loud says what an operator should not forget about.
func (a *app) loud(switches []*intent.Switch) {
	for _, sw := range switches {
		switch t := sw.Access.TLS; {
		case t.Insecure.V:
			a.warn("%s: the certificate is not verified (%s)", sw.Name, t.Insecure.From)
		case t.Plaintext.V:
			a.warn("%s: the connection is not encrypted (%s)", sw.Name, t.Plaintext.From)
		}
	}
}

func (o *opener) open(ctx context.Context, sw *intent.Switch) (drivers.Driver, error) {
	t, err := o.target(ctx, sw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sw.Name, err)
	}
	return systems.Open(t)
}

// target resolves how a switch is reached.
func (o *opener) target(ctx context.Context, sw *intent.Switch) (drivers.Target, error) {
	t, err := o.access(ctx, sw)
	if err != nil {
		return t, err
	}
	t.GNMI.Log = o.log.For(sw.Name, t.GNMI.Password)
	if t.SSH != nil {
		t.SSH.Log = o.log.For(sw.Name, t.SSH.Password)
	}
	return t, nil
}

func (o *opener) access(ctx context.Context, sw *intent.Switch) (drivers.Target, error) {
	t := drivers.Target{Name: sw.Name, OS: sw.OS, Release: sw.Release.V, Model: sw.Model.V}
	if o.lab != nil {
		return o.inLab(t, sw.Access.SSH.Configured())
	}
	a := sw.Access
	user, err := o.username(ctx, a.Username.V)
	if err != nil {
		return t, err
	}
	pass, err := o.secret(ctx, a.Password.V)
	if err != nil {
		return t, err
	}
	t.GNMI = gnmi.Config{
		Address: sw.Address.V, Username: user, Password: pass, Timeout: rpcTimeout,
		TLS: gnmi.TLS{
			CAFile: a.TLS.CA.V, CertFile: a.TLS.Cert.V, KeyFile: a.TLS.Key.V, Pin: a.TLS.Pin.V,
			ServerName: a.TLS.ServerName.V, Insecure: a.TLS.Insecure.V, Plaintext: a.TLS.Plaintext.V,
		},
	}
	if !a.SSH.Configured() {
		return t, nil
	}
	if t.SSH, err = o.ssh(ctx, a.SSH); err != nil {
		return t, err
	}
	return t, nil
}

// ssh resolves how a device is reached over SSH.
func (o *opener) ssh(ctx context.Context, s intent.SSH) (*ssh.Config, error) {
	user, err := o.username(ctx, s.Username.V)
	if err != nil {
		return nil, err
	}
	pass, err := o.secret(ctx, s.Password.V)
	if err != nil {
		return nil, err
	}
	hosts, err := o.knownHosts(s.KnownHosts.V)
	if err != nil {
		return nil, err
	}
	return &ssh.Config{Address: s.Address.V, User: user, Password: pass, KeyFile: s.Key.V, Agent: s.Agent.V, Hosts: hosts, Jump: s.Jump.V}, nil
}

// inLab leads to the simulated device, over SSH where the intent has it.
func (o *opener) inLab(t drivers.Target, useSSH bool) (drivers.Target, error) {
	at, ok := o.lab.Devices[t.Name]
	if !ok {
		return t, fmt.Errorf("the lab of %s has no such device", o.lab.Fabric)
	}
	hosts, err := o.knownHosts(o.lab.KnownHosts)
	if err != nil {
		return t, err
	}
	pass := secret.Secret(o.lab.Password)
	t.GNMI = gnmi.Config{Address: at.GNMI, Username: o.lab.Username, Password: pass, Timeout: rpcTimeout, TLS: gnmi.TLS{CAFile: o.lab.CA}}
	if useSSH && at.SSH != "" {
		t.SSH = &ssh.Config{Address: at.SSH, User: o.lab.Username, Password: pass, Hosts: hosts}
	}
	return t, nil
}

// reaches reports whether there is an address for a host: in a lab for each.
func (o *opener) reaches(h *intent.Host) bool { return o.lab != nil || h.Address.V != "" }

// host resolves how a host is reached, and how the agent becomes root there: sudo
// is "none", "nopassword", "password" or "", which is none for root alone.
func (o *opener) host(ctx context.Context, h *intent.Host, sudo string) (*ssh.Config, remote.Options, error) {
	opts := remote.Options{Sudo: remote.SudoNoPassword}
	var cfg *ssh.Config
	var err error
	if o.lab != nil {
		opts.Binary = o.lab.Program
		cfg, err = o.hostInLab(h)
	} else {
		cfg, err = o.ssh(ctx, h.Access.SSH)
	}
	switch {
	case err != nil:
		return nil, opts, err
	}
	cfg.Log = o.log.For(h.Name, cfg.Password)
	switch {
	case sudo == "password":
		opts.Sudo, opts.Password = remote.SudoPassword, cfg.Password
	case sudo == "none" || sudo == "" && cfg.User == "root":
		opts.Sudo = remote.SudoNone
	}
	return cfg, opts, nil
}

// hostDriver makes the driver of a host that is only read.
func (o *opener) hostDriver(h *intent.Host, desired *nic.Host, sudo string) *host.Driver {
	return host.New(host.Config{Name: h.Name, Desired: desired, Connect: func(ctx context.Context) (host.Conn, error) {
		return o.connect(ctx, h, sudo)
	}})
}

// connect connects to a host.
func (o *opener) connect(ctx context.Context, h *intent.Host, sudo string) (host.Conn, error) {
	cfg, opts, err := o.host(ctx, h, sudo)
	if err != nil {
		return nil, err
	}
	r, err := remote.Open(ctx, *cfg, opts)
	if err != nil {
		return nil, err // and no Conn that is a nil *remote.Host
	}
	return r, nil
}

func (o *opener) hostInLab(h *intent.Host) (*ssh.Config, error) {
	at, ok := o.lab.Hosts[h.Name]
	if !ok {
		return nil, fmt.Errorf("the lab of %s has no such host", o.lab.Fabric)
	}
	hosts, err := o.knownHosts(o.lab.KnownHosts)
	if err != nil {
		return nil, err
	}
	return &ssh.Config{Address: at.SSH, User: o.lab.Username, Password: secret.Secret(o.lab.Password), Hosts: hosts}, nil
}

func (o *opener) username(ctx context.Context, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	return secret.Username(ctx, ref)
}

func (o *opener) secret(ctx context.Context, ref string) (secret.Secret, error) {
	if ref == "" {
		return "", nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if s, ok := o.secrets[ref]; ok {
		return s, nil
	}
	s, err := secret.Resolve(ctx, ref)
	if err == nil {
		o.secrets[ref] = s
	}
	return s, err
}

func (o *opener) knownHosts(path string) (*ssh.KnownHosts, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h, ok := o.hosts[path]; ok {
		return h, nil
	}
	h, err := ssh.LoadKnownHosts(path)
	if err == nil {
		o.hosts[path] = h
	}
	return h, err
}
