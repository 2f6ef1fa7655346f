package nicctl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
)

var (
	bitmapLine = lazyre.New(`^DSCP bitmap\s*:\s*0x([0-9a-fA-F]{1,16})\s*==>\s*priority\s*:\s*([0-7])$`)
	listLine   = lazyre.New(`^DSCP\s*:\s*([0-9, -]{1,400}?)\s*==>\s*priority\s*:\s*([0-7])$`)
	shareLine  = lazyre.New(`^([0-7])\s+(\S{1,16})\s+(\S{1,16})\s+(\S{1,16})$`)
)

// tableHeads are the two heading lines of the schedule.
var tableHeads = map[string]bool{
	"Priority Scheduling Bandwidth Rate-limit": true,
	"Type (in %age) (in Gbps)":                 true,
}

// block is the output of "show qos" about one port while it is parsed.
type block struct {
	class, bitmap, noDrop field
	// masks and lists hold the DSCP map, which is shown in two forms.
	masks, lists         [qos.NumDSCP]int8
	someMasks, someLists bool
	dscpFault            string
	schedule             Scheduling
	inTable, someTable   bool
	tableFault           string
}

func newBlock() *block {
	b := &block{}
	for d := range b.masks {
		b.masks[d], b.lists[d] = qos.Unmapped, qos.Unmapped
	}
	return b
}

// parseQoS parses the output of "show qos" into the ports that "show port" listed.
func (st *State) parseQoS(lines []string) error {
	blocks := map[string]*block{}
	err := scan(lines, func(s *scanner) error {
		if s.began {
			if blocks[s.port] != nil || len(blocks) == maxPorts {
				return fmt.Errorf("%w: port %s is shown twice, or there are more than %d", ErrOutput, word(s.port), maxPorts)
			}
			blocks[s.port] = newBlock()
		} else if b := blocks[s.port]; b != nil {
			b.line(s.line)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range st.Ports {
		st.Ports[i].storeBlock(blocks[st.Ports[i].ID])
	}
	return nil
}

// line parses one line about a port.
func (b *block) line(line string) {
	key, value, colon := cut(line)
	switch {
	case key == "Classification type":
		b.class.once(value)
	case key == "PFC priority bitmap":
		b.bitmap.once(value)
	case key == "PFC no-drop priorities":
		b.noDrop.once(value)
	case key == "Scheduling" && colon && value == "":
		b.inTable, b.someTable = true, true
		return
	case (key == "DSCP" || key == "DSCP bitmap") && strings.Contains(value, "==>"):
		b.dscp(line)
	case b.inTable && !colon:
		b.share(line)
		return
	}
	b.inTable = false
}

// dscp parses a line of the DSCP map.
func (b *block) dscp(line string) {
	add := func(m *[qos.NumDSCP]int8, d int, priority string) {
		if m[d] != qos.Unmapped {
			b.dscpFault = fmt.Sprintf("nicctl shows DSCP %d twice", d)
		}
		m[d] = int8(priority[0] - '0')
	}
	if m := bitmapLine.FindStringSubmatch(line); m != nil {
		b.someMasks = true
		bits, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			b.dscpFault = fmt.Sprintf("nicctl shows %q", word(line))
		}
		for d := range qos.NumDSCP {
			if bits>>d&1 != 0 {
				add(&b.masks, d, m[2])
			}
		}
		return
	}
	m := listLine.FindStringSubmatch(line)
	if m == nil {
		b.dscpFault = fmt.Sprintf("nicctl shows %q", word(line))
		return
	}
	b.someLists = true
	for item := range strings.SplitSeq(m[1], ",") {
		low, high, span := strings.Cut(strings.TrimSpace(item), "-")
		if !span {
			high = low
		}
		from, ok := number(low, qos.NumDSCP-1)
		to, ok2 := number(high, qos.NumDSCP-1)
		if !ok || !ok2 || from > to {
			b.dscpFault = fmt.Sprintf("nicctl shows %q", word(line))
			return
		}
		for d := from; d <= to; d++ {
			add(&b.lists, d, m[2])
		}
	}
}

// share parses a line of the schedule.
func (b *block) share(line string) {
	if tableHeads[strings.Join(strings.Fields(line), " ")] {
		return
	}
	fault := func() { b.tableFault = fmt.Sprintf("nicctl shows %q in the schedule", word(line)) }
	m := shareLine.FindStringSubmatch(line)
	if m == nil {
		fault()
		return
	}
	s := Share{Shown: true}
	percent, ok := number(m[3], 100)
	switch {
	case strings.EqualFold(m[2], "DWRR") && ok:
		s.Percent = percent
	case strings.EqualFold(m[2], "strict") && (ok || m[3] == "N/A"):
		s.Strict = true
	default:
		fault()
		return
	}
	if m[4] != "N/A" {
		if s.Gbps, ok = number(m[4], 100_000); !ok {
			fault()
			return
		}
	}
	prio := m[1][0] - '0'
	if b.schedule[prio].Shown {
		fault()
		return
	}
	b.schedule[prio] = s
}

// storeBlock stores the values of a block in the port.
func (p *Port) storeBlock(b *block) {
	if b == nil {
		for _, part := range []string{PartClassification, PartDSCP, PartPFC, PartScheduling} {
			p.Missing[part] = "show qos does not show the port"
		}
		return
	}
	set(p, PartClassification, &p.Trust, b.trust)
	set(p, PartDSCP, &p.DSCP, b.dscps)
	set(p, PartPFC, &p.PFC, b.pfc)
	set(p, PartScheduling, &p.Scheduling, func() (Scheduling, string) {
		if !b.someTable {
			return Scheduling{}, "nicctl shows no schedule"
		}
		return b.schedule, b.tableFault
	})
}

func (b *block) trust() (qos.Trust, string) {
	switch strings.ToLower(b.class.value) {
	case "dscp":
		return qos.TrustDSCP, b.class.fault
	case "pcp":
		return qos.TrustPCP, b.class.fault
	}
	return "", fmt.Sprintf("nicctl shows the classification type %q", word(b.class.value))
}

func (b *block) dscps() ([qos.NumDSCP]int8, string) {
	switch {
	case b.dscpFault != "":
		return b.lists, b.dscpFault
	case !b.someMasks && !b.someLists:
		return b.lists, "nicctl shows no map of DSCPs"
	case !b.someLists:
		return b.masks, ""
	case b.someMasks && b.masks != b.lists:
		return b.lists, "nicctl shows the map of DSCPs twice, and the two differ"
	}
	return b.lists, ""
}

// pfc returns the no-drop priorities, which are shown as a bitmap and as a list; if the two differ,
// the value is unknown.
func (b *block) pfc() (qos.PrioritySet, string) {
	if !b.bitmap.seen || !b.noDrop.seen {
		return 0, "nicctl shows no PFC"
	}
	for _, f := range []field{b.bitmap, b.noDrop} {
		if f.fault != "" {
			return 0, f.fault
		}
	}
	hex, prefixed := strings.CutPrefix(b.bitmap.value, "0x")
	mask, err := strconv.ParseUint(hex, 16, 8)
	if !prefixed || err != nil {
		return 0, fmt.Sprintf("nicctl shows the PFC bitmap %q", word(b.bitmap.value))
	}
	var list qos.PrioritySet
	for item := range strings.SplitSeq(b.noDrop.value, ",") {
		if b.noDrop.value == "" {
			break
		}
		n, ok := number(strings.TrimSpace(item), qos.NumPriorities-1)
		if !ok {
			return 0, fmt.Sprintf("nicctl shows the no-drop priorities %q", word(b.noDrop.value))
		}
		list |= qos.Priorities(n)
	}
	if list != qos.PrioritySet(mask) {
		return 0, fmt.Sprintf("nicctl shows the PFC bitmap %s and the no-drop priorities %s", qos.PrioritySet(mask), list)
	}
	return list, ""
}
