package report

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/render"
)

func explained(t *testing.T, sw, port string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f.yaml")
	text := `apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: auto}
  default: {priority: 0, dscp: rest}
buffers: {fanOut: 12, overSubscription: 2, pauseResponse: 2us}
switches:
  leaf[1-2]: {os: sonic, model: DellEMC-Z9332f-O32}
  spine1: {os: sonic, model: ACS-MSN4700}
links:
  - {a: "leaf[1-2]/Ethernet0", b: "spine1/Ethernet[0,8]", cable: 40m, speed: 400G}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(file))
	f, err := intent.Load("f.yaml", intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := render.New(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Switch(sw)
	var b bytes.Buffer
	txt := Text{W: &b}
	txt.Explain(render.Explain(c.Device(s), s.Port(port)))
	if txt.Err() != nil {
		t.Fatal(txt.Err())
	}
	return b.String()
}

// An explanation fits into 80 columns, except for paths that cannot be wrapped, and each of its
// reference numbers has a source.
func TestExplainText(t *testing.T) {
	for _, at := range []struct{ sw, port string }{{"leaf1", "Ethernet0"}, {"spine1", "Ethernet0"}} {
		out := explained(t, at.sw, at.port)
		for line := range strings.Lines(out) {
			line = strings.TrimRight(line, "\n")
			words := strings.Fields(line)
			if utf8.RuneCountInString(line) > 80 && len(words) > 2 {
				t.Errorf("%s: %d columns: %s", at.sw, utf8.RuneCountInString(line), line)
			}
			if strings.HasSuffix(line, " ") {
				t.Errorf("%s: a space at the end of %q", at.sw, line)
			}
		}
		body, list, ok := strings.Cut(out, "\nsources\n")
		if !ok {
			t.Fatalf("%s: no sources:\n%s", at.sw, out)
		}
		cited := map[string]bool{}
		for _, m := range regexp.MustCompile(`\[\d+\]`).FindAllString(body, -1) {
			cited[m] = true
		}
		for n := range cited {
			if !strings.Contains(list, "  "+n+" ") {
				t.Errorf("%s: %s is not listed:\n%s", at.sw, n, list)
			}
		}
		if listed := regexp.MustCompile(`(?m)^  \[\d+\] `).FindAllString(list, -1); len(listed) != len(cited) {
			t.Errorf("%s: %d sources for %d marks", at.sw, len(listed), len(cited))
		}
	}
}

// The explanation contains each part of the arithmetic, with its numbers.
func TestExplainParts(t *testing.T) {
	out := strings.Join(strings.Fields(explained(t, "leaf1", "Ethernet0")), " ")
	for _, want := range []string{
		"100000.0 B peer response 100000 bytes, as stated",
		"pauseResponse 2us of the peer, f.yaml:7:59",
		"fan-in 1 topology: 1 other lossless port",
		"fan-out 12 f.yaml:7:19",
		"pool B = 19231102 B: ingress_lossless_pool size 66394076 of the t1 template less its xoff 27200352 and 731520 in reserve; Broadcom Tomahawk3 divides it into 2 slices",
		"alpha 1/4: dynamic_th -2",
		"min 2540 B: what a group holds before it takes from the pool",
		"threshold 3848760 B with A=1 active, T = min + alpha*B/(1 + alpha*A); goes on below 3846220 B",
		"a lossy queue that is alone drops at 12822512 B",
		// 19231102 / 12 / (4 + 12)
		"case one to many: m=1, k=12, A=12 marks before a pause up to 100161 B = 1/12 * alpha*B/(1 + alpha*A)",
		"case DCQCN worst case: m=1, k=32, A=1 (not declared, for information)",
		"1. a queue of 6 us and 60 us at 400G is 300000 and 3000000 bytes 2. max is lowered to 100161",
		"=> the first pause precedes the first mark",
		"1 lossless group with 201930 B of headroom in all; the chip has 2 slices, and the fullest has at least 201930 B, 0.01 times its part of the headroom pool, 13600176 B; declared is 2",
		"one frame stops a priority for at most 83.9 us; 11921 frames a second hold it",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out = strings.Join(strings.Fields(explained(t, "spine1", "Ethernet0")), " ")
	for _, want := range []string{
		"deviation 4096 (4 KiB) + pipeline 37888 (37 KiB) + egress mirror 40960 (40 KiB) + lossless groups 38912 (1 * 38912) + lossy groups 37888 (1 * 37888) = 159744 B; the switch itself knows its limit of the shared headroom pool 110592 B; a port may take 1185408 B",
		"+ shared headroom pool 100352 ((221184 - 20480) / 2, 655360 where that is 0)",
		"= 110592 B xoff, xon 38912 B, size 38912 B; nothing below 28587 B can be lossless",
		"the switch has 40124 B less than this",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
