package report

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/browsertest"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
	"github.com/roce-fabric/roce-fabric/validate/gate/origin"
)

type browser struct{ *browsertest.Browser }

// show opens the page of a report in the browser, from a file.
func (b *browser) show(r Report, counters ...PortCounters) {
	b.T.Helper()
	file := filepath.Join(b.T.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(pageText(b.T, r, counters...)), 0o600); err != nil {
		b.T.Fatal(err)
	}
	b.Open(file)
}

// devicesInSight returns the names of the devices whose buttons are inside the drawing and not
// covered.
func (b *browser) devicesInSight() []string {
	b.T.Helper()
	var names []string
	b.Eval(&names, `return [...document.querySelectorAll("#world [data-device]")].filter(e => {
		const r = e.getBoundingClientRect();
		return e.contains(document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2));
	}).map(e => e.dataset.device)`)
	slices.Sort(names)
	return names
}

// faint returns the names of the dimmed devices.
func (b *browser) faint() []string {
	b.T.Helper()
	var names []string
	b.Eval(&names, `return [...document.querySelectorAll("#world .faint[data-device]")].map(e => e.dataset.device)`)
	slices.Sort(names)
	return names
}

// ids returns the check IDs of the listed causes, in order.
func (b *browser) ids() string {
	b.T.Helper()
	var ids []string
	b.Eval(&ids, `return [...document.querySelectorAll("#list b")].map(e => e.textContent)`)
	return strings.Join(ids, " ")
}

// The page responds to a user's actions when a browser opens it from a file.
func TestHTMLInBrowser(t *testing.T) {
	b := &browser{browsertest.Start(t)}
	for _, c := range []struct {
		name string
		run  func(*testing.T, *browser)
	}{
		{"the fabric is drawn", draws},
		{"filters", filters},
		{"findings open", opensFindings},
		{"links open", opensLinks},
		{"one odd spine of many", oddSpine},
		{"heat map", heatMap},
		{"pauses", pausesInBrowser},
		{"ECN and PFC by class", heatOfClass},
		{"time line", timeLine},
		{"hostile text", hostileInBrowser},
		{"contrast", contrast},
		{"axe-core", accessible},
		{"print", prints},
		{"1,000 switches", large},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole := b.T
			b.T = t
			defer func() { b.T = whole }()
			b.Media(nil)
			c.run(t, b)
		})
	}
}

// painted is a script that counts the pixels of a canvas in a colour of the style sheet.
const painted = `(() => {
	const shown = document.querySelector(arguments[0]), c = document.createElement("canvas"), e = document.createElement("i");
	e.style.color = getComputedStyle(document.documentElement).getPropertyValue(arguments[1]);
	document.body.append(e);
	const [r, g, b] = getComputedStyle(e).color.match(/\d+/g).map(Number);
	e.remove();
	c.width = shown.width;
	c.height = shown.height;
	const copy = c.getContext("2d", {willReadFrequently: true});
	copy.drawImage(shown, 0, 0);
	const d = copy.getImageData(0, 0, c.width, c.height).data;
	let n = 0;
	for (let i = 0; i < d.length; i += 4) if (d[i] === r && d[i + 1] === g && d[i + 2] === b && d[i + 3] === 255) n++;
	return n;
})()`

func draws(t *testing.T, b *browser) {
	b.show(reportOf(loadText(t, smallFabric), smallFindings()...))
	want := []string{"gpu1", "gpu2", "gpu3", "gpu4", "leaf1", "leaf2", "spine1", "spine2"}
	if got := b.devicesInSight(); !slices.Equal(got, want) {
		t.Errorf("in sight: %q", got)
	}
	var above bool
	b.Eval(&above, `const y = n => document.querySelector('[data-device="' + n + '"]').getBoundingClientRect().bottom;
		return y("spine1") < y("leaf1") && y("leaf1") < y("gpu1")`)
	if !above {
		t.Error("the tiers are not above one another")
	}
	b.Until("a link with an error is drawn", painted+" > 20", "#cables", "--error")
	b.Until("the port with an error is on the map", painted+" > 20", "#cells", "--error")
	if got := b.Text("header"); !strings.Contains(got, "pod1: 1 error, 2 warnings, 2 info, 1 accepted\n") || !strings.Contains(got, "validate failed") {
		t.Errorf("the header says %q", got)
	}
	if got := b.Text("#filters"); !strings.Contains(got, "1 error") || !strings.Contains(got, "2 warnings") || !strings.Contains(got, "2 info") || !strings.Contains(got, "1 accepted") {
		t.Errorf("the filters say %q", got)
	}
	if got := b.ids(); got != "PFC-01 ECN-01 READ SUPPRESS" {
		t.Errorf("causes: %s", got)
	}
	if got := b.Text("#heat-note"); !strings.Contains(got, "No counters were read") {
		t.Errorf("the map says %q", got)
	}
	var labels []string
	b.Eval(&labels, `return [...document.querySelectorAll("button, input, select")].filter(e =>
		!(e.getAttribute("aria-label") || e.textContent.trim() || e.labels && e.labels.length)).map(e => e.outerHTML)`)
	if len(labels) > 0 {
		t.Errorf("without a name: %q", labels)
	}
	b.Keep("report-small.png")
	b.Quiet()

	r := reportOf(loadText(t, smallFabric))
	r.Devices = slices.DeleteFunc(r.Devices, func(d Device) bool { return d.Name == "gpu4" })
	b.show(r)
	var marks []string
	b.Eval(&marks, `return ["gpu4", "leaf2"].map(n => document.querySelector('[data-device="' + n + '"] .badge').textContent)`)
	if !slices.Equal(marks, []string{"–", "✓"}) {
		t.Errorf("the marks of a host that nobody looked at and of a switch without findings are %q", marks)
	}
	b.Quiet()
}

func filters(t *testing.T, b *browser) {
	b.show(reportOf(loadText(t, smallFabric), smallFindings()...))
	list := func(want string) {
		t.Helper()
		b.Until("the list holds "+want, `[...document.querySelectorAll("#list b")].map(e => e.textContent).join(" ") === arguments[0]`, want)
	}

	b.Click("#show-error")
	list("ECN-01 READ SUPPRESS")
	b.Until("no error is drawn", painted+" === 0", "#cables", "--error")
	b.Until("no error is on the map", painted+" === 0", "#cells", "--error")
	b.Click("#show-error")
	b.Click("#show-suppressed")
	list("PFC-01 ECN-01 READ SUPPRESS WD-01")

	b.Eval(nil, `const c = document.getElementById("check"); c.value = "ECN-01"; c.dispatchEvent(new Event("input", {bubbles: true}))`)
	list("ECN-01")
	b.Click("#filters [type=reset]")
	list("PFC-01 ECN-01 READ SUPPRESS")

	b.Eval(nil, `const c = document.getElementById("role"); c.value = "spine"; c.dispatchEvent(new Event("input", {bubbles: true}))`)
	list("PFC-01 ECN-01") // PFC-01 by the other end of its link
	if got := b.faint(); slices.Contains(got, "spine1") || !slices.Contains(got, "leaf1") {
		t.Errorf("faint: %q", got)
	}
	b.Click("#filters [type=reset]")
	list("PFC-01 ECN-01 READ SUPPRESS")

	b.Press("/")
	b.Press("l", "e", "a", "f", "2", " ", "e", "t", "h", "e", "r", "n", "e", "t", "8")
	b.Until("only that port is left", `document.getElementById("list").innerText.trim().endsWith("\nleaf2 Ethernet8")`)
	list("ECN-01")
	b.Press(browsertest.KeyEscape)
	b.Until("Escape leaves the field", `document.activeElement.id !== "text"`)
	b.Eval(nil, `const c = document.getElementById("text"); c.value = "nothing is called so"; c.dispatchEvent(new Event("input", {bubbles: true}))`)
	list("")
	if got := b.Text("#shown"); got != "Nothing passes the filters." {
		t.Errorf("the list says %q", got)
	}
	b.Quiet()
}

func opensFindings(t *testing.T, b *browser) {
	b.show(reportOf(loadText(t, smallFabric), smallFindings()...))
	check := validate.Lookup("PFC-01")

	details := func(parts ...string) {
		t.Helper()
		got := b.Text("#details")
		for _, p := range parts {
			if !strings.Contains(got, p) {
				t.Errorf("the details lack %q: %q", p, got)
			}
		}
	}
	closed := func(focus string) {
		t.Helper()
		b.Press(browsertest.KeyEscape)
		b.Until("Escape closes the details", `document.getElementById("details").hidden`)
		b.Until("the focus is back", `document.activeElement.matches(arguments[0])`, focus)
	}

	b.Click(`[data-cause="0"]`)
	details("PFC is on for {3}, spine1 has {4}", check.Why, "apply the intent", "fabric.yaml:5:14", "leaf1", "Ethernet240")
	if got := b.faint(); !slices.Equal(got, []string{"gpu1", "gpu2", "gpu3", "gpu4", "leaf2", "spine2"}) {
		t.Errorf("faint: %q", got)
	}
	b.Keep("report-finding.png")
	closed(`[data-cause="0"]`)
	if got := b.faint(); len(got) > 0 {
		t.Errorf("faint: %q", got)
	}
	b.Press(browsertest.KeyTab, browsertest.KeyEnter)
	details("ECN is off", "leaf2", "Ethernet8", "spine2", "fabric.yaml:6:2, fabric.yaml:9:2")
	closed(`[data-cause="1"]`)

	b.Click(`[data-device="leaf2"]`)
	details("leaf2", "DellEMC-Z9332f-O32", "read from the device", "ECN is off", "4 links", "Ethernet240 to spine1 Ethernet2/1")
	closed(`[data-device="leaf2"]`)
	b.Press(browsertest.KeyUp)
	b.Until("up is a spine", `document.activeElement.dataset.device.startsWith("spine")`)
	b.Press(browsertest.KeyDown, browsertest.KeyRight, browsertest.KeyLeft)
	b.Until("down and left is leaf1", `document.activeElement.dataset.device === "leaf1"`)
	b.Press(browsertest.KeyTab)
	b.Until("the next is leaf2", `document.activeElement.dataset.device === "leaf2"`)
	b.Press(browsertest.KeyEnter)
	details("leaf2", "4 links")
	closed(`[data-device="leaf2"]`)

	// Open the link of the finding from its device, with the keyboard.
	b.Click(`[data-device="leaf1"]`)
	b.Eval(nil, `[...document.querySelectorAll("#details .go")].find(e => e.textContent.includes("Ethernet240 to spine1")).focus()`)
	b.Press(browsertest.KeyEnter)
	details("leaf1 Ethernet240 to spine1 Ethernet1/1", "400G", "40m", "PFC is on for {3}")
	closed(`[data-device="leaf1"]`)
	b.Quiet()
}

func opensLinks(t *testing.T, b *browser) {
	b.show(reportOf(loadText(t, smallFabric), smallFindings()...))
	// A point a quarter of the way from spine1 to leaf1, which are joined by two parallel lines.
	var at []int
	b.Eval(&at, `const of = n => document.querySelector('[data-device="' + n + '"]').getBoundingClientRect();
		const p = of("spine1"), q = of("leaf1"), t = 0.25;
		return [p.left + p.width / 3 + t * (q.left + q.width / 3 - p.left - p.width / 3), p.bottom + t * (q.top - p.bottom)].map(Math.round)`)
	b.ClickAt(at[0], at[1])
	b.Until("the links open", `!document.getElementById("details").hidden`)
	if got := b.Text("#details"); !strings.Contains(got, "2 links between") || !strings.Contains(got, "leaf1 Ethernet224 to spine1 Ethernet3/1") || !strings.Contains(got, "leaf1 Ethernet240 to spine1 Ethernet1/1") {
		t.Errorf("the details say %q", got)
	}
	b.Quiet()
}

// closFabric has 16 spines and four pods of 8 leaves, with 512 links between them.
const closFabric = fabricHead + `switches:
  leaf[1-32]:  {os: sonic, role: leaf}
  spine[1-16]: {os: sonic, role: spine}
hosts:
  gpu[1-64]: {nics: {"eth[0-7]": {}}}
links:
  - {pattern: rail, a: "leaf[1-8]/Ethernet[0-120:8]", b: "gpu[1-16]/eth[0-7]", cable: 5m, speed: 400G}
  - {pattern: rail, a: "leaf[9-16]/Ethernet[0-120:8]", b: "gpu[17-32]/eth[0-7]", cable: 5m, speed: 400G}
  - {pattern: rail, a: "leaf[17-24]/Ethernet[0-120:8]", b: "gpu[33-48]/eth[0-7]", cable: 5m, speed: 400G}
  - {pattern: rail, a: "leaf[25-32]/Ethernet[0-120:8]", b: "gpu[49-64]/eth[0-7]", cable: 5m, speed: 400G}
  - {pattern: mesh, a: "leaf[1-32]/Ethernet[128-248:8]", b: "spine[1-16]/Ethernet[0-248:8]", cable: 40m, speed: 400G}
`

// oddSwitch returns a finding for a switch whose PFC setting differs from all its neighbours.
func oddSwitch(f *intent.Fabric, name string) checks.Finding {
	odd := checks.Finding{ID: "PFC-01", Severity: checks.Error, Device: name, What: "PFC is off, the other end has {3}", Fix: "apply the intent"}
	for _, l := range f.Links {
		for _, e := range [][2]intent.Endpoint{{l.A, l.B}, {l.B, l.A}} {
			if e[0].Device == name {
				odd.Ports, odd.Peers = append(odd.Ports, e[0].Port), append(odd.Peers, e[1].String())
			}
		}
	}
	return odd
}

// near is a script that returns the share of pixels in a colour in and around an element.
const near = `(() => {
	const shown = document.querySelector("#cables"), at = shown.getBoundingClientRect(), r = document.querySelector(arguments[0]).getBoundingClientRect();
	const e = document.createElement("i");
	e.style.color = getComputedStyle(document.documentElement).getPropertyValue(arguments[1]);
	document.body.append(e);
	const want = getComputedStyle(e).color.match(/\d+/g).map(Number), scale = shown.width / at.width, grow = arguments[2];
	e.remove();
	const copy = document.createElement("canvas");
	copy.width = shown.width;
	copy.height = shown.height;
	const c = copy.getContext("2d", {willReadFrequently: true});
	c.drawImage(shown, 0, 0);
	const d = c.getImageData((r.left - at.left - grow) * scale, (r.top - at.top - grow) * scale, (r.width + 2 * grow) * scale, (r.height + 2 * grow) * scale).data;
	let n = 0;
	for (let i = 0; i < d.length; i += 4) if (want.every((v, k) => d[i + k] === v)) n++;
	return n / (d.length / 4);
})()`

// The links between two groups are drawn as one line, and a fault is marked only at the faulty
// end: the links of a misconfigured spine are not red all the way. No line crosses a title.
func oddSpine(t *testing.T, b *browser) {
	f := loadText(t, closFabric)
	b.show(reportOf(f, oddSwitch(f, "spine16")))
	b.Until("the end at the spines is marked", painted+" > 200", "#cables", "--error")
	b.Until("and little else is", painted+" < 5000", "#cables", "--error")
	share := func(selector, colour string, grow int) (part float64) {
		t.Helper()
		b.Eval(&part, "return "+near, selector, colour, grow)
		return part
	}
	// Check a whole pod, and a margin of 24 pixels around it.
	for _, leaf := range []string{"leaf1", "leaf12", "leaf32"} {
		if part := share(`[data-device="`+leaf+`"]`, "--error", 24); part > 0 {
			t.Errorf("%s, which is as it should be, has red around it: %.4f", leaf, part)
		}
	}
	var titles []string
	b.Eval(&titles, `return [...document.querySelectorAll("#world .title")].map(e => e.dataset.group)`)
	if len(titles) < 5 {
		t.Errorf("titles: %q", titles)
	}
	for _, name := range titles {
		if part := share(`#world .title[data-group="`+name+`"]`, "--panel", -3); part < 1 {
			t.Errorf("the title of %s has lines behind it: only %.3f is clear", name, part)
		}
	}
	if part := share(`[data-device="leaf7"]`, "--panel", 3); part < 0.99 {
		t.Errorf("a line leads to leaf7 alone: %.3f of what is around it is clear", part)
	}
	b.Keep("report-odd-spine.png")

	// The links of a finding are drawn individually while its details are open.
	b.Click(`[data-cause="0"]`)
	b.Until("the other spines are dim", `document.querySelectorAll("#world .faint[data-device]").length === 15`)
	b.Until("a line leads to leaf7, in the frame of its group", near+" < 0.99", `[data-device="leaf7"]`, "--panel", 3)
	b.Keep("report-odd-spine-open.png")
	b.Quiet()
}

func heatMap(t *testing.T, b *browser) {
	b.show(reportOf(loadText(t, smallFabric), smallFindings()...),
		PortCounters{"leaf1", "Ethernet0", map[string]uint64{"pfc rx 3": 41, "drops": 1<<63 + 1}},
		PortCounters{"leaf2", "Ethernet8", map[string]uint64{"pfc rx 3": 0}})
	b.Eval(nil, `const c = document.getElementById("counter"); c.value = "1"; c.dispatchEvent(new Event("change", {bubbles: true}))`)
	b.Until("the most is said", `document.getElementById("heat-note").textContent.includes("pfc rx 3") && document.getElementById("heat-note").textContent.includes("41, on leaf1")`)
	b.Eval(nil, `const c = document.getElementById("order"); c.value = "worst"; c.dispatchEvent(new Event("change", {bubbles: true})); document.getElementById("map").focus()`)
	b.Until("the first cell is the highest", `document.getElementById("cell").textContent === "leaf1 Ethernet0 (400G) to gpu1 eth0, pfc rx 3: 41, no finding"`)
	b.Press(browsertest.KeyRight)
	b.Until("the next one is not shown", `document.getElementById("cell").textContent.includes("leaf1 Ethernet8 (400G) to gpu2 eth0, pfc rx 3: not shown")`)
	b.Press(browsertest.KeyLeft, browsertest.KeyEnter)
	if got := b.Text("#details"); !strings.Contains(got, "leaf1 Ethernet0 to gpu1 eth0") || !strings.Contains(got, "9,223,372,036,854,775,809") && !strings.Contains(got, "9223372036854775809") {
		t.Errorf("the details say %q", got)
	}
	b.Quiet()
}

// A class has one square per port in the heat map: ECN marks on the left, pauses on the right.
func heatOfClass(t *testing.T, b *browser) {
	counters := []PortCounters{
		{"leaf1", "Ethernet0", map[string]uint64{"pfc-rx[3]": 41, "pfc-tx[3]": 2, "pause-rx-us[3]": 1500, "queue-marked[3]": 70000, "queue-marked[0]": 9}},
		{"leaf2", "Ethernet8", map[string]uint64{"pfc-rx[3]": 0, "queue-marked[3]": 0}},
		{"gpu1", "eth0", map[string]uint64{"pfc-tx[3]": 41, "marked-received": 65000}},
	}
	b.show(reportOf(loadText(t, smallFabric)), counters...)
	b.Until("the class is shown first", `document.getElementById("counter").value === "class 0" && document.querySelectorAll("#counter optgroup").length === 2`)
	for _, want := range []string{"Class rdma", "most marks: 70,000 (leaf1)", "most pauses: 43 (leaf1)"} {
		if got := b.Text("#heat-note"); !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	b.Until("marks are drawn", painted+" > 20", "#cells", "--accent")
	b.Until("pauses are drawn", painted+" > 20", "#cells", "--pause")
	b.Eval(nil, `const c = document.getElementById("order"); c.value = "worst"; c.dispatchEvent(new Event("change", {bubbles: true})); document.getElementById("map").focus()`)
	b.Until("the first cell is the highest", `document.getElementById("cell").textContent ===
		"leaf1 Ethernet0 (400G) to gpu1 eth0, rdma: 70,000 packets with an ECN mark, 41 PFC frames received, 2 PFC frames sent, stopped for 1.5 ms, no finding"`)
	b.Press(browsertest.KeyDown)
	b.Until("a NIC counts the marks that came", `document.getElementById("cell").textContent.startsWith("gpu1 eth0") && document.getElementById("cell").textContent.includes("65,000 packets with an ECN mark, 41 PFC frames sent")`)
	b.Keep("report-heat-class.png")
	b.Quiet()
}

func timeLine(t *testing.T, b *browser) {
	r := reportOf(loadText(t, smallFabric), smallFindings()...)
	b.show(r)
	b.Until("no time line without a history", `document.getElementById("time").hidden`)
	r.History = watchedDay()
	b.show(r)
	if got := b.Text("#time"); !strings.Contains(got, "248 rounds in 24 hours, with errors for 100 minutes") || !strings.Contains(got, "2 changes, the newest first") {
		t.Errorf("the time line says %q", got)
	}
	var strip []string
	b.Eval(&strip, `return [...document.querySelectorAll("#strip .period")].map(e => e.classList[1] + e.textContent + Math.round(e.getBoundingClientRect().width / document.getElementById("strip").clientWidth * 100) + " " + e.title.split(": ")[1])`)
	if want := []string{"passed✓35 ok", "error✕7 errors, 2 errors, 1 warning", "passed✓28 ok", "passed✓10 ok", "unreadable0 unreadable, 1 device not read", "passed✓6 ok"}; !slices.Equal(strip, want) {
		t.Errorf("the strip is %q", strip)
	}
	b.Click("#changes summary")
	if got := b.Text("#changes-list"); !strings.Contains(got, "PFC-01 is gone: PFC is on for {3}, spine1 has {4} (leaf1 Ethernet240)\n") || !strings.Contains(got, "PFC-01 appeared: ") {
		t.Errorf("the changes are %q", got)
	}
	b.Keep("report-timeline.png")
	b.Quiet()
}

// stoppedBy adds a window in which gpu1 pauses its leaf, and the leaf pauses its spine on one of
// two links; a port of leaf2 may be congested.
func stoppedBy(r Report) Report {
	r.Pauses = []gate.Source{
		{Class: "rdma", Priority: 3, Kind: origin.SlowReceiver, Device: "gpu1", Port: "eth0", Certain: true, Paused: []string{"leaf1/Ethernet0", "spine1/Ethernet1/1"},
			What: "pauses of class rdma on 2 links lead to gpu1/eth0, which paused leaf1 38 % of the time and received 12 Gb/s"},
		{Class: "rdma", Priority: 3, Kind: origin.Congestion, Device: "leaf2", Port: "Ethernet8", Paused: []string{"gpu3/eth0"},
			What: "pauses of class rdma on 1 link lead to leaf2/Ethernet8; not certain: leaf2 counts no marks"},
	}
	return r
}

func pausesInBrowser(t *testing.T, b *browser) {
	b.show(reportOf(loadText(t, smallFabric)))
	b.Until("nothing of pauses without a source", `document.getElementById("pauses").hidden && document.getElementById("pauses-legend").hidden && document.querySelectorAll(".source").length === 0`)
	b.Until("no link is marked", painted+" === 0", "#cables", "--pause")

	r := stoppedBy(reportOf(loadText(t, smallFabric), smallFindings()...))
	b.show(r, PortCounters{"leaf1", "Ethernet0", map[string]uint64{"pfc-rx[3]": 1234}})
	var marks []string
	b.Eval(&marks, `return [...document.querySelectorAll("#world .source")].map(e => e.dataset.device + " " + e.querySelector(".ring").textContent + " " + e.classList.contains("unsure") + " " + e.querySelector(".said").textContent.split(", ").pop()).sort()`)
	if !slices.Equal(marks, []string{"gpu1 ◎ false source of pauses: gpu1", "leaf2 ◎? true may be the source of pauses: leaf2"}) {
		t.Errorf("marked: %q", marks)
	}
	b.Until("the tree is drawn", painted+" > 200", "#cables", "--pause")
	for _, want := range []string{"gpu1/eth0, which paused leaf1 38 %", "not certain: leaf2 counts no marks", "Who pauses whom"} {
		if got := b.Text("#fabric"); !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	var tree string
	b.Eval(&tree, `const walk = ul => [...ul.children].map(li => [...li.childNodes].filter(n => n.nodeName !== "UL").map(n => n.textContent).join("") + "(" + [...li.querySelectorAll(":scope > ul")].map(walk).join() + ")").join(";");
		return [...document.querySelectorAll("#pauses-list > li > .tree")].map(walk).join(" | ")`)
	if tree != "leaf1 Ethernet0, 1,234 PFC frames, and stops(spine1 Ethernet1/1())"+" | gpu3 eth0()" {
		t.Errorf("who pauses whom: %q", tree)
	}
	b.Keep("report-pauses.png")
	b.Click("#pauses-list li:first-child button")
	if got := b.faint(); !slices.Equal(got, []string{"gpu2", "gpu3", "gpu4", "leaf2", "spine2"}) {
		t.Errorf("faint: %q", got)
	}
	if got := b.Text("#details"); !strings.Contains(got, "slow receiver") || !strings.Contains(got, "2 ports are stopped") || !strings.Contains(got, "Ethernet1/1") || !strings.Contains(got, "look at the host") {
		t.Errorf("the details say %q", got)
	}
	b.Keep("report-pauses-one.png")
	b.Press(browsertest.KeyEscape)

	// The printed page has the pauses as well; the mark of a device in a closed group is on the
	// group.
	b.Media(map[string]any{"media": "print"})
	if got := b.Text("#pauses-legend") + b.Text("#pauses"); !strings.Contains(got, "◎") || !strings.Contains(got, "double line") || !strings.Contains(got, "12 Gb/s") {
		t.Errorf("printed: %q", got)
	}
	b.Until("the tree is printed", painted+" > 200", "#cables", "--pause")
	b.Keep("report-pauses-print.png")
	b.Media(nil)
	b.Click("#close-all")
	b.Until("the group is marked", `document.querySelector('[data-group="gpu[1-4]"] .ring').textContent === "◎" && document.querySelector('[data-group="gpu[1-4]"]').title.endsWith("source of pauses: gpu1")`)
	b.Until("the tree is drawn between groups", painted+" > 200", "#cables", "--pause")
	b.Keep("report-pauses-closed.png")
	b.Quiet()
}

// Hostile text is displayed literally and has no effect.
func hostileInBrowser(t *testing.T, b *browser) {
	r, counters := hostileReport(t)
	b.show(r, counters...)
	b.Until("the list is there", `document.querySelectorAll("#list li").length === 1`)
	b.Click(`[data-cause="0"]`)
	b.Until("the text is text", `[...document.querySelectorAll("#details .what")].some(e => e.textContent === arguments[0])`, clean(hostileMarkup))
	var n int
	b.Eval(&n, `return (window.pwned || 0) + document.querySelectorAll("img, iframe, link, base, object, script:not([id]) ~ script").length`)
	if n != 0 {
		t.Errorf("%d things are there that should not be", n)
	}
	b.Quiet()

	// The page's security policy holds: no network, no code from a string, and no script or
	// style but its own.
	for what, attempt := range map[string]string{
		"connect-src":     `fetch("http://192.0.2.1/").catch(() => {})`,
		"img-src":         `new Image().src = "http://192.0.2.1/x.png"`,
		"script-src-elem": `document.head.append(Object.assign(document.createElement("script"), {textContent: "window.pwned = 1"}))`,
		"script-src-attr": `document.body.setAttribute("onclick", "window.pwned = 1")`,
		"style-src-elem":  `document.head.append(Object.assign(document.createElement("style"), {textContent: "body {display: none}"}))`,
	} {
		var seen string
		b.Call("POST", "/execute/async", map[string]any{"args": []any{}, "script": `const done = arguments[0];
			document.addEventListener("securitypolicyviolation", e => done(e.effectiveDirective), {once: true}); ` + attempt}, &seen)
		if seen != what {
			t.Errorf("%s: the page forbids %s", what, seen)
		}
	}
	b.Complaints() // discard the errors of the attempts above
	var resources []string
	b.Eval(&resources, `return performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.includes("192.0.2.1"))`)
	if len(resources) > 0 {
		t.Errorf("the page loads %q", resources)
	}
}

// Text has enough contrast with its background in light and dark mode (WCAG 2, 1.4.3).
func contrast(t *testing.T, b *browser) {
	b.show(reportOf(loadText(t, smallFabric), smallFindings()...))
	backs := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		b.Media(map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}})
		var ratios map[string]float64
		b.Eval(&ratios, `const style = getComputedStyle(document.documentElement);
			const light = name => {
				const hex = style.getPropertyValue(name).trim();
				const [r, g, b] = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
				return 0.2126 * r + 0.7152 * g + 0.0722 * b;
			};
			const out = {};
			for (const name of ["text", "soft", "dim", "accent", "info", "warning", "error", "suppressed", "passed", "pause"]) {
				for (const back of ["panel", "back"]) {
					const [a, b] = [light("--" + name), light("--" + back)].sort();
					out[name + " on " + back] = (b + 0.05) / (a + 0.05);
				}
			}
			return out`)
		for what, r := range ratios {
			if !(r >= 4.5) {
				t.Errorf("%s: %s has a contrast of %.2f", scheme, what, r)
			}
		}
		var back string
		b.Eval(&back, `return getComputedStyle(document.body).backgroundColor`)
		backs[back] = true
		b.Until("the links are drawn in the scheme's colours", painted+" > 20", "#cables", "--error")
		b.Keep("report-" + scheme + ".png")
	}
	if len(backs) != 2 {
		t.Error("light and dark are one")
	}
	b.Quiet()
}

// axe-core reports no problem in any state of the page.
func accessible(t *testing.T, b *browser) {
	axe := browsertest.Axe(t)
	counted := []PortCounters{{"leaf1", "Ethernet0", map[string]uint64{"pfc-rx[3]": 41, "queue-marked[3]": 70000}}}
	full := stoppedBy(reportOf(loadText(t, smallFabric), smallFindings()...))
	full.History = watchedDay()
	clos := loadText(t, closFabric)
	large := reportOf(clos, oddSwitch(clos, "spine16"))
	large.History = watchedDay()
	for _, scheme := range []string{"light", "dark"} {
		b.Media(map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}})
		b.show(full, counted...)
		b.Click("#changes summary")
		b.Click("#show-suppressed")
		b.Accessible(axe, scheme)
		b.Click(`[data-cause="0"]`)
		b.Accessible(axe, scheme+", with the details of a cause")
		b.Press(browsertest.KeyEscape)
		whole := scheme == "light" || sharedtest.Nightly() // dark mode differs only in its colours
		if whole {
			b.Click(`[data-device="leaf1"]`)
			b.Accessible(axe, scheme+", with the details of a device")
			b.Press(browsertest.KeyEscape)
			b.Click("#pauses-list button")
			b.Accessible(axe, scheme+", with the details of a source of pauses")
		}
		b.show(large)
		b.Accessible(axe, scheme+", of 512 NICs")
		if whole {
			b.Click("#open-all")
			b.Accessible(axe, scheme+", of 512 NICs, all groups open")
		}
	}
	b.Media(nil)
	b.show(Report{Command: "check", Fabric: "pod1", Version: "1.2.3"})
	b.Accessible(axe, "of nothing")
	b.Media(map[string]any{"media": "print"})
	b.show(full, counted...)
	b.Accessible(axe, "in print")
	b.Quiet()
}

func prints(t *testing.T, b *browser) {
	b.show(reportOf(loadText(t, smallFabric), smallFindings()...))
	b.Media(map[string]any{"media": "print"})
	if got := b.Text("#filters") + b.Text(".tools"); got != "" {
		t.Errorf("printed: %q", got)
	}
	b.Until("the links are printed", painted+" > 20", "#cables", "--error")
	b.Keep("report-print.png")
	b.Media(nil)

	f := loadText(t, closFabric)
	r := reportOf(f, oddSwitch(f, "spine16"), oddSwitch(f, "leaf3"))
	r.History = watchedDay()
	for name, c := range map[string]struct {
		report Report
		paper  browsertest.Paper
		pages  int // upper limit
	}{
		"small":     {reportOf(loadText(t, smallFabric), smallFindings()...), browsertest.A4, 2},
		"rails":     {r, browsertest.A4, 4},
		"letter":    {r, browsertest.Letter, 4},
		"landscape": {r, browsertest.Paper{Width: browsertest.A4.Height, Height: browsertest.A4.Width}, 8},
	} {
		b.show(c.report)
		b.Eval(nil, `addEventListener("beforeprint", () => {
			const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.bottom <= b.bottom + 1;
			const box = id => document.getElementById(id).getBoundingClientRect(), map = document.getElementById("map");
			window.printed = {
				Width: document.documentElement.scrollWidth - Math.max(0, innerWidth - document.body.offsetWidth), Body: document.body.offsetWidth,
				Items: [...document.querySelectorAll("#world > *")].every(e => inside(e.getBoundingClientRect(), box("drawing"))),
				Map: map.scrollHeight <= map.clientHeight + 1 && map.scrollWidth <= map.clientWidth + 1,
				List: document.getElementById("list").innerText,
			};
		})`)
		pdf := b.PDF("report-"+name+".pdf", c.paper)
		var printed struct {
			Width, Body int
			Items, Map  bool
			List        string
		}
		b.Eval(&printed, `return window.printed`)
		if printed.Width > printed.Body || !printed.Items || !printed.Map {
			t.Errorf("%s: it does not fit the page: %+v", name, printed)
		}
		if !strings.Contains(printed.List, "apply the intent") || !strings.Contains(printed.List, validate.Lookup("PFC-01").Why) {
			t.Errorf("%s: the printed list has no fix or no reason: %q", name, printed.List)
		}
		if n := len(pdfPage.FindAll(pdf, -1)); n < 1 || n > c.pages {
			t.Errorf("%s: %d pages, at most %d are wanted", name, n, c.pages)
		}
		var after bool
		b.Eval(&after, `return !document.documentElement.classList.contains("printing") && document.querySelectorAll("#list .cause").length > 0`)
		if !after {
			t.Errorf("%s: the page stays as it was printed", name)
		}
	}
	b.Quiet()
}

var pdfPage = regexp.MustCompile(`/Type\s*/Page\b`)

func large(t *testing.T, b *browser) {
	r, counters := largeReport(t)
	b.show(r, counters...)
	var took float64
	b.Eval(&took, `return performance.getEntriesByType("navigation")[0].loadEventEnd`)
	t.Logf("1,000 switches, 19,840 links: loaded in %.0f ms", took)
	b.Until("all groups are drawn", `document.querySelectorAll("#world .group").length === 61`)
	b.Until("links with errors are drawn", painted+" > 100", "#cables", "--error")
	b.Keep("report-1000.png")

	b.Eval(nil, `document.querySelector('[data-group="p3leaf[1-32]"]').focus({preventScroll: true})`)
	b.Press(browsertest.KeyEnter)
	b.Until("the group opens, and keeps the focus", `document.querySelectorAll("[data-device]").length === 32 && document.activeElement.dataset.group === "p3leaf[1-32]"`)
	b.Press(browsertest.KeyDown, browsertest.KeyEnter)
	b.Until("a device of it opens", `document.getElementById("details-title").textContent.includes("p3leaf")`)
	b.Press(browsertest.KeyEscape)

	b.Press("/")
	b.Press("p", "7", "s", "p", "i", "n", "e", "4")
	b.Until("the filter opens what it finds", `document.querySelector('[data-device="p7spine4"]') && !document.querySelector('[data-device="p7spine5"]')`)
	b.Press(browsertest.KeyEscape)
	b.Click("#filters [type=reset]")
	b.Click("#open-all")
	b.Until("all switches are drawn, and no host", `document.querySelectorAll("[data-device]").length === 1000`)
	b.Keep("report-1000-open.png")
	b.Quiet()
}
