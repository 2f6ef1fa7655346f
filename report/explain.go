package report

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/render"
)

// Explain writes the arithmetic of one port.
func (t *Text) Explain(e render.Explanation) {
	t.printf("%s", t.S.Bold(e.Device+" "+e.Port))
	if e.Peer != "" {
		t.printf(" to %s", e.Peer)
	}
	t.printf("\n")
	for _, v := range e.Values {
		t.printf("  %-9s %s  %s\n", v.Name, v.Value, t.S.Dim(v.From))
		if v.How != "" {
			t.printf("            %s\n", v.How)
		}
	}
	t.printf("\n%s\n", t.S.Bold("DSCP -> class -> queue -> priority group"))
	for _, c := range e.Classes {
		t.class(c)
	}
	if len(e.Headroom) > 0 {
		t.printf("\n%s\n", t.S.Bold("headroom of each lossless priority group"))
	}
	for _, h := range e.Headroom {
		t.headroom(h)
	}
}

func (t *Text) class(c render.ClassPath) {
	t.printf("  DSCP %s -> %s, priority %d -> queue %d -> priority group %d  %s\n", c.DSCP, t.S.Bold(c.Name), c.Priority, c.Queue, c.Group, t.S.Dim(c.DSCPFrom))
	t.printf("      PFC %s  %s\n", c.PFC, t.S.Dim(c.PFCFrom))
	t.printf("      scheduler %s  %s\n", c.Share, t.S.Dim(c.ShareFrom))
	switch {
	case c.ECN != nil:
		t.printf("      ECN from %d B (%s us) to %d B (%s us), %d%% there  %s\n", c.ECN.Min, micros(c.ECN.MinDrainUS), c.ECN.Max, micros(c.ECN.MaxDrainUS), c.ECN.Probability, t.S.Dim(c.ECNFrom))
		if c.ECN.How != "" {
			t.printf("          %s\n", c.ECN.How)
		}
	case c.ECNMissing != "":
		t.printf("      ECN off: %s\n", c.ECNMissing)
	default:
		t.printf("      ECN off  %s\n", t.S.Dim(c.ECNFrom))
	}
}

func micros(f float64) string { return fmt.Sprintf("%.3g", f) }

func (t *Text) headroom(h render.HeadroomPath) {
	if r := h.Row; r != nil {
		t.printf("  %s: size %d B, xon %d B, %s, dynamic_th %d\n", h.Title, r.Size, r.XON, t.S.Bold(fmt.Sprintf("xoff %d B", r.XOFF)), r.Threshold)
		t.printf("      row %s %s  %s\n", r.Speed, r.Cable, t.S.Dim(r.Source))
	}
	if r := h.Result; r != nil {
		t.printf("  %s: model %s\n", h.Title, t.S.Bold(r.Model))
		for _, term := range r.Terms {
			t.printf("      %11.1f B  %-20s %s", term.Bytes, term.Name, term.Formula)
			if term.Source != "" {
				t.printf("  %s", t.S.Dim(term.Source))
			}
			t.printf("\n")
		}
		t.printf("    = %11d B  %s", r.XOFF, t.S.Bold("xoff"))
		if r.Size > 0 {
			t.printf(", xon %d B, size %d B", r.XON, r.Size)
		}
		t.printf("; nothing below %d B can be lossless\n", r.Floor)
		for _, n := range r.Notes {
			t.printf("      %s\n", n)
		}
	}
	if h.Note != "" {
		t.printf("      %s\n", h.Note)
	}
}
