package intent

import (
	"net/url"
	"time"
)

// Approval names the command or webhook that must approve a run.
type Approval struct {
	Pos     Pos
	Command []string // with its arguments; empty for a webhook
	URL     string
	Token   string // reference to the bearer token; "" for none
	CA      string // PEM file; "" uses the system's CA certificates
	Timeout time.Duration
}

// Host returns the host name in URL; "" for a command.
func (a *Approval) Host() string {
	if u, err := url.Parse(a.URL); err == nil {
		return u.Hostname()
	}
	return ""
}

// Hook is a command or webhook that is called for a host.
type Hook Approval

const (
	defaultApproval = 10 * time.Minute
	maxApproval     = 24 * time.Hour
)

func (r *resolver) approval(raw *rawApproval) *Approval {
	if raw == nil {
		return nil
	}
	return r.callout("approval", raw)
}

// hook resolves a hook the way approval resolves an approval.
func (r *resolver) hook(key string, raw *rawHook) *Hook {
	if raw == nil {
		return nil
	}
	return (*Hook)(r.callout(key, (*rawApproval)(raw)))
}

func (r *resolver) callout(key string, raw *rawApproval) *Approval {
	a := &Approval{Pos: raw.Pos, Command: each(raw.Command.Items, opt[string].value), URL: raw.URL.V,
		Token: raw.Token.V, CA: raw.CA.V, Timeout: from(raw.Timeout, defaultApproval).V}
	if a.Timeout < time.Second || a.Timeout > maxApproval {
		r.problems.addf(raw.Timeout.Pos, "", "timeout must be 1s to 24h, not %s", a.Timeout)
	}
	r.checkCallout(key, raw, a)
	return a
}

// checkCallout reports a command or webhook that cannot be called.
func (r *resolver) checkCallout(key string, raw *rawApproval, a *Approval) {
	switch only := firstSet(raw.Token, raw.CA); {
	case raw.Command.Stated == raw.URL.Stated:
		r.problems.addf(raw.Pos, "", "%s needs either a command or a url", key)
	case raw.Command.Stated && !raw.Command.Bad && (len(a.Command) == 0 || a.Command[0] == ""):
		r.problems.addf(raw.Command.Pos, "write the program and its arguments: [./"+key+".sh, pod1]", "the command is empty")
	case raw.Command.Stated && only.Set:
		r.problems.addf(only.Pos, "", "a command takes no token and no ca, which are for a url")
	}
	if raw.URL.Set {
		if u, err := url.Parse(a.URL); err != nil || u.Hostname() == "" {
			r.problems.addf(raw.URL.Pos, "", "url is not an address")
		}
	}
}
