package intent

import (
	"cmp"
	"strings"
)

func (r *resolver) credentials() *rawCredentials { return cmp.Or(r.raw.Logins, &rawCredentials{}) }

// login is an access block with its ranges expanded.
type login struct {
	raw        *rawAccess
	ssh        []string // one address per device
	serverName []string
}

func (r *resolver) login(raw *rawAccess, n int) login {
	l := login{raw: raw}
	if raw == nil {
		return l
	}
	if raw.SSH != nil {
		l.ssh = r.inStep(raw.SSH.Address, n, "ssh address", true)
	}
	if raw.TLS != nil {
		l.serverName = r.inStep(raw.TLS.ServerName, n, "serverName", false)
	}
	return l
}

// access merges the device's own access settings over those of the fabric. fallback is the SSH
// address used when none is stated; it applies if wantSSH is set or the files have an ssh block.
func (r *resolver) access(fallback Value[string], wantSSH bool, l login, i int, common *rawLogin) Access {
	common, own := cmp.Or(common, &rawLogin{}), cmp.Or(l.raw, &rawAccess{})
	user := common.rawUser
	overlay(&user, &own.rawUser)
	var tls rawTLS
	overlay(&tls, common.TLS)
	overlay(&tls, own.TLS)
	if t := own.TLS; t != nil {
		over(&tls.ServerName, itemAt(l.serverName, i, t.ServerName))
	}
	var ssh rawSSH
	overlay(&ssh, common.SSH)
	var sshAddress opt[string]
	if s := own.SSH; s != nil {
		overlay(&ssh, &s.rawSSH)
		sshAddress = itemAt(l.ssh, i, s.Address)
	}
	wantSSH = wantSSH || common.SSH != nil || own.SSH != nil
	r.checkTLS(&tls, &user)
	a := Access{Username: from(user.Username, ""), Password: from(user.Password, ""), TLS: TLS{
		CA: from(tls.CA, ""), Cert: from(tls.Cert, ""), Key: from(tls.Key, ""), Pin: from(tls.Pin, ""),
		ServerName: from(tls.ServerName, ""), Insecure: from(tls.Insecure, false), Plaintext: from(tls.Plaintext, false),
	}}
	if a.TLS.Pin.V != "" {
		a.TLS.Pin.V = strings.ToLower(a.TLS.Pin.V)
	}
	sshUser := user
	overlay(&sshUser, &ssh.rawUser)
	a.SSH = SSH{Address: r.sshAddress(fallback, sshAddress, wantSSH), Username: from(sshUser.Username, ""), Password: from(sshUser.Password, ""),
		Key: from(ssh.Key, ""), Agent: from(ssh.Agent, false), KnownHosts: from(ssh.KnownHosts, ""), Jump: r.jump(ssh.Jump)}
	return a
}

// sshAddress returns the stated address, or the fallback if SSH is wanted.
func (r *resolver) sshAddress(fallback Value[string], o opt[string], want bool) Value[string] {
	if o.Set {
		addr, fault, hint := parseAddress(o.V, "22")
		if fault != "" {
			r.problems.addf(o.Pos, hint, "ssh address %q %s", brief(o.V), fault)
		}
		return Value[string]{V: addr, From: Origin{Pos: o.Pos}}
	}
	if want {
		return fallback
	}
	return Value[string]{From: byDefault}
}

func (r *resolver) jump(o opt[string]) Value[string] {
	if o.Set {
		_, addr, _ := strings.Cut(o.V, "@")
		if _, fault, _ := parseAddress(addr, ""); fault != "" {
			r.problems.addf(o.Pos, "", "the address of the jump host %s", fault)
		}
	}
	return from(o, "")
}

// checkTLS rejects settings that contradict each other or expose a password.
func (r *resolver) checkTLS(t *rawTLS, u *rawUser) {
	if t.Plaintext.V {
		if u.Password.Set {
			r.problems.addf(t.Plaintext.Pos, "use TLS, with a pin if the device has a self-signed certificate", "plaintext would send the password stated at %s unprotected", u.Password.Pos)
		}
		if other := firstSet(t.Pin, t.CA, t.Cert); other.Set {
			r.problems.addf(t.Plaintext.Pos, "", "plaintext contradicts the TLS settings at %s", other.Pos)
		}
	}
	if t.Insecure.V && u.Password.Set {
		r.problems.addf(t.Insecure.Pos, "pin the device's key instead: without a pin, the error of 'plan' shows it", "insecure would send the password stated at %s to whoever answers", u.Password.Pos)
	}
	if t.Insecure.V && t.Pin.Set {
		r.problems.addf(t.Insecure.Pos, "a pin alone accepts exactly one key", "insecure accepts any certificate and contradicts the pin at %s", t.Pin.Pos)
	}
	if t.Insecure.V && t.CA.Set {
		r.problems.addf(t.Insecure.Pos, "", "insecure accepts any certificate and contradicts the ca at %s", t.CA.Pos)
	}
	if t.Cert.Set != t.Key.Set && t.Cert.Stated == t.Cert.Set && t.Key.Stated == t.Key.Set {
		r.problems.addf(firstSet(t.Cert, t.Key).Pos, "", "a client certificate needs both cert and key")
	}
}

func firstSet(os ...opt[string]) opt[string] {
	for _, o := range os {
		if o.Set {
			return o
		}
	}
	return opt[string]{}
}
