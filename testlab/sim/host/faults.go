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

// Faults are the ways in which a host can misbehave. Faults of the next request are used up by it;
// the others stay until they are switched off or cleared. Faults is safe for concurrent use.
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

// sync passes the faults on to the simulation below the agent, if it exists yet.
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

// RefuseConnections closes new connections at once and cuts existing ones.
func (f *Faults) RefuseConnections(on bool) { f.shared.RefuseConnections(on) }

// WrongHostKey presents a different SSH host key to new connections.
func (f *Faults) WrongHostKey(on bool) { f.shared.WrongCertificate(on) }

// Delay delays the start of every command by d, or until Clear or Close is called or the client
// leaves.
func (f *Faults) Delay(d time.Duration) { f.shared.Delay(d) }

// DropBefore cuts the connections when the next request with this verb arrives, before the agent
// sees it.
func (f *Faults) DropBefore(v agent.Verb) { f.set(func() { f.dropBefore = v }) }

// DropAfter lets the next request with this verb be carried out, and cuts the connections instead
// of answering.
func (f *Faults) DropAfter(v agent.Verb) { f.set(func() { f.dropAfter = v }) }

// NoRoot removes the login from sudoers.
func (f *Faults) NoRoot(on bool) { f.set(func() { f.noSudo = on }) }

// Ignore makes drivers and the kernel report success for writes without changing anything.
func (f *Faults) Ignore(on bool) { f.set(func() { f.machine.Ignore = on }) }

// LinkDead keeps a link down after a change of the PFC mask has taken it down.
func (f *Faults) LinkDead(on bool) { f.set(func() { f.machine.LinkDead = on }) }

// FirmwareDCBX gives DCBX of the NVIDIA cards to their firmware, which does not hand it over while
// the fault lasts.
func (f *Faults) FirmwareDCBX(on bool) { f.set(func() { f.machine.FirmwareDCBX = on }) }

// NoDCB leaves the host's NICs without DCB operations.
func (f *Faults) NoDCB(on bool) { f.set(func() { f.machine.NoDCB = on }) }

// Unplug unplugs the cable of a NIC, or plugs it in again if out is false.
func (f *Faults) Unplug(name string, out bool) { f.host.kernel().Unplug(name, out) }

// VanishRDMA removes the RDMA device of a NIC in the middle of the next read of the NIC.
// [Host.RenewRDMA] recreates it.
func (f *Faults) VanishRDMA(name string) {
	k := f.host.kernel()
	k.OnRead("/"+name+"/carrier_changes", func() { _ = k.DropRDMA(name) }) // the second time, the device is already gone
}

// NoTools removes the firmware tools from the host.
func (f *Faults) NoTools(on bool) { f.set(func() { f.noTools = on }) }

// ClosedCards makes the firmware tools fail to open the cards.
func (f *Faults) ClosedCards(on bool) { f.set(func() { f.card.Closed = on }) }

// StaysDown keeps the host down after its next reboot, or a port down after the next reset of its
// card.
func (f *Faults) StaysDown(on bool) { f.set(func() { f.staysDown = on }) }

// ResetFails makes mlxfwreset fail.
func (f *Faults) ResetFails(on bool) { f.set(func() { f.card.FailReset = on }) }

// CardsWarn makes the firmware tools print a warning among the values.
func (f *Faults) CardsWarn(on bool) {
	f.set(func() {
		f.card.Says = nil
		if on {
			f.card.Says = []string{"-W- the firmware of the card is older than the tools"}
		}
	})
}

// Rival makes another program clear the PFC of a NIC on the third read after each write, so that
// both the driver's check and the step that wrote still see the written value.
func (f *Faults) Rival(name string) {
	f.host.kernel().Rival(name, 3, func(s *dcb.State) { s.PFC.Enabled = 0 })
}

// Clear ends all faults and all running delays.
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

// RenewRDMA recreates the RDMA device of a NIC, as reloading its driver does.
func (h *Host) RenewRDMA(name string) { h.kernel().RenewRDMA(name) }

// SetPFC changes the PFC mask of a NIC without a request.
func (h *Host) SetPFC(name string, mask qos.PrioritySet) {
	h.kernel().Corrupt(name, func(s *dcb.State) { s.PFC.Enabled = mask })
}

// sudo returns the sudo rule that applies to the login.
func (h *Host) sudo() Sudo {
	if h.faults.on(&h.faults.noSudo) {
		return SudoNobody
	}
	return h.o.Sudo
}

// wrapStreams wraps the streams between a client and the agent.
func (f *Faults) wrapStreams(in io.Reader, out io.Writer) (io.Reader, io.Writer) {
	g := &gate{f: f}
	return gateIn{g, in}, gateOut{g, out}
}

type gate struct {
	f *Faults

	mu    sync.Mutex
	asked bool // the request has arrived
	mute  bool // its answer must not be sent
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

// takes reports whether the fault applies to the request that begins like this, and uses the fault
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
