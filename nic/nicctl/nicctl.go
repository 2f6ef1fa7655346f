// Package nicctl reads and sets AMD Pensando cards (Pollara, driver ionic) with their vendor's
// tool, because the kernel's driver has no DCB operations.
//
// The output about a card is parsed strictly. A value that is missing or not in the known form is
// left unset with the reason, never guessed; the rest of the output is ignored. The settings live
// in the card: they survive a reload of the driver and are lost when the card loses power, unless a
// persona of the card keeps them; the scheduling is always lost.
//
// The tool exits with 0 if there is no card and after some errors, so its messages are checked as
// well as its exit status. Callers must read back whatever they set: the package does not do so,
// does not compare values before writing, and does not choose values. No command goes through a
// shell.
//
// Sources: AMD's ROCm documentation ("SGLang distributed inference with MoRI", its nicctl recipes
// and their output), AMD's device-config-manager (the arguments by port), amd/node-scraper (output
// of show port, show qos, show dcqcn) and ROCm/mori tools/env_setup.sh (what the firmware rejects).
// AMD does not document the JSON that newer versions print, so the package reads the text output.
package nicctl

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
	// ErrNoTool: nicctl is not installed.
	ErrNoTool = errors.New("no nicctl on this host")
	// ErrAccess: the tool finds no card, or is not allowed to open it.
	ErrAccess = errors.New("no access to the cards")
	// ErrRefused: the tool or the card's firmware rejected the command.
	ErrRefused = errors.New("refused by nicctl")
	// ErrOutput: the tool's output cannot be parsed.
	ErrOutput = errors.New("cannot parse the output of nicctl")
	// ErrNoPort: no card has the port, or it is not known which of a card's ports it is.
	ErrNoPort = errors.New("nicctl shows no such port")
	// ErrInvalid: no card can have such a value. Nothing was sent.
	ErrInvalid = errors.New("value out of range")
)

// Name is the name of the program.
const Name = "nicctl"

// callTimeout limits one run of the tool.
const callTimeout = 30 * time.Second

// Tool is nicctl on one host.
type Tool struct{ run runner.Runner }

// New returns the tool, run by r.
func New(r runner.Runner) *Tool { return &Tool{r} }

// noCard lists messages, in lower case, that the tool prints with exit status 0 if it cannot reach
// a card.
var noCard = []string{"no amd nics", "invalid card handle", "failed to get nic", "permission denied", "must be root", "run as root"}

// errorLine matches a line that the tool marks as an error: "ERROR - Invalid UUID".
var errorLine = lazyre.New(`^\s*(ERROR\b|[Ee]rror:\s)`)

// Limits for text kept from the tool's output.
const (
	maxWords = 5
	maxWord  = 240
)

// read runs a command that changes nothing and returns its lines.
func (t *Tool) read(ctx context.Context, args ...string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return t.call(ctx, len(args), args)
}

// write runs a command that changes something. Once started, it runs to completion, because an
// interrupted command may leave a setting incomplete.
func (t *Tool) write(ctx context.Context, verbs int, args ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	_, err := t.call(ctx, verbs, args)
	return err
}

// call runs the tool. The first verbs arguments name the command in errors.
func (t *Tool) call(ctx context.Context, verbs int, args []string) ([]string, error) {
	command := Name + " " + strings.Join(args[:verbs], " ")
	res, err := t.run.Run(ctx, Name, args...)
	switch {
	case errors.Is(err, runner.ErrNotFound):
		return nil, fmt.Errorf("%w: it comes with AMD's AINIC host software", ErrNoTool)
	case err != nil:
		return nil, fmt.Errorf("run %s: %w", command, err)
	}
	f := &runner.Failure{Command: command, Code: res.Code, Words: failed(res), Kind: ErrRefused}
	if res.Code == 0 && len(f.Words) == 0 {
		return strings.Split(string(res.Stdout), "\n"), nil
	}
	if len(f.Words) == 0 {
		f.Words = res.LastWords()
	}
	switch {
	case f.Says(noCard...):
		f.Kind, f.Advice = ErrAccess, "nicctl needs root and the driver ionic: look with nicctl show card"
	case f.Says("invalid input"): // ROCm/mori tools/env_setup.sh
		f.Advice = "the firmware accepts a schedule only for priorities with a DSCP, and requires a rate limit for a strict one"
	}
	return nil, f
}

// failed returns the lines that report an error.
func failed(res runner.Result) []string {
	var out []string
	for _, line := range res.Lines() {
		f := runner.Failure{Words: []string{line}}
		if len(out) < maxWords && (errorLine.MatchString(line) || f.Says(noCard...)) {
			out = append(out, line)
		}
	}
	return out
}

// word shortens text from outside the program and makes it safe to print on one line.
func word(s string) string { return term.Clip(s, maxWord) }
