package prove

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// What is enough. The floor follows from the thresholds with which clusters are accepted in public
// (190 of 200, 390 of 400 Gb/s and lower ones). Latency is compared with that of equal paths.
const (
	floor = 0.92
	// deviations is how many median deviations a latency may be above the median; spread is the
	// least part of the median that counts as a deviation at all.
	deviations, spread = 3, 0.1
)

// Verdict is how an acceptance ended.
type Verdict string

// The verdicts. Inconclusive means that something was not measured and nothing failed.
const (
	Passed       Verdict = "passed"
	Failed       Verdict = "failed"
	Inconclusive Verdict = "inconclusive"
)

// mostKept is how many measures of each stage a certificate lists besides those that failed.
const mostKept = 8

// Certificate says what was run, and what it showed.
type Certificate struct {
	Tool    string    `json:"tool"`
	Fabric  string    `json:"fabric"`
	Intent  string    `json:"intent" doc:"SHA-256 of the files of the intent."`
	Plan    string    `json:"plan" doc:"Digest of the plan."`
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Verdict Verdict   `json:"verdict" enum:"passed,failed,inconclusive"`
	Why     []string  `json:"why,omitempty" doc:"What failed or was not measured."`
	Hosts   []string  `json:"hosts"`
	NICs    int       `json:"nics"`
	Results []Result  `json:"results"`
	// Findings are those of validate, with the counters over the time of the rounds.
	Findings  []checks.Finding `json:"findings"`
	NotTested []string         `json:"not_tested"`
}

// Result is what the rounds of one stage measured in one class.
type Result struct {
	Stage   Stage   `json:"stage"`
	Class   string  `json:"class"`
	Flows   int     `json:"flows"`
	Below   int     `json:"below" doc:"Flows that are slower than they should be."`
	Missing int     `json:"missing" doc:"Flows without a result."`
	Least   float64 `json:"least" doc:"Gb/s of payload of the slowest flow, or the shortest latency in microseconds."`
	Median  float64 `json:"median"`
	Most    float64 `json:"most"`
	// Measures are those that failed or are missing, and the worst of the others.
	Measures []Measure `json:"measures"`

	measured []Measure
}

// Measure is what one flow reached.
type Measure struct {
	Round   int     `json:"round"`
	From    string  `json:"from"`
	To      string  `json:"to"`
	Class   string  `json:"class"`
	Gbps    float64 `json:"gbps,omitempty"`
	Latency float64 `json:"latency_us,omitempty"`
	Floor   float64 `json:"floor,omitempty" doc:"Gb/s that it has to reach."`
	Ceiling float64 `json:"ceiling_us,omitempty" doc:"Latency that it must not exceed."`
	Error   string  `json:"error,omitempty" doc:"Why there is no result."`
	Slow    bool    `json:"slow,omitempty"`
	Cause   string  `json:"cause,omitempty" doc:"A finding at one of its ends, or that none explains it."`

	from, to *End
}

func newCertificate(s *Saved, o RunOptions) *Certificate {
	return &Certificate{Tool: o.Tool, Fabric: s.Fabric, Intent: s.Intent, Plan: s.Digest, Run: o.Run, Hosts: s.Hosts, NICs: s.NICs, NotTested: s.NotCovered, Findings: []checks.Finding{}}
}

// judge decides about each flow, and about the whole.
func (c *Certificate) judge(n *network, findings []checks.Finding) {
	below, missing := 0, 0
	for i := range c.Results {
		r := &c.Results[i]
		r.judge(n.fabric, findings)
		below += r.Below
		missing += r.Missing
	}
	errors, open := 0, 0
	for _, f := range findings {
		switch {
		case f.Suppressed != nil:
		case f.Inconclusive():
			open++
		case f.Severity == checks.Error:
			errors++
		}
	}
	c.Findings = append(c.Findings, findings...)
	say := func(n int, verdict Verdict, what string) {
		if n == 0 {
			return
		}
		c.Why = append(c.Why, what)
		if c.Verdict == Passed || verdict == Failed {
			c.Verdict = verdict
		}
	}
	c.Verdict = Passed
	say(below, Failed, words.Count(below, "flow")+" too slow")
	say(errors, Failed, words.Count(errors, "error")+" of switches and NICs")
	say(missing, Inconclusive, words.Count(missing, "flow")+" without a result")
	say(open, Inconclusive, words.Count(open, "finding")+" of what could not be checked")
}

// judge decides about the flows of a stage.
func (r *Result) judge(f *intent.Fabric, findings []checks.Finding) {
	var got []float64
	for _, m := range r.measured {
		if m.Error == "" {
			got = append(got, m.value())
		}
	}
	slices.Sort(got)
	r.Flows = len(r.measured)
	r.Missing = r.Flows - len(got)
	if len(got) > 0 {
		r.Least, r.Median, r.Most = got[0], median(got), got[len(got)-1]
	}
	ceiling := ceilingOf(got)
	for i := range r.measured {
		m := &r.measured[i]
		switch {
		case m.Error != "":
		case r.Stage.Test == "latency":
			m.Ceiling = ceiling
			m.Slow = m.Latency > ceiling
		default:
			m.Slow = m.Gbps < m.Floor
		}
		if m.Slow {
			r.Below++
			m.Cause = causeOf(f, m, findings)
		}
	}
	r.keep()
}

func (m Measure) value() float64 {
	if m.Latency > 0 {
		return m.Latency
	}
	return m.Gbps
}

// keep keeps the measures that failed, and the worst of the others.
func (r *Result) keep() {
	worst := ordered.Sorted(slices.Values(r.measured), func(a, b Measure) int {
		rank := func(m Measure) float64 {
			switch {
			case m.Error != "":
				return -2
			case m.Slow:
				return -1
			case m.Latency > 0:
				return 1 / m.Latency
			}
			return m.Gbps / max(m.Floor, 1e-9)
		}
		return cmp.Compare(rank(a), rank(b))
	})
	r.Measures = worst[:min(len(worst), r.Below+r.Missing+mostKept)]
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// ceilingOf returns the highest latency that counts as that of an equal path.
func ceilingOf(sorted []float64) float64 {
	mid := median(sorted)
	var off []float64
	for _, v := range sorted {
		off = append(off, math.Abs(v-mid))
	}
	slices.Sort(off)
	return mid + deviations*max(median(off), spread*mid/deviations)
}

// explain lists the checks whose findings make a flow slow, those that say most first: the slot and
// the link, then what the counters saw, then maps, weights and losses. Other findings, such as a
// missing boot unit, do not slow a packet.
var explain = []string{
	"NIC-15", "PRT-04", "PRT-06", "PRT-05", "NIC-11", "NIC-20", "NIC-17",
	gate.Storm, gate.Deadlock, gate.NICStall, gate.Watchdog, gate.LosslessDrop, gate.Errors, gate.PauseSource, gate.LinkPause, gate.RDMAError, gate.Straggler, gate.RDMAElsewhere, gate.PauseRatio,
	"MTU-01", "MTU-02", "MTU-03", "MTU-05", "CLS-02", "CLS-05", "CLS-06", "CLS-07", "NIC-01", "NIC-02", "NIC-03", "PFC-01", "PFC-02", "PFC-03", "PFC-04", "PFC-05", "PFC-07", "PFC-10",
	"BUF-01", "BUF-02", "BUF-07", "ECN-08", "SCH-03", "SCH-04", "SCH-07", "ECN-12",
}

// causeOf returns the finding that explains a slow flow: one at one of its NICs or at the switch
// port of one.
func causeOf(f *intent.Fabric, m *Measure, findings []checks.Finding) string {
	best, rank := -1, len(explain)
	for i, x := range findings {
		if x.Suppressed != nil || x.Inconclusive() || x.Severity == checks.Info && x.ID != "NIC-15" || !concerns(f, x, m.from) && !concerns(f, x, m.to) {
			continue
		}
		if at := slices.Index(explain, x.ID); at >= 0 && at < rank {
			best, rank = i, at
		}
	}
	if best < 0 {
		return "not explained"
	}
	x := findings[best]
	return fmt.Sprintf("%s %s: %s", x.ID, x.Place(), x.What)
}

// concerns reports whether a finding is about a NIC, its host as a whole, or its switch port.
func concerns(f *intent.Fabric, x checks.Finding, e *End) bool {
	at := func(device, port string) bool {
		return x.Device == device && (len(x.Ports) == 0 || slices.Contains(x.Ports, port))
	}
	if at(e.Host, e.NIC) {
		return true
	}
	there, linked := f.Host(e.Host).NIC(e.NIC).Peer()
	return linked && len(x.Ports) > 0 && at(there.Device, there.Port)
}

const certificateKind = "roce-fabric-certificate"

type certificateDocument struct {
	header
	Certificate
}

// Save writes the certificate to path, signed with the key of ring unless ring is nil, and returns
// it as [OpenCertificate] would.
func (c *Certificate) Save(path string, ring *keys.Ring) (*Signed, error) {
	s, err := write(path, certificateKind, certificateDocument{header{certificateKind, planFormat}, *c}, ring)
	if err != nil {
		return nil, err
	}
	return c.sealed(s), nil
}

// sealed returns the certificate with its seal.
func (c *Certificate) sealed(s seal) *Signed {
	return &Signed{c, s.SHA256, keys.Fingerprint(s.Sig), s.Sig}
}

// Signed is a certificate from a file.
type Signed struct {
	*Certificate
	Digest string
	// SignedBy names the key that the file claims to be signed with; "" for none.
	SignedBy string

	sig string
}

// OpenCertificate reads a certificate and checks that it is complete and unchanged. It does not
// check who signed it.
func OpenCertificate(path string) (*Signed, error) {
	d := certificateDocument{}
	s, err := read(path, certificateKind, &d)
	if err != nil {
		return nil, err
	}
	return d.sealed(s), nil
}

// Verify returns an error unless a key that ring trusts signed the certificate.
func (s *Signed) Verify(ring *keys.Ring) error {
	return ring.Verify(certificateKind, []byte(s.Digest), s.sig)
}
