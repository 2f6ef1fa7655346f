// Package mlxconfig reads and sets the firmware settings of NVIDIA ConnectX and
// BlueField cards (nvconfig) with the tool of the host: mlxconfig of NVIDIA's
// firmware tools, or mstconfig, the same under the name of the open mstflint.
//
// A setting has three values: the default, the current one that is in force, and the
// one of the next boot. Setting changes the last alone, and only a reset of the
// firmware makes it current. So a card can differ from what is wanted in two ways,
// which [Plan] tells apart: not programmed, and waiting for a reset.
//
// The package never resets a card, never uses --force, and writes nothing that
// is already so. Settings belong to the card and not to a port or a PCI
// function: both functions of a card show the same ones, those of a physical
// port with its number at the end (CNP_DSCP_P2). Do not use the package for
// what lives in the driver (PFC, trust, DSCP map): there is no firmware setting
// of the PFC mask or of the DSCP map.
//
// Sources: Mellanox/mstflint mlxconfig/, small_utils/mstfwreset.py and the
// settings in mlxconfig_host.db; the versions named are those of mstflint.
package mlxconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// The errors of the package, wrapped; test with errors.Is.
var (
	// ErrNoTool: neither mlxconfig nor mstconfig is installed.
	ErrNoTool = errors.New("no mlxconfig or mstconfig on this host")
	// ErrDevice: the name is not one that the tool takes.
	ErrDevice = errors.New("not a device of mlxconfig")
	// ErrAccess: the tool cannot open the card.
	ErrAccess = errors.New("no access to the card")
	// ErrUnsupported: the tool cannot do that with this card, or this way in.
	ErrUnsupported = errors.New("unsupported")
	// ErrOutput: the tool's answer makes no sense to us.
	ErrOutput = errors.New("answer not understood")
	// ErrStale: the card is not in the state of the plan. Nothing was written.
	ErrStale = errors.New("card changed since the plan was made")
	// ErrRejected: a change was refused, and the next boot holds what it held.
	ErrRejected = errors.New("rejected by the card")
	// ErrPartial: a part of the changes is stored, or it is not known which.
	ErrPartial = errors.New("stored in part")
)

// The deadlines of one call of a tool. A query of all settings takes 10 to 20
// seconds on a real card (mlxcfg_ui.cpp).
const (
	queryTimeout = 2 * time.Minute
	setTimeout   = 2 * time.Minute
	helpTimeout  = 20 * time.Second
)

// Tool is mlxconfig or mstconfig on one host. It is safe for concurrent use,
// but calls for one card belong in a row: the tools lock the card.
type Tool struct {
	// Name is "mlxconfig" or "mstconfig".
	Name string

	run    runner.Runner
	noJSON atomic.Bool // the tool has no -j
}

// Find looks for mlxconfig and then for mstconfig. One that does not start is passed
// over; with none left ErrNoTool says what became of each.
func Find(ctx context.Context, r runner.Runner) (*Tool, error) {
	var why []error
	for _, name := range []string{"mlxconfig", "mstconfig"} {
		t := &Tool{Name: name, run: r}
		res, err := t.call(ctx, helpTimeout, name, "-v")
		switch {
		case errors.Is(err, runner.ErrNotFound):
		case ctx.Err() != nil:
			return nil, err
		case err != nil:
			why = append(why, err)
		case res.Code != 0:
			why = append(why, failure(name, "-v", res))
		default:
			return t, nil
		}
	}
	if len(why) > 0 {
		return nil, fmt.Errorf("%w that starts: %w", ErrNoTool, errors.Join(why...))
	}
	return nil, ErrNoTool
}

// call runs a tool with a deadline of its own.
func (t *Tool) call(ctx context.Context, limit time.Duration, name string, args ...string) (runner.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	res, err := t.run.Run(ctx, name, args...)
	if err != nil {
		return res, fmt.Errorf("run %s: %w", name, err)
	}
	return res, nil
}

// Param is one setting.
type Param struct {
	Name string
	// Default is the factory's, Current is in force, Next will be after a reset. The
	// zero Value is not known.
	Default, Current, Next Value
	// ReadOnly settings cannot be set (from this host).
	ReadOnly bool
}

// Config holds the settings of one card.
type Config struct {
	// Device is how the card was asked for.
	Device string
	// Type is the device type as the tool says it: "ConnectX7", "BlueField3".
	Type string
	// Params by name. One that is missing the card lacks or hides, or it could not be
	// read: see Partial and Unread.
	Params map[string]Param
	// Partial says that the tool could not read some settings.
	Partial bool
	// Unread are lines and values of the tool that could not be understood.
	Unread []string
}

// Ports returns how many physical ports the card has settings for; 0 for none.
func (c *Config) Ports() int {
	n := 0
	for name := range c.Params {
		n = max(n, portOf(name))
	}
	return n
}

// maxPorts is how many ports a name is believed to speak of.
const maxPorts = 16

// portOf returns the number at the end of CNP_DSCP_P2, and 0 without one.
func portOf(name string) int {
	i := strings.LastIndex(name, "_P")
	if i < 0 {
		return 0
	}
	n, ok := number(name[i+2:])
	if !ok || n > maxPorts {
		return 0
	}
	return int(n)
}

// markError is how the tools mark an error; those too come on standard output.
const markError = "-E-"

// Bounds of what is kept of a tool's words.
const (
	maxWords = 20
	maxWord  = 400
)

// failure makes the error of a tool that ended with one. Where it marked no
// words as an error, the last ones it printed stand in.
func failure(name, verb string, res runner.Result) error {
	f := &runner.Failure{Command: name + " " + verb, Code: res.Code, Words: said(res)}
	if len(f.Words) == 0 {
		f.Words = res.LastWords()
	}
	switch {
	case f.Says("failed to open the device", "failed to get devices", "failed to identify device", "cannot access nv register"):
		f.Kind = ErrAccess
		f.Advice = "the tool needs root and the card's PCI configuration space, which Secure Boot lockdown closes; there try /dev/fwctl/fwctlN, and look at the address with lspci -D -d 15b3:"
	case f.Says("livefish mode"):
		f.Advice = "the card runs its recovery firmware: burn its firmware first"
	}
	if f.Kind == nil && f.Says("unsupported device", "is not supported") {
		f.Kind = ErrUnsupported
	}
	return f
}

// said returns what a tool marked as errors.
func said(res runner.Result) []string {
	var out []string
	for _, line := range res.Lines() {
		// "Applying... Failed!" and an error may share a line.
		if _, words, ok := strings.Cut(line, markError); ok && len(out) < maxWords {
			out = append(out, strings.TrimSpace(words))
		}
	}
	return out
}

// word makes foreign text short and safe to print on one line.
func word(s string) string { return term.Clip(s, maxWord) }
