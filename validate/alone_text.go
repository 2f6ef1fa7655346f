package validate

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/class"
)

// configText is the lines of a configuration about QoS, by the blocks in which the system reads
// them, or rows of tables.
type configText struct {
	rows   bool
	blocks map[string][]textLine // by header
	order  []string              // headers
	used   map[string]int        // by name of a policy or profile: the line that attaches it
	first  map[string]int        // the first line with a text
	queues map[string]string     // by header of a class: its queue
}

type textLine struct {
	no           int
	parent, text string // parent is the header of the innermost block
	unknown      bool   // the line is not understood
}

var (
	// attaches matches a line that attaches a policy or profile, and captures its name.
	attaches = lazyre.New(`^service-(?:policy|profile) (?:type \S+ )?(?:(?:input|output) )?(\S+)`)
	// innerBlock captures the place of a line in a block of a block: both headers.
	innerBlock = lazyre.New(`^(.+?)(?: / | )((?:uc-|mc-)?tx-queue \d|class .+)$`)
)

// readText returns the lines of a configuration that its account lists.
func readText(c *Config) *configText {
	t := &configText{blocks: map[string][]textLine{}, used: map[string]int{}, first: map[string]int{}, queues: map[string]string{}}
	numbered := slices.ContainsFunc(c.Account, func(l render.Line) bool { return l.No > 0 })
	if t.rows = !numbered && bytes.HasPrefix(bytes.TrimSpace(c.Text), []byte("{")); t.rows {
		return t
	}
	no := 0
	for line := range strings.Lines(string(c.Text)) {
		no++
		if l := strings.TrimSpace(line); t.first[l] == 0 {
			t.first[l] = no
		}
	}
	for i := range c.Account {
		l := &c.Account[i]
		header, parent := l.Where, l.Where
		if m := innerBlock.FindStringSubmatch(l.Where); m != nil {
			header, parent = m[1], m[2]
		}
		if header == "" {
			header, parent = l.Text, l.Text
		}
		if t.blocks[header] == nil {
			t.order = append(t.order, header)
		}
		if m := attaches.FindStringSubmatch(l.Text); m != nil && t.used[m[1]] == 0 {
			t.used[m[1]] = l.No
		}
		if len(l.Attrs) > 0 && l.Attrs[0].Kind.Of() == qos.OfQueue {
			t.queues[l.Text] = strconv.Itoa(int(l.Attrs[0].Index)) // the header of a class
		}
		t.blocks[header] = append(t.blocks[header], textLine{l.No, parent, l.Text, l.Fate == render.Unknown})
	}
	return t
}

// lineOfBlock returns the line of the header of a block, or the first line in it; 0 if the text has
// neither.
func (t *configText) lineOfBlock(header string) int {
	if own := t.blocks[header]; t.first[header] == 0 && len(own) > 0 {
		return own[0].no
	}
	return t.first[header]
}

// ofPort returns the lines that act on a port: its own, and those of policies and profiles
// attached to the port or to the system.
func (t *configText) ofPort(port string) []textLine {
	own := t.blocks["interface "+port]
	out := slices.Clone(own)
	for _, l := range slices.Concat(own, t.blocks["system qos"]) {
		m := attaches.FindStringSubmatch(l.text)
		if m == nil {
			continue
		}
		for _, kind := range []string{"qos profile ", "policy-map type network-qos ", "policy-map type queuing ", "policy-map type qos ", "policy-map type quality-of-service ", "policy-map "} {
			out = append(out, t.blocks[kind+m[1]]...)
		}
	}
	return out
}

// says matches the lines that set an attribute; tables names the tables whose rows set it.
var (
	says = map[qos.Kind]*lazyre.Regexp{
		qos.KindPFC: lazyre.New(`^priority-flow-control (mode |priority )?(on|\d)`), qos.KindMTU: lazyre.New(`^(l2 )?mtu `),
		qos.KindECN: lazyre.New(`^random-detect`), qos.KindLinkPause: lazyre.New(`^flowcontrol `),
		qos.KindWatchdog: lazyre.New(`watch-?dog`), qos.KindScheduler: lazyre.New(`^(bandwidth|priority|shape)`),
		qos.KindTrust: lazyre.New(`^qos trust`),
	}
	tables = map[qos.Kind]string{
		qos.KindPFC: "PORT_QOS_MAP", qos.KindMap: "PORT_QOS_MAP", qos.KindTrust: "PORT_QOS_MAP", qos.KindMTU: "PORT", qos.KindLinkPause: "PORT",
		qos.KindECN: "QUEUE", qos.KindScheduler: "QUEUE", qos.KindQueueBuffer: "BUFFER_QUEUE", qos.KindGroupBuffer: "BUFFER_PG", qos.KindHeadroom: "BUFFER_PG",
		qos.KindLossless: "BUFFER_PG", qos.KindWatchdog: "PFC_WD",
	}
	queueWord = lazyre.New(`(?:queue |q)(\d|-default)$`)
)

// where returns the place of a line. If line is 0, it returns the place where an attribute of a
// port is set: the line known to set it, otherwise a line about it, otherwise the interface.
func (r *soloRun) where(line int, port string, attr qos.Attr) string {
	if l := r.setter(port, attr); line == 0 && l != nil {
		if l.No == 0 {
			return r.c.File + " " + term.CleanLine(l.Where)
		}
		line = l.No
		if word := says[attr.Kind]; word != nil && !word.MatchString(l.Text) {
			line = cmp.Or(r.text.lineAbout(port, attr), line) // the line attaches a policy that sets it
		}
	}
	table := tables[attr.Kind]
	switch {
	case line > 0:
	case r.text.rows && (port == "" || table == ""):
		return r.c.File
	case r.text.rows:
		key := table + "|" + port
		if k := attr.Kind.Of(); k == qos.OfQueue || k == qos.OfGroup {
			key += "|" + strconv.Itoa(int(attr.Index))
		}
		return r.c.File + " " + term.CleanLine(key)
	default:
		line = r.text.lineOf(port, attr)
	}
	if line == 0 {
		return r.c.File
	}
	return r.c.File + ":" + strconv.Itoa(line)
}

// setter returns the line of the account that sets an attribute of a port; nil if none is
// known.
func (r *soloRun) setter(port string, attr qos.Attr) *render.Line {
	if attr == (qos.Attr{}) {
		return nil
	}
	var out *render.Line
	global := attr
	if attr.Kind == qos.KindMap {
		global.Kind = qos.KindGlobalMap
	}
	for i := len(r.c.Account) - 1; i >= 0; i-- {
		l := &r.c.Account[i]
		if l.Fate == render.Represented && (l.Ports == nil || slices.Contains(l.Ports, port)) &&
			slices.ContainsFunc(l.Attrs, func(a qos.Attr) bool { return a.Covers(attr) || a.Covers(global) }) {
			if word := says[attr.Kind]; word != nil && word.MatchString(l.Text) {
				return l
			}
			out = cmp.Or(out, l)
		}
	}
	return out
}

// lineOf returns the line about an attribute of a port, or the first line of its interface; 0 if
// there is neither.
func (t *configText) lineOf(port string, attr qos.Attr) int {
	return cmp.Or(t.lineAbout(port, attr), t.lineOfBlock("interface "+port))
}

// lineAbout returns the line about an attribute of a port; 0 if there is none.
func (t *configText) lineAbout(port string, attr qos.Attr) int {
	for _, l := range t.about(port, attr) {
		return l.no
	}
	return 0
}

// about returns the lines about an attribute of a port.
func (t *configText) about(port string, attr qos.Attr) (out []textLine) {
	word := says[attr.Kind]
	if word == nil {
		return nil
	}
	for _, l := range t.ofPort(port) {
		if !word.MatchString(l.text) {
			continue
		}
		if attr.Kind.Of() == qos.OfQueue && t.queueOf(l.parent) != strconv.Itoa(int(attr.Index)) {
			continue
		}
		out = append(out, l)
	}
	return out
}

// queueOf returns the queue of a block, by its header; "" if it has none.
func (t *configText) queueOf(header string) string {
	if m := queueWord.FindStringSubmatch(header); m != nil {
		return strings.Replace(m[1], "-default", "0", 1)
	}
	return t.queues[header]
}

// classifies matches lines that may change which class a packet is in.
var classifies = lazyre.New(`^(match |qos map |set (qos-group|traffic-class|cos|dscp) |\d* ?class )`)

// doubt returns a line that is not understood and may set an attribute of a port; nil if there is none.
func (t *configText) doubt(port string, attr qos.Attr) *textLine {
	lines, word := t.about(port, attr), (*lazyre.Regexp)(nil)
	if attr.Kind.Of() == qos.OfMaps {
		lines, word = nil, classifies
		for _, header := range t.order {
			lines = append(lines, t.blocks[header]...)
		}
	}
	for i, l := range lines {
		if l.unknown && (word == nil || word.MatchString(l.text)) {
			return &lines[i]
		}
	}
	return nil
}

var (
	watchdogLine = lazyre.New(`(?i)watch-?dog|pfc_?wd`)
	halfOf       = lazyre.New(`does nothing|guards none|is off|no row`)
	policyHeader = lazyre.New(`^(?:policy-map(?: type (qos|quality-of-service|queuing|network-qos))?|(qos profile)) ([^\s]+)$`)
	bufferHeader = lazyre.New(`^platform \w+ mmu queue profile (\S+)$`)
	pauses       = lazyre.New(`^pause\b`)
	forRoCE      = lazyre.New(`^(pause\b|random-detect|priority-flow-control)`)
	marking      = lazyre.New(`^qos map traffic-class (\d) to dscp (\d{1,2})$`)
)

// lines finds faults that only the lines show: policies attached nowhere, pauses that depend on
// neighbors, and marking mistaken for classification.
func (r *soloRun) lines() {
	if r.text.rows {
		return
	}
	for _, header := range r.text.order {
		if m := bufferHeader.FindStringSubmatch(header); m != nil && !slices.Contains(r.text.order, header+" apply") {
			r.foundAt("CFG-01", checks.Warning, "", r.text.lineOfBlock(header), "profile %s of the packet memory is applied nowhere, so none of its lines is in force", term.CleanLine(m[1]))
			continue
		}
		m := policyHeader.FindStringSubmatch(header)
		if m == nil || r.text.used[m[3]] > 0 {
			continue
		}
		block := r.text.blocks[header]
		if slices.ContainsFunc(block, func(l textLine) bool { return forRoCE.MatchString(l.text) }) {
			r.foundAt("CFG-01", checks.Warning, "", r.text.lineOfBlock(header), "%s is attached nowhere, so none of its lines is in force", term.CleanLine(header))
		}
	}
	for _, l := range r.text.blocks["system qos"] {
		if m := attaches.FindStringSubmatch(l.text); m != nil {
			r.negotiated(l, m[1])
		}
	}
	if g := r.c.Running.GlobalMaps; g.Set && g.V != nil {
		r.marks(g.V)
	}
}

// marks finds lines that mark packets of a class with a DSCP of another class.
func (r *soloRun) marks(m *qos.Maps) {
	for _, header := range r.text.order {
		w := marking.FindStringSubmatch(header)
		if w == nil {
			continue
		}
		tc, _ := strconv.Atoi(w[1])
		d, _ := strconv.Atoi(w[2])
		if d < qos.NumDSCP && class.TCOf(m, d) != tc {
			r.foundAt("CLS-17", checks.Warning, "", r.text.blocks[header][0].no, "%s marks what leaves and classifies nothing: DSCP %d is in traffic class %d", term.CleanLine(header), d, class.TCOf(m, d))
		}
	}
}

// negotiated finds a system policy that pauses a class while no port configures PFC.
func (r *soloRun) negotiated(at textLine, policy string) {
	stated := func(h string) bool {
		return slices.ContainsFunc(r.text.blocks[h], func(l textLine) bool { return strings.HasPrefix(l.text, "priority-flow-control ") })
	}
	pausing := slices.ContainsFunc(r.text.blocks["policy-map type network-qos "+policy], func(l textLine) bool { return pauses.MatchString(l.text) })
	if pausing && !slices.ContainsFunc(r.text.order, stated) {
		r.foundAt("PFC-15", checks.Warning, "", at.no, "policy %s pauses a class, and no port states PFC: it depends on what each neighbor negotiates", term.CleanLine(policy))
	}
}

// compareConfigs compares configurations with each other. They do not say which ports are linked,
// so values are compared across all ports with PFC.
func compareConfigs(cs []Config) []checks.Finding {
	var out []checks.Finding
	side := func(names []string) string {
		return fmt.Sprintf("%d of %d switches (%s)", len(names), len(cs), natural.Fold(names))
	}
	compare := func(id string, s checks.Severity, what string, attr qos.Attr, value func(*qos.Device, *qos.Port) string) {
		var values ordered.Groups[string, string]
		at := map[string]string{}
		for i := range cs {
			for _, name := range natural.Keys(cs[i].Running.Ports) {
				q := cs[i].Running.Ports[name]
				if q.PFC.Or(0) == 0 {
					continue
				}
				if v := value(cs[i].Running, q); v != "" && at[cs[i].Name+v] == "" {
					values.Add(v, cs[i].Name)
					at[cs[i].Name+v] = (&soloRun{c: &cs[i], text: readText(&cs[i])}).where(0, name, attr)
				}
			}
		}
		usual, most := "", 0
		shared := false
		for v, names := range values.All() {
			if len(names) > most {
				usual, most = v, len(names)
			}
			shared = shared || len(names) == len(cs)
		}
		if shared {
			return // some port of every switch has the same value
		}
		for v, names := range values.All() {
			for _, name := range names {
				said := slices.ContainsFunc(out, func(f checks.Finding) bool { return f.Device == name })
				if v != usual && at[name+usual] == "" && !said {
					k := Lookup(id)
					k.MayFind(s)
					out = append(out, checks.Finding{ID: id, Severity: s, Device: name, Fix: k.FixAlone(), Where: at[name+v],
						What: fmt.Sprintf(what, v, side(*values.At(v)), usual, side(*values.At(usual)))})
				}
			}
		}
	}
	compare("PFC-01", checks.Warning, "PFC is on for %s on %s, and for %s on %s", qos.KindPFC.Attr(), func(_ *qos.Device, q *qos.Port) string { return q.PFC.V.Words() })
	compare("CLS-01", checks.Warning, "the lossless DSCPs are %s on %s, and %s on %s", class.DSCPField, func(d *qos.Device, q *qos.Port) string {
		m := q.Maps.Or(d.GlobalMaps.V)
		if m == nil || q.Trust.V == qos.TrustPCP {
			return ""
		}
		var ds []int
		for i, tc := range m.DSCPToTC {
			if tc >= 0 && q.PFC.V.Has(int(tc)) {
				ds = append(ds, i)
			}
		}
		return qos.FoldInts(ds)
	})
	return out
}
