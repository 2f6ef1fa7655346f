// Package approval asks for the approval of a run as an intent says: a command, or a
// webhook.
//
// Only a clear yes is one. A command that cannot be started or a server that cannot be
// reached is a no, as is any answer that is not understood.
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

// format is the version of the document that approvers get. Within one, fields are
// only added.
const format = 1

// document is what approvers get.
type document struct {
	Format int `json:"format"`
	fleet.ApprovalRequest
}

// Of returns the approver of an intent, which may use what a policy says; nil where it has
// none. agent is the User-Agent of requests.
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
