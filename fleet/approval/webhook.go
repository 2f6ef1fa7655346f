package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/callout"
)

// webhook is an approver that asks a server, which approves with status 200 and
// {"approved": true}.
type webhook struct{ callout.To }

// Approve posts the request and waits for the answer.
func (w *webhook) Approve(ctx context.Context, r fleet.ApprovalRequest) error {
	body, err := json.Marshal(document{format, r})
	if err != nil {
		return err
	}
	status, answer, err := w.Post(ctx, body)
	if err != nil {
		return err
	}
	return verdict(status, answer)
}

// verdict returns an error unless an answer approves.
func verdict(status int, body []byte) error {
	var answer struct {
		Approved bool   `json:"approved"`
		Reason   string `json:"reason"`
	}
	bad := json.Unmarshal(body, &answer)
	switch {
	case status >= 300 && status < 400:
		return fmt.Errorf("it redirects to another address (status %d)", status)
	case status != http.StatusOK:
		return reason(answer.Reason, fmt.Sprintf("it answers %d %s", status, http.StatusText(status)))
	case len(body) > callout.MaxAnswer:
		return errors.New("its answer is too long")
	case bad != nil:
		return errors.New("the answer is not valid JSON of the expected form")
	case !answer.Approved:
		return reason(answer.Reason, "it says no")
	}
	return nil
}
