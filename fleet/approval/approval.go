// Package approval asks for approval of a run, with the command or the webhook that an
// intent configures.
//
// Only an explicit yes approves. A command that cannot be started, a server that cannot be
// reached and an answer that cannot be parsed all count as no.
package approval

import (
	"cmp"
	"errors"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/callout"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// format is the version of the document sent to approvers. Within a version, fields are
// only added.
const format = 1

// document is sent to approvers as JSON.
type document struct {
	Format int `json:"format"`
	fleet.ApprovalRequest
}

// Of returns the approver that an intent configures, restricted to what policy p allows, or
// nil if a is nil. agent is the User-Agent of its requests.
func Of(a *intent.Approval, p *secret.Policy, agent string) fleet.Approver {
	if a == nil {
		return nil
	}
	to := callout.To{Command: a.Command, URL: a.URL, Token: a.Token, CA: a.CA, Agent: agent, Timeout: a.Timeout, Policy: cmp.Or(p, &secret.Policy{})}
	if len(a.Command) > 0 {
		return &command{to}
	}
	return &webhook{to}
}

// reason returns an error with the first 400 characters of text, the approver's reason for
// a no, or with otherwise if text is empty.
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
