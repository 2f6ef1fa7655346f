package fleet

import (
	"errors"
	"os"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// policy returns the operator's policy, or the usual policy if there is none.
func (a *Access) policy() *secret.Policy {
	if a.Policy == nil {
		return secret.Usual(os.Getenv)
	}
	return a.Policy
}

// Permit returns an error with the position of everything that the intent asks for to reach
// these devices and that the operator's policy does not allow. It reads no file and connects
// to nothing. It always permits the devices of a lab and this machine, which are reached
// without the intent's settings.
func (a *Access) Permit(switches []*intent.Switch, hosts []*intent.Host) error {
	if a.Local || a.At != nil {
		return nil
	}
	var all refusals
	for _, sw := range switches {
		all.add(a.permitSwitch(sw))
	}
	for _, h := range hosts {
		if a.Lacks(h) == "" {
			all.add(a.permitHost(h))
		}
	}
	return all.err()
}

func (a *Access) permitSwitch(sw *intent.Switch) error {
	p, to := a.policy(), &sw.Access
	var out refusals
	out.at(sw.Address.From, p.Address(sw.Address.V))
	out.at(to.Username.From, p.Reference(to.Username.V))
	out.at(to.Password.From, p.Reference(to.Password.V))
	out.at(to.TLS.Key.From, p.Key(to.TLS.Key.V))
	if to.SSH.Configured() {
		out.ssh(p, &to.SSH)
	}
	return out.err()
}

func (a *Access) permitHost(h *intent.Host) error {
	var out refusals
	out.ssh(a.policy(), &h.Access.SSH)
	return out.err()
}

// refusals lists what a policy does not allow, with positions in the intent.
type refusals struct {
	list intent.Errors
	why  []*secret.Forbidden // the reason for each entry of list
}

func (r *refusals) at(from intent.Origin, err error) {
	if why := (*secret.Forbidden)(nil); errors.As(err, &why) {
		r.list = append(r.list, &intent.Error{Pos: from.Pos, Msg: why.Fact})
		r.why = append(r.why, why)
	}
}

func (r *refusals) ssh(p *secret.Policy, s *intent.SSH) {
	r.at(s.Address.From, p.Address(s.Address.V))
	r.at(s.Jump.From, p.Address(s.Jump.V))
	r.at(s.Username.From, p.Reference(s.Username.V))
	r.at(s.Password.From, p.Reference(s.Password.V))
	r.at(s.Key.From, p.Key(s.Key.V))
	if s.Agent.V {
		r.at(s.Agent.From, p.Agent())
	}
}

// add adds the refusals of one device, if err has any.
func (r *refusals) add(err error) {
	if one := (*refused)(nil); errors.As(err, &one) {
		r.list, r.why = append(r.list, one.list...), append(r.why, one.why...)
	}
}

// err returns an error with each refusal once, or nil if there are none. The hint of a
// refusal is the option that would allow all refusals of its kind.
func (r *refusals) err() error {
	if len(r.list) == 0 {
		return nil
	}
	byOption := map[string][]*secret.Forbidden{}
	for _, why := range r.why {
		byOption[why.Option] = append(byOption[why.Option], why)
	}
	out, seen := &refused{}, map[intent.Error]bool{}
	for i, e := range r.list {
		why := r.why[i]
		one := intent.Error{Pos: e.Pos, Msg: e.Msg, Hint: secret.Grant(byOption[why.Option]...)}
		if !seen[one] {
			seen[one] = true
			out.list, out.why = append(out.list, &one), append(out.why, why)
		}
	}
	return out
}

// refused is the error for an intent that asks for something the operator does not allow.
type refused struct{ refusals }

func (r *refused) Error() string { return r.list.Error() }

// Unwrap lets errors.As find the [intent.Errors].
func (r *refused) Unwrap() []error { return []error{r.list, secret.ErrForbidden} }

// Hint returns the hint of the first refusal.
func (r *refused) Hint() string { return r.list[0].Hint }

// PermitCallout returns an error if the operator's policy does not allow a command or a
// webhook of an intent.
func (a *Access) PermitCallout(c *intent.Approval) error {
	p, from := a.policy(), intent.Origin{Pos: c.Pos}
	var out refusals
	out.at(from, p.Program(c.Command))
	out.at(from, p.Address(c.Host()))
	out.at(from, p.Reference(c.Token))
	return out.err()
}
