// Package mlxconfig reads and sets the firmware settings (nvconfig) of NVIDIA ConnectX and
// BlueField cards with a tool on the host: mlxconfig from NVIDIA's firmware tools, or mstconfig,
// the same tool in the open-source mstflint.
//
// A setting has three values: the default, the current value, which is in force, and the value for
// the next boot. Setting it changes only the last one, which a reset of the firmware makes current.
// A card can therefore differ from what is wanted in two ways, which [Plan] distinguishes: not
// programmed, and waiting for a reset.
//
// The package resets a card only when [Tool.Reset] is called, never uses --force, and does not
// write values that are already set. Settings belong to the card and not to a port or a PCI
// function: both functions of a card show the same settings, and those of a physical port end with
// its number (CNP_DSCP_P2). Do not use the package for settings that the driver keeps (PFC, trust,
// DSCP map): there is no firmware setting for the PFC mask or the DSCP map.
//
// Sources: Mellanox/mstflint mlxconfig/, small_utils/mstfwreset.py and the settings in
// mlxconfig_host.db. Version numbers are those of mstflint.
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

// Errors of the package, wrapped; test with errors.Is.
var (
	// ErrNoTool: neither mlxconfig nor mstconfig is installed.
	ErrNoTool = errors.New("no mlxconfig or mstconfig on this host")
	// ErrDevice: the tool does not accept the device name.
	ErrDevice = errors.New("not a device of mlxconfig")
	// ErrAccess: the tool cannot open the card.
	ErrAccess = errors.New("no access to the card")
	// ErrUnsupported: the tool cannot do this with this card, or over this kind of access.
	ErrUnsupported = errors.New("unsupported")
	// ErrOutput: the tool's output cannot be parsed.
	ErrOutput = errors.New("answer not understood")
	// ErrStale: the card's state is no longer the one in the plan. Nothing was written.
	ErrStale = errors.New("card changed since the plan was made")
	// ErrRejected: a change was rejected, and the values for the next boot are unchanged.
	ErrRejected = errors.New("rejected by the card")
	// ErrPartial: some of the changes are stored, or it is not known which.
	ErrPartial = errors.New("stored in part")
)

// Time limits for one call of a tool. A query of all settings takes 10 to 20 seconds on a real card
// (mlxcfg_ui.cpp).
const (
	queryTimeout = 2 * time.Minute
	setTimeout   = 2 * time.Minute
	helpTimeout  = 20 * time.Second
)

// Tool is mlxconfig or mstconfig on one host. It is safe for concurrent use, but calls for one card
// should be made one after the other, because the tools lock the card.
type Tool struct {
	// Name is "mlxconfig" or "mstconfig".
	Name string

	run    runner.Runner
	noJSON atomic.Bool // the tool has no -j
}

// Find looks for mlxconfig and then for mstconfig. It skips a tool that does not start; if neither
// does, ErrNoTool says what happened to each.
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

// call runs a tool with its own time limit.
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
	// Default is the factory default, Current is in force, and Next takes effect after a reset. The
	// zero Value means not known.
	Default, Current, Next Value
	// ReadOnly reports whether the setting cannot be changed (from this host).
	ReadOnly bool
}

// Config holds the settings of one card.
type Config struct {
	// Device is the name under which the card was queried.
	Device string
	// Type is the device type as reported by the tool: "ConnectX7", "BlueField3".
	Type string
	// Params holds the settings by name. A missing setting is not supported or hidden by the card,
	// or could not be read: see Partial and Unread.
	Params map[string]Param
	// Partial reports whether the tool failed to read some settings.
	Partial bool
	// Unread holds lines and values in the tool's output that could not be parsed.
	Unread []string
}

// Ports returns how many physical ports the card has settings for; 0 if none.
func (c *Config) Ports() int {
	n := 0
	for name := range c.Params {
		n = max(n, portOf(name))
	}
	return n
}

// maxPorts is the highest port number that is recognized in a name.
const maxPorts = 16

// portOf returns the port number at the end of a name such as CNP_DSCP_P2; 0 if there is none.
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

// markError is the tools' prefix for errors, which they also print to standard output.
const markError = "-E-"

// Limits for text kept from a tool's output.
const (
	maxWords = 20
	maxWord  = 400
)

// failure returns the error for a tool that failed. If the tool marked no text as an error, the
// last lines of its output are used.
func failure(name, verb string, res runner.Result) error {
	f := &runner.Failure{Command: name + " " + verb, Code: res.Code, Words: errorMessages(res)}
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

// errorMessages returns the messages that a tool marked as errors.
func errorMessages(res runner.Result) []string {
	var out []string
	for _, line := range res.Lines() {
		// "Applying... Failed!" and an error may be on the same line.
		if _, words, ok := strings.Cut(line, markError); ok && len(out) < maxWords {
			out = append(out, strings.TrimSpace(words))
		}
	}
	return out
}

// word shortens text from outside the program and makes it safe to print on one line.
func word(s string) string { return term.Clip(s, maxWord) }
