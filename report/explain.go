package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

// explainWidth is the line width of an explanation, which people also paste into tickets and
// mails.
const explainWidth = 80

// Explain writes the headroom and ECN arithmetic of one port.
func (t *Text) Explain(e render.Explanation) { t.explain(e, nil) }

// explain writes e, numbering its sources after those already numbered, and returns all sources.
func (t *Text) explain(e render.Explanation, sources []string) []string {
	x := explainer{Text: t, sources: sources}
	t.printf("%s", t.S.Bold(e.Device+" "+e.Port))
	if e.Peer != "" {
		t.printf(" to %s", e.Peer)
	}
	t.printf("\n")
	for _, v := range e.Values {
		x.writeWithOrigin(fmt.Sprintf("  %-9s %s", v.Name, v.Value), v.From)
		if v.How != "" {
			x.paragraph("            ", 0, v.How)
		}
	}
	t.printf("\n%s\n", t.S.Bold("DSCP -> class -> queue -> priority group"))
	for _, c := range e.Classes {
		x.class(c)
	}
	if len(e.Headroom) > 0 {
		t.printf("\n%s\n", t.S.Bold("headroom of each lossless priority group"))
	}
	for _, h := range e.Headroom {
		x.headroom(h)
	}
	if u := e.Use; u != nil {
		x.use(u)
	}
	if p := e.Pools; p != nil {
		sum, marks := x.sum(p.Terms)
		x.paragraph("  ", 4, fmt.Sprintf("what the switch reserves for the ports of the intent%s: %s = %d B; that leaves %d B for each ingress pool", marks, sum, p.Occupied, p.Size))
	}
	for _, b := range e.Buffers {
		t.printf("\n%s\n", t.S.Bold("shared buffer of "+b.Class))
		x.buffer(b)
	}
	if p := e.Pause; p != nil {
		t.printf("\n%s\n", t.S.Bold("pause"))
		x.paragraph("  ", 2, fmt.Sprintf("one frame stops a priority for at most %.1f us; %.0f frames a second hold it", p.LongestUS, p.FramesToHold))
	}
	if len(x.sources) > 0 {
		t.printf("\n%s\n", t.S.Bold("sources"))
	}
	for i, s := range x.sources {
		x.paragraph(fmt.Sprintf("  [%d] ", i+1), 0, s)
	}
	return x.sources
}

// explainer writes one explanation and collects its sources.
type explainer struct {
	*Text
	sources []string
}

// cite returns the reference number of a source, such as " [2]"; "" if source is "".
func (x *explainer) cite(source string) string {
	if source == "" {
		return ""
	}
	i := slices.Index(x.sources, source)
	if i < 0 {
		x.sources = append(x.sources, source)
		i = len(x.sources) - 1
	}
	return fmt.Sprintf(" [%d]", i+1)
}

// writeWithOrigin writes text and the place it comes from, on one line if both fit.
func (x *explainer) writeWithOrigin(text, from string) {
	if utf8.RuneCountInString(text)+2+utf8.RuneCountInString(from) <= explainWidth {
		x.printf("%s  %s\n", text, x.S.Dim(from))
		return
	}
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	if utf8.RuneCountInString(text) <= explainWidth {
		x.printf("%s\n", text)
	} else {
		x.paragraph(indent, 4, strings.TrimLeft(text, " "))
	}
	x.printf("%s    %s\n", indent, x.S.Dim(from))
}

// paragraph writes text after head, wrapped between words. Continuation lines are indented to
// the end of head plus more columns.
func (x *explainer) paragraph(head string, more int, text string) {
	line, empty := head, true
	indent := strings.Repeat(" ", utf8.RuneCountInString(head)+more)
	for _, w := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > explainWidth {
			x.printf("%s\n", line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+w, false
	}
	x.printf("%s\n", line)
}

func (x *explainer) class(c render.ClassPath) {
	x.writeWithOrigin(fmt.Sprintf("  DSCP %s -> %s, priority %d -> queue %d -> priority group %d", c.DSCP, c.Name, c.Priority, c.Queue, c.Group), c.DSCPFrom)
	if c.HostDSCP != nil {
		x.writeWithOrigin(fmt.Sprintf("      hosts mark it with DSCP %d", *c.HostDSCP), c.HostDSCPFrom)
	}
	x.writeWithOrigin("      PFC "+c.PFC, c.PFCFrom)
	x.writeWithOrigin("      scheduler "+c.Share, c.ShareFrom)
	switch {
	case c.ECN != nil:
		x.writeWithOrigin(fmt.Sprintf("      ECN from %d B (%s us) to %d B (%s us), %d%% there", c.ECN.Min, micros(c.ECN.MinDrainUS), c.ECN.Max, micros(c.ECN.MaxDrainUS), c.ECN.Probability), c.ECNFrom)
		x.steps(c.ECN)
	case c.ECNNative != "":
		x.writeWithOrigin("      ECN "+c.ECNNative+", in units of the switch, which no check converts", c.ECNFrom)
	case c.ECNKept:
		x.writeWithOrigin("      ECN as the switch has it, not compared", c.ECNFrom)
	case c.ECNMissing != "":
		x.paragraph("      ", 4, "ECN off: "+c.ECNMissing)
	default:
		x.writeWithOrigin("      ECN off", c.ECNFrom)
	}
}

func (x *explainer) steps(e *render.ECNPath) {
	if !e.Usual {
		x.paragraph("          ", 0, fmt.Sprintf("published settings drain in %s to %s at min and in at most %s at max", headroom.MinDrainLow, headroom.MinDrainHigh, headroom.MaxDrainHigh))
	}
	if e.Auto == nil {
		return
	}
	for i, s := range e.Auto.Steps {
		x.paragraph(fmt.Sprintf("        %d. ", i+1), 0, s.Why)
	}
	if e.Auto.Order != "" {
		x.paragraph("        => ", 0, string(e.Auto.Order))
	}
	var marks string
	for _, s := range e.Auto.Sources {
		marks += x.cite(s)
	}
	x.paragraph("        ", 0, "after"+marks)
}

func micros(f float64) string { return fmt.Sprintf("%.3g", f) }

func (x *explainer) headroom(h render.HeadroomPath) {
	if r := h.Row; r != nil {
		x.paragraph("  ", 4, fmt.Sprintf("%s: size %d B, xon %d B, xoff %d B, dynamic_th %d", h.Title, r.Size, r.XON, r.XOFF, r.Threshold))
		x.printf("      row %s %s%s\n", r.Speed, r.Cable, x.cite(r.Source))
	} else {
		title := h.Title
		if h.Result != nil {
			title += ": model " + h.Result.Model
		}
		x.printf("  %s\n", title)
	}
	if r := h.Result; r != nil {
		x.terms(r.Terms)
		sum := "xoff"
		if r.Size > 0 {
			sum += fmt.Sprintf(", xon %d B, size %d B", r.XON, r.Size)
		}
		x.paragraph(fmt.Sprintf("    = %11d B  ", r.XOFF), 0, fmt.Sprintf("%s; nothing below %d B can be lossless", sum, r.Floor))
		for _, n := range r.Notes {
			x.paragraph("      ", 0, n)
		}
	}
	if m := h.Margin; m != nil {
		text := "the switch has " + relativeTo(*m)
		if n := h.UsableMargin; n != nil && *n != *m {
			text += "; what a group can fill of it is " + relativeTo(*n)
		}
		x.paragraph("      ", 0, text)
	}
	if h.Note != "" {
		x.paragraph("      ", 0, h.Note)
	}
	if a := h.Admission; a != nil {
		x.admission(a)
	}
	if u := h.Usable; u != nil {
		text := fmt.Sprintf("a group can fill %d B of it: ", u.Most)
		if u.Least != u.Most {
			text = fmt.Sprintf("a group can fill %d to %d B of it: ", u.Least, u.Most)
		}
		x.paragraph("      ", 2, text+u.Why+x.cite(u.Source))
	}
}

// relativeTo formats a difference: "8 B less than this".
func relativeTo(n int64) string {
	if n < 0 {
		return fmt.Sprintf("%d B less than this", -n)
	}
	return fmt.Sprintf("%d B more than this", n)
}

// admission writes the sum by which the switch itself decides whether to accept a port's
// buffers.
func (x *explainer) admission(a *headroom.Admission) {
	sum, marks := x.sum(a.Terms)
	x.paragraph("      ", 4, fmt.Sprintf("admission of the port%s: %s = %d B; the switch itself knows its limit", marks, sum, a.Total))
	if a.MaxShared > 0 {
		x.paragraph("      ", 4, fmt.Sprintf("of the shared headroom pool %d B; a port may take %d B", a.Shared, a.MaxShared))
	}
}

// sum formats the non-zero terms as a sum and returns the reference numbers of their sources.
func (x *explainer) sum(terms []headroom.Term) (text, marks string) {
	var parts []string
	for _, t := range terms {
		if t.Bytes == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %.0f (%s)", t.Name, t.Bytes, t.Formula))
		if m := x.cite(t.Source); !strings.Contains(marks, m) {
			marks += m
		}
	}
	return strings.Join(parts, " + "), marks
}

func (x *explainer) terms(l []headroom.Term) {
	for _, term := range l {
		x.paragraph(fmt.Sprintf("      %11.1f B  %-20s ", term.Bytes, term.Name), 0, term.Formula+x.cite(term.Source))
	}
}

func (x *explainer) use(u *render.UsePath) {
	text := fmt.Sprintf("the switch has %s with %d B of headroom in all, %.2f times its headroom pool of %d B", words.Count(u.Groups, "lossless group"), u.Sum, u.Ratio, u.Pool)
	if u.Slices > 1 {
		text = fmt.Sprintf("the switch has %s with %d B of headroom in all; the chip has %d slices, and the fullest has at least %d B, %.2f times its part of the headroom pool, %d B", words.Count(u.Groups, "lossless group"), u.Sum, u.Slices, u.Fullest, u.Ratio, u.Slice())
	}
	if u.Declared > 0 {
		x.writeWithOrigin(fmt.Sprintf("  %s; declared is %g", text, u.Declared), u.DeclaredFrom)
		return
	}
	x.paragraph("  ", 0, text+"; no ratio is declared")
}

// rests says what the pause thresholds of a chip rest on.
var rests = map[catalog.Basis]string{
	catalog.Measured: "thresholds of switches with this chip, which public QoS tests state",
	catalog.Vendors:  "the formula of the vendor's own QoS test",
	catalog.Derived:  "the chip's buffer templates; no threshold of this chip has been measured",
	catalog.OnSwitch: "a measurement that the intent states",
	catalog.Assumed:  "the assumption that the chip has one memory; if it is divided, groups pause earlier",
}

func (x *explainer) buffer(b render.BufferPath) {
	x.writeWithOrigin(fmt.Sprintf("  %-9s %d", "fan-in", b.FanIn), b.FanInFrom)
	x.writeWithOrigin(fmt.Sprintf("  %-9s %d", "fan-out", b.FanOut), b.FanOutFrom)
	if b.Pool == nil {
		x.paragraph("  ", 0, b.Missing+"; neither threshold nor cases can be worked out")
		return
	}
	x.paragraph("  pool      ", 0, fmt.Sprintf("B = %d B: %s", b.Pool.Bytes, b.Pool.How))
	x.paragraph("  alpha     ", 0, fmt.Sprintf("%s: %s", b.Pool.Alpha, b.Pool.AlphaHow))
	if b.Pool.PortAlpha != nil {
		x.paragraph("  beta      ", 0, fmt.Sprintf("%s: what all groups of a port may take of the free pool", b.Pool.PortAlpha))
	}
	if b.Pool.Min > 0 {
		x.paragraph("  min       ", 0, fmt.Sprintf("%d B: what a group holds before it takes from the pool", b.Pool.Min))
	}
	if how := rests[b.Pool.Basis]; b.Pool.Fixed == 0 {
		x.paragraph("  rests on  ", 0, how)
	}
	for _, l := range b.Levels {
		where := ""
		if l.Active > 1 && b.Pool.Slices > 1 {
			where = " in one slice"
		}
		x.paragraph("  threshold ", 0, fmt.Sprintf("%d B with A=%d active%s, T = %s; goes on below %d B", l.Pause, l.Active, where, b.Pool.Formula(), l.Resume))
	}
	if c := b.Pool.Computed; c > 0 {
		x.paragraph("  computed  ", 0, fmt.Sprintf("%d B with A=1 active: what the formula and the template say instead of the measurement", c))
	}
	if b.LossyDrop > 0 {
		x.paragraph("  lossy     ", 0, fmt.Sprintf("a lossy queue that is alone drops at %d B", b.LossyDrop))
	}
	for _, c := range b.Cases {
		info := ""
		if c.Information {
			info = " (not declared, for information)"
		}
		x.paragraph("  ", 4, fmt.Sprintf("case %s: m=%d, k=%d, A=%d%s", c.Name, c.Feeders, c.FanOut, c.Active, info))
		x.paragraph("      ", 0, fmt.Sprintf("marks before a pause up to %d B = %s", c.Queue, c.Formula))
		if c.Order != "" {
			x.paragraph("      ", 0, string(c.Order))
		}
	}
}
