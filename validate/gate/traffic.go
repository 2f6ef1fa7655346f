package gate

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
)

// strayPart is the fraction of a NIC's RDMA that may be outside its priorities, because some
// counters may include headers and others not. Less than strayLeast packets or strayBytes bytes
// is ignored.
const (
	strayPart  = 0.05
	strayLeast = 1000
	strayBytes = 1000 * 1024
	// longestCNP is the size of a congestion notification over IPv6 with a VLAN tag. Some NICs
	// count notifications as RDMA (RoCEv2 annex A17.9.3: 16 reserved bytes after the BTH).
	longestCNP = 14 + 4 + 40 + 8 + 12 + 16 + 4 + 4
)

// rdmaInWrongPriority finds NICs that send RDMA in another priority than the intent says, for
// example because a library ignores the NIC's default. A NIC's RDMA counters leave out its
// virtual functions, but its priority counters do not: only more RDMA than traffic in the RDMA
// priorities proves anything. Receivers are reported only if there are no such senders, because
// the sender chooses the priority of its packets.
func (j *judge) rdmaInWrongPriority() {
	var sent, received []Finding
	for _, w := range j.windows {
		if !w.dev.Host {
			continue
		}
		for _, p := range w.ports {
			if f, ok := p.stray("sent", drivers.RDMATxBytes, drivers.PriorityTxBytes, drivers.RDMATxPackets, drivers.PriorityTxPackets, drivers.CNPSent); ok {
				f.Fix = "set the traffic class of the application: NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS, or the ToS of its connections: 'roce-fabric advise' has the line for each library"
				sent = append(sent, f)
			}
			if f, ok := p.stray("received", drivers.RDMARxBytes, drivers.PriorityRxBytes, drivers.RDMARxPackets, drivers.PriorityRxPackets, drivers.CNPHandled, drivers.CNPIgnored); ok {
				f.Fix = "compare the NIC's DSCP map with that of the fabric, and see how its peers mark RDMA"
				received = append(received, f)
			}
		}
	}
	if len(sent) == 0 {
		sent = received
	}
	j.out = append(j.out, sent...)
}

// stray compares a NIC's RDMA with its traffic in the priorities of RDMA, in bytes, or in
// packets if the NIC counts no bytes by priority.
func (p *PortWindow) stray(verb string, all, by, allPackets, byPackets drivers.Metric, cnps ...drivers.Metric) (Finding, bool) {
	if len(p.port.Classes) == 0 {
		return Finding{}, false
	}
	least, each, size := uint64(strayBytes), uint64(longestCNP), func(n uint64) string { return units.Bytes(n).String() }
	if !p.knows(all, 0) || !p.knows(by, p.port.Classes[0].Priority) {
		all, by, least, each, size = allPackets, byPackets, strayLeast, 1, func(n uint64) string { return countNoun(n, "packet") }
	}
	rdma, ok := p.grew(all, 0)
	var in uint64
	var names, others []string
	for prio := range qos.NumPriorities {
		n, known := p.grew(by, prio)
		ok = ok && known
		if c := p.port.lossless(prio); c != nil {
			names = append(names, c.Name)
		}
		if p.port.lossless(prio) != nil || p.port.RDMA.Has(prio) {
			in += n
		} else if n > 0 {
			others = append(others, fmt.Sprintf("priority %d %s", prio, size(n)))
		}
	}
	if !ok || rdma < in {
		return Finding{}, false
	}
	out := rdma - in
	for _, m := range cnps {
		n, _ := p.grew(m, 0)
		out -= min(n, out/each) * each
	}
	if out < least || float64(out) < strayPart*float64(rdma) {
		return Finding{}, false
	}
	what := fmt.Sprintf("the NIC %s %s of RDMA, but only %s in the priority of %s", verb, size(rdma), size(in), strings.Join(names, " and "))
	if len(others) > 0 {
		what += "; " + strings.Join(others, ", ")
	}
	return Finding{ID: RDMAElsewhere, Means: Warn, Device: p.Device, Port: p.Port, What: what}, true
}

// The fraction of packets that may have errors, and the number of errors that is too many if
// packets are not counted. Links with forward error correction are specified for less than one
// lost frame in 10^10 (IEEE 802.3, 116.2), so a higher rate points to a bad cable or
// transceiver.
const (
	errorPart = 1e-8
	errorMost = 10
)

// Broken describes n frames with errors among packets, which is 0 if not counted; it returns ""
// if a link may have that many.
func Broken(n, packets uint64) string {
	switch {
	case n == 0:
	case packets > 0 && float64(n) >= errorPart*float64(packets):
		return fmt.Sprintf("%s with errors among %d packets, %s", countNoun(n, "frame"), packets, oneIn(packets, n))
	case n >= errorMost && packets == 0:
		return countNoun(n, "frame") + " with errors"
	}
	return ""
}

// errors finds ports that receive broken frames; each one is a lost packet.
func (j *judge) errors(p *PortWindow) {
	const fix = "clean or replace cable and transceivers, and compare FEC at both ends"
	packets, _ := p.grew(drivers.PacketsRx, 0)
	if says := Broken(p.count(drivers.ErrorsRx, 0), packets); says != "" {
		j.addFinding(Errors, Warn, p.Device, p.Port, "the port received "+says, fix)
	}
	all := p.codeWords()
	if n := p.count(drivers.FECUncorrected, 0); n > 0 {
		means := Warn
		// A rollout takes links down and up, which also loses code words.
		if j.o.Traffic && len(p.port.Classes) > 0 && all > 0 && float64(n) >= lostWords*all {
			means = Fail
		}
		j.addFinding(Errors, means, p.Device, p.Port, fmt.Sprintf("forward error correction could not correct %s", countNoun(n, "code word")), fix)
	}
	if n := p.count(drivers.SymbolErrors, 0); all > 0 && float64(n) > wrongSymbols*symbolsOfWord*all {
		j.addFinding(Errors, Warn, p.Device, p.Port, fmt.Sprintf("%s of %.3g had errors, which is more than forward error correction is specified for", countNoun(n, "symbol"), symbolsOfWord*all), fix)
	}
}

// The number of symbols and of data bits in a code word of RS(544,514) (IEEE 802.3, 91.5.2.7).
// RS(528,514) has as many data bits.
const (
	symbolsOfWord = 544
	bitsOfWord    = 5140
)

// lostWords is the fraction of code words that a link may lose, as errorPart is for frames.
// wrongSymbols is the fraction of symbols that may have errors: FEC is specified for a bit
// error ratio of 2.4e-4 at its input (IEEE 802.3, 124.1.1), and one wrong bit of ten makes a
// wrong symbol. No source limits corrected code words, which are normal on PAM4 lanes.
const (
	lostWords    = 1e-10
	wrongSymbols = 2.4e-3
)

// codeWords returns the number of code words that a port receives in the window; 0 if it is not
// known.
func (p *PortWindow) codeWords() float64 {
	if p.port.Speed <= 0 || p.Span <= 0 {
		return 0
	}
	return float64(p.port.Speed) * p.Span.Seconds() / bitsOfWord
}

func oneIn(packets, n uint64) string { return fmt.Sprintf("one in %d", max(1, packets/n)) }

// A NIC is a straggler if it counts at least fewestOdd events and at least odd times as many as
// any other NIC of its rail. A rail needs leastRail NICs to compare.
const (
	odd       = 10
	fewestOdd = 100
	leastRail = 3
)

// outlier is a counter of a NIC that stands out among its rail.
type outlier struct {
	nic intent.Endpoint
	m   drivers.Metric
}

// stragglers finds NICs that repeat or miss far more packets than the others of their rail: the
// NICs on the same switch, or those with the same name on other hosts. The finding replaces the
// one on the NIC alone, which [judge.rdmaErrors] leaves out.
func (j *judge) stragglers() {
	rails := map[string][]*PortWindow{}
	for _, by := range []func(*PortWindow) string{
		func(p *PortWindow) string { return "NICs named " + p.Port },
		func(p *PortWindow) string { return "NICs at " + p.port.Peer.Device },
	} {
		for _, w := range j.windows {
			for _, p := range w.ports {
				if w.dev.Host && len(p.port.Classes) > 0 && p.Span > 0 {
					rails[by(p)] = append(rails[by(p)], p)
				}
			}
		}
	}
	for _, rail := range natural.Keys(rails) {
		for _, m := range rdmaErrors {
			j.straggler(rail, rails[rail], m.m, m.says)
		}
		j.straggler(rail, rails[rail], drivers.ErrorsRx, "frames came with errors")
	}
}

func (j *judge) straggler(rail string, ports []*PortWindow, m drivers.Metric, says string) {
	var worst *PortWindow
	var most, next uint64
	n := 0
	for _, p := range ports {
		v, ok := p.grew(m, 0)
		if !ok {
			continue
		}
		n++
		if v > most {
			worst, most, next = p, v, most
		} else {
			next = max(next, v)
		}
	}
	if n < leastRail || most < fewestOdd || most/odd < next {
		return
	}
	key := outlier{worst.end(), m}
	if j.apart[key] {
		return
	}
	j.apart[key] = true
	j.addFinding(Straggler, Warn, worst.Device, worst.Port, fmt.Sprintf("%d %s, against %d at most on each of %d other %s", most, says, next, n-1, rail),
		"compare this NIC, its cable and its switch port with the others of the rail")
}
