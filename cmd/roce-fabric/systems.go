package main

import (
	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/eos"
	"github.com/roce-fabric/roce-fabric/drivers/nxos"
	"github.com/roce-fabric/roce-fabric/drivers/sonic"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate"
)

// systems are the switch systems: one line each.
var systems = drivers.Systems{
	sonic.System,
	eos.System,
	nxos.System,
}

// systemOf returns the system of a switch of the intent, which takes no other.
func systemOf(d *render.Device) drivers.System {
	s, _ := systems.Find(d.Switch.OS)
	return s
}

// refused returns what the system of a switch does not take.
func refused(d *render.Device) []validate.Finding {
	values, adapted := systemOf(d).Refused(d)
	return append(validate.Refused(d.Switch, values), validate.Adapted(d.Switch, adapted)...)
}

// models are the YANG models of the systems that have some, by name.
type models map[string]func(*render.Device) []drivers.Violation

// check compares what a switch should hold with the models of its system.
func (m models) check(d *render.Device) (out []validate.Finding) {
	check := m[d.Switch.OS]
	if check == nil {
		return nil
	}
	for _, v := range check(d) {
		out = append(out, validate.Finding{
			ID: "YANG", Severity: validate.Error, Device: d.Switch.Name, What: v.What, Where: v.Where,
			Fix: "the image these models are from refuses the row; check release and model of the switch",
		})
	}
	return out
}
