// Package perftest builds the command lines of perftest's programs, which load a fabric from its
// hosts, and reads what they print.
//
// The source of every option and format is perftest itself (linux-rdma/perftest: man/perftest.1,
// src/perftest_parameters.c and .h). The options used and the text of a result are the same from
// release 4.1 of June 2017, which calls itself 5.6, to 6.29. Text is read, not the JSON file of
// --out_json (since 5.98), because it holds the same numbers and leaves no file on the host.
//
// The package is purely functional. Do not start programs here: that is up to nic/local.
package perftest

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// Test is one of perftest's programs.
type Test string

// The programs: RDMA writes, measured as bandwidth or as latency.
const (
	WriteBW  Test = "ib_write_bw"
	WriteLat Test = "ib_write_lat"
)

// FirstPort is the TCP port on which the first server of a host waits for its client, perftest's
// default.
const FirstPort = 18515

// Limits of [Options.Check].
const (
	maxSize       = 1 << 30
	maxQPs        = 1024
	maxSeconds    = 24 * 60 * 60
	maxIterations = 1_000_000
	maxGID        = 255
	minSeconds    = 4
	minIterations = 5
)

// Options say what one program does. Both ends must have the same, except for device, GID and
// Server.
type Options struct {
	Test   Test   `json:"test"`
	Device string `json:"device"` // "mlx5_0"
	GID    int    `json:"gid"`
	// TClass is the traffic class of the packets: the DSCP and the two bits of ECN.
	TClass int   `json:"tclass"`
	Size   int64 `json:"size"` // of a message, in bytes
	// QPs and Seconds are for bandwidth, Iterations for latency.
	QPs        int `json:"qps,omitzero"`
	Seconds    int `json:"seconds,omitzero"`
	Iterations int `json:"iterations,omitzero"`
	Port       int `json:"port"` // TCP
	// Server is the address of the other end, an IP address or a host name; "" waits for a client.
	Server string `json:"server,omitzero"`
}

// names are device names and host names that cannot be taken for an option.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$`)

// Check returns an error unless the options are complete and within the limits. Nothing else may
// become a command line on a host.
func (o Options) Check() error {
	between := func(what string, n, least, most int64) error {
		if n < least || n > most {
			return fmt.Errorf("%s %d is not in %d..%d", what, n, least, most)
		}
		return nil
	}
	errs := []error{between("gid", int64(o.GID), 0, maxGID), between("tclass", int64(o.TClass), 0, 255), between("size", o.Size, 1, maxSize), between("port", int64(o.Port), 1024, 65535)}
	switch o.Test {
	case WriteBW:
		// perftest leaves out a margin at both ends, a quarter of the time each.
		errs = append(errs, between("seconds", int64(o.Seconds), minSeconds, maxSeconds), between("qps", int64(o.QPs), 1, maxQPs))
	case WriteLat:
		errs = append(errs, between("iterations", int64(o.Iterations), minIterations, maxIterations))
	default:
		errs = append(errs, fmt.Errorf("no test %q", o.Test))
	}
	if !names.MatchString(o.Device) {
		errs = append(errs, fmt.Errorf("%q is not the name of an RDMA device", o.Device))
	}
	if _, err := netip.ParseAddr(o.Server); err != nil && o.Server != "" && !names.MatchString(o.Server) {
		errs = append(errs, fmt.Errorf("%q is not an address", o.Server))
	}
	return errors.Join(errs...)
}

// Args returns the arguments of the program.
func (o Options) Args() []string {
	n := strconv.Itoa
	args := []string{"-d", o.Device, "-x", n(o.GID), "--tclass=" + n(o.TClass), "-s", strconv.FormatInt(o.Size, 10), "-p", n(o.Port), "-F"}
	if o.Test == WriteLat {
		args = append(args, "-n", n(o.Iterations))
	} else {
		args = append(args, "-q", n(o.QPs), "-D", n(o.Seconds), "--report_gbits")
	}
	if o.Server != "" {
		args = append(args, o.Server)
	}
	return args
}

// String returns the command line.
func (o Options) String() string { return string(o.Test) + " " + strings.Join(o.Args(), " ") }

// Result is what a program measured.
type Result struct {
	Size       int64 `json:"size"`
	Iterations int64 `json:"iterations"`
	// Gbps is the average rate of payload in Gb/s; Typical, Average, Least and Most are latencies in
	// microseconds, half a round trip. Typical is the median.
	Gbps    float64 `json:"gbps,omitzero"`
	Typical float64 `json:"typical_us,omitzero"`
	Average float64 `json:"average_us,omitzero"`
	Least   float64 `json:"least_us,omitzero"`
	Most    float64 `json:"most_us,omitzero"`
}

// Errors of [Parse].
var (
	// ErrNoResult: the output has no line of results, as when the program was stopped.
	ErrNoResult = errors.New("no result")
	// ErrFormat: the output is not that of the test.
	ErrFormat = errors.New("unknown output")
)

// columns are the names in the head of the table up to the last number that is read. Later columns
// may touch each other when numbers are long.
var columns = map[Test][]string{
	WriteBW:  {"#bytes", "#iterations", "BW", "peak[Gb/sec]", "BW", "average[Gb/sec]"},
	WriteLat: {"#bytes", "#iterations", "t_min[usec]", "t_max[usec]", "t_typical[usec]", "t_avg[usec]"},
}

// Parse reads the result of one message size from the standard output of a test.
func Parse(t Test, out string) (r Result, err error) {
	head, found := columns[t], false
	if head == nil {
		return r, fmt.Errorf("no test %q", t)
	}
	rows := 0
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "#bytes":
			if len(f) < len(head) || !equal(f[:len(head)], head) {
				return r, fmt.Errorf("%w: the columns are %q", ErrFormat, f)
			}
			found = true
		case !found || strings.HasPrefix(f[0], "---"):
		default:
			row, err := parseRow(t, f)
			if err != nil {
				continue // a warning in between
			}
			r = row
			rows++
		}
	}
	switch {
	case rows == 0:
		return Result{}, ErrNoResult
	case rows > 1:
		return Result{}, fmt.Errorf("%w: %d results instead of one", ErrFormat, rows)
	}
	return r, nil
}

func equal(a, b []string) bool { return strings.Join(a, " ") == strings.Join(b, " ") }

// parseRow reads a line of numbers below the head.
func parseRow(t Test, f []string) (r Result, err error) {
	want := 4
	if t == WriteLat {
		want = 6
	}
	if len(f) < want {
		return r, ErrFormat
	}
	if r.Size, err = strconv.ParseInt(f[0], 10, 64); err != nil {
		return r, err
	}
	if r.Iterations, err = strconv.ParseInt(f[1], 10, 64); err != nil {
		return r, err
	}
	var v [4]float64
	for i := range want - 2 {
		if v[i], err = strconv.ParseFloat(f[2+i], 64); err != nil || !(v[i] >= 0 && v[i] < 1e12) {
			return r, ErrFormat
		}
	}
	if r.Size <= 0 || r.Iterations < 0 {
		return r, ErrFormat
	}
	if t == WriteLat {
		r.Least, r.Most, r.Typical, r.Average = v[0], v[1], v[2], v[3]
	} else {
		r.Gbps = v[1]
	}
	return r, nil
}

// versions is what the programs print with --version.
var versions = regexp.MustCompile(`(?m)^Version: ([0-9]+\.[0-9]+[0-9A-Za-z.+-]*)\s*$`)

// ParseVersion reads the output of a program with --version.
func ParseVersion(out string) (string, bool) {
	m := versions.FindStringSubmatch(out)
	if m == nil {
		return "", false
	}
	return m[1], true
}
