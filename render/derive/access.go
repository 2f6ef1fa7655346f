package derive

import (
	"net"

	"github.com/roce-fabric/roce-fabric/intent"
)

// login describes how to reach a device, except its address. Secrets are references.
type login struct {
	user, password                 string
	ca, cert, key, pin, serverName string
	insecure, plaintext            bool
	ssh                            bool
	sshUser, sshPassword, sshKey   string
	sshKnownHosts, sshJump         string
	sshAgent                       bool
}

func loginOf(a intent.Access) login {
	l := login{
		user: a.Username.V, password: a.Password.V, ca: a.TLS.CA.V, cert: a.TLS.Cert.V, key: a.TLS.Key.V, pin: a.TLS.Pin.V,
		serverName: a.TLS.ServerName.V, insecure: a.TLS.Insecure.V, plaintext: a.TLS.Plaintext.V, ssh: a.SSH.Configured(),
		sshKey: a.SSH.Key.V, sshKnownHosts: a.SSH.KnownHosts.V, sshJump: a.SSH.Jump.V, sshAgent: a.SSH.Agent.V,
	}
	if a.SSH.Username.V != l.user {
		l.sshUser = a.SSH.Username.V
	}
	if a.SSH.Password.V != l.password {
		l.sshPassword = a.SSH.Password.V
	}
	return l
}

// node returns the settings of l that differ from outer. An intent cannot unset what outer sets.
func (l login) node(outer login) *node {
	yes := bare("true")
	value := func(v, was string) *node {
		if v == was {
			return nil
		}
		return text(v)
	}
	n := mapping().put("username", value(l.user, outer.user)).put("password", value(l.password, outer.password))
	n.putIf("tls", mapping().put("ca", value(l.ca, outer.ca)).put("cert", value(l.cert, outer.cert)).put("key", value(l.key, outer.key)).
		put("pin", value(l.pin, outer.pin)).put("serverName", value(l.serverName, outer.serverName)).
		when(l.insecure && !outer.insecure, "insecure", yes).when(l.plaintext && !outer.plaintext, "plaintext", yes))
	if !l.ssh {
		return n
	}
	s := mapping().put("username", value(l.sshUser, outer.sshUser)).put("password", value(l.sshPassword, outer.sshPassword)).
		put("key", value(l.sshKey, outer.sshKey)).when(l.sshAgent && !outer.sshAgent, "agent", yes).
		put("knownHosts", value(l.sshKnownHosts, outer.sshKnownHosts)).put("jump", value(l.sshJump, outer.sshJump))
	return n.when(!s.empty() || !outer.ssh, "ssh", s)
}

// hostLoginOf returns the login of a host, which is reached only over SSH.
func hostLoginOf(a intent.Access) login {
	l := loginOf(a)
	l.ssh = false
	l.ssh = l != (login{})
	return l
}

// mostOf returns the login of most devices; on a tie, the one that reaches the count first.
func mostOf[T any](devices []T, loginOf func(T) login) login {
	count := map[login]int{}
	var best login
	for _, d := range devices {
		l := loginOf(d)
		if count[l]++; count[l] > count[best] {
			best = l
		}
	}
	return best
}

func (d *deriver) switchLogin() login {
	return mostOf(d.switches, func(s *box) login { return loginOf(s.Access) })
}

func (d *deriver) hostLogin() login {
	return mostOf(d.in.Hosts, func(h Host) login { return hostLoginOf(h.Access) })
}

// sshAddress returns the SSH address of a host; "" if it is the host's address.
func (h *host) sshAddress() string {
	if at := h.Access.SSH.Address.V; at != h.Address {
		return at
	}
	return ""
}

// sshAddress returns the SSH address of a switch; "" if it is port 22 of the switch's address.
func (s *box) sshAddress() string {
	at := s.Access.SSH.Address.V
	host, _, err := net.SplitHostPort(s.Address)
	if at == "" || err == nil && at == net.JoinHostPort(host, "22") {
		return ""
	}
	return at
}
