// Package approval asks for the approval of a run as an intent says: a command, or a
// webhook.
//
// Only a clear yes is one. A command that cannot be started or a server that cannot be
// reached is a no, as is any answer that is not understood. Every wait has an end. No
// redirect is followed, and no error repeats more of an address than its host, because
// the rest may be a secret.
package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// format is the version of the document that approvers get. Within one, fields are
// only added.
const format = 1

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

// document is what approvers get.
type document struct {
	Format int `json:"format"`
	fleet.ApprovalRequest
}

// Of returns the approver of an intent; nil where it has none. agent is the User-Agent
// of requests.
func Of(a *intent.Approval, agent string) fleet.Approver {
	switch {
	case a == nil:
		return nil
	case len(a.Command) > 0:
		return &command{argv: a.Command, timeout: a.Timeout}
	}
	return &webhook{to: a, agent: agent}
}

// reason is why something was not approved, of what another program says.
func reason(text, otherwise string) error {
	const most = 400
	if text = term.CleanLine(text); text == "" {
		text = otherwise
	}
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "..."
	}
	return errors.New(text)
}

// late is the reason where the answer did not come in time.
func late(ctx context.Context, limit time.Duration, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", limit)
	}
	return err
}
