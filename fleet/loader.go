package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/roce-fabric/roce-fabric/drivers/host"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// Loader runs the programs that load a fabric on its hosts, over one connection a host. A host
// takes one call at a time.
type Loader struct {
	f  *Fabric
	at *Access

	mu    sync.Mutex
	hosts map[string]*host.Driver
}

// NewLoader returns a Loader. The caller must close it.
func NewLoader(f *Fabric, at *Access) *Loader {
	return &Loader{f: f, at: at, hosts: map[string]*host.Driver{}}
}

// Address returns the address at which other hosts reach a host: that of the intent.
func (l *Loader) Address(name string) (string, error) {
	h := l.f.Fabric().Host(name)
	if h == nil || h.Address.V == "" {
		return "", fmt.Errorf("host %s has no address", name)
	}
	at, _, err := net.SplitHostPort(h.Address.V)
	return at, err
}

// Load runs programs on a host until all have ended.
func (l *Loader) Load(ctx context.Context, name string, loads []local.Load) ([]local.Loaded, error) {
	h := l.f.Fabric().Host(name)
	if h == nil {
		return nil, fmt.Errorf("the intent has no host %q", name)
	}
	l.mu.Lock()
	d := l.hosts[name]
	if d == nil {
		desired, _ := nic.Desired(l.f.Fabric(), h)
		d = l.at.host(l.f.Fabric(), h, desired)
		l.hosts[name] = d
	}
	l.mu.Unlock()
	m, err := d.Machine(ctx)
	if err != nil {
		return nil, err
	}
	return m.Load(ctx, loads)
}

// Close closes the connections.
func (l *Loader) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, name := range natural.Keys(l.hosts) {
		errs = append(errs, l.hosts[name].Close())
	}
	return errors.Join(errs...)
}
