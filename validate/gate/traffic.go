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

// strayPart is the part of a NIC's RDMA that may be outside of its priorities: headers
// may be counted in one place only.
// strayLeast are the packets that it must be.
const (
	strayPart  = 0.05
	strayLeast = 1000
	strayBytes = 1000 * 1024
	// longestCNP is a congestion notification over IPv6 with a VLAN tag, as some NICs
	// count them among their RDMA (RoCEv2 annex A17.9.3: 16 reserved bytes after the BTH).
	longestCNP = 14 + 4 + 40 + 8 + 12 + 16 + 4 + 4
)

// elsewhere finds NICs that send RDMA in another priority than the intent says, as a
// library does that ignores the NIC's default. The RDMA counters of a NIC leave out its
// virtual functions, and those of a priority do not: only more RDMA than there is
// traffic in its priorities tells something. Receivers are only named where no sender
// is: the fault is where packets get their class.
func (j *judge) elsewhere() {
	var sent, received []Finding
	for _, w := range j.windows {
		if !w.dev.Host {
			continue
		}
		for _, p := range w.ports {
			if f, ok := p.stray("sent", drivers.RDMATxBytes, drivers.PriorityTxBytes, drivers.RDMATxPackets, drivers.PriorityTxPackets, drivers.CNPSent); ok {
				f.Fix = "set the traffic class of the application: NCCL_IB_TC, UCX_IB_TRAFFIC_CLASS, or the ToS of its connections"
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

// stray compares the RDMA of a NIC with the traffic of the priorities that RDMA has, in
// bytes, or in packets where the NIC counts no bytes by priority.
func (p *PortWindow) stray(verb string, all, by, allPackets, byPackets drivers.Metric, cnps ...drivers.Metric) (Finding, bool) {
	if len(p.port.Classes) == 0 {
		return Finding{}, false
	}
	least, each, size := uint64(strayBytes), uint64(longestCNP), func(n uint64) string { return units.Bytes(n).String() }
	if !p.knows(all, 0) || !p.knows(by, p.port.Classes[0].Priority) {
		all, by, least, each, size = allPackets, byPackets, strayLeast, 1, func(n uint64) string { return count(n, "packet") }
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

// The part of the packets that may come with errors, and the errors that are too many
// where packets are not counted. Links with forward error correction are specified for
// less than one lost frame in 10^10 (IEEE 802.3, 116.2), so that any rate here is one of
// a bad cable or transceiver.
const (
	errorPart = 1e-8
	errorMost = 10
)

// Broken says how many frames came with errors among packets, 0 where those are not
// counted; "" where it is fewer than a link may have.
func Broken(n, packets uint64) string {
	switch {
	case n == 0:
	case packets > 0 && float64(n) >= errorPart*float64(packets):
		return fmt.Sprintf("%s with errors among %d packets, %s", count(n, "frame"), packets, oneIn(packets, n))
	case n >= errorMost && packets == 0:
		return count(n, "frame") + " with errors"
	}
	return ""
}

// errors finds ports that receive broken frames: each is a lost packet.
func (j *judge) errors(p *PortWindow) {
	const fix = "clean or replace cable and transceivers, and compare FEC at both ends"
	packets, _ := p.grew(drivers.PacketsRx, 0)
	if says := Broken(p.count(drivers.ErrorsRx, 0), packets); says != "" {
		j.found(Errors, Warn, p.Device, p.Port, "the port received "+says, fix)
	}
	all := p.codeWords()
	if n := p.count(drivers.FECUncorrected, 0); n > 0 {
		means := Warn
		// A rollout takes links down and up, which costs code words as well.
		if j.o.Traffic && len(p.port.Classes) > 0 && all > 0 && float64(n) >= lostWords*all {
			means = Fail
		}
		j.found(Errors, means, p.Device, p.Port, fmt.Sprintf("forward error correction could not correct %s", count(n, "code word")), fix)
	}
	if n := p.count(drivers.SymbolErrors, 0); all > 0 && float64(n) > wrongSymbols*symbolsOfWord*all {
		j.found(Errors, Warn, p.Device, p.Port, fmt.Sprintf("%s of %.3g had errors, which is more than forward error correction is specified for", count(n, "symbol"), symbolsOfWord*all), fix)
	}
}

// A code word of RS(544,514) has so many symbols, and so many bits of data (IEEE 802.3,
// 91.5.2.7). RS(528,514) has as many of data.
const (
	symbolsOfWord = 544
	bitsOfWord    = 5140
)

// lostWords is the part of the code words that links may lose, as [errorPart] is of
// frames. wrongSymbols is the part of the symbols that may come wrong: FEC is specified
// for a bit error ratio of 2.4e-4 before it (IEEE 802.3, 124.1.1), and a symbol of ten
// bits has an error where one of them has. No source has a limit for code words that
// were mended: on PAM4 lanes they are usual.
const (
	lostWords    = 1e-10
	wrongSymbols = 2.4e-3
)

// codeWords is how many code words a port receives in the window; 0 where it is not known.
func (p *PortWindow) codeWords() float64 {
	if p.port.Speed <= 0 || p.Span <= 0 {
		return 0
	}
	return float64(p.port.Speed) * p.Span.Seconds() / bitsOfWord
}

func oneIn(packets, n uint64) string { return fmt.Sprintf("one in %d", max(1, packets/n)) }

// odd is how many times as much a NIC must have as any other of its rail, and fewestOdd
// how many, before it is called a straggler. A rail needs a few NICs to compare.
const (
	odd       = 10
	fewestOdd = 100
	leastRail = 3
)

// apart is a counter of a NIC that stands out of those of its rail.
type apart struct {
	nic intent.Endpoint
	m   drivers.Metric
}

// stragglers finds NICs that repeat or miss packets far more than the others of their
// rail, which are those at the same switch, or of other hosts with the same name. The
// finding takes the place of that on the NIC alone, which [judge.nic] leaves out.
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
	key := apart{worst.end(), m}
	if j.apart[key] {
		return
	}
	j.apart[key] = true
	j.found(Straggler, Warn, worst.Device, worst.Port, fmt.Sprintf("%d %s, against %d at most on each of %d other %s", most, says, next, n-1, rail),
		"compare this NIC, its cable and its switch port with the others of the rail")
}
