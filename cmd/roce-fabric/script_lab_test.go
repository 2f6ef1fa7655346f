package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cumulus"
	"github.com/roce-fabric/roce-fabric/testlab/sim/eos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
	"github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

func boxOf(ts *testscript.TestScript, name string) *sonic.Switch {
	b, ok := switchOf(ts, name).(*sonic.Switch)
	if !ok {
		ts.Fatalf("%s is no SONiC switch", name)
	}
	return b
}

func switchOf(ts *testscript.TestScript, name string) sim.Switch {
	b := labOf(ts).Switches[name]
	if b == nil {
		ts.Fatalf("the lab has no %s", name)
	}
	return b
}

// held returns the configuration of a switch, and the number of write requests that reached it.
// It leaves out SONiC's row PFC_WD|GLOBAL if the row has orchagent's default, because no
// rollback removes it.
func held(b sim.Switch) (state any, writes int) {
	switch b := b.(type) {
	case *sonic.Switch:
		cfg := b.Config()
		if wd := cfg["PFC_WD"]; reflect.DeepEqual(wd["GLOBAL"], map[string]string{"POLL_INTERVAL": "100"}) {
			if delete(wd, "GLOBAL"); len(wd) == 0 {
				delete(cfg, "PFC_WD")
			}
		}
		return cfg, len(b.Sets())
	case *eos.EOS:
		return b.Running(), b.Writes()
	case *nxos.NXOS:
		return unstamped(b.Running()), b.Writes()
	case *cumulus.Switch:
		return b.Running(), b.Writes()
	}
	panic(fmt.Sprintf("a switch of type %T", b))
}

// unstamped removes the comments of a running configuration, which contain the time.
func unstamped(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		if !strings.HasPrefix(l, "!") {
			b.WriteString(l)
		}
	}
	return b.String()
}

// labmark records the state of every switch; labsame checks that nothing has been written to any
// of them since.
func labMark(ts *testscript.TestScript, _ bool, _ []string) {
	v, _ := labs.Load(ts.MkAbs("."))
	l := v.(*scriptLab)
	l.marks, l.sets = map[string]any{}, map[string]int{}
	for n, b := range l.Switches {
		l.marks[n], l.sets[n] = held(b)
	}
}

// labsame [DEVICE] checks all switches, or one. With !, at least one must have changed.
func labSame(ts *testscript.TestScript, neg bool, a []string) {
	v, _ := labs.Load(ts.MkAbs("."))
	l := v.(*scriptLab)
	for n, b := range l.Switches {
		if len(a) > 0 && a[0] != n {
			continue
		}
		state, sets := held(b)
		same := reflect.DeepEqual(l.marks[n], state)
		switch {
		case neg && same:
			ts.Fatalf("%s holds what it held", n)
		case !neg && !same:
			ts.Fatalf("%s was changed", n)
		case !neg && len(a) == 0 && sets != l.sets[n]:
			ts.Fatalf("%s was sent %d requests to write", n, sets-l.sets[n])
		}
	}
}

func fieldsOf(ts *testscript.TestScript, a []string) map[string]string {
	m := map[string]string{}
	for _, s := range a {
		k, v, ok := strings.Cut(s, "=")
		if !ok {
			ts.Fatalf("%q is not field=value", s)
		}
		m[k] = v
	}
	return m
}

// labset DEVICE TABLE KEY field=value... merges fields into a CONFIG_DB row, like another
// writer.
func labSet(ts *testscript.TestScript, _ bool, a []string) {
	boxOf(ts, a[0]).SetDBRow("CONFIG_DB", a[1], a[2], fieldsOf(ts, a[3:]))
}

// labasic DEVICE PORT attribute=value... makes the hardware state of a port differ from its
// configuration.
func labASIC(ts *testscript.TestScript, _ bool, a []string) {
	box := boxOf(ts, a[0])
	oid := box.DB("COUNTERS_DB")["COUNTERS_PORT_NAME_MAP"][""][a[1]]
	key := "SAI_OBJECT_TYPE_PORT:" + oid
	if box.DB("ASIC_DB")["ASIC_STATE"][key] == nil {
		ts.Fatalf("%s has no %s in ASIC_DB (%q)", a[0], a[1], oid)
	}
	box.SetDBRow("ASIC_DB", "ASIC_STATE", key, fieldsOf(ts, a[2:]))
}

// labdel DEVICE TABLE KEY removes a CONFIG_DB row.
func labDel(ts *testscript.TestScript, _ bool, a []string) { boxOf(ts, a[0]).DelRow(a[1], a[2]) }

func labRestart(ts *testscript.TestScript, _ bool, a []string) {
	ts.Check(boxOf(ts, a[0]).Restart())
}

// labis DEVICE TABLE KEY field=value... checks a CONFIG_DB row; with !, the row must differ.
func labIs(ts *testscript.TestScript, neg bool, a []string) {
	have := boxOf(ts, a[0]).Config()[a[1]][a[2]]
	for k, v := range fieldsOf(ts, a[3:]) {
		if (have[k] == v) == neg {
			ts.Fatalf("%s %s|%s is %v", a[0], a[1], a[2], have)
		}
	}
}

// labunplug DEVICE PORT unplugs the cable of a port; with !, it plugs the cable in again.
func labUnplug(ts *testscript.TestScript, neg bool, a []string) {
	if h := labOf(ts).Servers[a[0]]; h != nil {
		h.Faults().Unplug(a[1], !neg)
		return
	}
	switchOf(ts, a[0]).(interface{ Unplug(string, bool) }).Unplug(a[1], !neg)
}

// labfault DEVICE NAME [N] makes a switch or a host misbehave.
func labFault(ts *testscript.TestScript, _ bool, a []string) {
	if h := labOf(ts).Servers[a[0]]; h != nil {
		hostFault(ts, h.Faults(), a[1:])
		return
	}
	switch b := switchOf(ts, a[0]).(type) {
	case *eos.EOS:
		cliFault(ts, b.Faults(), a[1:])
		return
	case *nxos.NXOS:
		cliFault(ts, b.Faults(), a[1:])
		return
	}
	f := boxOf(ts, a[0]).Faults()
	n := 0
	if len(a) > 2 && !strings.HasPrefix(a[1], "kill") {
		var err error
		n, err = strconv.Atoi(a[2])
		ts.Check(err)
	}
	switch a[1] {
	case "clear":
		f.Clear()
	case "refuse":
		f.RefuseConnections(true)
	case "truncate":
		f.TruncateGet(true)
	case "readonly":
		f.ReadOnly(true)
	case "bareasic":
		f.BareASIC(true)
	case "noasic":
		f.NoASIC(true)
	case "nosonicdb":
		f.NoSonicDB(true)
	case "badcert":
		f.WrongCertificate(true)
	case "dropbefore":
		f.DropBeforeWrite()
	case "dropafter":
		f.DropAfterWrite()
	case "failafter":
		f.FailAfterApply()
	case "failat":
		f.FailAt(n)
	case "restartat":
		f.RestartAt(n)
	case "kill":
		boxOf(ts, a[0]).Kill(a[2])
	case "killat": // at the next write
		f.BeforeSet(func() { boxOf(ts, a[0]).Kill(a[2]) })
	case "restartswss":
		boxOf(ts, a[0]).RestartSwss()
	default:
		ts.Fatalf("unknown fault %q", a[1])
	}
}

// hostFault NAME [PORT|REQUEST] makes a host misbehave.
func hostFault(ts *testscript.TestScript, f *host.Faults, a []string) {
	switch a[0] {
	case "clear":
		f.Clear()
	case "refuse":
		f.RefuseConnections(true)
	case "badkey":
		f.WrongHostKey(true)
	case "ignore":
		f.Ignore(true)
	case "noroot":
		f.NoRoot(true)
	case "notools":
		f.NoTools(true)
	case "staysdown":
		f.StaysDown(true)
	case "resetfails":
		f.ResetFails(true)
	case "firmwaredcbx":
		f.FirmwareDCBX(true)
	case "nodcb":
		f.NoDCB(true)
	case "vanish":
		f.VanishRDMA(a[1])
	case "rival":
		f.Rival(a[1])
	case "dropafter":
		f.DropAfter(agent.Verb(a[1]))
	default:
		ts.Fatalf("unknown fault %q", a[0])
	}
}

func hostOf(ts *testscript.TestScript, name string) *host.Host {
	h := labOf(ts).Servers[name]
	if h == nil {
		ts.Fatalf("the lab has no host %s", name)
	}
	return h
}

// labinject DEVICE STATEMENT is the equivalent of 'lab fault' with a statement.
func labInject(ts *testscript.TestScript, _ bool, a []string) { ts.Check(labOf(ts).Inject(a[0], a[1])) }

// labpfc HOST PORT PRIORITY... sets the PFC priorities of a NIC, like another writer.
func labPFC(ts *testscript.TestScript, _ bool, a []string) {
	var list []int
	for _, s := range a[2:] {
		n, err := strconv.Atoi(s)
		ts.Check(err)
		list = append(list, n)
	}
	hostOf(ts, a[0]).SetPFC(a[1], qos.Priorities(list...))
}

// labmtu HOST DEVICE MTU sets the MTU of a device, like another writer.
func labMTU(ts *testscript.TestScript, _ bool, a []string) {
	mtu, err := strconv.Atoi(a[2])
	ts.Check(err)
	hostOf(ts, a[0]).Kernel().SetMTU(a[1], mtu)
}

// labresets HOST TYPE LEVEL... sets the resets that mlxfwreset supports on the cards of a host.
func labResets(ts *testscript.TestScript, _ bool, a []string) {
	var list []int
	for _, s := range a[1:] {
		n, err := strconv.Atoi(s)
		ts.Check(err)
		list = append(list, n)
	}
	hostOf(ts, a[0]).SetResetLevels(list[0], list[1:]...)
}

// labremove HOST INTERFACE removes a NIC from a host.
func labRemove(ts *testscript.TestScript, _ bool, a []string) {
	hostOf(ts, a[0]).Kernel().Remove(a[1])
}

// labreboot HOST reboots a host; with !, its boot unit must fail.
func labReboot(ts *testscript.TestScript, neg bool, a []string) {
	err := hostOf(ts, a[0]).Reboot()
	if neg && err != nil {
		return
	}
	ts.Check(err)
	if neg {
		ts.Fatalf("the boot unit of %s has not failed", a[0])
	}
}

// json FILE [PATH [VALUE]] checks that a file (or stdout, stderr) is one JSON document, and that
// it has a value at the path, optionally a given one: json stdout devices.0.device leaf1. A
// final "count" in the path returns the number of elements.
func jsonIs(ts *testscript.TestScript, neg bool, a []string) {
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile(a[0])), &v); err != nil {
		ts.Fatalf("%s is not JSON: %v\n%s", a[0], err, ts.ReadFile(a[0]))
	}
	if len(a) == 1 {
		return
	}
	for _, p := range strings.Split(a[1], ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[p]
		case []any:
			if p == "count" {
				v = float64(len(x))
				continue
			}
			i, err := strconv.Atoi(p)
			ts.Check(err)
			if i >= len(x) {
				ts.Fatalf("%s has %d items, no %d", a[1], len(x), i)
			}
			v = x[i]
		default:
			ts.Fatalf("%s: nothing at %s", a[1], p)
		}
	}
	if len(a) == 2 {
		if (v == nil) != neg {
			ts.Fatalf("%s is %v", a[1], v)
		}
		return
	}
	if got := fmt.Sprint(v); (got == a[2]) == neg {
		ts.Fatalf("%s is %s, want %s", a[1], got, a[2])
	}
}
