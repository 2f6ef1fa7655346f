package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/gate"
)

// maxCauses and maxText bound the size of the page: only the worst causes are kept, and each
// text is cut after maxText characters.
const (
	maxCauses = 10000
	maxText   = 2000
)

// page is the data that the HTML form's script draws. Names are short and repeated strings are
// stored as indexes, so that a fabric of a thousand switches fits.
type page struct {
	Checks   map[string]pageCheck `json:"checks"`
	Ports    []pagePorts          `json:"ports"`
	Devices  []pageDevice         `json:"devices"`
	Groups   []pageGroup          `json:"groups"`
	Labels   []string             `json:"labels"`
	Links    []int                `json:"links"` // seven numbers per link: device, port, device, port, and labels for speed, cable and place
	Causes   []pageCause          `json:"causes"`
	LeftOut  int                  `json:"leftOut"` // number of findings whose causes were dropped
	Counters []pageCounter        `json:"counters"`
	Classes  []pageClass          `json:"classes,omitempty"` // RDMA classes that have counters
	Pauses   []pagePause          `json:"pauses,omitempty"`
	Filled   []pageFilled         `json:"filled,omitempty"`   // watermarks of headroom, the fullest first
	Unfilled []string             `json:"unfilled,omitempty"` // where no watermark was read, and why
	Periods  []pagePeriod         `json:"periods,omitempty"`  // history of a watch, oldest first
}

type pageCheck struct {
	Title   string   `json:"title"`
	Why     string   `json:"why"`
	Sources []string `json:"sources,omitempty"`
}

// pagePorts lists ports; devices with identical ports share one entry.
type pagePorts struct {
	Names  []string `json:"n"`
	Speeds []int    `json:"v"` // indexes into labels
}

type pageDevice struct {
	Name   string `json:"n"`
	Host   bool   `json:"h,omitempty"`
	Role   string `json:"r,omitempty"`
	OS     string `json:"o,omitempty"`
	Model  string `json:"m,omitempty"`
	Ports  int    `json:"p"`
	Source Source `json:"s,omitempty"` // "" if the device was not checked
	File   string `json:"f,omitempty"`
	Error  string `json:"e,omitempty"`
	Hint   string `json:"a,omitempty"`
}

type pageGroup struct {
	Name    string `json:"n"`
	Tier    int    `json:"t"`
	Pod     int    `json:"p"` // -1 if the group belongs to no pod
	Devices []int  `json:"d"`
}

// pageCause is a [checks.Cause] for the page.
type pageCause struct {
	ID       string          `json:"c"`
	Severity checks.Severity `json:"s"`
	What     string          `json:"w"`
	Fix      string          `json:"f,omitempty"`
	Where    []int           `json:"i,omitempty"` // labels of the intent lines, without duplicates
	// Suppressed holds the reason, the expiry date and the place of the suppression.
	Suppressed []string `json:"u,omitempty"`
	// Places holds one entry per finding: the device and the label of its intent line, the
	// ports, and, if the finding concerns both ends of a link, device and port of each other
	// end.
	Places [][][]int `json:"p,omitempty"`
}

type pageCounter struct {
	Name string `json:"n"`
	// Values maps each device to its port values; null stands for a counter that is not
	// available. A device whose ports are all zero has the single value 0.
	Values map[int]any `json:"v"`
}

// pageClass is a class of the intent that carries RDMA, with the names of its counters.
type pageClass struct {
	Name     string `json:"n"`
	Priority int    `json:"p"`
	// Counter names: packets sent with a CE mark or, on a NIC, received with one; PFC frames
	// received; PFC frames sent; microseconds for which PFC stopped the port.
	Marked   []string `json:"m"`
	Received string   `json:"r"`
	Sent     string   `json:"t"`
	Stopped  string   `json:"u"`
}

// pagePause is a [gate.Source] for the page.
type pagePause struct {
	Class    string `json:"c"`
	Priority int    `json:"r"`
	Kind     string `json:"k"`
	Device   int    `json:"d"`
	Port     int    `json:"p"` // -1 if no port is known
	Certain  bool   `json:"y,omitempty"`
	What     string `json:"w"`
	Fix      string `json:"f,omitempty"`
	Tree     []int  `json:"t,omitempty"` // two numbers per stopped port: device, port
}

// pageOf collects the data of the page.
func pageOf(r Report, counters []PortCounters) page {
	b := pageBuilder{index: map[string]int{}, labels: map[string]int{}}
	b.topology(r.Intent)
	b.addSources(r.Devices)
	b.causes(r.Findings)
	b.counters(counters)
	b.classes(r.Intent)
	b.pauses(r.Pauses)
	b.filled(r.Watermarks)
	b.history(r.History)
	b.intern()
	b.addUndrawn()
	return b.out
}

type pageBuilder struct {
	out    page
	index  map[string]int // device indexes by the names used in the run
	tiers  []int          // tiers of the drawn devices, which come first
	labels map[string]int
	ports  []portTable // one per device
}

// portTable holds the ports of one device.
type portTable struct {
	names  []string
	speeds []int
	index  map[string]int
}

func (p *portTable) indexOf(name string) int {
	i, known := p.index[name]
	if !known {
		i = len(p.names)
		p.index[name] = i
		p.names, p.speeds = append(p.names, clean(name)), append(p.speeds, 0)
	}
	return i
}

// clean removes control characters from untrusted text and cuts it to maxText characters.
func clean(s string) string {
	s = term.CleanLine(s)
	n := 0
	for i := range s {
		if n++; n > maxText {
			return s[:i] + " ..."
		}
	}
	return s
}

func (b *pageBuilder) label(s string) int {
	i, known := b.labels[s]
	if !known {
		i = len(b.out.Labels)
		b.labels[s] = i
		b.out.Labels = append(b.out.Labels, clean(s))
	}
	return i
}

// device returns the index of a device, adding it if the drawing does not have it.
func (b *pageBuilder) device(name string, kind DeviceKind) int {
	i, known := b.index[name]
	if !known {
		i = len(b.out.Devices)
		b.index[name] = i
		b.out.Devices = append(b.out.Devices, pageDevice{Name: clean(name), Host: kind == HostDevice})
		b.ports = append(b.ports, portTable{names: []string{}, speeds: []int{}, index: map[string]int{}})
	}
	return i
}

// addSources records where each device's configuration came from, and why reading failed.
func (b *pageBuilder) addSources(devices []Device) {
	for _, d := range devices {
		p := &b.out.Devices[b.device(d.Name, d.Kind)]
		p.Source, p.File, p.Error, p.Hint = d.Source, clean(d.File), clean(d.Error), clean(d.Hint)
		p.OS = cmp.Or(p.OS, clean(d.OS))
	}
}

// causes adds the causes, worst first.
func (b *pageBuilder) causes(fs []checks.Finding) {
	b.out.Checks = map[string]pageCheck{}
	for i, c := range checks.Causes(fs) {
		if i >= maxCauses {
			b.out.LeftOut += len(c.Findings)
			continue
		}
		out := pageCause{ID: clean(c.ID), Severity: c.Severity, What: clean(c.What), Fix: clean(c.Fix)}
		if s := c.Suppressed; s != nil {
			out.Suppressed = []string{clean(s.Reason), clean(s.Until), clean(s.Where)}
		}
		said := map[string]bool{"": true}
		for _, f := range c.Findings {
			where := b.label(f.Where)
			if !said[f.Where] {
				said[f.Where] = true
				out.Where = append(out.Where, where)
			}
			if f.Device != "" {
				out.Places = append(out.Places, b.place(f, where))
			}
		}
		if ck := validate.Lookup(c.ID); ck != nil {
			b.out.Checks[out.ID] = pageCheck{Title: ck.Title, Why: ck.Why, Sources: ck.Sources}
		}
		b.out.Causes = append(b.out.Causes, out)
	}
}

func (b *pageBuilder) place(f checks.Finding, where int) [][]int {
	d := b.device(f.Device, SwitchDevice)
	ports := make([]int, len(f.Ports))
	for i, p := range f.Ports {
		ports[i] = b.ports[d].indexOf(p)
	}
	place := [][]int{{d, where}, ports}
	var peers []int
	for _, peer := range f.Peers {
		device, port, known := strings.Cut(peer, "/")
		if !known {
			break // a skipped entry would shift the ports of the rest
		}
		p := b.device(device, SwitchDevice)
		peers = append(peers, p, b.ports[p].indexOf(port))
	}
	if len(peers) > 0 {
		place = append(place, peers)
	}
	return place
}

// pauses adds the sources of pauses and the ports that they stop.
func (b *pageBuilder) pauses(sources []gate.Source) {
	for _, s := range sources[:min(len(sources), maxCauses)] {
		out := pagePause{Class: clean(s.Class), Priority: s.Priority, Kind: clean(string(s.Kind)), Device: b.device(s.Device, SwitchDevice), Port: -1, Certain: s.Certain, What: clean(s.What), Fix: clean(s.Fix())}
		if s.Port != "" {
			out.Port = b.ports[out.Device].indexOf(s.Port)
		}
		for _, at := range s.Paused {
			if device, port, ok := strings.Cut(at, "/"); ok {
				d := b.device(device, SwitchDevice)
				out.Tree = append(out.Tree, d, b.ports[d].indexOf(port))
			}
		}
		b.out.Pauses = append(b.out.Pauses, out)
	}
}

func (b *pageBuilder) counters(list []PortCounters) {
	type row = []any
	byName := map[string]map[int]row{}
	for _, c := range list {
		d := b.device(c.Device, SwitchDevice)
		p := b.ports[d].indexOf(c.Port)
		for name, v := range c.Values {
			rows := byName[name]
			if rows == nil {
				rows = map[int]row{}
				byName[name] = rows
			}
			if p >= len(rows[d]) {
				rows[d] = append(rows[d], make(row, p+1-len(rows[d]))...)
			}
			rows[d][p] = exact(v)
		}
	}
	for _, name := range natural.Keys(byName) {
		out := pageCounter{Name: clean(name), Values: make(map[int]any, len(byName[name]))}
		for d, r := range byName[name] {
			out.Values[d] = r
			if len(r) == len(b.ports[d].names) && !slices.ContainsFunc(r, func(v any) bool { return v != uint64(0) }) {
				out.Values[d] = 0
			}
		}
		b.out.Counters = append(b.out.Counters, out)
	}
}

// classes lists the RDMA classes for which at least one counter is shown.
func (b *pageBuilder) classes(f *intent.Fabric) {
	if f == nil {
		return
	}
	shown := map[string]bool{}
	for _, c := range b.out.Counters {
		shown[c.Name] = true
	}
	for _, c := range f.Settings.Classes {
		prio := c.Priority.V
		of := pageClass{
			Name: clean(c.Name), Priority: prio,
			Marked:   []string{drivers.QueueMarked.Of(c.Queue.V).String(), drivers.MarkedReceived.String()},
			Received: drivers.PFCRx.Of(prio).String(), Sent: drivers.PFCTx.Of(prio).String(), Stopped: drivers.PauseRxTime.Of(prio).String(),
		}
		if c.RDMA() && (shown[of.Marked[0]] || shown[of.Received] || shown[of.Sent]) {
			b.out.Classes = append(b.out.Classes, of)
		}
	}
}

// exact returns v, or its digits if JavaScript would round the number.
func exact(v uint64) any {
	if v >= 1<<53 {
		return strconv.FormatUint(v, 10)
	}
	return v
}

// intern stores each distinct list of ports once.
func (b *pageBuilder) intern() {
	at := map[string]int{}
	for i, p := range b.ports {
		var key strings.Builder
		for j, name := range p.names {
			key.WriteString(name + "\x00" + strconv.Itoa(p.speeds[j]) + "\x00")
		}
		n, known := at[key.String()]
		if !known {
			n = len(b.out.Ports)
			at[key.String()] = n
			b.out.Ports = append(b.out.Ports, pagePorts{Names: p.names, Speeds: p.speeds})
		}
		b.out.Devices[i].Ports = n
	}
}

// addUndrawn groups the devices that are not drawn: all devices without an intent, otherwise
// those named only by findings or counters.
func (b *pageBuilder) addUndrawn() {
	var names [2][]string
	var groups [2]pageGroup
	for i := len(b.tiers); i < len(b.out.Devices); i++ {
		kind := 0
		if b.out.Devices[i].Host {
			kind = 1
		}
		names[kind] = append(names[kind], b.out.Devices[i].Name)
		groups[kind].Devices = append(groups[kind].Devices, i)
	}
	for kind, tier := range []int{0, hostTier} {
		if g := groups[kind]; len(g.Devices) > 0 {
			g.Name, g.Tier, g.Pod = groupName(names[kind]), tier, -1
			b.out.Groups = append(b.out.Groups, g)
		}
	}
}
