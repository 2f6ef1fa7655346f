package sonic

import (
	"context"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// applBuffers are the APPL_DB tables with the buffers that orchagent creates. In the dynamic model,
// CONFIG_DB leaves out their sizes (sonic-swss cfgmgr/buffermgrdyn.cpp).
var applBuffers = []string{"BUFFER_POOL_TABLE", "BUFFER_PROFILE_TABLE", "BUFFER_PG_TABLE"}

// computes reports whether the switch computes headroom itself.
func (d *driver) computes() bool { return d.meta["buffer_model"] == "dynamic" }

// limits reads what the ASIC reports about its memory: orchagent queries SAI at startup (sonic-swss
// orchagent/bufferorch.cpp, initBufferConstants; portsorch.cpp,
// initializePortBufferMaximumParameters), and the dynamic model adds the cell size
// (sonic-buildimage platform/*/asic_table.j2).
func limits(h *qos.Hardware, most, asics native.Table) {
	for _, row := range asics {
		h.Cell = size(row["cell_size"])
	}
	if len(asics) > 1 {
		h.Cell = 0 // it is not known which row applies
	}
	h.Memory = size(most["global"]["mmu_size"])
	for port, row := range most {
		if n := size(row["max_headroom_size"]); n > 0 {
			if h.MaxHeadroom == nil {
				h.MaxHeadroom = make(map[string]int64, len(most))
			}
			h.MaxHeadroom[port] = n
		}
	}
}

// size parses a number of bytes; 0 if it is not one, or more than any ASIC has.
func size(s string) int64 {
	const most = 1 << 40
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 && n <= most {
		return n
	}
	return 0
}

// inForce reads the pools and profiles that the dynamic model computed, and the headroom of each
// group.
func inForce(o *drivers.Observation, pools, profiles, groups native.Table) {
	dev, _ := native.Decode(native.Config{native.TPool: pools, native.TProfile: profiles})
	o.Pools, o.Profiles = dev.Pools, dev.Profiles
	links := o.Ports // nil if they were not read
	for at, profile := range bindings(groups, ":") {
		i := strings.LastIndexByte(at, ':')
		g, err := strconv.Atoi(at[i+1:])
		h := o.Profiles[profile].Headroom
		if links != nil && links[at[:i]] == nil || err != nil || g >= qos.NumPriorities || h.XOFF <= 0 {
			continue
		}
		p := o.Port(at[:i])
		if p.Groups == nil {
			p.Groups = map[int]qos.Headroom{}
		}
		p.Groups[g] = h
	}
}

// deviceDir has a folder for each platform, with a subfolder for each of its SKUs. Containers see
// the switch's own SKU folder as /usr/share/sonic/hwsku (sonic-buildimage
// files/build_templates/docker_image_ctl.j2, dockers/docker-orchagent/buffermgrd.sh).
const deviceDir = "/usr/share/sonic/device"

// lookupTable reads the switch's headroom table for the traditional model; nil if it cannot be read
// or does not exist. Rows that the switch cannot use are left out.
func (d *driver) lookupTable(ctx context.Context) ([]qos.HeadroomRow, error) {
	platform, sku := d.meta["platform"], d.meta["hwsku"]
	if d.t.SSH == nil || d.sshDown != nil || !isFolder(platform) || !isFolder(sku) {
		return nil, nil
	}
	file := deviceDir + "/" + platform + "/" + sku + "/pg_profile_lookup.ini"
	out, err := d.exec(ctx, "head -c "+strconv.Itoa(native.MaxLookup)+" "+quote(file), nil)
	if err != nil || out.Status != 0 {
		// Not an error: there are other sources for headroom.
		return nil, ctx.Err()
	}
	found, _ := native.ParseLookup(out.Stdout) // buffermgrd does not find rows that it cannot parse
	rows := make([]qos.HeadroomRow, 0, len(found))
	for _, r := range found {
		r.Static = d.staticPool
		rows = append(rows, r.HeadroomRow)
	}
	return rows, nil
}

// findHeadroom finds the headroom table for a plan: from the switch, or else the table that SONiC
// publishes for its model. m is nil for an unknown model.
func (d *driver) findHeadroom(ctx context.Context, m *catalog.Model) (err error) {
	if d.t.Reads || d.computes() {
		return nil
	}
	d.headroom.of = "the pg_profile_lookup.ini of the switch"
	if d.headroom.rows, err = d.lookupTable(ctx); err != nil || len(d.headroom.rows) > 0 || m == nil {
		return err
	}
	d.publishedHeadroom(m)
	return nil
}

func (d *driver) publishedHeadroom(m *catalog.Model) {
	d.headroom.of = "the table of headroom that SONiC publishes for " + m.Name
	for _, r := range m.Headroom {
		d.headroom.rows = append(d.headroom.rows, qos.HeadroomRow{Speed: r.Speed, Cable: r.Cable})
	}
}

// isFolder reports whether a name from CONFIG_DB can be the name of a single folder.
func isFolder(name string) bool {
	return name != "" && len(name) < 256 && name[0] != '.' && !strings.ContainsAny(name, "/\x00\n")
}
