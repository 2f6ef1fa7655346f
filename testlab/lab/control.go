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

// Request asks a running lab for something about faults, see [File.Do]. A Fault is put into
// a device. Clear takes faults away: those of a Device, those with the Numbers, or all.
// Nothing of these asks for the list alone.
type Request struct {
	Fault  string `json:"fault,omitempty"`
	Device string `json:"device,omitempty"`
	Port   string `json:"port,omitempty"`  // "" is the first of the device
	Value  string `json:"value,omitempty"` // "" is the fault's own

	Clear   bool  `json:"clear,omitempty"`
	Numbers []int `json:"numbers,omitempty"`
}

// Injected is a fault that is in a device.
type Injected struct {
	Number int    `json:"number"`
	Fault  string `json:"fault"`
	Device string `json:"device"`
	Port   string `json:"port,omitempty"`
	Value  string `json:"value,omitempty"`
	do     string
}

// Reply is the answer of a lab.
type Reply struct {
	// Changed are the faults that the request put in or took away, Faults all that are in
	// then.
	Changed []Injected `json:"changed"`
	Faults  []Injected `json:"faults"`
	Error   string     `json:"error,omitempty"`
}

// controlTimeout bounds one request on both sides.
const controlTimeout = 30 * time.Second

// maxRequest bounds a request, in bytes.
const maxRequest = 64 << 10

// Do asks the lab of a file.
func (f *File) Do(ctx context.Context, r Request) (*Reply, error) {
	if f.Control == "" {
		return nil, fmt.Errorf("the lab of %s takes no faults: it has no control socket, as where the path of its folder is too long for one", f.Fabric)
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

// control is where a running lab is asked for faults.
type control struct {
	lab    *Lab
	ln     net.Listener
	conns  sync.WaitGroup
	cancel context.CancelFunc
	ctx    context.Context

	mu     sync.Mutex
	next   int
	faults []Injected
	back   map[string]func() error // of devices with faults
}

// maxSocket is how long the path of a socket may be on every system, with its NUL
// (sun_path of macOS is the shortest).
const maxSocket = 104

// listen begins to take requests at a socket beside the lab file. nil is a lab whose folder
// has too long a name for one.
func (l *Lab) listen() (*control, error) {
	at := filepath.Join(l.dir, "control.sock")
	// Nobody else may connect between the socket's birth and its mode.
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
	c := &control{lab: l, ln: ln, back: map[string]func() error{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	l.Control = at
	c.conns.Go(c.serve)
	return c, nil
}

// Close ends the socket. A nil control has none.
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
		return // nobody waits for an answer
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
	_ = json.NewEncoder(conn).Encode(out) // the client sees that it is short
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

// inject puts a fault into a device.
func (c *control) inject(r Request) ([]Injected, error) {
	p, do, err := c.lab.resolve(r)
	if err != nil {
		return nil, err
	}
	if c.back[p.device] == nil {
		c.back[p.device] = c.lab.Keep(p.device)
	}
	c.next++
	f := Injected{c.next, p.fault, p.device, p.port, p.value, do}
	c.faults = append(c.faults, f)
	if err := c.lab.Inject(p.device, do); err != nil {
		// What of it was done goes again.
		_, gone := c.take(func(in Injected) bool { return in.Number == f.Number })
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
	return c.take(func(in Injected) bool {
		return (r.Device == "" || in.Device == r.Device) && (len(r.Numbers) == 0 || slices.Contains(r.Numbers, in.Number))
	})
}

// take takes faults away: their devices come back to where they were before their first
// fault, and the others of them are put in again.
func (c *control) take(gone func(Injected) bool) (taken []Injected, err error) {
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
		if bad := c.back[device](); bad != nil {
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
			delete(c.back, device)
		}
	}
	return taken, err
}

// String implements fmt.Stringer.
func (i Injected) String() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s on %s", i.Number, i.Fault, strings.TrimSpace(i.Device+" "+i.Port)) + " " + i.Value)
}
