package headroom

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// The bound of the DCQCN paper for two lossless classes and alpha 1, in KB.
func TestWorstCase(t *testing.T) {
	for _, c := range []struct {
		name  string
		pool  int64
		ports int
		want  int64
	}{
		{"TH5", poolTH5, 64, 847}, {"TH5 less xoff", poolTH5 - xoffTH5, 64, 673}, {"TH4 less xoff", poolTH4 - xoffTH4, 64, 328},
		{"Spectrum-4", poolSPC4, 64, 353}, {"TD3", poolTD3, 32, 341}, {"TH2", poolTH2, 64, 174},
	} {
		l := Pool{Bytes: c.pool, Alpha: Alpha{1, 1}}.Limit(WorstCase(c.ports, 2))
		if got := kb(l.Queue); got != c.want {
			t.Errorf("%s: %d KB, want %d", c.name, got, c.want)
		}
		// SONiC's default of 1 and 2 MiB fails in each case; of 150 and 1500 KB only min passes.
		if l.Judge(1<<20, 2<<20) != PausesFirst || l.Judge(150_000, 1_500_000) != MarksPartly || l.Judge(1000, l.Queue) != MarksFirst {
			t.Errorf("%s: judged %q, %q, %q", c.name, l.Judge(1<<20, 2<<20), l.Judge(150_000, 1_500_000), l.Judge(1000, l.Queue))
		}
	}
}

// The switch in the paper: 12 MB, 32 ports of 40G, 8 classes with 22.4 KB of headroom each; beta is
// 8, that is, 8*alpha.
func TestDCQCNPaper(t *testing.T) {
	const ports, classes, flight = 32, 8, 22_400
	free := int64(12_000_000 - classes*ports*flight)
	static := free / (classes * ports)
	if static != 24_475 { // 24.47 KB
		t.Errorf("static threshold %d", static)
	}
	l := Pool{Bytes: free, Alpha: Alpha{1, 1}}.Limit(WorstCase(ports, classes))
	if math.Abs(float64(l.Queue)-21_760) > 5 { // 21.76 KB
		t.Errorf("marking below a dynamic threshold: %d", l.Queue)
	}
	if l.Judge(5_000, 200_000) != MarksPartly {
		t.Errorf("5 KB and 200 KB: %s", l.Judge(5_000, 200_000))
	}
}

func TestCases(t *testing.T) {
	p := Pool{Bytes: poolTH5, Alpha: Alpha{1, 1}}
	// An incast of 8: the queue may be eight times as long as the share of a group.
	in := p.Limit(Incast(8))
	if kb(in.Threshold) != 18060 || in.Queue/8 != in.Threshold {
		t.Errorf("incast: %+v", in)
	}
	// One to 8: the queue may be an eighth as long.
	out := p.Limit(OneToMany(8, 1))
	if kb(out.Threshold) != 18060 || out.Queue != out.Threshold/8 {
		t.Errorf("one to many: %+v", out)
	}
	// If there are more lossless groups than queues, all groups count as active.
	if c := OneToMany(1, 3); c.Active != 3 {
		t.Errorf("%s", c)
	}
	if c := WorstCase(0, 0); c.FanOut != 1 || c.Active != 1 {
		t.Errorf("%s", c)
	}
}

// The limit is the longest queue that satisfies the inequality, exact to the byte.
func TestLimitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, _ := alphaOf(rapid.Int64Range(-8, 7).Draw(t, "exponent"), nil)
		p := Pool{Bytes: rapid.Int64Range(0, 1<<44).Draw(t, "bytes"), Alpha: a}
		n := func(name string) int { return rapid.IntRange(1, 512).Draw(t, name) }
		c := Case{Feeders: n("feeders"), FanOut: n("fan-out"), Active: n("active")}
		holds := func(queue int64) bool {
			big := func(n ...int64) *big.Int {
				r := big.NewInt(1)
				for _, x := range n {
					r.Mul(r, big.NewInt(x))
				}
				return r
			}
			return big(queue, int64(c.FanOut), a.Den+a.Num*int64(c.Active)).Cmp(big(a.Num, p.Bytes, int64(c.Feeders))) <= 0
		}
		l := p.Limit(c)
		if !holds(l.Queue) || holds(l.Queue+1) {
			t.Fatalf("%+v", l)
		}
		wider := c
		wider.FanOut++
		if p.Limit(wider).Queue > l.Queue {
			t.Fatal("a larger fan-out raises the limit")
		}
		wider = c
		wider.Feeders++
		if p.Limit(wider).Queue < l.Queue {
			t.Fatal("more feeders lower the limit")
		}
	})
}
