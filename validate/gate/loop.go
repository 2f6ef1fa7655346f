package gate

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// Bounds for judging the congestion control loop. The ends of a path are not read at the same
// moment, and a receiver answers many marks with one notification: mlx5 sends one per flow
// every 4 us to 4 ms, in which no link carries more packets than mostPerCNP.
const (
	// fewestHere and fewestAcross are the fewest marks or notifications that must have an
	// answer, on one NIC and across the fabric.
	fewestHere   = 100
	fewestAcross = 1000
	// mostPerCNP is how many marked packets one notification may answer.
	mostPerCNP = 50_000
	// arrives is the fraction of what was sent that must arrive; below arrivesBadly, nothing
	// counts as having arrived.
	arrives, arrivesBadly = 0.5, 0.01
)

// judgeCongestionControl finds broken congestion control: marks that no NIC answers, and
// notifications that no sender obeys. It judges each NIC as receiver and as sender, and then the
// fabric as a whole.
func (j *judge) judgeCongestionControl() {
	var marks, sent, handled, got uint64
	allSend, allHandle, told, nics := true, true, false, 0
	for _, w := range j.windows {
		for _, p := range w.ports {
			if !w.dev.Host {
				for _, c := range p.port.Classes {
					marks += p.count(drivers.QueueMarked, c.Queue)
				}
				continue
			}
			nics++
			s, sOK := p.grew(drivers.CNPSent, 0)
			h, hOK := p.grew(drivers.CNPHandled, 0)
			ignored := p.count(drivers.CNPIgnored, 0)
			sent, handled, got = sent+s, handled+h, got+h+ignored
			allSend, allHandle = allSend && sOK, allHandle && hOK
			told = j.receiver(p, s, sOK) || told
			j.judgeNotified(p, h, hOK, ignored)
		}
	}
	if nics == 0 || !j.o.AllHosts {
		return
	}
	if allSend && !told && sent == 0 && marks >= fewestAcross {
		j.addFinding(CNPLoop, Fail, "", "", fmt.Sprintf("the switches marked %d packets of lossless classes, but no NIC sent a congestion notification", marks), "enable the notification point on the NICs, and make sure that nothing on the path clears the marks")
		return
	}
	for _, w := range j.windows {
		for _, p := range w.ports {
			j.marksArrive(p)
		}
	}
	const lost = "enable the reaction point on the NICs, and make sure that the notifications are not dropped"
	switch {
	case !allHandle || sent < fewestAcross:
	case handled == 0 && got == 0:
		j.addFinding(CNPLoop, Fail, "", "", fmt.Sprintf("the NICs sent %d congestion notifications, but none was handled", sent), lost)
	case float64(got) < arrivesBadly*float64(sent):
		j.addFinding(CNPLoop, Fail, "", "", fmt.Sprintf("the NICs sent %d congestion notifications, but only %d arrived at a sender", sent, got), lost)
	case float64(got) < arrives*float64(sent):
		j.addFinding(CNPLoop, Warn, "", "", fmt.Sprintf("the NICs sent %d congestion notifications, but only %d arrived at a sender", sent, got), lost)
	}
}

// receiver judges a NIC that receives marked packets. It reports whether the NIC breaks the
// loop by sending no notifications.
func (j *judge) receiver(p *PortWindow, sent uint64, counted bool) bool {
	const fix = "enable the notification point of the class's priority"
	n := p.count(drivers.MarkedReceived, 0)
	switch {
	case !counted || n < fewestHere:
		return false
	case sent == 0:
		j.addFinding(CNPLoop, Fail, p.Device, p.Port, fmt.Sprintf("the NIC received %d marked packets and sent no congestion notification", n), fix)
		return true
	case n/sent >= mostPerCNP:
		j.addFinding(CNPLoop, Warn, p.Device, p.Port, fmt.Sprintf("the NIC received %d marked packets and sent only %s", n, countNoun(sent, "congestion notification")), fix+", and its limit of notifications")
	}
	return false
}

// judgeNotified judges a NIC that receives congestion notifications.
func (j *judge) judgeNotified(p *PortWindow, handled uint64, counted bool, ignored uint64) {
	const fix = "enable the reaction point of the class's priority"
	switch {
	case ignored == 0:
	case counted && ignored >= fewestHere && float64(handled) < arrivesBadly*float64(ignored):
		j.addFinding(CNPLoop, Fail, p.Device, p.Port, fmt.Sprintf("the NIC ignored %s and handled %d", countNoun(ignored, "congestion notification"), handled), fix)
	case counted:
		j.addFinding(CNPLoop, Warn, p.Device, p.Port, fmt.Sprintf("%d of %s were ignored", ignored, countNoun(handled+ignored, "congestion notification")), fix)
	default:
		j.addFinding(CNPLoop, Warn, p.Device, p.Port, fmt.Sprintf("%s ignored", countWere(ignored, "congestion notification")), fix)
	}
}

func countWere(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return fmt.Sprintf("%d %ss were", n, noun)
}

// marksArrive compares the marks that an egress port set with the marked packets that its NIC
// received.
func (j *judge) marksArrive(p *PortWindow) {
	nic := j.at[p.port.Peer]
	if nic == nil || !p.port.ToHost {
		return
	}
	seen, counted := nic.grew(drivers.MarkedReceived, 0)
	var marks uint64
	for _, c := range p.port.Classes {
		marks += p.count(drivers.QueueMarked, c.Queue)
	}
	if counted && marks >= fewestAcross && float64(seen) < arrivesBadly*float64(marks) {
		j.addFinding(CNPLoop, Warn, p.Device, p.Port, fmt.Sprintf("the port marked %d packets of lossless classes to %s, which received %d marked RoCE packets", marks, p.port.Peer, seen),
			"see whether other traffic is in the class, and whether the NIC's ECN is on for its priority")
	}
}
