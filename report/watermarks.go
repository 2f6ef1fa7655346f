package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// markRow is a row of the table of watermarks: groups whose values are equal.
type markRow struct {
	gate.Watermark        // of the first of them
	Place          string // devices, ports and group
	Groups         int
}

// markRows folds watermarks whose values are equal, in their order.
func markRows(all []gate.Watermark) []markRow {
	type values struct {
		class, pauseHow string
		group           int
		headroom, pause int64
		bytes           [4]string
	}
	var groups ordered.Groups[values, gate.Watermark]
	for _, w := range all {
		groups.Add(values{w.Class, w.PauseHow, w.Group, w.Headroom, w.Pause, [4]string{bytesText(w.Used), bytesText(w.Kept), bytesText(w.Shared), bytesText(w.SharedKept)}}, w)
	}
	var out []markRow
	for _, ws := range groups.All() {
		out = append(out, markRow{ws[0], placesOf(ws), len(ws)})
	}
	return out
}

// placesOf names devices, ports and group of watermarks: "leaf[1-4] Ethernet[0-8:8] group 3".
func placesOf(ws []gate.Watermark) string {
	ports := map[string][]string{}
	for _, w := range ws {
		ports[w.Device] = append(ports[w.Device], w.Port)
	}
	devices := map[string][]string{}
	for _, name := range natural.Keys(ports) {
		folded := natural.Fold(ports[name])
		devices[folded] = append(devices[folded], name)
	}
	var out []string
	for folded, names := range devices {
		out = append(out, natural.Fold(names)+" "+folded)
	}
	slices.SortFunc(out, natural.Compare)
	return term.CleanLine(fmt.Sprintf("%s, group %d", strings.Join(out, "; "), ws[0].Group))
}

// bytesText returns a number of bytes, "-" where it is not known.
func bytesText(n *uint64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatUint(*n, 10)
}

// share returns the share of the headroom that was used, "-" where it is not known.
func (r markRow) share() string {
	if r.Headroom == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*r.Share)
}

// given returns the headroom of the groups, "-" where it is not known.
func (r markRow) given() string {
	if r.Headroom == 0 {
		return "-"
	}
	return strconv.FormatInt(r.Headroom, 10)
}

// sharedText compares the fill of the shared buffer with the level at which the group pauses; ""
// if the group held nothing there, or no watermark of it is known.
func (r markRow) sharedText() string {
	most, ok := r.MostShared()
	if !ok || most == 0 {
		return ""
	}
	text := fmt.Sprintf("and %d B of the shared buffer", most)
	if r.Pause > 0 {
		text += fmt.Sprintf("; a group that is alone pauses at %d B (%s)", r.Pause, r.PauseHow)
	}
	return text
}

// watermarks writes how much headroom lossless groups used, the fullest first.
func (t *Text) watermarks(r Report) {
	read, unread := splitMarks(r.Watermarks)
	rows := markRows(read)
	if len(r.Watermarks) > 0 {
		t.printf("\n%s\n", t.S.Bold("headroom that lossless groups filled at most, in bytes:"))
	}
	const format = "  %5s %10s %11s %10s  "
	if len(rows) > 0 {
		t.printf(format+"groups\n", "share", "in window", "since clear", "of")
	}
	for i, row := range rows {
		if i == maxPlaces {
			left := 0
			for _, more := range rows[i:] {
				left += more.Groups
			}
			t.printf("  and %s, each filled to at most %s\n", words.Count(left, "more group"), rows[i].share())
			break
		}
		values := fmt.Sprintf(format, row.share(), bytesText(row.Used), bytesText(row.Kept), row.given())
		for n, line := range wrap(shortPlace(row.Place), textWidth-len(values), 0) {
			if n > 0 {
				values = strings.Repeat(" ", len(values))
			}
			t.printf("%s%s\n", values, line)
		}
		if text := row.sharedText(); text != "" {
			t.indented("        ", "", text, 2)
		}
	}
	for _, text := range unreadMarks(unread) {
		t.indented("  ", "", text, 2)
	}
}

// unreadMarks says on which switches no watermark was read, and why.
func unreadMarks(unread []gate.Watermark) (out []string) {
	var reasons ordered.Groups[string, string]
	for _, w := range unread {
		reasons.Add(w.Unread, w.Device)
	}
	for why, devices := range reasons.All() {
		slices.SortFunc(devices, natural.Compare)
		out = append(out, term.CleanLine("not read on "+natural.Fold(slices.Compact(devices))+": "+why))
	}
	return out
}

// splitMarks separates the watermarks that were read from those that were not.
func splitMarks(all []gate.Watermark) (read, unread []gate.Watermark) {
	for _, w := range all {
		if w.Unread == "" {
			read = append(read, w)
		} else {
			unread = append(unread, w)
		}
	}
	return read, unread
}

// pageFilled is a [markRow] for the page: share, bytes in the window, since they were cleared and
// given, and the groups.
type pageFilled [5]string

// filled adds the watermarks of headroom.
func (b *pageBuilder) filled(all []gate.Watermark) {
	read, unread := splitMarks(all)
	for i, row := range markRows(read) {
		if i == maxCauses {
			break
		}
		place := row.Place
		if text := row.sharedText(); text != "" {
			place += " (" + text + ")"
		}
		b.out.Filled = append(b.out.Filled, pageFilled{row.share(), bytesText(row.Used), bytesText(row.Kept), row.given(), clean(place)})
	}
	for _, text := range unreadMarks(unread) {
		b.out.Unfilled = append(b.out.Unfilled, clean(text))
	}
}
