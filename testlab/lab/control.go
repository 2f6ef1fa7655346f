package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Request asks a running lab to inject or remove faults, see [File.Do]. Fault injects a fault into
// Device. Clear removes the faults of Device, those with the Numbers, or all. A request without
// Fault and Clear only lists the faults.
type Request struct {
	Fault  string `json:"fault,omitempty"`
	Device string `json:"device,omitempty"`
	Port   string `json:"port,omitempty"`  // "" is the first port of the device
	Value  string `json:"value,omitempty"` // "" is the fault's default value

	Clear   bool  `json:"clear,omitempty"`
	Numbers []int `json:"numbers,omitempty"`
}

// Injected is a fault that was injected into a device.
type Injected struct {
	Number int    `json:"number"`
	Fault  string `json:"fault"`
	Device string `json:"device"`
	Port   string `json:"port,omitempty"`
	Value  string `json:"value,omitempty"`
	do     string
}

// Reply is the lab's answer to a Request.
type Reply struct {
	// Changed lists the faults that the request injected or removed, Faults all that are present
	// afterwards.
	Changed []Injected `json:"changed"`
	Faults  []Injected `json:"faults"`
	Error   string     `json:"error,omitempty"`
}

// controlTimeout limits one request, at both ends.
const controlTimeout = 30 * time.Second

// maxRequest is the maximum size of a request in bytes.
const maxRequest = 64 << 10

// Do sends a request to the lab described by the file.
func (f *File) Do(ctx context.Context, r Request) (*Reply, error) {
	if f.Control == "" {
		return nil, fmt.Errorf("the lab of %s cannot inject faults: it has no control socket, for example because the path of its folder is too long", f.Fabric)
	}
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", f.Control)
	if err != nil {
		return nil, fmt.Errorf("the lab of %s does not answer: %w", f.Fabric, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if err := json.NewEncoder(conn).Encode(r); err != nil {
		return nil, fmt.Errorf("the lab of %s: %w", f.Fabric, err)
	}
	var out Reply
	if err := json.NewDecoder(conn).Decode(&out); err != nil {
		return nil, fmt.Errorf("the lab of %s: %w", f.Fabric, err)
	}
	if out.Error != "" {
		return nil, errors.New(out.Error)
	}
	return &out, nil
}

// control serves requests for faults in a running lab.
type control struct {
	lab    *Lab
	ln     net.Listener
	conns  sync.WaitGroup
	cancel context.CancelFunc
	ctx    context.Context

	mu      sync.Mutex
	next    int
	faults  []Injected
	restore map[string]func() error // restores the devices with faults
}

// maxSocket is the maximum length of a socket path on every system, including its NUL (macOS has
// the shortest sun_path).
const maxSocket = 104

// listen starts to serve requests on a socket next to the lab file. It returns nil if the path of
// the lab's folder is too long for a socket.
func (l *Lab) listen() (*control, error) {
	at := filepath.Join(l.dir, "control.sock")
	// No other user may connect before the mode of the socket is set.
	private, err := os.MkdirTemp(l.dir, ".")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	born := filepath.Join(private, "s")
	if max(len(at), len(born)) >= maxSocket {
		return nil, nil
	}
	ln, err := net.Listen("unix", born)
	if err != nil {
		return nil, err
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(born, 0o600), os.Rename(born, at)); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	c := &control{lab: l, ln: ln, restore: map[string]func() error{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	l.Control = at
	c.conns.Go(c.serve)
	return c, nil
}

// Close closes the socket. A nil control has none.
func (c *control) Close() error {
	if c == nil {
		return nil
	}
	c.cancel()
	err := errors.Join(c.ln.Close(), os.Remove(c.lab.Control))
	c.conns.Wait()
	return err
}

func (c *control) serve() {
	for {
		conn, err := c.ln.Accept()
		if err != nil {
			if c.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		c.conns.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(c.ctx, func() { _ = conn.Close() })()
			_ = conn.SetDeadline(time.Now().Add(controlTimeout))
			c.answer(conn)
		})
	}
}

func (c *control) answer(conn io.ReadWriter) {
	line, err := bufio.NewReader(io.LimitReader(conn, maxRequest)).ReadBytes('\n')
	if err != nil {
		return // no client waits for an answer
	}
	var r Request
	var out Reply
	if err := json.Unmarshal(line, &r); err != nil {
		out.Error = "the lab does not understand the request: " + err.Error()
	} else if out.Changed, err = c.do(r); err != nil {
		out.Error = err.Error()
	}
	c.mu.Lock()
	out.Faults = slices.Clone(c.faults)
	c.mu.Unlock()
	_ = json.NewEncoder(conn).Encode(out) // the client notices a truncated answer
}

func (c *control) do(r Request) ([]Injected, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.Clear:
		return c.clear(r)
	case r.Fault != "":
		return c.inject(r)
	}
	return nil, nil
}

// inject injects a fault into a device.
func (c *control) inject(r Request) ([]Injected, error) {
	p, do, err := c.lab.resolve(r)
	if err != nil {
		return nil, err
	}
	if c.restore[p.device] == nil {
		c.restore[p.device] = c.lab.Keep(p.device)
	}
	c.next++
	f := Injected{c.next, p.fault, p.device, p.port, p.value, do}
	c.faults = append(c.faults, f)
	if err := c.lab.Inject(p.device, do); err != nil {
		// Remove what was already done.
		_, gone := c.removeFaults(func(in Injected) bool { return in.Number == f.Number })
		return nil, errors.Join(fmt.Errorf("%s on %s: %w", p.fault, p.device, err), gone)
	}
	return []Injected{f}, nil
}

func (c *control) clear(r Request) ([]Injected, error) {
	for _, n := range r.Numbers {
		if !slices.ContainsFunc(c.faults, func(in Injected) bool { return in.Number == n }) {
			return nil, fmt.Errorf("the lab of %s has no fault %d", c.lab.Fabric, n)
		}
	}
	if r.Device != "" && c.lab.fabric.Host(r.Device) == nil && c.lab.fabric.Switch(r.Device) == nil {
		return nil, fmt.Errorf("the lab of %s has no device %q", c.lab.Fabric, r.Device)
	}
	return c.removeFaults(func(in Injected) bool {
		return (r.Device == "" || in.Device == r.Device) && (len(r.Numbers) == 0 || slices.Contains(r.Numbers, in.Number))
	})
}

// removeFaults removes faults: it restores their devices to the state before their first fault, and
// injects their other faults again.
func (c *control) removeFaults(gone func(Injected) bool) (taken []Injected, err error) {
	var at []string
	var left []Injected
	for _, in := range c.faults {
		if gone(in) {
			taken = append(taken, in)
			at = append(at, in.Device)
		} else {
			left = append(left, in)
		}
	}
	c.faults = left
	slices.Sort(at)
	for _, device := range slices.Compact(at) {
		if bad := c.restore[device](); bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", device, bad))
		}
		again := false
		for _, in := range left {
			if in.Device == device {
				again = true
				err = errors.Join(err, c.lab.Inject(device, in.do))
			}
		}
		if !again {
			delete(c.restore, device)
		}
	}
	return taken, err
}

// String implements fmt.Stringer.
func (i Injected) String() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s on %s", i.Number, i.Fault, strings.TrimSpace(i.Device+" "+i.Port)) + " " + i.Value)
}
