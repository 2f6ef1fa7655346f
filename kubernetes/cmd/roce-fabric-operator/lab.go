package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/roce-fabric/roce-fabric/fleet"
)

// labFile is the part of the file from 'roce-fabric lab up' that is needed to reach the devices.
// The package of the lab is not used because it contains the simulators.
type labFile struct {
	Username   string  `json:"username"`
	Password   string  `json:"password"`
	CA         string  `json:"ca"`
	KnownHosts string  `json:"known_hosts"`
	Program    string  `json:"program"`
	TimeScale  float64 `json:"time_scale"`
	Devices    labDevices
	Hosts      labDevices
}

type labDevices map[string]struct{ GNMI, SSH string }

// inLab returns the access to the devices of a lab, which may start after the operator.
func inLab(path string) *fleet.Access {
	l, err := readLab(path)
	return &fleet.Access{Scale: max(l.TimeScale, 0.001), At: func(device string) (fleet.Address, error) {
		if err != nil {
			return fleet.Address{}, err
		}
		at, ok := l.Devices[device]
		if !ok {
			at, ok = l.Hosts[device]
		}
		if !ok {
			return fleet.Address{}, fmt.Errorf("the lab of %s has no such device", path)
		}
		return fleet.Address{GNMI: at.GNMI, SSH: at.SSH, Username: l.Username, Password: l.Password, CA: l.CA, KnownHosts: l.KnownHosts, Program: l.Program}, nil
	}}
}

func readLab(path string) (l labFile, _ error) {
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil {
		return l, fmt.Errorf("read the file of the lab: %w", err)
	}
	return l, nil
}
