package nxos

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/netx"
	"github.com/roce-fabric/roce-fabric/testlab/memnet"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
	simnxos "github.com/roce-fabric/roce-fabric/testlab/sim/nxos"
)

// overSSH opens a driver without a gNMI server.
func (b *box) overSSH() *Driver {
	t := b.Target
	t.GNMI = gnmi.Config{}
	return b.OpenAs(t)
}

func observe(t *testing.T, d *Driver) *drivers.Observation {
	t.Helper()
	before := time.Now()
	o, err := d.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o.Taken.Before(before) || o.Taken.After(time.Now()) {
		t.Errorf("taken at %v", o.Taken)
	}
	o.Taken = time.Time{}
	return o
}

// counting sets the counters of a port for the queue and for priority 3: 100 and up.
func (b *box) counting(queue int) {
	for i, name := range []string{"tx-pkts", "tx-octets", "drop-pkts", "drop-octets", "pfc-rx", "pfc-tx", "wd-stuck", "wd-recovery", "ecn-marked"} {
		b.SetCounter("Ethernet1/1", queue, name, uint64(100+i))
	}
}

// marks reports whether ECN marks of a port were read, which only gNMI shows.
func marks(o *drivers.Observation) bool {
	_, ok := o.Ports["Ethernet1/1"].Counters[drivers.QueueMarked.Of(0)]
	return ok
}

// TestObserve reads the same over both transports, and ECN marks over gNMI only: the simulated
// release has no command for them.
func TestObserve(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]struct {
		boxOptions
		queue int // of the lossless priority
	}{
		"8 queues": {boxOptions{gnmi: true}, 3},
		"4 queues": {boxOptions{gnmi: true, Options: simnxos.Options{FourQueue: true}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o.setup = "interface Ethernet1/2\n  shutdown\ninterface port-channel10\n  no switchport\n  mtu 9000\n"
				b := newBox(t, o.boxOptions)
				b.Apply(b.overSSH())
				b.SetNeighbor("Ethernet1/3", "sw2", "Ethernet1/3")
				b.counting(o.queue)
				b.SetCounter("Ethernet1/1", 5, "pfc-rx", 55) // a priority without PFC

				shown, both := observe(t, b.overSSH()), observe(t, b.Open())
				p := both.Ports["Ethernet1/1"]
				want := drivers.PortCounters{drivers.PFCRx.Of(5): 55}
				for m, n := range map[drivers.Metric]uint64{drivers.QueuePackets: 100, drivers.QueueBytes: 101, drivers.QueueDrops: 102, drivers.PFCRx: 104, drivers.PFCTx: 105,
					drivers.StormsDetected: 106, drivers.StormsRestored: 107, drivers.QueueMarked: 108} {
					want[m.Of(o.queue)] = n
				}
				if p == nil {
					t.Fatal("no port")
				}
				for id, n := range want {
					if got, ok := p.Counters[id]; !ok || got != n {
						t.Errorf("%s is %d, %v", id, got, ok)
					}
				}
				if p.AdminUp != qos.Of(true) || p.OperUp != qos.Of(true) || p.MTU != qos.Of(9100) || p.Speed.V.Gbps() != 400 {
					t.Errorf("%+v", p)
				}
				if p := both.Ports["Ethernet1/2"]; p.AdminUp != qos.Of(false) || p.OperUp != qos.Of(false) {
					t.Errorf("%+v", p)
				}
				if got := both.Ports["Ethernet1/3"].Neighbors; !slices.Equal(got, []qos.Neighbor{{Device: "sw2", Port: "Ethernet1/3"}}) {
					t.Errorf("%+v", got)
				}
				if p := both.Ports["port-channel10"]; p == nil || p.MTU != qos.Of(9000) {
					t.Errorf("%+v", p)
				}
				marked := 0
				for _, p := range both.Ports {
					maps.DeleteFunc(p.Counters, func(id drivers.CounterID, _ uint64) bool {
						if id.Metric == drivers.QueueMarked {
							marked++
						}
						return id.Metric == drivers.QueueMarked
					})
				}
				if queues := map[bool]int{true: 4, false: 8}[o.FourQueue]; marked != queues*len(ports) {
					t.Errorf("ECN marks of %d queues", marked)
				}
				if diff := cmp.Diff(shown.Ports, both.Ports, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(drivers.PortState{}, "FEC", "AdminFEC")); diff != "" {
					t.Errorf("over SSH alone (-), with gNMI (+):\n%s", diff)
				}
			})
		})
	}
}

// door counts the connections of a dialer.
type door struct {
	mu          sync.Mutex
	begun, open int
}

// through returns a dialer whose connections are counted.
func (d *door) through(dial netx.Dialer) netx.Dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.begun++
		d.open++
		return &counted{Conn: c, door: d}, nil
	}
}

func (d *door) count() (begun, open int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun, d.open
}

type counted struct {
	net.Conn
	once sync.Once
	door *door
}

func (c *counted) Close() error {
	c.once.Do(func() {
		c.door.mu.Lock()
		defer c.door.mu.Unlock()
		c.door.open--
	})
	return c.Conn.Close()
}

// TestObserveDials checks that Observe opens one gNMI connection, that nothing else opens one,
// and that none is left open.
func TestObserveDials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{gnmi: true})
		way := &door{}
		b.Target.GNMI.Dial = way.through(b.Target.GNMI.Dial)
		d := b.Open()
		b.Apply(d)
		if _, err := d.Applied(t.Context(), b.Desired); err != nil {
			t.Fatal(err)
		}
		if n, _ := way.count(); n != 0 {
			t.Errorf("%d connections before Observe", n)
		}
		for range 3 {
			if !marks(observe(t, d)) {
				t.Error("nothing was read over gNMI")
			}
		}
		if n, _ := way.count(); n != 1 {
			t.Errorf("%d connections for three reads", n)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if _, open := way.count(); open != 0 {
			t.Error("the connection outlives the driver")
		}
	})
}

// TestObserveWithoutGNMI checks that an unusable server is tried once, and that SSH shows the
// rest.
func TestObserveWithoutGNMI(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{gnmi: true})
		b.Apply(b.overSSH())
		b.counting(3)
		want := observe(t, b.overSSH())
		other := newBox(t, boxOptions{gnmi: true, Options: simnxos.Options{Hostname: "other"}})
		other.Faults().NoModel(true)
		silent := memnet.New(1)
		if _, err := silent.Listen("192.0.2.1:1"); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			change func(*gnmi.Config)
			why    string
		}{
			"nobody listens":        {func(c *gnmi.Config) { c.Address = "127.0.0.1:1" }, "unreachable"},
			"silence":               {func(c *gnmi.Config) { c.Address, c.Dial = "192.0.2.1:1", silent.Client(nil).Dial }, "no answer in time"},
			"wrong password":        {func(c *gnmi.Config) { c.Password = "wrong" }, "login refused"},
			"certificate":           {func(c *gnmi.Config) { c.TLS = gnmi.TLS{} }, "TLS failed"},
			"plaintext":             {func(c *gnmi.Config) { c.TLS = gnmi.TLS{Plaintext: true} }, "password without TLS"},
			"without the model":     {func(c *gnmi.Config) { *c = other.Target.GNMI }, "has no model Cisco-NX-OS-device"},
			"a certificate's pin":   {func(c *gnmi.Config) { c.TLS = gnmi.TLS{Pin: "sha256:" + strings.Repeat("0", 64)} }, "TLS failed"},
			"an address of no sort": {func(c *gnmi.Config) { c.Address = "sw1" }, "not host:port"},
		} {
			way, target := &door{}, b.Target
			c.change(&target.GNMI)
			target.GNMI.Dial = way.through(target.GNMI.Dial)
			d := b.OpenAs(target)
			if diff := cmp.Diff(want, observe(t, d), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			tried, _ := way.count()
			if diff := cmp.Diff(want, observe(t, d), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if again, _ := way.count(); again != tried {
				t.Errorf("%s: %d connections, and %d after the second read", name, tried, again)
			}
			if d.noState == nil || !strings.Contains(d.noState.Error(), c.why) {
				t.Errorf("%s: gNMI is not used for %v", name, d.noState)
			}
		}
	})
}

// After a server has failed once it is not used again: counters of the two transports must not
// alternate.
func TestObserveStaysWithOneWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{gnmi: true})
		d := b.Open()
		if !marks(observe(t, d)) {
			t.Fatal("nothing was read over gNMI")
		}
		b.Faults().NoModel(true) // refuse every path
		if marks(observe(t, d)) {
			t.Error("ECN marks without gNMI")
		}
		b.Faults().NoModel(false)
		if marks(observe(t, d)) {
			t.Error("gNMI is used again")
		}
	})
}

// SSH must answer, because gNMI does not show everything.
func TestObserveNeedsSSH(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{gnmi: true})
		target := b.Target
		ssh := *target.SSH
		ssh.Password, target.SSH = "wrong", &ssh
		_, err := b.OpenAs(target).Observe(t.Context())
		says(t, err, drivers.ErrAuth, nil, "login refused")

		// If both transports fail, the error contains both causes.
		target.GNMI.Password = "wrong"
		_, err = b.OpenAs(target).Observe(t.Context())
		says(t, err, drivers.ErrAuth, nil, "over gNMI: ", "login refused")

		// A cancelled context proves nothing about the server.
		d := b.Open()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := d.Observe(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if !marks(observe(t, d)) {
			t.Error("gNMI is not used any more")
		}
	})
}

// The pause buffers of groups come from "show queuing interface", FEC from gNMI.
func TestObserveShowsPauseBuffersAndFEC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t, boxOptions{gnmi: true})
		b.SetPause("Ethernet1/1", 3, cli.Pause{Size: 101920, Pause: 39936, Resume: 38896})
		b.SetPause("Ethernet1/1", 4, cli.Pause{Size: 490, Pause: 192, Resume: 187})       // cells
		b.SetPause("Ethernet1/2", 3, cli.Pause{Size: 101920, Pause: 200000, Resume: 100}) // invalid: the pause threshold exceeds the size
		b.SetFEC("Ethernet1/2", "fc")
		o := observe(t, b.overSSH())
		want := map[int]qos.Headroom{3: {Size: 101920, XON: 38896, XOFF: 61984, Threshold: 39936, Static: true}}
		if d := cmp.Diff(want, o.Ports["Ethernet1/1"].Groups); d != "" || o.Ports["Ethernet1/2"].Groups != nil {
			t.Errorf("%s, %v", d, o.Ports["Ethernet1/2"].Groups)
		}
		if o.Ports["Ethernet1/1"].FEC.Set {
			t.Error("no show command that is documented has FEC as JSON")
		}
		d := b.Open()
		o = observe(t, d)
		if one, two := o.Ports["Ethernet1/1"], o.Ports["Ethernet1/2"]; d.noState != nil || one.FEC != qos.Of("rs") || one.AdminFEC != qos.Of("auto") || two.FEC != qos.Of("fc") || len(one.Groups) != 1 {
			t.Errorf("%v: %+v, %+v", d.noState, one, two)
		}
	})
}
