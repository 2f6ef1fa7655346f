package simulate

import (
	"context"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// scenario is a switch with senders of a lossless class and of a lossy one.
type scenario struct {
	speed               units.Rate
	cable               units.Length
	senders             int
	frame, lossyFrame   int // bytes, without preamble and gap
	cell                int64
	shared, min, resume int64 // cells
	alpha               headroom.Alpha
	response            float64 // part of what the standard allows
	storm               bool    // the receiver pauses for ever
	control             bool
	start               Time // of the lossy class
	startEach           Time // between senders
}

// network builds the scenario with so much headroom a group, in bytes, and sends for a while.
func (c scenario) network(room int64) *lab {
	quanta, _ := headroom.Quanta(c.speed)
	bit := 1e12 / float64(c.speed)
	s := setup{
		rate: int64(c.speed), delay: Time(float64(c.cable) / 1.98e8 * 1e12), wire: int64(c.frame), payload: int64(c.frame) - 58, shared: c.shared,
		group: headroom.GroupSize{Min: c.min, Alpha: c.alpha, Headroom: (room + c.cell - 1) / c.cell, Resume: c.resume},
		ecn:   ECN{Min: 20_000, Max: 100_000, Probability: 0.1},
	}
	if c.control {
		d := Mlx5()
		s.control = &d
	}
	l := star(c.senders, s)
	l.Nodes[0].Cell = c.cell
	l.Nodes[len(l.Nodes)-1].Storm = c.storm
	for i := range l.Ports {
		l.Ports[i].Gap = 20
		l.Ports[i].Response = Time(c.response * float64(quanta) * 512 * bit)
		l.Ports[i].Classes[acks] = PortClass{Group: headroom.GroupSize{Fixed: 1 << 20}, Weight: 1}
	}
	// Frames of the lossy class hold up pause frames: each sender gets them from the next one.
	n := len(l.Flows)
	for i := range n {
		l.Flows[i].Start = Time(i) * c.startEach
		f := l.flow(setup{wire: int64(c.lossyFrame), payload: int64(c.lossyFrame)}, 1+(i+1)%n, 0, 1+i)
		f.Class, f.Start = acks, c.start
		if n == 1 { // the receiver sends them
			f.From, f.Path = len(l.Nodes)-1, l.via(len(l.Nodes)-1, 0, 1)
		}
	}
	return l
}

// reference returns the headroom that BUF-01 asks for: the reference of IEEE 802.3.
func (c scenario) reference() (int64, error) {
	in := headroom.Input{
		Speed: c.speed, Cable: c.cable, PortMTU: c.lossyFrame - 18, LosslessMTU: c.frame,
		PeerBytes: 0,
	}
	r, err := headroom.IEEE(in)
	return r.XOFF, err
}

func draw(t *rapid.T) scenario {
	speed := rapid.SampledFrom([]units.Rate{10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9}).Draw(t, "speed")
	frame := rapid.IntRange(128, 9216).Draw(t, "frame")
	return scenario{
		speed: speed, cable: units.Length(rapid.IntRange(1, 600).Draw(t, "cable")), senders: rapid.IntRange(1, 6).Draw(t, "senders"),
		frame: frame, lossyFrame: rapid.IntRange(frame, 9216).Draw(t, "lossy frame"), cell: 1,
		shared: rapid.Int64Range(0, 300_000).Draw(t, "shared"), min: rapid.Int64Range(0, 10_000).Draw(t, "min"), resume: rapid.Int64Range(0, 20_000).Draw(t, "resume"),
		alpha:    headroom.Alpha{Num: 1, Den: 1 << rapid.IntRange(0, 7).Draw(t, "alpha")},
		response: rapid.Float64Range(0, 1).Draw(t, "response"), storm: rapid.Bool().Draw(t, "storm"), control: rapid.Bool().Draw(t, "control"),
		start: Time(rapid.Int64Range(0, int64(2*Microsecond)).Draw(t, "start")), startEach: Time(rapid.Int64Range(0, int64(Microsecond)).Draw(t, "stagger")),
	}
}

// lost returns the lossless packets that a network loses.
func lost(l *lab) (n int64, err error) {
	r, err := Run(context.Background(), &l.Network, Options{For: 120 * Microsecond, Seed: 1})
	if err != nil {
		return 0, err
	}
	for _, p := range r.Ports {
		n += p[bulk].Lost
	}
	return n, nil
}

// Where BUF-01 passes, no lossless packet is lost but for the frame with which a group begins to
// pause, which IEEE 802.3 does not count: in random scenarios with the headroom that the check asks for
// and one frame, 100,000 of them at night.
func TestNoLossWithTheReferenceHeadroom(t *testing.T) {
	for range sharedtest.Sized(3, 1000) { // rapid makes 100 each
		rapid.Check(t, func(t *rapid.T) {
			c := draw(t)
			room, err := c.reference()
			if err != nil {
				t.Fatal(err)
			}
			room += int64(c.frame)
			if n, err := lost(c.network(room)); n > 0 || err != nil {
				t.Fatalf("%d lossless packets lost with %d B of headroom: %v", n, room, err)
			}
		})
	}
}

// Cases that random scenarios found, in which a group begins to pause with a frame for which the
// shared part has no room left: other groups have filled it, or made the threshold fall below what
// the group held already. The reference is one frame short then.
func TestFrameThatBeginsToPause(t *testing.T) {
	for name, c := range map[string]scenario{
		"full":      {senders: 5, frame: 5225, lossyFrame: 5225, shared: 32_470, min: 1866, alpha: headroom.Alpha{Num: 1, Den: 1}},
		"threshold": {senders: 5, frame: 5226, lossyFrame: 5227, shared: 59_018, alpha: headroom.Alpha{Num: 1, Den: 4}},
	} {
		c.speed, c.cable, c.cell, c.response = 10e9, 1, 1, 1
		room, err := c.reference()
		if err != nil {
			t.Fatal(err)
		}
		for more, want := range map[int]bool{0: true, c.frame: false} {
			if n, err := lost(c.network(room + int64(more))); (n > 0) != want || err != nil {
				t.Errorf("%s: %d packets lost with %d B more than the reference: %v", name, n, more, err)
			}
		}
	}
}

// O9: in the worst arrangement a group needs nearly all of the formula, 2 m x 5.05 ns x C + quanta x
// 64 B + the largest frame of both directions with 20 B each + 84, and never more; with a quarter less, packets are lost.
func TestWorstArrangement(t *testing.T) {
	for _, c := range []scenario{
		{speed: 25e9, cable: 5}, {speed: 40e9, cable: 5}, {speed: 100e9, cable: 5}, {speed: 100e9, cable: 300}, {speed: 400e9, cable: 5}, {speed: 400e9, cable: 30},
	} {
		t.Run(fmt.Sprintf("%s over %s", c.speed, c.cable), func(t *testing.T) {
			quanta, _ := headroom.Quanta(c.speed)
			// What arrives until the sender has stopped is a whole number of frames. Worst are frames
			// of which the last begins just before that.
			until := 2*float64(c.cable)*float64(c.speed)/8/1.98e8 + float64(quanta*64+9216+20+84)
			c.frame = int(0.985*until/math.Ceil(until/9216)) - 20 // the phases below are as fine as that
			formula := until + float64(c.frame+20)
			c.senders, c.lossyFrame, c.cell, c.response, c.storm, c.alpha = 1, 9216, 1, 1, true, headroom.Alpha{Num: 1, Den: 1}
			most, loses := int64(0), false
			frame := Time(9236 * 8e12 / float64(c.speed))
			for i := range 60 {
				c.start = frame * Time(i) / 60
				c.shared = 40_000
				r := c.network(1<<20).run(t, Options{For: 120 * Microsecond})
				most = max(most, r.Ports[1][bulk].Headroom)
				n, err := lost(c.network(int64(formula * 3 / 4)))
				if err != nil {
					t.Fatal(err)
				}
				loses = loses || n > 0
			}
			if used := float64(most) / formula; used > 1 || used < 0.95 {
				t.Errorf("%d B of headroom used, %.3f of the formula", most, used)
			}
			if !loses {
				t.Error("with three quarters of the formula nothing is lost")
			}
		})
	}
}
