package nxos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/forms"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// pauseBuffers holds the ingress buffers that a queuing policy gives to qos-groups.
type pauseBuffers = map[int]qos.Headroom

// inputClass begins the names of the predefined ingress classes; the number that follows is
// their qos-group (Nexus 9000 NX-OS QoS Configuration Guide, Configuring Priority Flow Control).
const inputClass = "c-in-q"

// readPauseBuffers reads a queuing policy for the input direction.
func (v *view) readPauseBuffers(name string) pauseBuffers {
	if b, ok := v.pauseBuffers[name]; ok {
		return b
	}
	b := pauseBuffers{}
	v.pauseBuffers[name] = b
	policy := v.policies[typeQueuing][name]
	for _, c := range classes(policy) {
		_, class, _ := classOf(c.Text)
		n, own := strings.CutPrefix(class, inputClass)
		g, ok := lines.Number(n, v.m.top())
		if !own || !ok {
			g, ok = v.groups[typeQueuing][class]
		}
		for _, l := range c.Sub {
			h, is := pauseBufferOf(l.Text)
			switch {
			case isComment(l.Text):
			case is && ok:
				b[g] = h
			case is:
				v.add(policy.Text, l, "it is not known which qos-group %s is", class)
			default:
				v.add(policy.Text, l, "this tool cannot represent this line of %s", class)
			}
		}
	}
	return b
}

// pauseBufferOf parses "pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320",
// in bytes. The buffer above the pause threshold is the headroom.
func pauseBufferOf(text string) (h qos.Headroom, ok bool) {
	w := strings.Fields(text)
	if len(w) != 7 || w[0] != "pause" || w[1] != "buffer-size" || w[3] != "pause-threshold" || w[5] != "resume-threshold" {
		return h, false
	}
	size, one := lines.Number(w[2], maxPauseBuffer)
	pause, two := lines.Number(w[4], maxPauseBuffer)
	resume, three := lines.Number(w[6], maxPauseBuffer)
	if !one || !two || !three || pause >= size {
		return h, false
	}
	return qos.Headroom{Size: int64(size), XON: int64(resume), XOFF: int64(size - pause), Threshold: int64(pause), Static: true}, true
}

const maxPauseBuffer = 1 << 28 // bytes

// readGroups sets the headroom of what a port pauses, by priority, as NX-OS has no map between
// priorities and groups of the buffer.
func (v *view) readGroups(name string, p *qos.Port) {
	buffers := v.readPauseBuffers(v.attached(name, keyQueuingInput))
	if len(buffers) == 0 {
		return
	}
	for n, g := range v.network.pauses() {
		if h, ok := buffers[g]; ok && p.PFC.V.Has(n) {
			p.Groups[n].Lossless, p.Groups[n].Headroom = qos.Of(true), qos.Of(h)
		}
	}
}

// buffered is the claim of a line that sizes the buffer of a group.
var buffered = forms.Left("it sizes the buffer of a lossless qos-group, which the checks take; the intent has none, and no plan changes it")
