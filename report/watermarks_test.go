package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// The text form folds equal groups, shows the fullest first and counts the rest.
func TestWatermarkTable(t *testing.T) {
	r := Report{Command: "validate", Fabric: "f"}
	mark := func(device, port string, used, kept uint64) gate.Watermark {
		return gate.Watermark{Device: device, Port: port, Class: "rdma", Group: 3, Headroom: 1000, Used: &used, Kept: &kept, Share: float64(kept) / 1000}
	}
	full := mark("leaf1", "Ethernet8", 100, 950)
	shared := uint64(7000)
	full.SharedKept, full.Pause, full.PauseHow = &shared, 8000, "measured"
	r.Watermarks = append(r.Watermarks, full)
	for i := range 10 {
		for j := range 4 {
			r.Watermarks = append(r.Watermarks, mark(fmt.Sprintf("leaf%d", j+1), fmt.Sprintf("Ethernet%d", 8*i), 0, uint64(400-20*i)))
		}
	}
	for _, port := range []string{"swp1", "swp2"} {
		r.Watermarks = append(r.Watermarks, gate.Watermark{Device: "leaf9", Port: port, Class: "rdma", Group: 3, Unread: "it shows none"})
	}
	var b bytes.Buffer
	if err := Write(&b, FormText, r, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"   95 %        100         950       1000  leaf1 Ethernet8, group 3\n",
		"and 7000 B of the shared buffer; a group that is alone pauses at 8000 B\n          (measured)\n",
		"   40 %          0         400       1000  leaf[1-4] Ethernet0, group 3\n",
		"and 12 more groups, each filled to at most 26 %",
		"not read on leaf9: it shows none\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	p := pageOf(r, nil)
	if len(p.Filled) != 11 || p.Filled[0][0] != "95 %" || !strings.Contains(p.Filled[0][4], "leaf1 Ethernet8") || len(p.Unfilled) != 1 {
		t.Errorf("the page has %v, %v", p.Filled, p.Unfilled)
	}
}
