package main

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cumulus"
	"github.com/roce-fabric/roce-fabric/testlab/sim/eos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

// box is a simulated device of a story.
type box interface {
	mark()         // adds and saves another user's configuration
	state() string // the running configuration and port states
	unsaved() bool
	save() // saves the running configuration as another user
	restart() error
	arm(f fault, odd bool) // makes the device itself fail
	clear()
	// expire ends the device's running timers.
	expire()
}

type eosBox struct{ *eos.EOS }

func (b eosBox) mark() {
	must(b.Configure("interface Ethernet3/1\ndescription not ours\nexit\nclass-map type qos match-any THEIRS\nmatch dscp 10\nexit"))
	b.Save()
}
func (b eosBox) state() string         { return unstamped(b.Running()) }
func (b eosBox) save()                 { b.Save() }
func (b eosBox) unsaved() bool         { return b.state() != unstamped(b.Startup()) }
func (b eosBox) restart() error        { return b.Restart() }
func (b eosBox) clear()                { b.Faults().Clear() }
func (b eosBox) expire()               { b.ExpireTimer() }
func (b eosBox) arm(f fault, odd bool) { armLines(&b.Faults().Faults, f, odd) }

type nxosBox struct{ *nxos.NXOS }

func (b nxosBox) mark() {
	must(b.Configure("interface Ethernet1/3\ndescription not ours\nexit\nclass-map type qos match-any THEIRS\nmatch dscp 10\nexit"))
	b.Save()
}
func (b nxosBox) state() string         { return unstamped(b.Running()) }
func (b nxosBox) save()                 { b.Save() }
func (b nxosBox) unsaved() bool         { return b.state() != unstamped(b.Startup()) }
func (b nxosBox) restart() error        { return b.Restart() }
func (b nxosBox) clear()                { b.Faults().Clear() }
func (b nxosBox) expire()               { b.ExpireTimer() }
func (b nxosBox) arm(f fault, odd bool) { armLines(&b.Faults().Faults, f, odd) }

// armLines implements arm for devices that are configured by lines.
func armLines(b *cli.Faults, f fault, odd bool) {
	switch {
	case f == refusal && odd:
		b.RejectNext()
	case f == refusal:
		b.RefuseLine(anyLine)
	case f == falseFailure:
		b.FailAfterCommit()
	case odd:
		b.PretendSave()
	default:
		b.PretendNext()
	}
}

// anyLine matches a setting that all devices need.
var anyLine = regexp.MustCompile(`^(no )?(mtu|service-policy|service-profile)`)

type sonicBox struct{ *sonic.Switch }

func (b sonicBox) mark() {
	b.SetRow("SCHEDULER", "theirs", map[string]string{"type": "DWRR", "weight": "7"})
	b.SetRow("DSCP_TO_TC_MAP", "THEIRS", map[string]string{"10": "1"})
	b.Save()
}

func (b sonicBox) state() string {
	c := b.Config()
	for _, rows := range c {
		for _, r := range rows {
			delete(r, "NULL")
		}
	}
	for _, lost := range b.Unbound() {
		c["nothing is bound to "+lost] = nil
	}
	return asJSON(c)
}
func (b sonicBox) save()          { b.Save() }
func (b sonicBox) unsaved() bool  { return len(unsavedTables(b.Switch)) > 0 }
func (b sonicBox) restart() error { return b.Restart() }
func (b sonicBox) clear()         { b.Faults().Clear() }
func (b sonicBox) expire()        {}
func (b sonicBox) arm(f fault, odd bool) {
	switch {
	case f == refusal && odd:
		b.Faults().FailAt(3) // after part of the configuration was written
	case f == refusal:
		b.Faults().FailAt(0)
	case f == falseFailure:
		b.Faults().FailAfterApply()
	default:
		b.Faults().PretendNext()
	}
}

type cumulusBox struct{ *cumulus.Switch }

func (b cumulusBox) mark() {
	must(b.Configure("nv set interface swp3 description theirs\nnv set qos pfc THEIRS switch-priority 5"))
	b.Save()
}
func (b cumulusBox) state() string  { return b.Running() }
func (b cumulusBox) save()          { b.Save() }
func (b cumulusBox) unsaved() bool  { return b.Running() != b.Startup() }
func (b cumulusBox) restart() error { return b.Restart() }
func (b cumulusBox) clear()         { b.Faults().Clear() }
func (b cumulusBox) expire()        { b.Expire() }
func (b cumulusBox) arm(f fault, odd bool) {
	switch {
	case f == refusal && odd:
		b.Faults().RejectNext()
	case f == refusal:
		b.Faults().RefusePatch(true)
	case f == falseFailure:
		b.Faults().FailAfterApply()
	case odd:
		b.Faults().PretendSave()
	default:
		b.Faults().PretendNext()
	}
}

type hostBox struct{ *host.Host }

const theirNIC = "ens9f0np0"

func (b hostBox) mark() {
	b.Kernel().Add(localtest.Port{Name: theirNIC})
	b.SetPFC(theirNIC, qos.Priorities(5))
}

func (b hostBox) state() string {
	running, err := b.Kernel().Machine().Read(context.Background(), nil)
	must(err)
	running.Boot = "" // identifies a boot of the machine
	for _, p := range running.Ports {
		p.CarrierChanges = qos.Opt[uint64]{}
	}
	return asJSON(running)
}
func (b hostBox) save()         {}
func (b hostBox) unsaved() bool { return false } // hosts have no unsaved state
func (b hostBox) restart() error {
	err := b.Reboot()
	b.SetPFC(theirNIC, qos.Priorities(5))
	return err
}

func (b hostBox) clear()  { b.Faults().Clear() }
func (b hostBox) expire() {}
func (b hostBox) arm(f fault, _ bool) {
	switch {
	case f == refusal:
		b.Faults().NoRoot(true)
	case f == falseFailure:
		b.Faults().DropAfter("apply")
	default:
		b.Faults().Ignore(true)
	}
}

func asJSON(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	must(err)
	return string(b)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func boxOfLab(l *lab.Lab, name string) box {
	switch b := l.Switches[name].(type) {
	case *eos.EOS:
		return eosBox{b}
	case *nxos.NXOS:
		return namedBox{nxosBox{b}}
	case *sonic.Switch:
		return asicBox{sonicBox{b}}
	case *cumulus.Switch:
		return cumulusBox{b}
	}
	return hostBox{l.Servers[name]}
}

// asicBox also compares ASIC_DB of a SONiC switch, because a rollback must restore what the
// daemons programmed and not only rows of CONFIG_DB.
type asicBox struct{ sonicBox }

func (b asicBox) state() string { return asJSON(b.all()) }

// meaning replaces the names of WRED profiles with their thresholds. While some ports still use
// the old thresholds, a plan cannot edit the shared profile and creates a second one.
func (b asicBox) meaning() string {
	c := b.all()
	for _, q := range c["QUEUE"] {
		if p := q["wred_profile"]; p != "" {
			q["wred_profile"] = asJSON(c["WRED_PROFILE"][p])
		}
	}
	delete(c, "WRED_PROFILE")
	asic := b.DB("ASIC_DB")["ASIC_STATE"]
	for _, q := range c["in force"] {
		if p := q["SAI_QUEUE_ATTR_WRED_PROFILE_ID"]; p != "" {
			q["SAI_QUEUE_ATTR_WRED_PROFILE_ID"] = asJSON(asic["SAI_OBJECT_TYPE_WRED:"+p])
		}
	}
	return asJSON(c)
}

// all returns CONFIG_DB, with an additional table of the ports' objects in ASIC_DB.
func (b asicBox) all() map[string]map[string]map[string]string {
	c := b.Config()
	// Up to 202605, orchagent crashes when the row is removed. A rollback therefore keeps the
	// row, with the interval that orchagent uses without it.
	if c["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"] == "100" {
		if delete(c["PFC_WD"], "GLOBAL"); len(c["PFC_WD"]) == 0 {
			delete(c, "PFC_WD")
		}
	}
	for _, rows := range c {
		for _, r := range rows {
			delete(r, "NULL")
		}
	}
	for _, lost := range b.Unbound() {
		c["nothing is bound to "+lost] = nil
	}
	force := map[string]map[string]string{}
	for key, row := range b.DB("ASIC_DB")["ASIC_STATE"] {
		kind, _, _ := strings.Cut(strings.TrimPrefix(key, "SAI_OBJECT_TYPE_"), ":")
		if slices.Contains([]string{"PORT", "QUEUE", "INGRESS_PRIORITY_GROUP"}, kind) {
			force[key] = row
		}
	}
	c["in force"] = force
	return c
}

// namedBox compares an NX-OS switch without the numbers in policy names, the order in which the
// policies were created, and what does nothing: a policy of this tool that nothing attaches, the class
// of the rest with the group that it has anyway, and what policies say of groups that nothing is
// classified into. After a run that was cut off between two lines, the next run creates new policies
// next to incomplete ones and does not complete what already works.
type namedBox struct{ nxosBox }

var (
	secondName   = regexp.MustCompile(`(ROCE-FABRIC-[A-Z]+)-[0-9]+\b`)
	ownPolicy    = regexp.MustCompile(`^policy-map type \S+ (ROCE-FABRIC-\S+)\n`)
	classOfGroup = regexp.MustCompile(`(?m)^  class type (?:network-qos c-8q-nq|queuing c-out-8q-q)([1-7])\n(?:    .*\n)*`)
	doesNothing  = regexp.MustCompile(`(?m)^  class type network-qos .*\n(?:    .*\n)*|^    random-detect .*\n`)
)

func (b namedBox) meaning() string {
	state := strings.ReplaceAll(b.state(), "  class class-default\n    set qos-group 0\n", "")
	state = classOfGroup.ReplaceAllStringFunc(state, func(class string) string {
		if group := classOfGroup.FindStringSubmatch(class)[1]; strings.Contains(state, "set qos-group "+group+"\n") {
			return class
		}
		return doesNothing.ReplaceAllString(class, "")
	})
	var blocks []string
	for line := range strings.Lines(state) {
		if inner := strings.HasPrefix(line, " "); inner && len(blocks) > 0 {
			blocks[len(blocks)-1] += line
		} else {
			blocks = append(blocks, line)
		}
	}
	blocks = slices.DeleteFunc(blocks, func(block string) bool {
		m := ownPolicy.FindStringSubmatch(block)
		return m != nil && !regexp.MustCompile(`(?m)^  service-policy .* `+m[1]+`$`).MatchString(state)
	})
	for i := range blocks {
		blocks[i] = secondName.ReplaceAllString(blocks[i], "$1")
	}
	slices.Sort(blocks)
	return strings.Join(blocks, "")
}

// meaning returns the state of a device without names chosen by a plan.
func meaning(b box) string {
	if m, ok := b.(interface{ meaning() string }); ok {
		return m.meaning()
	}
	return b.state()
}
