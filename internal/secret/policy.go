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

// ErrForbidden says that the operator does not let an intent use something.
var ErrForbidden = errors.New("not allowed by the operator")

// Policy is what an operator lets an intent use: whoever writes an intent names secrets,
// programs and addresses, and does not thereby hold them. The zero value allows nothing.
type Policy struct {
	// Secrets are patterns of references, with the wildcards of [path.Match]: env:FABRIC_*,
	// file:/etc/roce-fabric/*, keyring:roce/*. key:~/.ssh/* is a private key to log in with,
	// which is used and not sent, and agent the keys of the SSH agent.
	Secrets []string
	// Programs are command lines: a program and the arguments that come first, if any.
	Programs []string
	// Addresses are networks, IP addresses, and patterns of host names; "*" is all.
	Addresses []string
	// Own are references that the operator uses for something else. No intent may name them,
	// whatever Secrets says.
	Own []string
}

// The options with which an operator states a policy, as [Forbidden] names them.
const (
	OptionSecrets   = "secrets"
	OptionPrograms  = "programs"
	OptionAddresses = "addresses"
)

// Usual is the policy of an operator who has stated none. In a pipeline the intent may come
// from anyone who can propose a change: there only variables made for it may be named, and
// nothing is sent off the machine.
func Usual(getenv func(string) string) *Policy {
	if Pipeline(getenv) {
		return &Policy{Secrets: []string{"env:FABRIC_*"}, Addresses: []string{"127.0.0.0/8", "::1", "localhost"}}
	}
	return &Policy{Secrets: []string{"env:FABRIC_*", "key:~/.ssh/*", "agent"}, Addresses: []string{"*"}}
}

// Pipeline reports whether the environment is that of a pipeline.
func Pipeline(getenv func(string) string) bool {
	v := getenv("CI")
	off, err := strconv.ParseBool(v)
	return v != "" && (err != nil || off)
}

// Forbidden is the error of something that a policy does not allow.
type Forbidden struct {
	Fact   string
	Option string // that would allow it; "" for none
	Value  string // to add to the option
	have   []string
}

// Error returns the fact.
func (e *Forbidden) Error() string { return e.Fact }

// Unwrap returns [ErrForbidden].
func (e *Forbidden) Unwrap() error { return ErrForbidden }

// Hint says how the operator allows it.
func (e *Forbidden) Hint() string { return Grant(e) }

// maxGranted is how many entries of an option are written out.
const maxGranted = 12

// Grant says how an operator allows all that was refused by one option.
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

// Check reports an entry that cannot be.
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
			return fmt.Errorf("%s: %q is no network, IP address or pattern of host names", OptionAddresses, s)
		}
	}
	return nil
}

func isNetwork(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

// Resolve is [Resolve] for a reference of an intent.
func (p *Policy) Resolve(ctx context.Context, ref string) (Secret, error) {
	if err := p.Reference(ref); err != nil {
		return "", err
	}
	return Resolve(ctx, ref)
}

// Username is [Username] for a reference of an intent.
func (p *Policy) Username(ctx context.Context, ref string) (string, error) {
	if err := p.Reference(ref); err != nil {
		return "", err
	}
	return Username(ctx, ref)
}

// Reference refuses a reference that an intent may not name. Text that is none is left to
// [Resolve] and [Username].
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

// Key refuses the file of a private key that an intent may not use; "" is none.
func (p *Policy) Key(file string) error {
	r := reference{"key", file}
	if file == "" || slices.ContainsFunc(p.Secrets, func(s string) bool { return matches(s, r) }) {
		return nil
	}
	return &Forbidden{Fact: "the private key " + file + " is not one that an intent may use", Option: OptionSecrets, Value: "key:" + file, have: p.Secrets}
}

// Agent refuses the use of the SSH agent.
func (p *Policy) Agent() error {
	if slices.Contains(p.Secrets, "agent") {
		return nil
	}
	return &Forbidden{Fact: "the SSH agent is not one that an intent may use", Option: OptionSecrets, Value: "agent", have: p.Secrets}
}

// matches compares a reference with a pattern. Paths are compared as absolute ones, so that
// no ".." leads out of the folder of a pattern.
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

// absolute is a path without "..", and "" where it cannot be told.
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

// Address refuses an address, host:port or user@host:port, to which an intent may not have
// anything sent; "" is none.
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

// HostOf is the host of an address, host:port or user@host:port.
func HostOf(address string) string {
	address = address[strings.LastIndexByte(address, '@')+1:]
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return strings.Trim(host, "[]")
}

// within compares a host with a network, an IP address, or a pattern of names. A name is not
// looked up: whoever owns it decides what it resolves to.
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

// Program refuses a command that an intent may not have run.
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
