package sonic

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// buffersReact simulates buffermgrd's reaction to a change of one CONFIG_DB row. In the traditional
// model it writes lossless profiles and priority groups back into CONFIG_DB (sonic-swss
// cfgmgr/buffermgr.cpp); in the dynamic model its results live in APPL_DB and STATE_DB and are
// computed when read.
func (s *Switch) buffersReact(table, key string, old, new row) {
	switch table {
	case "PORT":
		if new != nil {
			s.updatePortBuffers(key)
		}
	case "PORT_QOS_MAP":
		// buffermgrd does not notice a mask that is removed from a row, and before 202605 it does
		// not notice a removed row either.
		enable, stated := new["pfc_enable"]
		was, known := s.mgr.pfc[key]
		switch {
		case new == nil && s.rel >= r202605:
			delete(s.mgr.pfc, key)
		case key != "global" && stated && !(known && was == enable):
			s.mgr.pfc[key] = enable
			s.updatePortBuffers(key)
		}
	case "CABLE_LENGTH":
		for _, port := range naturalKeys(new) {
			if new[port] == s.mgr.cable[port] {
				continue
			}
			s.mgr.cable[port] = new[port]
			// Only from 202505 on does a new length alone re-evaluate a port that has its groups
			// (sonic-swss pull 4004).
			if s.rel >= r202505 || s.pendingPG[port] {
				s.updatePortBuffers(port)
			}
		}
	case "BUFFER_POOL":
		if key == "ingress_lossless_pool" && old == nil {
			for _, port := range naturalKeys(s.pendingPG) {
				s.updatePortBuffers(port)
			}
		}
	}
}

func (s *Switch) dynamic() bool {
	if m := s.cfg["DEVICE_METADATA"]["localhost"]["buffer_model"]; m != "" {
		return m == "dynamic"
	}
	return s.o.Dynamic
}

// groupMapASIC reports whether the chip takes a map from PFC priority to priority group (NVIDIA),
// and whether buffermgrd removes groups of ports that are down.
func (s *Switch) groupMapASIC() bool {
	if s.o.Model != nil && s.o.Model.ASIC() != nil {
		return s.o.Model.ASIC().PFCToGroupMap
	}
	return strings.HasPrefix(s.o.ASIC, "spc")
}

func (s *Switch) cable(port string) (string, bool) {
	c, ok := s.mgr.cable[port]
	return c, ok
}

// buffermgr is the state of buffermgrd: the PFC masks and cable lengths that it last received, even
// if their fields have been removed since.
type buffermgr struct{ pfc, cable map[string]string }

// startBuffermgr initializes the state from the configuration.
func (s *Switch) startBuffermgr() {
	s.mgr = buffermgr{map[string]string{}, map[string]string{}}
	for port, r := range s.cfg["PORT_QOS_MAP"] {
		if enable, stated := r["pfc_enable"]; stated && port != "global" {
			s.mgr.pfc[port] = enable
		}
	}
	for _, r := range s.cfg["CABLE_LENGTH"] {
		maps.Copy(s.mgr.cable, r)
	}
}

// updatePortBuffers evaluates one port in the traditional model.
func (s *Switch) updatePortBuffers(port string) {
	if s.dynamic() {
		return
	}
	p := s.cfg["PORT"][port]
	ranges := pfcRanges(s.mgr.pfc[port])
	if p["speed"] == "" || p["admin_status"] == "" || len(ranges) == 0 {
		return
	}
	cable, ok := s.cable(port)
	if !ok {
		s.pendingPG[port] = true
		return
	}
	if cable == "0m" {
		delete(s.pendingPG, port)
		return
	}
	name := "pg_lossless_" + p["speed"] + "_" + cable + "_profile"
	if s.groupMapASIC() && p["admin_status"] != "up" {
		for _, r := range ranges {
			if s.cfg["BUFFER_PG"][port+"|"+r]["profile"] == name {
				s.writeRow("BUFFER_PG", port+"|"+r, nil)
			}
		}
		return
	}
	if s.cfg["BUFFER_PROFILE"][name] == nil {
		h := s.headroom(p["speed"], cable)
		if h == nil {
			s.logf("ERR buffermgrd: :- doSpeedUpdateTask: Unable to create/update PG profile for port %s. No PG profile configured for speed %s and cable length %s", port, p["speed"], cable)
			return
		}
		pool := s.cfg["BUFFER_POOL"]["ingress_lossless_pool"]
		if pool == nil {
			s.pendingPG[port] = true
			s.logf("INFO buffermgrd: :- doSpeedUpdateTask: Pool ingress_lossless_pool not available yet")
			return
		}
		s.writeRow("BUFFER_PROFILE", name, losslessProfile(h, pool["mode"]))
	}
	delete(s.pendingPG, port)
	for _, r := range ranges {
		s.writeRow("BUFFER_PG", port+"|"+r, row{"profile": name})
	}
}

func losslessProfile(h *catalog.HeadroomRow, mode string) row {
	th := "dynamic_th"
	if mode == "static" {
		th = "static_th"
	}
	r := row{"pool": "ingress_lossless_pool", "xon": itoa(h.XON), "xoff": itoa(h.XOFF), "size": itoa(h.Size), th: itoa(h.Threshold)}
	if h.XONOffset != nil {
		r["xon_offset"] = itoa(*h.XONOffset)
	}
	return r
}

// headroom finds a row of pg_profile_lookup.ini: both columns are compared as text, without
// rounding.
func (s *Switch) headroom(speed, cable string) *catalog.HeadroomRow {
	for i := range s.o.Headroom {
		h := &s.o.Headroom[i]
		if itoa(h.Speed.Mbps()) == speed && h.Cable.String() == cable {
			return h
		}
	}
	return nil
}

// lookupFile is the path of the image's headroom table, lookupText its contents.
func (s *Switch) lookupFile() string {
	platform, sku := s.o.Platform, s.o.HWSKU
	if m := s.o.Model; m != nil {
		platform, sku = m.Platform, m.Name
	}
	return "/usr/share/sonic/device/" + platform + "/" + sku + "/pg_profile_lookup.ini"
}

func (s *Switch) lookupText() []byte {
	b := []byte("# PG lossless profiles.\n# speed cable size xon xoff threshold xon_offset\n")
	for _, h := range s.o.Headroom {
		b = fmt.Appendf(b, " %-7d %-5s %-7d %-7d %-8d %-5d", h.Speed.Mbps(), h.Cable, h.Size, h.XON, h.XOFF, h.Threshold)
		if h.XONOffset != nil {
			b = fmt.Appendf(b, " %d", *h.XONOffset)
		}
		b = append(b, '\n')
	}
	return b
}

// pfcRanges merges adjacent priorities: "2,3,4,6" gives 2-4 and 6.
func pfcRanges(enable string) []string {
	var prios []int
	for _, p := range strings.Split(enable, ",") {
		if n, err := strconv.Atoi(p); err == nil && n >= 0 && n < 8 {
			prios = append(prios, n)
		}
	}
	slices.Sort(prios)
	prios = slices.Compact(prios)
	var out []string
	for i := 0; i < len(prios); {
		j := i
		for j+1 < len(prios) && prios[j+1] == prios[j]+1 {
			j++
		}
		if j == i {
			out = append(out, strconv.Itoa(prios[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", prios[i], prios[j]))
		}
		i = j + 1
	}
	return out
}

// expand lists the indexes of "3" or "3-4"; nil for any other text.
func expand(r string) []int {
	a, b, ranged := strings.Cut(r, "-")
	lo, err := strconv.Atoi(a)
	hi := lo
	if ranged && err == nil {
		hi, err = strconv.Atoi(b)
	}
	if err != nil || lo < 0 || hi < lo || hi > 63 {
		return nil
	}
	var l []int
	for i := lo; i <= hi; i++ {
		l = append(l, i)
	}
	return l
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
