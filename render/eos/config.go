// Package eos translates between [qos.Device] and the configuration text of Arista EOS switches:
// it reads running configuration, decodes its meaning, and computes the lines that change it to
// a desired state.
//
// The package does no I/O and knows no particular device: what a model refuses beyond [Refusals]
// is for the driver to find out. Do not compare configurations as text; [Decode] both and
// compare the results.
package eos

import (
	"slices"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/render/forms"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// Types of package lines.
type (
	Config  = lines.Config
	Line    = lines.Line
	Edit    = lines.Edit
	Unknown = lines.Unknown
)

// Parse reads configuration: the output of "show running-config" (also with "all"), generated
// text, or a pasted session with prompts, with any indentation. It fails on text that cannot be
// configuration: NUL bytes, lines over 64 KB, more than 16 levels. Time and memory are linear in
// the size of the text.
func Parse(text []byte) (*Config, error) {
	c := Lines.New()
	if err := layout.Parse(c, text); err != nil {
		return nil, err
	}
	c.Whole = false // EOS ends its output with "end"
	expandHeaders(c)
	return c, nil
}

var layout = &forms.Layout{
	Top:       inGlobal,
	Full:      lines.FullInterface,
	Opens:     blockOf,
	Table:     grammar,
	Elsewhere: elsewhere,
	Keeps: func(at place, line string) bool {
		return slices.Contains(qosPlaces, at) || at == inInterface && !roce(line) && forms.AboutQoS(line)
	},
	Removes:   removes,
	Several:   several,
	Inside:    below,
	Separator: "!",
	Ends:      true,
	Raw: func(line string) func(string) bool {
		if !isRaw(line) {
			return nil
		}
		return func(s string) bool { return strings.TrimSpace(s) == "EOF" }
	},
}

// removes tells what a line that begins with "no" or "default" does to a block. A profile may be
// removed while ports have it; whether the switch removes other objects in use is not known.
func removes(section, verb, text, _ string) forms.Removal {
	_, at, _ := blockOf(section, text)
	switch {
	case at == inProfile, at == inQueue, at == inClass && verb == "no":
		return forms.RemovesBlock
	case at == inInterface && verb == "default":
		return forms.EmptiesBlock
	case at == inClassMap, at == inPolicy, at == inBuffers:
		return forms.RemovesUnused
	}
	return forms.RemovesNothing
}

// several reports whether the header of an interface names several ports.
func several(header string) bool {
	name, ok := strings.CutPrefix(canonical(header), sectionInterface)
	at := strings.IndexAny(name, "0123456789")
	return ok && at >= 0 && strings.ContainsAny(name[at:], "-,")
}

// described returns a line with single spaces and, in a policy, without its sequence number.
func described(at place, line string) string {
	if line = canonical(line); at == inPolicy {
		return unnumbered(line)
	}
	return line
}

// unnumbered returns a line of a policy without its sequence number: "10 class FW".
func unnumbered(line string) string {
	if n, rest, ok := strings.Cut(line, " "); ok && strings.Trim(n, "0123456789") == "" {
		return rest
	}
	return line
}

// elsewhere returns the forms of lines that the grammar does not describe, and that show in which
// block a line without indentation stands.
var elsewhere = sync.OnceValue(func() *forms.Table {
	var list []forms.Form
	for at, keys := range map[place][]string{
		inGlobal: {
			"router", "daemon", "username", "transceiver", "queue-monitor", "tacacs-server", "radius-server", "boot", "event-handler", "mac address-table",
			"arp aging timeout default", "clock", "alias", "control-plane", "monitor session", "hardware", "service",
		},
		inProfile: {"priority-flow-control", "service-policy", "traffic-policy"},
		inInterface: {
			"priority-flow-control", "service-policy", "traffic-policy", "vxlan", "encapsulation", "arp aging timeout <1-4294967295>", "arp timeout", "arp monitor", "ip virtual-router address", "mlag <1-2000>",
			"hardware port", "monitor session", "ntp serve", "queue-monitor length", "snmp trap", "transceiver media",
		},
		inClass: {"random-detect"},
	} {
		for _, key := range keys {
			list = append(list, forms.Form{In: []place{at}, Key: key, Other: true})
		}
	}
	t := forms.NewTable(list)
	t.Strict, t.Plain = true, described
	return t
})

// blockOf tells which block a line opens in a section: those that this tool edits, see [opens], and
// those that it only reads.
func blockOf(section, line string) (id string, at place, ok bool) {
	id, at, ok = opens(section, line)
	switch {
	case id == sectionDefaults:
		return id, inDefaults, true
	case ok:
		return id, at, true
	case section == sectionDefaults && line == "ethernet":
		return line, inEthernetDefaults, true
	case strings.HasPrefix(section, "policy-map ") && strings.HasPrefix(unnumbered(line), "class "):
		return canonical(line), inClass, true
	case section != "":
	case strings.HasPrefix(line, "class-map "):
		return canonical(line), inClassMap, true
	case strings.HasPrefix(line, "policy-map "):
		return canonical(line), inPolicy, true
	case strings.HasPrefix(line, mmuProfile) && !strings.HasSuffix(line, mmuApply):
		return canonical(line), inBuffers, true
	}
	return "", 0, false
}

// below reports whether a CLI mode is inside a section: "config-if-Et1/1",
// "config-s-pod1-if-Et1/1".
func below(mode string) bool {
	rest, ok := strings.CutPrefix(mode, "config-")
	if !ok {
		return false
	}
	if session, ok := strings.CutPrefix(rest, "s-"); ok {
		return strings.Contains(session, "-")
	}
	return true
}

// isRaw reports whether a line begins a text block that ends with a line "EOF".
func isRaw(text string) bool {
	return strings.HasPrefix(text, "banner ") || text == "action bash" || text == "code" || strings.HasPrefix(text, "code unit ")
}

// gap returns the text that EOS prints between neighbours: "!" around sections and queues.
func gap(prev, next *Line, depth int) string {
	queue := depth > 0 && headerOf(next.Text) == headQueue
	switch {
	case prev == nil && !queue, depth == 0 && !apart(prev, next):
		return ""
	case depth > 0 && !queue && len(next.Sub) == 0 && headerOf(prev.Text) != headQueue:
		return ""
	}
	return "!\n"
}

// apart reports whether EOS prints a "!" between two neighbours at the top level.
func apart(a, b *Line) bool {
	block := func(l *Line) bool { return len(l.Sub) > 0 || headerOf(l.Text) != headNone }
	return block(a) || block(b) || family(a.Text) != family(b.Text)
}

// family returns the first words that lines printed together have in common.
func family(text string) string {
	rest, _ := forms.CutNegation(text)
	first, rest, _ := strings.Cut(rest, " ")
	if second, _, _ := strings.Cut(rest, " "); first == "qos" && second == "random-detect" {
		return "qos random-detect"
	}
	return first
}

// header is the kind of block that a line opens.
type header int

const (
	headNone header = iota
	headSection
	headQueue
)

func headerOf(text string) header {
	switch {
	case strings.HasPrefix(text, sectionInterface), strings.HasPrefix(text, sectionProfile):
		return headSection
	case isQueue(text):
		return headQueue
	}
	return headNone
}

// Prefixes of section headers.
const (
	sectionInterface = "interface "
	sectionProfile   = "qos profile "
	sectionDefaults  = "interface defaults" // the whole line
)

// queueKinds lists the words that name queues. Multicast queues are recognized and left alone.
var queueKinds = []string{string(TxQueue), string(UCTxQueue), multicastQueue}

const multicastQueue = "mc-tx-queue"

// isQueue reports whether a line opens a queue: "uc-tx-queue 3".
func isQueue(text string) bool {
	kind, n, ok := strings.Cut(text, " ")
	return ok && slices.Contains(queueKinds, kind) && len(n) == 1 && n[0] >= '0' && n[0] <= '7'
}
