package lab

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/nicctl/nicctltest"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
	"github.com/roce-fabric/roce-fabric/testlab/sim/systems"
)

// Inject injects a fault into a device without the tool's knowledge, and saves the configuration,
// so that nothing but the fault can be found. what is a list of statements, separated by ";":
//
//	unplug PORT                      unplugs the cable
//	neighbor PORT DEVICE REMOTE      what LLDP shows; "-" for nothing
//	count PORT QUEUE COUNTER N       sets a counter of the port, for a validation with a window
//	counted PORT QUEUE COUNTER N     the same, for a validation without a window
//	grow PORT QUEUE COUNTER N        adds N to the counter each time it is read
//	chassis NAME                     replaces the device by another one with this configuration
//	refuse                           the device accepts no connection
//	unsaved                          does not save the configuration
//
// Besides these, [sim.System.Statements] of the device's system, and lines of its configuration as
// [sim.Switch.Configure] takes them. For hosts see [hostDoes].
func (l *Lab) Inject(device, what string) error {
	save := true
	var lines []string
	for s := range strings.SplitSeq(what, ";") {
		s = strings.TrimSpace(s)
		f := strings.Fields(s)
		if len(f) == 0 {
			continue
		}
		h, onHost := l.Servers[device]
		known, err := l.injectCommon(device, f)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		switch {
		case onHost:
			if err := hostDoes(h, f); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
			continue
		case f[0] == "unsaved":
			save = false
			continue
		case known:
			continue
		}
		lines = append(lines, s)
	}
	sw := l.Switches[device]
	if len(lines) > 0 {
		if err := sw.Configure(strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	if sw != nil && save {
		sw.Save()
	}
	return nil
}

// injectCommon executes a statement that is not part of a switch's configuration. known reports
// whether the statement is one of these.
func (l *Lab) injectCommon(device string, f []string) (known bool, err error) {
	sw := l.Switches[device]
	if sw == nil {
		return false, nil
	}
	system, _ := systems.Of(l.Devices[device].OS)
	if own, ok := system.Statements[f[0]]; ok && own.Args == len(f)-1 {
		own.Do(sw, f[1:])
		return true, nil
	}
	switch {
	case f[0] == "unplug" && len(f) == 2:
		sw.Unplug(f[1], true)
	case f[0] == "neighbor" && len(f) == 4:
		dev := f[2]
		if dev == "-" {
			dev = ""
		}
		sw.SetNeighbor(f[1], dev, f[3])
	case slices.Contains([]string{"count", "counted", "grow"}, f[0]) && len(f) == 5:
		q, qerr := strconv.Atoi(f[2])
		n, nerr := strconv.ParseInt(f[4], 10, 64)
		if err := cmp.Or(qerr, nerr, sim.CheckCounter(q, f[3])); err != nil {
			return true, err
		}
		if f[0] == "grow" {
			sw.Counters().Flow(f[1], q, f[3], n)
		} else {
			sw.Counters().Set(f[1], q, f[3], uint64(n))
		}
	case f[0] == "chassis" && len(f) == 2:
		sw.Install(f[1])
	case f[0] == "refuse":
		sw.RefuseConnections(true)
	default:
		return false, nil
	}
	return true, nil
}

// hostDoes changes a host: the settings in its drivers and the files of its kernel. Its statements
// are:
//
//	pfc NIC 3,4 | trust NIC pcp | dscp NIC 26=0 | ets NIC 3=20,0=80 | strict NIC 0
//	buffer NIC 3=0 | cable NIC 100 | dcbx NIC firmware | willing NIC | pause NIC
//	tos RDMA 0 | mode RDMA IB/RoCE v1
//	file PATH-BELOW-/sys VALUE | process NAME | cron LINE | netplan YAML | unplug NIC | cnp NIC DSCP PRIORITY
//	nicfec NIC ENCODING | gpu PCI ROOT NODE | pair RDMA PROGRAM DSCP | nordma NIC | away NIC | refuse | noroot | nodcb | ignore | rival NIC
//	staged NIC SETTING N (the firmware uses N until the card is reset) | staysdown
//	nvm NIC off (a Broadcom card without RDMA in its NVM)
//	stat NIC COUNTER N (what ethtool -S shows) | hw RDMA COUNTER N (hw_counters)
func hostDoes(h *host.Host, f []string) (err error) {
	if n, ok := hostWords[f[0]]; !ok || len(f) < n {
		return fmt.Errorf("unknown")
	}
	k := h.Kernel()
	number := func(s string) int {
		n, bad := strconv.Atoi(s)
		err = cmp.Or(err, bad)
		return n
	}
	amd := func(edit func(*nicctltest.Port, *qos.Trust)) bool { return h.EditAMD(f[1], edit) }
	corrupt := func(edit func(*dcb.State)) {
		if amd(func(*nicctltest.Port, *qos.Trust) {}) {
			err = errors.New("AMD's driver has no such setting")
			return
		}
		k.Corrupt(f[1], edit)
	}
	pairs := func(set func(a, b int)) {
		for _, p := range strings.Split(f[2], ",") {
			a, b, _ := strings.Cut(p, "=")
			set(number(a), number(b))
		}
	}
	switch f[0] {
	case "pfc":
		var mask qos.PrioritySet
		for _, p := range strings.Split(f[2], ",") {
			if p != "-" {
				mask |= qos.Priorities(number(p))
			}
		}
		if !amd(func(p *nicctltest.Port, _ *qos.Trust) { p.PFC = mask }) {
			corrupt(func(s *dcb.State) { s.PFC.Enabled = mask })
		}
	case "trust":
		if amd(func(_ *nicctltest.Port, trust *qos.Trust) { *trust = qos.TrustPCP }) {
			break
		}
		corrupt(func(s *dcb.State) {
			s.Apps = slices.DeleteFunc(slices.Clone(s.Apps), func(a dcb.App) bool { return a.Selector == dcb.SelectorDSCP })
		})
	case "dscp":
		pairs(func(d, p int) {
			if amd(func(port *nicctltest.Port, _ *qos.Trust) { port.DSCP[d&63] = int8(p) }) {
				return
			}
			corrupt(func(s *dcb.State) {
				s.Apps = slices.DeleteFunc(slices.Clone(s.Apps), func(a dcb.App) bool { return a.Selector == dcb.SelectorDSCP && int(a.Protocol) == d })
				s.Apps = append(s.Apps, dcb.App{Selector: dcb.SelectorDSCP, Priority: uint8(p), Protocol: uint16(d)})
			})
		})
	case "ets":
		corrupt(func(s *dcb.State) {
			e := *s.ETS
			pairs(func(prio, share int) {
				tc := e.PriorityTC[prio]
				e.TSA[tc], e.Bandwidth[tc] = dcb.TSAETS, uint8(share)
			})
			s.ETS = &e
		})
	case "strict":
		corrupt(func(s *dcb.State) {
			e := *s.ETS
			tc := e.PriorityTC[number(f[2])]
			e.TSA[tc], e.Bandwidth[tc] = dcb.TSAStrict, 0
			s.ETS = &e
		})
	case "buffer":
		corrupt(func(s *dcb.State) {
			if s.Buffer == nil {
				err = errors.New("the driver of this NIC shows no receive buffer")
				return
			}
			b := *s.Buffer
			pairs(func(prio, to int) { b.PriorityBuffer[prio] = uint8(to) })
			s.Buffer = &b
		})
	case "cable":
		corrupt(func(s *dcb.State) { s.PFC.Delay = uint16(number(f[2])) })
	case "dcbx":
		corrupt(func(s *dcb.State) { d := *s.DCBX &^ dcb.DCBXHost; s.DCBX = &d })
	case "willing":
		corrupt(func(s *dcb.State) { e := *s.ETS; e.Willing = true; s.ETS = &e })
	case "pause":
		k.SetPause(f[1], local.Pause{RX: true, TX: true})
	case "tos":
		return k.SetCM(f[1], "default_roce_tos", f[2])
	case "mode":
		return k.SetCM(f[1], "default_roce_mode", strings.Join(f[2:], " "))
	case "file":
		return k.PutIn(f[1], strings.Join(f[2:], " ")+"\n")
	case "process":
		k.Process(4711, f[1])
	case "cron", "netplan":
		return writes(k, f[0], strings.Join(f[1:], " "))
	case "unplug":
		k.Unplug(f[1], true)
	case "cnp":
		if !k.SetCNP(f[1], number(f[2]), number(f[3])) {
			return errors.New("the driver of this NIC does not show how it marks notifications")
		}
	case "nicfec":
		k.SetFEC(f[1], f[2])
	case "gpu":
		k.AddGPU(f[1], f[2], number(f[3]))
	case "pair":
		k.SetPairs(queuePairs(f)...)
	case "nordma":
		return k.DropRDMA(f[1])
	case "away":
		return k.MoveTo(f[1], localtest.Namespace{Process: 4712, Comm: "pause", Group: localtest.PodGroup}, "net1")
	case "refuse":
		h.Faults().RefuseConnections(true)
	case "noroot":
		h.Faults().NoRoot(true)
	case "nodcb":
		h.Faults().NoDCB(true)
	case "ignore":
		h.Faults().Ignore(true)
	case "rival":
		h.Faults().Rival(f[1])
	case "staysdown":
		h.Faults().StaysDown(true)
	case "staged":
		if !h.HoldFirmware(f[1], f[2], uint32(number(f[3]))) {
			return errors.New("the NIC has no card of NVIDIA's")
		}
	case "nvm":
		if !h.SetNVM(f[1], f[2] == "on") {
			return errors.New("the NIC has no card of Broadcom's")
		}
	case "stat":
		k.SetStat(f[1], f[2], uint64(number(f[3])))
	case "hw":
		return k.PutIn("class/infiniband/"+f[1]+"/ports/1/hw_counters/"+f[2], fmt.Sprintln(number(f[3])))
	}
	return err
}

// queuePairs returns the queue pairs of "pair RDMA PROGRAM DSCP [slot=N] [udp=N] [pairs=N]": slot is
// the GID that they send from, udp their source port, see [localtest.Pair].
func queuePairs(f []string) (out []localtest.Pair) {
	p := localtest.Pair{RDMA: f[1], Type: "RC", State: "RTS", Program: f[2]}
	p.DSCP, _ = strconv.Atoi(f[3])
	count := 1
	for _, word := range f[4:] {
		key, text, _ := strings.Cut(word, "=")
		n, _ := strconv.Atoi(text)
		switch key {
		case "slot":
			p.Slot = n
		case "udp":
			p.UDPPort = n
		case "pairs":
			count = n
		}
	}
	for i := range count {
		p.Local, p.Remote = 77+i, 1078+i
		out = append(out, p)
	}
	return out
}

// hostWords is the minimum number of words of each statement about a host.
var hostWords = map[string]int{
	"pfc": 3, "trust": 3, "dscp": 3, "ets": 3, "strict": 3, "buffer": 3, "cable": 3, "dcbx": 3, "willing": 2, "pause": 2,
	"tos": 3, "mode": 3, "file": 3, "process": 2, "cron": 2, "netplan": 2, "unplug": 2, "cnp": 4, "nordma": 2, "away": 2,
	"refuse": 1, "noroot": 1, "nodcb": 1, "ignore": 1, "rival": 2, "staysdown": 1, "staged": 4, "nvm": 3, "nicfec": 3, "gpu": 4, "pair": 4, "stat": 4, "hw": 4,
}

// writerFiles are the files below /etc of other programs that configure a host.
var writerFiles = map[string]string{"cron": "cron.d/roce", "netplan": "netplan/50-cloud-init.yaml"}

// writes creates the file of another program that configures a host.
func writes(k *localtest.Host, kind, text string) error {
	name := filepath.Join(k.Roots.Etc, writerFiles[kind])
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text+"\n"), 0o600)
}

// noWriters removes the files of such programs.
func noWriters(k *localtest.Host) (err error) {
	for _, name := range writerFiles {
		err = errors.Join(err, os.RemoveAll(filepath.Join(k.Roots.Etc, name)))
	}
	return err
}

// Keep saves the state of a device. back restores that state and ends the device's faults; it may
// be called more than once.
func (l *Lab) Keep(device string) (back func() error) {
	if h := l.Servers[device]; h != nil {
		kernel, cards := h.Kernel().Keep(), func() {}
		if amd := h.AMD(); amd != nil {
			cards = amd.Keep()
		} else if nvm := h.NVM(); nvm != nil {
			cards = nvm.Keep()
		}
		return func() error {
			kernel()
			cards()
			h.Faults().Clear()
			return noWriters(h.Kernel())
		}
	}
	sw := l.Switches[device]
	config := sw.Keep()
	return func() error {
		config()
		sw.Counters().Still()
		sw.Counters().Reset()
		sw.Install("")
		sw.RefuseConnections(false)
		return nil
	}
}
