package host

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic/agent"
	"github.com/roce-fabric/roce-fabric/nic/dcb"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig/mlxconfigtest"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Faults are the ways to misbehave. Those of the next request are used up by
// it; the others stay until they are switched off or cleared. Safe for
// concurrent use.
type Faults struct {
	host   *Host
	shared *cli.Faults

	mu                    sync.Mutex
	machine               localtest.Faults
	card                  mlxconfigtest.Faults
	noSudo, noTools       bool
	staysDown             bool
	dropBefore, dropAfter agent.Verb
}

func (f *Faults) on(b *bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *b
}

func (f *Faults) set(change func()) {
	f.mu.Lock()
	change()
	f.mu.Unlock()
	f.sync()
}

// sync hands the faults on to what runs below the agent, if that runs yet.
func (f *Faults) sync() {
	f.host.mu.Lock()
	k, cards := f.host.fake, f.host.cards
	f.host.mu.Unlock()
	if k == nil {
		return
	}
	f.hand(k, cards)
}

func (f *Faults) hand(k *localtest.Host, cards map[string]*mlxconfigtest.Card) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k.SetFaults(f.machine)
	for name, c := range cards {
		c.SetFaults(f.card)
		if f.machine.FirmwareDCBX {
			k.Corrupt(name, func(s *dcb.State) { *s.DCBX &^= dcb.DCBXHost })
		}
	}
}

// RefuseConnections closes new connections at once and cuts those there are.
func (f *Faults) RefuseConnections(on bool) { f.shared.RefuseConnections(on) }

// WrongHostKey presents another SSH host key to new connections.
func (f *Faults) WrongHostKey(on bool) { f.shared.WrongCertificate(on) }

// Delay holds the start of every command back for d, or until Clear, Close or
// the client's leaving.
func (f *Faults) Delay(d time.Duration) { f.shared.Delay(d) }

// DropBefore cuts the connections when the next request of this kind arrives,
// before the agent sees it.
func (f *Faults) DropBefore(v agent.Verb) { f.set(func() { f.dropBefore = v }) }

// DropAfter has the next request of this kind carried out and cuts the
// connections in place of its answer.
func (f *Faults) DropAfter(v agent.Verb) { f.set(func() { f.dropAfter = v }) }

// NoRoot takes the login out of sudoers.
func (f *Faults) NoRoot(on bool) { f.set(func() { f.noSudo = on }) }

// Ignore has drivers and the kernel answer writes with success and change
// nothing.
func (f *Faults) Ignore(on bool) { f.set(func() { f.machine.Ignore = on }) }

// LinkDead keeps a link down that a PFC mask took down.
func (f *Faults) LinkDead(on bool) { f.set(func() { f.machine.LinkDead = on }) }

// FirmwareDCBX gives DCBX of the NVIDIA cards to their firmware, which does not
// hand it over until this ends.
func (f *Faults) FirmwareDCBX(on bool) { f.set(func() { f.machine.FirmwareDCBX = on }) }

// NoDCB is a host whose NICs have no DCB operations.
func (f *Faults) NoDCB(on bool) { f.set(func() { f.machine.NoDCB = on }) }

// Unplug takes the cable out of a NIC, or puts it in again.
func (f *Faults) Unplug(name string, out bool) { f.host.kernel().Unplug(name, out) }

// VanishRDMA takes the RDMA device of a NIC away in the middle of the next look
// at it. [Host.RenewRDMA] makes it anew.
func (f *Faults) VanishRDMA(name string) {
	k := f.host.kernel()
	k.OnRead("/"+name+"/carrier_changes", func() { _ = k.DropRDMA(name) }) // the second time it is gone
}

// NoTools is a host without the firmware tools.
func (f *Faults) NoTools(on bool) { f.set(func() { f.noTools = on }) }

// ClosedCards has the firmware tools fail to open the cards.
func (f *Faults) ClosedCards(on bool) { f.set(func() { f.card.Closed = on }) }

// StaysDown has the host not come back from the next reboot, or a port from the next reset
// of its card.
func (f *Faults) StaysDown(on bool) { f.set(func() { f.staysDown = on }) }

// ResetFails has mlxfwreset fail.
func (f *Faults) ResetFails(on bool) { f.set(func() { f.card.FailReset = on }) }

// CardsWarn has the firmware tools print a warning among the values.
func (f *Faults) CardsWarn(on bool) {
	f.set(func() {
		f.card.Says = nil
		if on {
			f.card.Says = []string{"-W- the firmware of the card is older than the tools"}
		}
	})
}

// Rival has another program clear the PFC of a NIC: on the third look at it after each
// write, so that the driver of the NIC and the step that wrote are both content.
func (f *Faults) Rival(name string) {
	f.host.kernel().Rival(name, 3, func(s *dcb.State) { s.PFC.Enabled = 0 })
}

// Clear ends the faults, and the delays that are running.
func (f *Faults) Clear() {
	f.shared.Clear()
	f.set(func() {
		f.machine, f.card, f.noSudo, f.noTools = localtest.Faults{}, mlxconfigtest.Faults{}, false, false
		f.staysDown = false
		f.dropBefore, f.dropAfter = "", ""
	})
	f.host.mu.Lock()
	k, held := f.host.fake, f.host.held
	f.host.held = nil
	f.host.mu.Unlock()
	for _, undo := range held {
		undo()
	}
	for _, n := range f.host.o.NICs {
		if k != nil {
			k.Rival(n.Name, 0, nil)
		}
	}
}

// RenewRDMA makes the RDMA device of a NIC anew, as a reload of its driver does.
func (h *Host) RenewRDMA(name string) { h.kernel().RenewRDMA(name) }

// SetPFC changes the PFC mask of a NIC behind everybody's back.
func (h *Host) SetPFC(name string, mask qos.PrioritySet) {
	h.kernel().Corrupt(name, func(s *dcb.State) { s.PFC.Enabled = mask })
}

// sudo is the rule that holds for the login.
func (h *Host) sudo() Sudo {
	if h.faults.on(&h.faults.noSudo) {
		return SudoNobody
	}
	return h.o.Sudo
}

// around stands between a client and the agent.
func (f *Faults) around(in io.Reader, out io.Writer) (io.Reader, io.Writer) {
	g := &gate{f: f}
	return gateIn{g, in}, gateOut{g, out}
}

type gate struct {
	f *Faults

	mu    sync.Mutex
	asked bool // the request has come
	mute  bool // its answer is not sent
}

type gateIn struct {
	*gate
	io.Reader
}

// Read implements io.Reader.
func (g gateIn) Read(p []byte) (int, error) {
	n, err := g.Reader.Read(p)
	g.mu.Lock()
	defer g.mu.Unlock()
	if n == 0 || g.asked {
		return n, err
	}
	g.asked = true
	if g.f.takes(&g.f.dropBefore, p[:n]) {
		g.f.host.DropConnections()
		return 0, io.ErrUnexpectedEOF
	}
	g.mute = g.f.takes(&g.f.dropAfter, p[:n])
	return n, err
}

type gateOut struct {
	*gate
	io.Writer
}

// Write implements io.Writer.
func (g gateOut) Write(p []byte) (int, error) {
	g.mu.Lock()
	mute := g.mute && bytes.HasPrefix(p, []byte(`{"response":`))
	g.mu.Unlock()
	if mute {
		g.f.host.DropConnections()
		return 0, io.ErrClosedPipe
	}
	return g.Writer.Write(p)
}

// takes reports whether a fault is for the request that begins so, and uses it
// up.
func (f *Faults) takes(v *agent.Verb, request []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *v == "" || !bytes.Contains(request[:min(len(request), 80)], []byte(`"verb":"`+string(*v)+`"`)) {
		return false
	}
	*v = ""
	return true
}
