package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/secret"
)

// policyFlags are the flags that limit what an intent may use.
type policyFlags struct {
	secrets, programs, addresses []string
	own                          []string // references given by other flags
}

// policyFlags adds the flags that limit what an intent may use.
func (a *app) policyFlags(c *cobra.Command) {
	f := c.Flags()
	for _, o := range []struct {
		to            *[]string
		option, usage string
	}{
		{&a.permitted.secrets, secret.OptionSecrets, "the secrets that the intent may name, as patterns: env:NAME, file:PATH, keyring:SERVICE/USER, key:PATH, agent (or ROCE_FABRIC_SECRETS; default env:FABRIC_*; outside of CI also key:~/.ssh/* and agent)"},
		{&a.permitted.programs, secret.OptionPrograms, "the programs that the intent may run, each with its first arguments (or ROCE_FABRIC_PROGRAMS; default none)"},
		{&a.permitted.addresses, secret.OptionAddresses, "the networks, addresses and patterns of host names that the intent may have credentials sent to (or ROCE_FABRIC_ADDRESSES; default all; in CI loopback)"},
	} {
		var usual []string
		if v := a.Getenv("ROCE_FABRIC_" + strings.ToUpper(o.option)); v != "" {
			usual = strings.Split(v, ",")
		}
		f.StringSliceVar(o.to, o.option, usual, o.usage)
		a.choices(c, o.option)
	}
	addPreCheck(c, func(cmd *cobra.Command) error {
		for _, name := range []string{"sign-key", "webhook", "webhook-token"} {
			if flag := cmd.Flag(name); flag != nil && flag.Value.String() != "" {
				a.permitted.own = append(a.permitted.own, flag.Value.String())
			}
		}
		return nil
	})
}

// policy returns the policy for what an intent may use.
func (a *app) policy() (*secret.Policy, error) {
	p := secret.Usual(a.Getenv)
	for _, o := range []struct {
		to     *[]string
		stated []string
	}{{&p.Secrets, a.permitted.secrets}, {&p.Programs, a.permitted.programs}, {&p.Addresses, a.permitted.addresses}} {
		if len(o.stated) > 0 {
			*o.to = o.stated
		}
	}
	p.Own = a.permitted.own
	if err := p.Check(); err != nil {
		return nil, usage("--%w", err)
	}
	return p, nil
}

// ownFiles rejects symbolic links in a CI checkout, of the intent or a file in its folder, that
// lead out of the checkout: errors in an intent quote the file's content.
func (a *app) ownFiles() error {
	if !secret.Pipeline(a.Getenv) {
		return nil
	}
	names := []string{a.file}
	entries, _ := os.ReadDir(a.file) // fails and returns nothing for a file
	for _, e := range entries {
		names = append(names, filepath.Join(a.file, e.Name()))
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(here)
	if err != nil {
		return err
	}
	below := func(dir, name string) bool {
		rel, err := filepath.Rel(dir, name)
		return err == nil && filepath.IsLocal(rel)
	}
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(here, name)
		}
		if to, err := filepath.EvalSymlinks(name); err == nil && below(here, name) && !below(real, to) {
			return usageHint("in a pipeline, the intent is part of the checkout", "%s is a symbolic link to a file outside the working folder", name)
		}
	}
	return nil
}

// permitTyped permits the references and addresses that the import command line itself names.
func (o *importOptions) permitTyped(p *secret.Policy) {
	p.Secrets, p.Addresses = slices.Clone(p.Secrets), slices.Clone(p.Addresses)
	for _, ref := range []string{o.username, o.password} {
		if ref != "" {
			p.Secrets = append(p.Secrets, ref)
		}
	}
	for _, d := range o.devices {
		if s, err := fleet.ParseLive(d); err == nil {
			p.Addresses = append(p.Addresses, secret.HostOf(s.Address))
		}
	}
}

// permitCallouts rejects commands and webhooks of an intent that the operator does not permit.
func permitCallouts(at *fleet.Access, all ...*intent.Approval) error {
	for _, c := range all {
		if c == nil {
			continue
		}
		if err := at.PermitCallout(c); err != nil {
			return err
		}
	}
	return nil
}
