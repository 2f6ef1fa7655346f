package main

import (
	"context"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

// access says how devices are reached: where the intent says, or in the lab of --lab.
func (a *app) access() (*fleet.Access, error) {
	out := &fleet.Access{Sudo: a.sudo, Log: a.log}
	if a.lab == "" {
		return out, nil
	}
	f, err := a.labFile()
	if err != nil {
		return nil, err
	}
	a.talk("lab: the devices of %s answer on loopback (%s)", f.Fabric, a.lab)
	out.At = f.At
	return out, nil
}

func (a *app) labFile() (*lab.File, error) {
	f, err := lab.Read(a.lab)
	if err != nil {
		return nil, usageHint("start the lab with 'roce-fabric lab up INTENT', or unset ROCE_FABRIC_LAB to talk to real devices", "%w", err)
	}
	return f, nil
}

// loadDevices is load for commands that talk to the devices.
func (a *app) loadDevices(ctx context.Context, take fleet.Take) (*fleet.Fabric, *fleet.Access, error) {
	f, err := a.load(ctx, take)
	if err != nil {
		return nil, nil, err
	}
	at, err := a.access()
	if err != nil {
		return nil, nil, err
	}
	a.warnUnverified(f.Switches)
	return f, at, nil
}

// warnUnverified says what an operator should not forget about.
func (a *app) warnUnverified(switches []*intent.Switch) {
	for _, sw := range switches {
		switch t := sw.Access.TLS; {
		case t.Insecure.V:
			a.warn("%s: the certificate is not verified (%s)", sw.Name, t.Insecure.From)
		case t.Plaintext.V:
			a.warn("%s: the connection is not encrypted (%s)", sw.Name, t.Plaintext.From)
		}
	}
}
