package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/callout"
)

// command is an approver that runs a command, which approves with exit status 0.
type command struct{ callout.To }

// Approve runs the command.
func (c *command) Approve(ctx context.Context, r fleet.ApprovalRequest) error {
	in, err := json.Marshal(document{format, r})
	if err != nil {
		return err
	}
	var said head
	err = c.Run(ctx, in, environment(r), nil, &said)
	if err == nil || !errors.As(err, new(*exec.ExitError)) {
		return err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
	return reason(line, err.Error())
}

// environment returns the variables that describe the request to commands that do not read
// JSON.
func environment(r fleet.ApprovalRequest) (env []string) {
	for _, v := range [][2]string{
		{"FABRIC", r.Fabric}, {"DIGEST", r.Digest}, {"ROLLS_BACK", r.Of}, {"DEVICES", strconv.Itoa(r.Devices)},
		{"IMPACT", r.Impact}, {"USER", r.User}, {"HOST", r.Host},
	} {
		env = append(env, fmt.Sprintf("ROCE_FABRIC_%s=%s", v[0], v[1]))
	}
	return env
}

// head keeps the first callout.MaxAnswer bytes written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(b []byte) (int, error) {
	if room := callout.MaxAnswer - h.Len(); room > 0 {
		h.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
