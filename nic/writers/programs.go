package writers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/nic"
)

// programs maps the programs that change the same settings as this tool to the functions that parse
// their arguments.
var programs map[string]func(s *script, args []string)

func init() {
	programs = map[string]func(*script, []string){
		"mlnx_qos": mlnxQoS, "mlnx_qos.py": mlnxQoS, "cma_roce_tos": cmaToS, "cma_roce_mode": cmaMode,
		"dcb": dcbTool, "lldptool": lldptool, "ethtool": ethtool, "ip": ipLink, "ifconfig": ifconfig,
		"bnxt_setupcc.sh": bnxtSetup, "nicctl": nicctl,
	}
}

// options parses "-i ens1 --pfc=0,1 --trust dscp" into the values of the options, by name, and the
// other words. Options that are not in takes have no value unless they are written with "=".
func options(args []string, takes ...string) (values map[string]string, rest []string) {
	values = map[string]string{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value, ok := strings.Cut(a, "=")
		switch {
		case a == ">":
			i++ // skip the file of the redirection
		case !strings.HasPrefix(a, "-"):
			rest = append(rest, a)
		case ok && strings.HasPrefix(a, "--"):
			values[name] = value
		case slices.Contains(takes, a) && i+1 < len(args):
			values[a] = args[i+1]
			i++
		default:
			values[a] = ""
		}
	}
	return values, rest
}

// first returns the value of the first option that is present.
func first(values map[string]string, names ...string) (string, bool) {
	for _, n := range names {
		if v, ok := values[n]; ok {
			return v, true
		}
	}
	return "", false
}

// flags parses "0,0,0,1,0,0,0,0".
func flags(list string) (set qos.PrioritySet, ok bool) {
	l := strings.Split(list, ",")
	if len(l) != qos.NumPriorities {
		return 0, false
	}
	for i, v := range l {
		switch strings.TrimSpace(v) {
		case "0":
		case "1":
			set |= qos.Priorities(i)
		default:
			return 0, false
		}
	}
	return set, true
}

// numbers parses numbers up to a limit, one for each priority or traffic class.
func numbers(list string, limit int) (out [qos.NumPriorities]int, ok bool) {
	l := strings.Split(list, ",")
	if len(l) != len(out) {
		return out, false
	}
	for i, v := range l {
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil || n < 0 || n > limit {
			return out, false
		}
		out[i] = n
	}
	return out, true
}

func (s *script) pfc(ports []string, set qos.PrioritySet, ok bool) {
	if !ok {
		s.add(s.at, ports, nic.FieldPFC, nil)
		return
	}
	s.add(s.at, ports, nic.FieldPFC, func(p *nic.Port) { p.PFC = qos.Of(set) })
}

// noDSCP returns a map that leaves every DSCP alone.
func noDSCP() (m [qos.NumDSCP]int8) {
	for i := range m {
		m[i] = qos.Unmanaged
	}
	return m
}

// dscp records the entries of a map, such as "26:3".
func (s *script) dscp(ports []string, entries []string, sep string) {
	m, ok := noDSCP(), len(entries) > 0
	for _, e := range entries {
		d, p, _ := strings.Cut(e, sep)
		dn, derr := strconv.Atoi(d)
		pn, perr := strconv.Atoi(p)
		if derr != nil || perr != nil || dn < 0 || dn >= qos.NumDSCP || pn < 0 || pn >= qos.NumPriorities {
			ok = false
			break
		}
		m[dn] = int8(pn)
	}
	if !ok {
		s.add(s.at, ports, nic.FieldDSCP, nil)
		return
	}
	s.add(s.at, ports, nic.FieldDSCP, func(p *nic.Port) { p.DSCP = qos.Of(m) })
}

// openETS returns an ETS that leaves everything alone.
func openETS() (e nic.ETS) {
	for i := range e.Bandwidth {
		e.Bandwidth[i], e.PriorityToTC[i] = -1, -1
	}
	return e
}

// mlnxQoS parses mlnx_qos of mlnx-tools.
func mlnxQoS(s *script, args []string) {
	v, _ := options(args, "-i", "--interface", "-f", "--pfc", "--trust", "--dscp2prio", "-p", "--prio_tc", "-s", "--tsa", "-t", "--tcbw",
		"-r", "--ratelimit", "-d", "--dcbx", "--cable_len", "--buffer_size", "--prio2buffer")
	dev, _ := first(v, "-i", "--interface")
	ports, ok := s.ports(dev)
	if !ok {
		return
	}
	if list, ok := first(v, "-f", "--pfc"); ok {
		set, ok := flags(list)
		s.pfc(ports, set, ok)
	}
	if t, ok := v["--trust"]; ok {
		s.trust(ports, t)
	}
	if d, ok := v["--dscp2prio"]; ok {
		op, entry, _ := strings.Cut(d, ",")
		if op == "set" {
			s.dscp(ports, []string{entry}, ",")
		} else {
			s.add(s.at, ports, nic.FieldDSCP, nil)
		}
	}
	s.ets(ports, v)
	if n, ok := v["--cable_len"]; ok {
		s.number(s.at, ports, nic.FieldCable, n)
	}
	if _, ok := first(v, "--buffer_size", "--prio2buffer"); ok {
		s.add(s.at, ports, nic.FieldBuffers, nil)
	}
	if d, ok := first(v, "-d", "--dcbx"); ok {
		owner := nic.OwnerHost
		if strings.HasPrefix(d, "f") {
			owner = nic.OwnerFirmware
		}
		s.add(s.at, ports, nic.FieldDCBX, func(p *nic.Port) { p.DCBX = qos.Of(owner) })
	}
}

func (s *script) trust(ports []string, t string) {
	if t != string(qos.TrustDSCP) && t != string(qos.TrustPCP) {
		s.add(s.at, ports, nic.FieldTrust, nil)
		return
	}
	s.add(s.at, ports, nic.FieldTrust, func(p *nic.Port) { p.Trust = qos.Of(qos.Trust(t)) })
}

// ets records what mlnx_qos sets of the scheduling.
func (s *script) ets(ports []string, v map[string]string) {
	e, any, known := openETS(), false, true
	if list, ok := first(v, "-s", "--tsa"); ok {
		any = true
		l := strings.Split(list, ",")
		known = known && len(l) == len(e.TSA) && !isDynamic(list)
		for i, t := range l[:min(len(l), len(e.TSA))] {
			e.TSA[i] = nic.TSA(clip(strings.TrimSpace(t)))
		}
	}
	if list, ok := first(v, "-t", "--tcbw"); ok {
		n, ok := numbers(list, 100)
		any, known, e.Bandwidth = true, known && ok, n
	}
	if list, ok := first(v, "-p", "--prio_tc"); ok {
		n, ok := numbers(list, 7)
		any, known = true, known && ok
		for i, tc := range n {
			e.PriorityToTC[i] = int8(tc)
		}
	}
	switch {
	case !any:
	case known:
		s.add(s.at, ports, nic.FieldETS, func(p *nic.Port) { p.ETS = qos.Of(e) })
	default:
		s.add(s.at, ports, nic.FieldETS, nil)
	}
}

// cmaToS parses cma_roce_tos, which shows the value if -t is missing.
func cmaToS(s *script, args []string) {
	v, _ := options(args, "-d", "-t", "-p", "--dev", "--tos", "--port")
	dev, _ := first(v, "-d", "--dev")
	tos, sets := first(v, "-t", "--tos")
	if ports, ok := s.ports(dev); ok && sets {
		s.number(s.at, ports, nic.FieldToS, tos)
	}
}

// cmaMode parses cma_roce_mode: 1 is RoCE v1, 2 is RoCE v2.
func cmaMode(s *script, args []string) {
	v, _ := options(args, "-d", "-m", "-p", "--dev", "--mode", "--port")
	dev, _ := first(v, "-d", "--dev")
	mode, sets := first(v, "-m", "--mode")
	if ports, ok := s.ports(dev); ok && sets {
		s.mode(ports, map[string]string{"1": "IB/RoCE v1", "2": nic.ModeRoCEv2}[mode])
	}
}

func (s *script) mode(ports []string, mode string) {
	if mode == "" || isDynamic(mode) {
		s.add(s.at, ports, nic.FieldMode, nil)
		return
	}
	s.add(s.at, ports, nic.FieldMode, func(p *nic.Port) { p.Mode = qos.Of(clip(mode)) })
}

// wordAfter returns the word that follows the given word.
func wordAfter(args []string, word string) (string, bool) {
	if i := slices.Index(args, word); i >= 0 && i+1 < len(args) {
		return args[i+1], true
	}
	return "", false
}

// dcbTool parses dcb of iproute2.
func dcbTool(s *script, args []string) {
	dev, ok := wordAfter(args, "dev")
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	if !ok || len(args) < 4 {
		return
	}
	ports, ok := s.ports(dev)
	if !ok {
		return
	}
	object, verb, i := args[0], args[1], slices.Index(args, "dev")
	if verb == "show" || i < 0 {
		return
	}
	rest := args[min(len(args), i+2):]
	switch object {
	case "pfc":
		s.dcbPFC(ports, rest)
	case "app":
		s.dcbApp(ports, verb, rest)
	case "ets":
		s.add(s.at, ports, nic.FieldETS, nil)
	case "buffer":
		s.add(s.at, ports, nic.FieldBuffers, nil)
	case "dcbx":
		owner := nic.OwnerFirmware
		if slices.Contains(rest, "host") {
			owner = nic.OwnerHost
		}
		s.add(s.at, ports, nic.FieldDCBX, func(p *nic.Port) { p.DCBX = qos.Of(owner) })
	}
}

// dcbPFC parses "prio-pfc all:off 3:on delay 7".
func (s *script) dcbPFC(ports, args []string) {
	if n, ok := wordAfter(args, "delay"); ok {
		s.number(s.at, ports, nic.FieldCable, n)
	}
	i := slices.Index(args, "prio-pfc")
	if i < 0 {
		return
	}
	var set qos.PrioritySet
	var told qos.PrioritySet
	for _, a := range args[i+1:] {
		which, to, ok := strings.Cut(a, ":")
		if !ok {
			break
		}
		prios := qos.PrioritySet(0xff)
		if which != "all" {
			n, err := strconv.Atoi(which)
			if err != nil || n < 0 || n > 7 {
				told = 0
				break
			}
			prios = qos.Priorities(n)
		}
		told |= prios
		if set &^= prios; to == "on" {
			set |= prios
		}
	}
	// Priorities that are not named keep their value, so the result is known only if all are named.
	s.pfc(ports, set, told == 0xff)
}

func (s *script) dcbApp(ports []string, verb string, args []string) {
	i := slices.Index(args, "dscp-prio")
	if i < 0 && verb != "flush" {
		return
	}
	var entries []string
	if verb == "add" || verb == "replace" {
		for _, a := range args[i+1:] {
			if !strings.Contains(a, ":") {
				break
			}
			entries = append(entries, a)
		}
	}
	s.dscp(ports, entries, ":")
}

// lldptool parses lldptool, which sets values through lldpad with -T or set-tlv.
func lldptool(s *script, args []string) {
	v, rest := options(args, "-i", "-V")
	_, short := v["-T"]
	ports, ok := s.ports(v["-i"])
	if !ok || !short && !slices.Contains(rest, "set-tlv") {
		return
	}
	switch tlv := v["-V"]; {
	case tlv == "PFC":
		s.lldpPFC(ports, rest)
	case tlv == "ETS-CFG":
		s.add(s.at, ports, nic.FieldETS, nil)
	case tlv == "APP":
		s.add(s.at, ports, nic.FieldDSCP, nil)
	}
}

// lldpPFC parses "enabled=3,4" and "enabled=none".
func (s *script) lldpPFC(ports, args []string) {
	for _, a := range args {
		list, ok := strings.CutPrefix(a, "enabled=")
		if !ok {
			continue
		}
		var set qos.PrioritySet
		known := true
		for _, p := range strings.Split(list, ",") {
			n, err := strconv.Atoi(p)
			switch {
			case p == "none":
			case err != nil || n < 0 || n > 7:
				known = false
			default:
				set |= qos.Priorities(n)
			}
		}
		s.pfc(ports, set, known)
	}
}

func ethtool(s *script, args []string) {
	if len(args) < 2 {
		return
	}
	ports, ok := s.ports(args[1])
	if !ok {
		return
	}
	switch rest := args[2:]; args[0] {
	case "-A", "--pause":
		s.pause(ports, rest)
	case "-G", "--set-ring":
		s.rings(ports, rest)
	case "--set-priv-flags":
		if to, ok := wordAfter(rest, nic.AgentICE); ok {
			owner := nic.OwnerHost
			if to == "on" {
				owner = nic.OwnerFirmware
			}
			s.add(s.at, ports, nic.FieldDCBX, func(p *nic.Port) { p.DCBX = qos.Of(owner) })
		}
	}
}

// pause records link pause, which is known if it is on in one direction or off in both.
func (s *script) pause(ports, args []string) {
	rx, _ := wordAfter(args, "rx")
	tx, _ := wordAfter(args, "tx")
	switch {
	case rx == "" && tx == "":
	case rx == "on" || tx == "on":
		s.add(s.at, ports, nic.FieldLinkPause, func(p *nic.Port) { p.LinkPause = qos.Of(true) })
	case rx == "off" && tx == "off":
		s.add(s.at, ports, nic.FieldLinkPause, func(p *nic.Port) { p.LinkPause = qos.Of(false) })
	default:
		s.add(s.at, ports, nic.FieldLinkPause, nil)
	}
}

func (s *script) rings(ports, args []string) {
	rx, hasRX := wordAfter(args, "rx")
	tx, hasTX := wordAfter(args, "tx")
	s.Finder.rings(s.at, ports, rx, hasRX, tx, hasTX)
}

func (f *Finder) rings(a at, ports []string, rx string, hasRX bool, tx string, hasTX bool) {
	if !hasRX && !hasTX {
		return
	}
	var r nic.Rings
	var err, terr error
	if hasRX {
		r.RX, err = strconv.Atoi(rx)
	}
	if hasTX {
		r.TX, terr = strconv.Atoi(tx)
	}
	if err != nil || terr != nil {
		f.add(a, ports, nic.FieldRings, nil)
		return
	}
	f.add(a, ports, nic.FieldRings, func(p *nic.Port) { p.Rings = qos.Of(r) })
}

// ipLink parses "ip link set dev ens1 mtu 9000" and its short forms, and the egress map that "ip
// link set" and "ip link add" give a VLAN.
func ipLink(s *script, args []string) {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	if i := slices.Index(args, "egress-qos-map"); i > 2 {
		vlan := args[2]
		for _, before := range []string{"dev", "name"} {
			if name, ok := wordAfter(args, before); ok {
				vlan = name
			}
		}
		if names := s.values(vlan); len(names) == 1 {
			s.egress(s.at, names[0], args[i+1:], ":")
		}
	}
	if len(args) < 4 || !strings.HasPrefix("link", args[0]) || !strings.HasPrefix("set", args[1]) {
		return
	}
	dev := args[2]
	if d, ok := wordAfter(args, "dev"); ok {
		dev = d
	}
	mtu, sets := wordAfter(args, "mtu")
	if ports, ok := s.ports(dev); ok && sets {
		s.number(s.at, ports, nic.FieldMTU, mtu)
	}
}

func ifconfig(s *script, args []string) {
	mtu, sets := wordAfter(args, "mtu")
	if !sets || len(args) == 0 {
		return
	}
	if ports, ok := s.ports(args[0]); ok {
		s.number(s.at, ports, nic.FieldMTU, mtu)
	}
}

// bnxtSetup parses Broadcom's bnxt_setupcc.sh, which sets PFC, ETS, the DSCP map and the ToS.
func bnxtSetup(s *script, args []string) {
	v, _ := options(args, "-i", "-d", "-m", "-v", "-r", "-s", "-c", "-p", "-b", "-u", "-t")
	dev, ok := first(v, "-i", "-d")
	if ports, named := s.ports(dev); ok && named {
		s.add(s.at, ports, "", nil)
	}
}

// nicctl parses AMD's nicctl, which sets all AMD cards of the host.
func nicctl(s *script, args []string) {
	if len(args) > 1 && args[0] == "update" && slices.Contains([]string{"qos", "dcqcn", "port"}, args[1]) {
		if ports := s.those(func(n NIC) bool { return n.Driver == nic.DriverIonic }); len(ports) > 0 {
			s.add(s.at, ports, "", nil)
		}
	}
}

// file records a value that is written to a file of the kernel.
func (s *script) file(name, value string) {
	parts := strings.Split(strings.Trim(name, "/"), "/")
	if len(parts) < 5 || len(parts) > 8 {
		return
	}
	t := s.withProgram("echo")
	dev, rest := parts[3], strings.Join(parts[4:], "/")
	switch {
	case strings.HasPrefix(name, "/sys/kernel/config/rdma_cm/") && len(parts) == 8:
		dev, rest = parts[4], parts[7]
	case !strings.HasPrefix(name, "/sys/class/net/") && !strings.HasPrefix(name, "/sys/class/infiniband/"):
		return
	}
	ports, ok := t.ports(dev)
	if !ok {
		return
	}
	switch rest {
	case "mtu":
		t.number(t.at, ports, nic.FieldMTU, value)
	case "ecn/roce_np/cnp_dscp":
		t.number(t.at, ports, nic.FieldCNPDSCP, value)
	case "ecn/roce_np/cnp_802p_prio":
		t.number(t.at, ports, nic.FieldCNPPriority, value)
	case "tc/1/traffic_class":
		t.number(t.at, ports, nic.FieldTrafficClass, strings.TrimPrefix(value, "tclass="))
	case "default_roce_tos":
		t.number(t.at, ports, nic.FieldToS, value)
	case "default_roce_mode":
		t.mode(ports, value)
	case "settings/pfc_stall_prevention":
		if value == "" || isDynamic(value) {
			t.add(t.at, ports, nic.FieldStallPrevention, nil)
			return
		}
		t.add(t.at, ports, nic.FieldStallPrevention, func(p *nic.Port) { p.StallPrevention = qos.Of(clip(value)) })
	default:
		if strings.HasPrefix(rest, "ecn/roce_np/enable/") || strings.HasPrefix(rest, "ecn/roce_rp/enable/") {
			t.add(t.at, ports, nic.FieldECN, nil)
		}
	}
}
