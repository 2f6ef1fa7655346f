package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
)

// command approves with exit status 0.
type command struct {
	argv    []string
	timeout time.Duration
}

// grace is how long a command that is asked to end may take for it, and its outputs may
// stay open in a process that it started.
const grace = 2 * time.Second

func (c *command) String() string { return c.argv[0] }

// Approve runs the command.
func (c *command) Approve(ctx context.Context, r fleet.ApprovalRequest) error {
	in, err := json.Marshal(document{format, r})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var said head
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Stdin, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(append(in, '\n')), &said, grace
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it may have something to withdraw
	cmd.Env = append(os.Environ(), environment(r)...)
	if err = cmd.Run(); err == nil {
		return nil
	}
	if cmd.ProcessState == nil || ctx.Err() != nil {
		return late(ctx, c.timeout, err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
	return reason(line, err.Error())
}

// environment is what a command learns without reading JSON.
func environment(r fleet.ApprovalRequest) (env []string) {
	for _, v := range [][2]string{
		{"FABRIC", r.Fabric}, {"DIGEST", r.Digest}, {"ROLLS_BACK", r.Of}, {"DEVICES", strconv.Itoa(r.Devices)},
		{"IMPACT", r.Impact}, {"USER", r.User}, {"HOST", r.Host},
	} {
		env = append(env, fmt.Sprintf("ROCE_FABRIC_%s=%s", v[0], v[1]))
	}
	return env
}

// head keeps the beginning of what is written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(b []byte) (int, error) {
	if room := maxAnswer - h.Len(); room > 0 {
		h.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
