package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Wire carries the traffic of the perftest programs of several hosts. Nothing is sent: the rate of a
// program is what its link and its slot leave at both ends, less the headers of 4096-byte packets.
// The traffic classes at an end divide it by their weights, and the programs of a class evenly.
// Programs are at work at the same time if each begins before the others could have ended.
type Wire struct {
	mu      sync.Mutex
	servers map[string]*transfer // by "address:port"
	active  map[*transfer]bool   // those that have a client
	changed time.Time
	// Hops returns the number of switches between two NICs, "host/nic"; nil stands for one switch.
	Hops func(from, to string) int
	// Weight returns the weight of a traffic class at the schedulers; nil stands for equal weights.
	Weight func(tclass int) float64
}

// NewWire returns a Wire without hosts.
func NewWire() *Wire {
	return &Wire{servers: map[string]*transfer{}, active: map[*transfer]bool{}}
}

// transfer is a server and its client.
type transfer struct {
	from, to *source
	server   perftestFlags
	joined   chan struct{} // closed when the client is there
	done     chan struct{} // closed when result is set
	result   string
}

// source is a NIC that sends or receives.
type source struct {
	host, port string
	rate       units.Rate
}

// quiet is how long nothing may begin until the programs that are there count as all; alone is the
// same if a server still waits for its client.
const (
	quiet = 200 * time.Millisecond
	alone = 5 * time.Second
)

// payload is the part of the rate of a link that is payload: 4096 bytes of 4178.
const payload = 4096. / 4178

// perftestFlags are the options that the simulated programs know.
type perftestFlags struct {
	test, device, server                              string
	gid, tclass, size, qps, seconds, iterations, port int
}

// timeout simulates timeout(1) of coreutils around env(1) and a program of perftest, which is how
// the agent starts it.
func (h *Host) timeout(ctx context.Context, args []string) (runner.Result, error) {
	said := func(code int, format string, a ...any) (runner.Result, error) {
		return runner.Result{Stderr: fmt.Appendf(nil, format+"\n", a...), Code: code}, nil
	}
	if len(args) < 5 || !strings.HasPrefix(args[0], "--kill-after=") || args[2] != "env" || !strings.Contains(args[3], "=") {
		return said(125, "timeout: the simulated host does not know %q", strings.Join(args, " "))
	}
	name := args[4]
	if name != "ib_write_bw" && name != "ib_write_lat" || h.o.Wire == nil {
		return said(127, "env: '%s': No such file or directory", name)
	}
	return h.runPerftest(ctx, name, args[5:], said)
}

// runPerftest simulates a program of perftest.
func (h *Host) runPerftest(ctx context.Context, name string, args []string, said func(code int, format string, a ...any) (runner.Result, error)) (runner.Result, error) {
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-V") {
		return runner.Result{Stdout: []byte("Version: 6.26\n")}, nil
	}
	f, err := parsePerftest(name, args)
	if err != nil {
		return said(1, "%v\n Parser function exited with Error", err)
	}
	at := h.sourceOf(f.device)
	if at == nil {
		return said(1, "IB device %s not found\n Unable to find the Infiniband/RoCE device", f.device)
	}
	if f.server != "" && !h.o.Wire.listens(f) {
		return refused(f)
	}
	h.limit(at)
	if f.server == "" {
		return h.o.Wire.serve(ctx, h.o.Address, at, f)
	}
	return h.o.Wire.connect(ctx, at, f)
}

// parsePerftest parses the options of a program, as strictly as it does: an option that it does not
// know, or that belongs to the other test, is an error.
func parsePerftest(name string, args []string) (f perftestFlags, err error) {
	f = perftestFlags{test: name, port: 18515, qps: 1, iterations: 5000}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case arg == "-F" || arg == "--report_gbits" && name == "ib_write_bw":
			continue
		case !strings.HasPrefix(arg, "-"):
			if f.server != "" {
				return f, fmt.Errorf(" invalid Command line. Please check command rerun")
			}
			f.server = arg
			continue
		case !joined && len(args) == 0:
			return f, fmt.Errorf("%s: option requires an argument -- '%s'", name, strings.TrimLeft(arg, "-"))
		case !joined:
			value, args = args[0], args[1:]
		}
		if err := f.set(flag, value); err != nil {
			return f, err
		}
	}
	if name == "ib_write_bw" && f.seconds < 2 {
		return f, fmt.Errorf(" Duration must be at least 2 seconds") // without -D the rate of -n messages is measured, which is not simulated
	}
	return f, nil
}

// set sets an option that takes a value.
func (f *perftestFlags) set(flag, value string) (err error) {
	if flag == "-d" {
		f.device = value
		return nil
	}
	numbers := map[string]*int{"-x": &f.gid, "-s": &f.size, "-p": &f.port, "--tclass": &f.tclass}
	if f.test == "ib_write_bw" {
		numbers["-q"], numbers["-D"] = &f.qps, &f.seconds
	} else {
		numbers["-n"] = &f.iterations
	}
	to := numbers[flag]
	if to == nil {
		return fmt.Errorf("%s: unrecognized option '%s'", f.test, flag)
	}
	if *to, err = strconv.Atoi(value); err != nil || *to < 0 {
		return fmt.Errorf(" Invalid value %q of %s", value, flag)
	}
	return nil
}

// sourceOf returns the NIC of an RDMA device; nil if there is none.
func (h *Host) sourceOf(device string) *source {
	for _, n := range h.o.NICs {
		if n.RDMA != device || device == "" {
			continue
		}
		s := &source{h.o.Name, n.Name, n.Speed}
		if s.rate == 0 {
			s.rate = 400e9
		}
		return s
	}
	return nil
}

// limit lowers the rate of a NIC to what its slot carries.
func (h *Host) limit(s *source) {
	m := h.local(true)
	m.NoFirmware = true
	running, err := m.Read(context.Background(), []string{s.port})
	if err != nil || running.Ports[s.port] == nil {
		return
	}
	if slot := running.Ports[s.port].PCIe.Or(nic.PCIe{}); slot.Rate() > 0 {
		s.rate = min(s.rate, slot.Rate())
	}
}

// serve waits for a client and prints the result, like the client.
func (w *Wire) serve(ctx context.Context, address string, at *source, f perftestFlags) (runner.Result, error) {
	key := fmt.Sprintf("%s:%d", address, f.port)
	t := &transfer{to: at, server: f, joined: make(chan struct{}), done: make(chan struct{})}
	w.mu.Lock()
	if w.servers[key] != nil {
		w.mu.Unlock()
		return runner.Result{Stderr: []byte("Couldn't listen to port " + strconv.Itoa(f.port) + "\n"), Code: 1}, nil
	}
	w.servers[key] = t
	w.changed = time.Now()
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.servers[key] == t {
			delete(w.servers, key)
		}
	}()
	for {
		select {
		case <-t.done:
			return runner.Result{Stdout: []byte(t.result)}, nil
		case <-ctx.Done():
			return runner.Result{}, ctx.Err()
		case <-time.After(alone):
			if w.idle() >= alone && !t.hasClient() {
				// Nothing happens any more until timeout(1) ends the program.
				return runner.Result{Code: 124}, nil
			}
		}
	}
}

func (t *transfer) hasClient() bool {
	select {
	case <-t.joined:
		return true
	default:
		return false
	}
}

func (w *Wire) idle() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.changed)
}

// listens reports whether the server of a client is there.
func (w *Wire) listens(f perftestFlags) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.servers[fmt.Sprintf("%s:%d", f.server, f.port)] != nil
}

// refused is the end of a client without a server.
func refused(f perftestFlags) (runner.Result, error) {
	return runner.Result{Stderr: fmt.Appendf(nil, "Couldn't connect to %s:%d\nUnable to open file descriptor for socket connection Unable to init the socket connection\n", f.server, f.port), Code: 1}, nil
}

// connect sends to a server, and waits until all programs of this time are there.
func (w *Wire) connect(ctx context.Context, at *source, f perftestFlags) (runner.Result, error) {
	key := fmt.Sprintf("%s:%d", f.server, f.port)
	w.mu.Lock()
	t := w.servers[key]
	if t == nil || t.from != nil {
		w.mu.Unlock()
		return refused(f)
	}
	t.from = at
	close(t.joined)
	w.active[t] = true
	w.changed = time.Now()
	w.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			w.mu.Lock()
			delete(w.active, t)
			w.mu.Unlock()
			return runner.Result{}, ctx.Err()
		case <-t.done:
			return runner.Result{Stdout: []byte(t.result)}, nil
		case <-time.After(quiet):
		}
		if w.finish() {
			<-t.done
			return runner.Result{Stdout: []byte(t.result)}, nil
		}
	}
}

// finish sets the results of all programs once no other begins.
func (w *Wire) finish() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait := quiet
	for _, t := range w.servers {
		if t.from == nil {
			wait = alone
		}
	}
	if time.Since(w.changed) < wait {
		return false
	}
	ends := map[string]map[int]int{} // by NIC and direction: the programs of each traffic class
	for t := range w.active {
		for _, end := range []string{"from " + t.from.name(), "to " + t.to.name()} {
			if ends[end] == nil {
				ends[end] = map[int]int{}
			}
			ends[end][t.server.tclass]++
		}
	}
	for t := range w.active {
		sent := float64(t.from.rate) * w.part(ends["from "+t.from.name()], t.server.tclass)
		got := float64(t.to.rate) * w.part(ends["to "+t.to.name()], t.server.tclass)
		t.result = t.text(min(sent, got)*payload/1e9, w.Hops)
		delete(w.active, t)
		for key, s := range w.servers {
			if s == t {
				delete(w.servers, key)
			}
		}
		close(t.done)
	}
	return true
}

// part returns the part of a link that one program of a traffic class has.
func (w *Wire) part(programs map[int]int, tclass int) float64 {
	weight := func(tclass int) float64 {
		if w.Weight == nil {
			return 1
		}
		return max(w.Weight(tclass), 1)
	}
	total := 0.
	for c := range programs {
		total += weight(c)
	}
	return weight(tclass) / total / float64(programs[tclass])
}

func (s *source) name() string { return s.host + "/" + s.port }

// text is what both programs print.
func (t *transfer) text(gbps float64, hops func(from, to string) int) string {
	line := strings.Repeat("-", 87) + "\n"
	switches := 1
	if hops != nil {
		switches = hops(t.from.name(), t.to.name())
	}
	f := t.server
	if f.test == "ib_write_lat" {
		us := 1 + 0.6*float64(switches)
		return line + " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n" +
			fmt.Sprintf(" %-7d %d          %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f     \t%-7.2f\t\t%-7.2f \t\t%-7.2f\n", f.size, f.iterations, us-0.05, us+4, us, us+0.02, 0.1, us+0.3, us+2) + line
	}
	n := gbps * 1e9 / 8 * float64(f.seconds) / float64(max(f.size, 1))
	return line + " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n" +
		fmt.Sprintf(" %-7d    %-10d       %-7.2f            %-7.2f\t\t     %-7.6f\n", f.size, int64(n), 0., gbps, gbps*1e3/8/float64(max(f.size, 1))) + line
}
