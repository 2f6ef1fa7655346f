package secret

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrForbidden reports that the operator does not allow an intent to use something.
var ErrForbidden = errors.New("not allowed by the operator")

// Policy defines what an operator allows intents to use. Whoever writes an intent can name
// secrets, programs and addresses, but that alone gives no access to them. The zero value allows
// nothing.
type Policy struct {
	// Secrets lists patterns of references, with the wildcards of [path.Match]: env:FABRIC_*,
	// file:/etc/roce-fabric/*, keyring:roce/*. key:~/.ssh/* allows private keys for login, which
	// are used but never sent; agent allows the keys of the SSH agent.
	Secrets []string
	// Programs lists allowed command lines: a program, optionally with its first arguments.
	Programs []string
	// Addresses lists networks, IP addresses and patterns of host names; "*" allows all.
	Addresses []string
	// Own lists references that the operator uses for something else. No intent may name them,
	// whatever Secrets contains.
	Own []string
}

// The options by which an operator sets a policy, as named in [Forbidden].
const (
	OptionSecrets   = "secrets"
	OptionPrograms  = "programs"
	OptionAddresses = "addresses"
)

// Usual returns the policy of an operator who has set none. In a pipeline, anyone who can propose
// a change may have written the intent, so the intent may only name variables made for it, and
// nothing may be sent off the machine.
func Usual(getenv func(string) string) *Policy {
	if Pipeline(getenv) {
		return &Policy{Secrets: []string{"env:FABRIC_*"}, Addresses: []string{"127.0.0.0/8", "::1", "localhost"}}
	}
	return &Policy{Secrets: []string{"env:FABRIC_*", "key:~/.ssh/*", "agent"}, Addresses: []string{"*"}}
}

// Pipeline reports whether the environment is a CI pipeline.
func Pipeline(getenv func(string) string) bool {
	v := getenv("CI")
	off, err := strconv.ParseBool(v)
	return v != "" && (err != nil || off)
}

// Forbidden is the error for something that a policy does not allow.
type Forbidden struct {
	Fact   string
	Option string // option that would allow it; "" for none
	Value  string // value to add to the option
	have   []string
}

// Error returns Fact.
func (e *Forbidden) Error() string { return e.Fact }

// Unwrap returns [ErrForbidden].
func (e *Forbidden) Unwrap() error { return ErrForbidden }

// Hint says how the operator can allow it.
func (e *Forbidden) Hint() string { return Grant(e) }

// maxGranted is the maximum number of entries of an option that Grant writes out.
const maxGranted = 12

// Grant says how an operator can allow everything that one option refused.
func Grant(all ...*Forbidden) string {
	if len(all) == 0 || all[0].Option == "" {
		return ""
	}
	option, list := all[0].Option, slices.Clone(all[0].have)
	for _, e := range all {
		if !slices.Contains(list, e.Value) {
			list = append(list, e.Value)
		}
	}
	more := ""
	if len(list) > maxGranted {
		list, more = list[:maxGranted], ", and so on; patterns are shorter"
	}
	return fmt.Sprintf("if you trust the intent with it: --%s '%s', or ROCE_FABRIC_%s, or '%s: [\"%s\"]' in ~/.config/roce-fabric/config.yaml%s",
		option, strings.Join(list, ","), strings.ToUpper(option), option, strings.Join(list, `", "`), more)
}

// Check returns an error for the first invalid entry.
func (p *Policy) Check() error {
	for _, s := range p.Secrets {
		kind, rest, _ := strings.Cut(s, ":")
		if _, err := path.Match(rest, ""); err != nil || s != "agent" && (rest == "" || !slices.Contains([]string{"env", "file", "keyring", "key"}, kind)) {
			return fmt.Errorf("%s: not env:NAME, file:PATH, keyring:SERVICE/USER, key:PATH or agent", OptionSecrets)
		}
	}
	for _, c := range p.Programs {
		if len(strings.Fields(c)) == 0 {
			return fmt.Errorf("%s: an entry is empty", OptionPrograms)
		}
	}
	for _, s := range p.Addresses {
		if _, err := path.Match(s, ""); err != nil || s == "" || strings.Contains(s, "/") && !isNetwork(s) {
			return fmt.Errorf("%s: %q is not a network, IP address or host name pattern", OptionAddresses, s)
		}
	}
	return nil
}

func isNetwork(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

// Resolve is [Resolve] for a reference in an intent.
func (p *Policy) Resolve(ctx context.Context, ref string) (Secret, error) {
	if err := p.Reference(ref); err != nil {
		return "", err
	}
	return Resolve(ctx, ref)
}

// Username is [Username] for a reference in an intent.
func (p *Policy) Username(ctx context.Context, ref string) (string, error) {
	if err := p.Reference(ref); err != nil {
		return "", err
	}
	return Username(ctx, ref)
}

// Reference returns an error for a reference that an intent may not name. It accepts text that is
// not a reference, and leaves that to [Resolve] and [Username].
func (p *Policy) Reference(ref string) error {
	r, err := parse(ref)
	if err != nil {
		return nil
	}
	switch {
	case slices.Contains(p.Own, ref):
		return &Forbidden{Fact: ref + " is used by this command itself, and not for an intent"}
	case slices.ContainsFunc(p.Secrets, func(s string) bool { return matches(s, r) }):
		return nil
	}
	return &Forbidden{Fact: ref + " is not a secret that an intent may name", Option: OptionSecrets, Value: ref, have: p.Secrets}
}

// Key returns an error if an intent may not use the private key file; "" means no key.
func (p *Policy) Key(file string) error {
	r := reference{"key", file}
	if file == "" || slices.ContainsFunc(p.Secrets, func(s string) bool { return matches(s, r) }) {
		return nil
	}
	return &Forbidden{Fact: "the private key " + file + " is not one that an intent may use", Option: OptionSecrets, Value: "key:" + file, have: p.Secrets}
}

// Agent returns an error if an intent may not use the SSH agent.
func (p *Policy) Agent() error {
	if slices.Contains(p.Secrets, "agent") {
		return nil
	}
	return &Forbidden{Fact: "the SSH agent is not one that an intent may use", Option: OptionSecrets, Value: "agent", have: p.Secrets}
}

// matches reports whether a reference matches a pattern. Paths are made absolute first, so that
// ".." cannot lead out of the pattern's folder.
func matches(pattern string, r reference) bool {
	kind, rest, _ := strings.Cut(pattern, ":")
	if kind != r.scheme {
		return false
	}
	have := r.rest
	if kind == "file" || kind == "key" {
		rest, have = absolute(rest), absolute(have)
		if have == "" {
			return false
		}
	}
	ok, err := path.Match(rest, have)
	return err == nil && ok
}

// absolute returns the absolute path without "..", or "" if it cannot be determined.
func absolute(name string) string {
	full, err := ExpandHome(name)
	if err != nil {
		return ""
	}
	if full, err = filepath.Abs(full); err != nil {
		return ""
	}
	return full
}

// Address returns an error if an intent may not have anything sent to address, which is host:port
// or user@host:port; "" means no address.
func (p *Policy) Address(address string) error {
	if address == "" {
		return nil
	}
	host := HostOf(address)
	if slices.ContainsFunc(p.Addresses, func(s string) bool { return within(s, host) }) {
		return nil
	}
	return &Forbidden{Fact: host + " is not an address that an intent may have credentials sent to", Option: OptionAddresses, Value: host, have: p.Addresses}
}

// HostOf returns the host of an address of the form host:port or user@host:port.
func HostOf(address string) string {
	address = address[strings.LastIndexByte(address, '@')+1:]
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return strings.Trim(host, "[]")
}

// within reports whether a host matches a network, an IP address or a name pattern. It does not
// resolve names, because the owner of a name controls what it resolves to.
func within(pattern, host string) bool {
	if pattern == "*" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(strings.TrimSuffix(host, ".")))
		return err == nil && ok && !isNetwork(pattern)
	}
	ip = ip.Unmap().WithZone("")
	if one, err := netip.ParseAddr(pattern); err == nil {
		return one.Unmap() == ip
	}
	network, err := netip.ParsePrefix(pattern)
	return err == nil && network.Contains(ip)
}

// Program returns an error if an intent may not run the command.
func (p *Policy) Program(command []string) error {
	allowed := func(line string) bool {
		words := strings.Fields(line)
		return len(words) > 0 && len(words) <= len(command) && slices.Equal(words, command[:len(words)])
	}
	if len(command) == 0 || slices.ContainsFunc(p.Programs, allowed) {
		return nil
	}
	return &Forbidden{Fact: command[0] + " is not a program that an intent may run", Option: OptionPrograms, Value: command[0], have: p.Programs}
}
