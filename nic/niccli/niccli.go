// Package niccli reads and sets NVM options of Broadcom's cards with their vendor's tool.
//
// An option is stored for the next boot: the tool shows no other value, and a change takes effect
// only after the host has rebooted. The package resets nothing.
//
// Sources: AMD's ROCm documentation on RoCE clusters ("niccli -i 3 nvm -getoption support_rdma
// -scope 0" prints "support_rdma = False", and the command that sets it), amd/node-scraper (the
// list of devices, and both spellings of the commands).
package niccli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Errors of the package, wrapped; test with errors.Is.
var (
	// ErrNoTool: niccli is not installed.
	ErrNoTool = errors.New("no niccli on this host")
	// ErrNoCard: the tool lists no card at the address.
	ErrNoCard = errors.New("niccli lists no such card")
	// ErrOutput: the tool's output cannot be parsed.
	ErrOutput = errors.New("cannot parse the output of niccli")
	// ErrIgnored: a set reported success, but the value read back is another one.
	ErrIgnored = errors.New("the card did not keep the value")
)

// SupportRDMA is the option that a card needs for an RDMA device.
const SupportRDMA = "support_rdma"

// callTimeout limits one run of the tool.
const callTimeout = 30 * time.Second

// Tool is niccli on one host.
type Tool struct {
	run runner.Runner
	// old reports whether the tool's options begin with a single dash.
	old bool
	// devices maps PCI addresses to the tool's device numbers.
	devices map[string]string
}

// Rows of the list of devices.
var (
	deviceRow  = lazyre.New(`^([0-9]+) *\) `)
	addressRow = lazyre.New(`^PCI Address *: *([0-9A-Fa-f:.]+)$`)
)

// Find lists the cards. Older tools use another name for the list command.
func Find(ctx context.Context, r runner.Runner) (*Tool, error) {
	t := &Tool{run: r, devices: map[string]string{}}
	res, err := t.call(ctx, "--list_devices")
	if err != nil && !errors.Is(err, ErrNoTool) && ctx.Err() == nil {
		t.old = true
		res, err = t.call(ctx, "--listdev")
	}
	if err != nil {
		return nil, err
	}
	number := ""
	for _, line := range res.Lines() {
		if m := deviceRow.FindStringSubmatch(line); m != nil {
			number = m[1]
		} else if m := addressRow.FindStringSubmatch(strings.TrimSpace(line)); m != nil && number != "" {
			t.devices[strings.ToLower(m[1])] = number
		}
	}
	return t, nil
}

func (t *Tool) call(ctx context.Context, args ...string) (runner.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := t.run.Run(ctx, "niccli", args...)
	switch {
	case errors.Is(err, runner.ErrNotFound):
		return res, ErrNoTool
	case err != nil:
		return res, fmt.Errorf("run niccli: %w", err)
	case res.Code != 0:
		return res, &runner.Failure{Command: "niccli " + strings.TrimLeft(args[0], "-"), Code: res.Code, Words: res.LastWords()}
	}
	return res, nil
}

// nvm returns the arguments for an option of a card's own function.
func (t *Tool) nvm(pci, verb, option string, more ...string) ([]string, error) {
	device, ok := t.devices[pci]
	if !ok {
		return nil, fmt.Errorf("%s: %w", pci, ErrNoCard)
	}
	dash := "--"
	if t.old {
		dash = "-"
	}
	args := []string{dash + "dev", device, "nvm", dash + verb, option, dash + "scope", "0"}
	if len(more) > 0 {
		args = append(args, dash+"value", more[0])
	}
	return args, nil
}

// Get returns an option of the card at a PCI address.
func (t *Tool) Get(ctx context.Context, pci, option string) (bool, error) {
	args, err := t.nvm(pci, "getoption", option)
	if err != nil {
		return false, err
	}
	res, err := t.call(ctx, args...)
	if err != nil {
		return false, err
	}
	for _, line := range res.Lines() {
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(name) != option {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(value)) {
		case "true", "enabled", "1":
			return true, nil
		case "false", "disabled", "0":
			return false, nil
		}
	}
	return false, fmt.Errorf("%s of %s: %w: %s", option, pci, ErrOutput, term.Clip(strings.Join(res.LastWords(), "; "), 200))
}

// Set stores an option for the next boot, and reads it back. Once begun, it continues when ctx
// ends, because an interrupted write may leave the NVM incomplete.
func (t *Tool) Set(ctx context.Context, pci, option string, on bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	value := "0"
	if on {
		value = "1"
	}
	args, err := t.nvm(pci, "setoption", option, value)
	if err != nil {
		return err
	}
	if _, err := t.call(ctx, args...); err != nil {
		return err
	}
	now, err := t.Get(ctx, pci, option)
	if err == nil && now != on {
		err = fmt.Errorf("%s of %s: %w", option, pci, ErrIgnored)
	}
	return err
}
