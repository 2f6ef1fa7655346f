package main

import (
	"context"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/nic/local"
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
	// Devices of a lab that wait for nothing still count in some time.
	out.At, out.Scale = f.At, max(f.TimeScale, 0.001)
	return out, nil
}

func (a *app) labFile() (*lab.File, error) {
	f, err := lab.Read(a.lab)
	if err != nil {
		return nil, usageHint("start the lab with 'roce-fabric lab up INTENT', or unset ROCE_FABRIC_LAB to talk to real devices", "%w", err)
	}
	return f, nil
}

// loadDevices is load for commands that talk to the devices: switches and hosts, or
// with nic hosts alone.
func (a *app) loadDevices(ctx context.Context) (*fleet.Fabric, *fleet.Access, error) {
	take := fleet.TakeAll
	if a.nic.on {
		take = fleet.TakeHosts
	}
	f, err := a.load(ctx, take)
	if err != nil {
		return nil, nil, err
	}
	at := &fleet.Access{Local: true, Peer: local.Peer(a.getenv)}
	if !a.nic.local {
		if at, err = a.access(); err != nil {
			return nil, nil, err
		}
	}
	at.CutOff = a.nic.cutOff
	a.warnUnverified(f.Switches)
	if a.nic.on {
		return f, at, a.pickHosts(f, at)
	}
	return f, at, nil
}

// devices is loadDevices for commands that change devices. It leaves out the hosts
// that have no address, and says so.
func (a *app) devices(ctx context.Context) (*fleet.Fabric, *fleet.Access, []fleet.Device, error) {
	f, at, err := a.loadDevices(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	f.Hosts = a.reachable(f.Hosts, at)
	devices, open := f.Devices(at)
	a.warnOpen(open)
	return f, at, devices, nil
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
