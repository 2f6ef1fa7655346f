package derive

import (
	"cmp"
	"net"
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// document returns the text of the intent.
func (d *deriver) document() []byte {
	root := mapping().put("apiVersion", bare("roce-fabric/v1")).put("kind", bare("Fabric")).put("name", text(d.in.Name))
	root.putIf("classes", d.classNodes())
	d.settings(root, d.defaults(), d.base, true)
	roles := mapping()
	roles.block = true
	for _, r := range natural.Sorted(d.roleList) {
		n := mapping()
		d.overrides(n, d.base, d.roles[r])
		roles.putIf(r, n)
	}
	root.putIf("roles", roles)
	root.putIf("switches", d.switchNodes())
	root.putIf("hosts", d.hostNodes())
	root.putIf("links", d.linkNodes())
	credentials := mapping()
	credentials.putIf("switches", d.switchLogin().node(login{}))
	credentials.putIf("hosts", d.hostLogin().node(login{}))
	root.putIf("credentials", credentials)
	return append([]byte(d.head()), root.document()...)
}

func (d *deriver) classNodes() *node {
	out := mapping()
	out.block = true
	shares := !d.keepAll(keepsBandwidth)
	for _, c := range d.order() {
		t := d.base.tune[c.priority]
		n := mapping().put("priority", number(c.priority))
		switch {
		case c.rest:
			n.put("dscp", bare("rest"))
		case len(c.dscp) > 0:
			n.put("dscp", codes(c.dscp))
		}
		if c.pcpSet {
			l := &node{list: true}
			for _, p := range c.pcp {
				l.items = append(l.items, number(p))
			}
			n.put("pcp", l)
		}
		n.when(t.queue != c.priority, "queue", number(t.queue))
		lossy := !t.lossless && d.in.Lossy.Has(c.priority)
		n.when(t.lossless, "lossless", bare("true"))
		n.when(lossy, "mode", bare(intent.ModeLossy))
		n.when(t.strict, "strict", bare("true"))
		n.when(!t.strict && shares, "bandwidth", percent(t.share))
		rate, k := d.base.rate[c.priority], d.base.curve[c.priority]
		n.when(rate > 0, "maxRate", bare(rate.String()))
		n.when(k.on || k.keep || t.lossless || lossy, "ecn", k.node(false))
		n.comment = d.classOrigin(c)
		out.put(c.name, n)
	}
	return out
}

func percent(n int) *node { return bare(strconv.Itoa(n) + "%") }

// codes returns a list of code points, with ranges where possible.
func codes(list []int) *node {
	out := &node{list: true}
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if j > i+1 {
			out.items = append(out.items, bare(`"`+strconv.Itoa(list[i])+"-"+strconv.Itoa(list[j])+`"`))
			i = j + 1
			continue
		}
		out.items = append(out.items, number(list[i]))
		i++
	}
	return out
}

// node returns a marking curve. An override always states the probability, because it would
// otherwise inherit one.
func (k curve) node(override bool) *node {
	switch {
	case k.keep:
		return bare("keep")
	case !k.on:
		return bare("off")
	case k.bySpeed != nil:
		return k.bySpeed.node(override)
	}
	usual := k.prob == int(intent.DefaultECNProbability)
	if k.auto && usual {
		return bare("auto")
	}
	n := mapping()
	if k.auto {
		n.put("auto", bare("true"))
	} else {
		n.put("min", bare(k.min.String())).put("max", bare(k.max.String()))
	}
	return n.when(!usual || override, "probability", percent(k.prob))
}

// settings writes the settings of inner that differ from outer, except its classes.
func (d *deriver) settings(n *node, outer, inner wish, base bool) {
	pauses := map[bool]intent.LinkPause{false: intent.LinkPauseOff, true: intent.LinkPauseKeep}
	pfc := mapping().put("watchdog", watchdog(outer, inner))
	pfc.when(inner.asym != outer.asym, "asymmetric", bare(strconv.FormatBool(inner.asym)))
	pfc.when(inner.pause != outer.pause, "linkPause", bare(string(pauses[inner.pause])))
	m := mtu(outer.mtu, inner.mtu, base)
	if base {
		pfc.comment = d.origin(nil, qos.KindWatchdog.Attr())
		if m != nil {
			m.comment = d.origin(nil, qos.KindMTU.Attr())
		}
	}
	n.putIf("pfc", pfc)
	n.when(inner.trust != outer.trust, "trust", bare(string(inner.trust)))
	n.putIf("mtu", m)
	keep := mapping().when(base && d.keepsCodePoints, "codePoints", bare("true"))
	for i, k := range keptKinds {
		keep.when(inner.keep[i] != outer.keep[i], k.key, bare(strconv.FormatBool(inner.keep[i])))
	}
	n.putIf("keep", keep)
}

func watchdog(outer, inner wish) *node {
	in, out := inner.dog, outer.dog
	if in == out && inner.poll == outer.poll {
		return nil
	}
	if !in.on {
		if !out.on {
			return nil
		}
		return bare("off")
	}
	poll := min(inner.poll, in.detect, in.restore)
	restated := poll != outer.poll && poll > 0
	n := mapping()
	n.when(!out.on || restated || in.detect != out.detect, "detect", bare(in.detect.String()))
	n.when(!out.on || restated || in.restore != out.restore, "restore", bare(in.restore.String()))
	n.when(restated, "poll", bare(poll.String()))
	n.when(!out.on || in.action != out.action, "action", bare(string(in.action)))
	if n.empty() {
		return nil
	}
	return n
}

// mtu returns the MTU settings, with the host and RDMA MTUs if they change as well.
func mtu(outer, inner int, base bool) *node {
	if outer == inner {
		return nil
	}
	n := mapping().put("fabric", number(inner))
	was, is := hostMTU(outer), hostMTU(inner)
	if base {
		was = intent.DefaultMTUHost
	}
	n.when(is != was, "host", number(is))
	return n.when(rdmaMTU(is) != rdmaMTU(was), "rdma", number(rdmaMTU(is)))
}

func hostMTU(fabric int) int { return min(fabric, intent.DefaultMTUHost) }

func rdmaMTU(host int) int {
	for _, n := range []int{4096, 2048, 1024, 512} {
		if n+intent.RDMAOverhead <= host {
			return n
		}
	}
	return 256
}

// overrides writes the settings of a role, a switch or a port that differ from its outer level.
func (d *deriver) overrides(n *node, outer, inner wish) {
	classes := mapping()
	for _, c := range d.order() {
		p := c.priority
		was, is := outer.tune[p], inner.tune[p]
		rate, k := inner.rate[p], inner.curve[p]
		o := mapping()
		o.when(is.queue != was.queue, "queue", number(is.queue))
		o.when(is.lossless != was.lossless, "lossless", bare(strconv.FormatBool(is.lossless)))
		o.when(is.strict != was.strict, "strict", bare(strconv.FormatBool(is.strict)))
		o.when(!is.strict && is.share != was.share, "bandwidth", percent(is.share))
		o.when(rate != outer.rate[p] && rate > 0, "maxRate", bare(rate.String()))
		o.when(k != outer.curve[p] || is.lossless != was.lossless, "ecn", k.node(true))
		classes.putIf(c.name, o)
	}
	n.putIf("classes", classes)
	d.settings(n, outer, inner, false)
}

// alikeNodes writes one entry for all things that differ only in name and addresses. rowOf
// returns the name and addresses of a thing; write writes a thing with the address patterns of
// all.
func alikeNodes[T any](things []T, rowOf func(T) row, write func(thing T, addresses []string) *node) *node {
	out := mapping()
	out.block = true
	var alike ordered.Groups[string, T]
	for _, t := range things {
		alike.Add(write(t, make([]string, 2)).flow(), t)
	}
	for _, ts := range alike.All() {
		var rows []row
		for _, t := range ts {
			rows = append(rows, rowOf(t))
		}
		for _, f := range foldRows(rows) {
			out.put(f.name, write(ts[0], f.steps))
		}
	}
	return out
}

func (d *deriver) switchNodes() *node {
	common := d.switchLogin()
	return alikeNodes(d.switches,
		func(s *box) row { return row{s.Name, []string{s.Address, s.sshAddress()}} },
		func(s *box, addresses []string) *node { return d.switchNode(s, addresses, common) })
}

func (d *deriver) switchNode(s *box, addresses []string, common login) *node {
	n := mapping().put("os", bare(s.OS)).put("role", text(s.role)).put("address", text(addresses[0]))
	n.put("model", release(s.Model)).put("release", release(s.Release))
	n.putIf("identity", identityOf(s.Identity))
	usual := false
	if m, ok := catalog.ModelOf(s.OS, s.Model); ok {
		usual = m.ASIC().DynamicBuffers
	}
	dynamic := s.Running.Platform.DynamicBuffers
	model := map[bool]string{true: "dynamic", false: "traditional"}[dynamic]
	n.when(dynamic != usual && !s.Planned && intent.SystemOf(s.OS).BufferModel, "bufferModel", bare(model))
	n.when(s.Write != "" && s.Write != intent.WriteAuto, "write", bare(string(s.Write)))
	access := loginOf(s.Access).node(common)
	if addresses[1] != "" {
		access.sub("ssh").put("address", text(addresses[1]))
	}
	n.putIf("access", access)
	if h := s.Running.HeadroomModel; h.Set && dynamic && h.V.Alpha != 0 && h.V.Alpha >= -8 && h.V.Alpha <= 7 {
		n.put("buffers", mapping().put("alpha", number(h.V.Alpha)))
	}
	n.when(s.keepsGlobals, "globals", bare(string(intent.GlobalsKeep)))
	d.overrides(n, d.roles[s.role], s.wish)
	n.putIf("ports", d.portNodes(s))
	return n
}

// portNodes returns the ports that have settings of their own.
func (d *deriver) portNodes(s *box) *node {
	type alike struct {
		body  *node
		names []string
	}
	var bodies ordered.Map[string, alike]
	for _, name := range s.names {
		p := s.ports[name]
		n := mapping()
		if p.link == nil {
			speed, cable := speedAt(p.run), p.run.Cable.Or(0)
			n.when(intent.IsSpeed(speed), "speed", bare(speed.String()))
			n.when(cable > 0 && cable <= 100_000, "cable", bare(cable.String()))
		}
		lag := p.run.LAG.Or("")
		n.when(portText.MatchString(lag), "lag", text(lag))
		n.put("breakout", text(s.breakout(name)))
		d.overrides(n, s.wish, p.wish)
		if n.empty() && p.link != nil {
			continue
		}
		a := bodies.At(n.flow())
		a.body, a.names = n, append(a.names, name)
	}
	out := mapping()
	for _, a := range bodies.All() {
		for _, pattern := range foldNames(a.names) {
			out.put(pattern, a.body)
		}
	}
	return out
}

// breakout returns the breakout mode of a port that the model's default layout lacks, from the
// number of such ports in a row; "" for other ports.
func (s *box) breakout(name string) string {
	m, ok := catalog.ModelOf(s.OS, s.Model)
	if !ok || len(m.Ports) == 0 {
		return ""
	}
	usual := m.Has
	if usual(name) {
		return ""
	}
	// A port is split into at most 9.
	all, i := s.index().names, s.index().place[name]
	from, to := i, i+1
	for from > 0 && i-from < 9 && !usual(all[from]) {
		from--
	}
	for to < len(all) && to-i < 9 && !usual(all[to]) {
		to++
	}
	speed := cmp.Or(speedAt(s.ports[name].run), units.Rate(100e9))
	return strconv.Itoa(min(to-from, 9)) + "x" + strconv.Itoa(max(1, int(speed/1e9))) + "G"
}

func (d *deriver) hostNodes() *node {
	common := d.hostLogin()
	var hosts []*host
	for _, name := range natural.Keys(d.hosts) {
		hosts = append(hosts, d.hosts[name])
	}
	return alikeNodes(hosts, func(h *host) row {
		address := h.Address
		if at, port, err := net.SplitHostPort(address); err == nil && port == "22" {
			address = at // the default port
		}
		return row{h.Name, []string{address, h.sshAddress()}}
	}, func(h *host, addresses []string) *node { return h.node(addresses, common) })
}

// identityOf returns the settings of an identity; empty if id is nil.
func identityOf(id *intent.Identity) *node {
	if id == nil {
		return mapping()
	}
	return mapping().put("serial", text(id.Serial.V)).put("mac", text(id.MAC.V)).put("model", text(id.Model.V)).put("hostname", text(id.Hostname.V))
}

// selector returns the settings of a selector; rail is its rail, which may be a range.
func selector(s intent.Selector, rail string) *node {
	return mapping().put("vendor", text(s.Vendor)).put("model", text(s.Model)).put("part", text(s.Part)).put("serial", text(s.Serial)).put("pci", text(s.PCI)).
		when(s.Port != 0, "port", number(s.Port)).when(s.Rail != 0, "rail", text(rail))
}

func (h *host) node(addresses []string, common login) *node {
	// Group NICs that differ only in the name of their RDMA device and their rail.
	type kind struct {
		of                      intent.Selector
		rdma                    bool
		rx, tx, sfs             int
		buffers, willing, stall bool
		card, vfs               string
	}
	var kinds ordered.Groups[kind, row]
	for _, name := range natural.Keys(h.nics) {
		n := h.nics[name]
		of := n.Select
		of.Rail = min(of.Rail, 1)
		kinds.Add(kind{of, n.RDMA != "", n.RXRing, n.TXRing, n.SFs, n.Buffers, n.Willing, n.StallPrevention, cardOf(n.Card).flow(), vfsOf(n.VFs).flow()}, row{name, []string{n.RDMA, strconv.Itoa(n.Select.Rail), n.DPU}})
	}
	nics := mapping()
	for k, rows := range kinds.All() {
		rings := mapping().when(k.rx != 0, "rx", number(k.rx)).when(k.tx != 0, "tx", number(k.tx))
		for _, f := range foldRows(rows) {
			n := mapping()
			n.putIf("select", selector(k.of, f.steps[1]))
			n.put("rdma", text(f.steps[0]))
			n.when(f.steps[2] != "", "dpu", text(f.steps[2]))
			n.putIf("rings", rings)
			n.when(k.buffers, "buffers", bare("auto")).when(k.willing, "willing", bare("off")).when(k.stall, "stallPrevention", bare("auto"))
			n.pairs = append(n.pairs, cardOf(h.nics[rows[0].name].Card).pairs...)
			n.putIf("vfs", vfsOf(h.nics[rows[0].name].VFs))
			n.putIf("sfs", sfsOf(k.sfs))
			nics.put(f.name, n)
		}
	}
	n := mapping().put("address", text(addresses[0]))
	n.putIf("identity", identityOf(h.Identity))
	n.when(!h.PauseResponse.IsZero(), "pauseResponse", bare(h.PauseResponse.String()))
	n.put("nics", nics)
	bonds, vlans := mapping(), mapping()
	for _, b := range h.Bonds {
		l := &node{list: true}
		for _, m := range b.Members.V {
			l.items = append(l.items, text(m))
		}
		bonds.put(b.Name, mapping().put("members", l))
	}
	for _, v := range h.VLANs {
		vlans.put(v.Name, mapping().put("on", text(v.On.V)).put("id", number(v.ID.V)))
	}
	n.putIf("bonds", bonds)
	n.putIf("vlans", vlans)
	access := hostLoginOf(h.Access).node(common)
	if addresses[1] != "" {
		access.sub("ssh").put("address", text(addresses[1]))
	}
	n.putIf("access", access)
	return n
}
