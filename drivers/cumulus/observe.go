package cumulus

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/units"
	native "github.com/roce-fabric/roce-fabric/render/cumulus"
)

// shown is a value of operational data: a number, or a size as printed by the commands ("153.00
// KB", "25000 B"). KB is 1024 bytes (RDMA over Converged Ethernet: 150 000 bytes are 146.48 KB).
type shown struct {
	n   uint64
	set bool
	// exact is set if the value was not rounded for display.
	exact bool
}

// UnmarshalJSON accepts any value; one that is not a number is not set.
func (s *shown) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		*s = shown{n, true, true}
		return nil
	}
	number, unit, _ := strings.Cut(text, " ")
	f, err := strconv.ParseFloat(number, 64)
	scale, ok := map[string]float64{"": 1, "B": 1, "Byte": 1, "Bytes": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}[unit]
	if err == nil && ok && f >= 0 && f*scale < 1<<62 {
		*s = shown{uint64(f * scale), true, scale == 1}
	}
	return nil
}

// link is the link of an interface. Since 5.11 the administrative and operational states are
// separate.
type link struct {
	MTU   shown                      `json:"mtu"`
	Speed string                     `json:"speed"`
	Admin string                     `json:"admin-status"`
	Oper  string                     `json:"oper-status"`
	State map[string]json.RawMessage `json:"state"`
	FEC   string                     `json:"fec"`
	Stats struct {
		In  shown `json:"in-errors"`
		Out shown `json:"out-errors"`
	} `json:"stats"`
}

// face is the part of an interface that the driver reads.
type face struct {
	Link link `json:"link"`
	LLDP struct {
		Neighbor map[string]struct {
			Port struct {
				Name string `json:"name"`
			} `json:"port"`
		} `json:"neighbor"`
	} `json:"lldp"`
}

// counted holds the QoS counters of a port.
type counted struct {
	Ingress byID[struct {
		Buffer shown `json:"rx-buffer-discards"`
		Shared shown `json:"rx-shared-buffer-discards"`
	}] `json:"ingress-buffer-stats"`
	Egress byID[struct {
		Frames   shown `json:"tx-frames"`
		Bytes    shown `json:"tx-bytes"`
		Discards shown `json:"tx-uc-buffer-discards"`
		Marked   shown `json:"ecn-marked-frames"`
	}] `json:"egress-queue-stats"`
	PFC byID[struct {
		Rx shown `json:"rx-pause-frames"`
		Tx shown `json:"tx-pause-frames"`
	}] `json:"pfc-stats"`
	Port struct {
		Pause struct {
			Rx shown `json:"rx"`
			Tx shown `json:"tx"`
		} `json:"pause-frames"`
	} `json:"port-stats"`
}

// byID is a collection of priorities, queues or groups: an object keyed by number, or a list
// whose members contain their number.
type byID[T any] map[int]T

// UnmarshalJSON decodes either form and skips members without a number from 0 to 7.
func (c *byID[T]) UnmarshalJSON(b []byte) error {
	out := byID[T]{}
	put := func(id string, raw json.RawMessage) error {
		n, err := strconv.Atoi(id)
		if err != nil || n < 0 || n >= qos.NumPriorities {
			return nil
		}
		var v T
		err = json.Unmarshal(raw, &v)
		out[n] = v
		return err
	}
	var list []json.RawMessage
	if json.Unmarshal(b, &list) == nil {
		for _, raw := range list {
			var id struct {
				Queue    json.Number `json:"traffic-class"`
				Priority json.Number `json:"switch-priority"`
				Group    json.Number `json:"priority-group"`
			}
			if json.Unmarshal(raw, &id) != nil {
				continue
			}
			if err := put(string(id.Queue+id.Priority+id.Group), raw); err != nil {
				return err
			}
		}
		*c = out
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	for id, raw := range all {
		if err := put(id, raw); err != nil {
			return err
		}
	}
	*c = out
	return nil
}

// get reads a resource of operational data; false if the switch does not have it.
func (d *Driver) get(ctx context.Context, path string, into any) (bool, error) {
	err := d.do(ctx, http.MethodGet, path, nil, into)
	if refusedWith(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil, err
}

// faces reads the interfaces and their neighbors in one request.
func (d *Driver) faces(ctx context.Context) (map[string]face, error) {
	all := map[string]face{}
	if err := d.do(ctx, http.MethodGet, query(at("interface"), "rev", "operational", "include", "/*/link,/*/lldp/neighbor"), nil, &all); err != nil {
		return nil, err
	}
	for name := range all {
		if !strings.HasPrefix(name, "swp") {
			delete(all, name)
		}
	}
	return all, nil
}

// atOnce is the number of port resources that are read in parallel.
const atOnce = 4

// each calls read for each port, several in parallel, and returns the first error.
func each(ctx context.Context, ports []string, read func(ctx context.Context, port string) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan string)
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for p := range next {
				if err := read(ctx, p); err != nil {
					cancel(fmt.Errorf("%s: %w", p, err))
				}
			}
		})
	}
	for _, p := range ports {
		next <- p
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

// Observe reads the state of all ports.
func (d *Driver) Observe(ctx context.Context) (*drivers.Observation, error) {
	return d.observe(ctx, nil, true)
}

// Counters reads the port counters. It omits pause times, whose unit is not documented. NVUE
// prints discards as bytes; it is not documented whether they count bytes or frames.
func (d *Driver) Counters(ctx context.Context, ports []string) (*drivers.Counters, error) {
	o, err := d.observe(ctx, ports, false)
	if err != nil {
		return nil, err
	}
	return drivers.CountersOf(o, ports, lines.CounterAge), nil
}

// observe reads the ports, or all if only is nil; with buffers it also reads the buffers of their
// groups.
func (d *Driver) observe(ctx context.Context, only []string, buffers bool) (*drivers.Observation, error) {
	o := &drivers.Observation{Taken: time.Now()}
	all, err := d.faces(ctx)
	if err != nil {
		return nil, err
	}
	names := natural.Keys(all)
	if only != nil {
		names = nil
		for _, n := range only {
			if _, ok := all[n]; ok {
				names = append(names, n)
			}
		}
	}
	for _, n := range names {
		f := all[n]
		f.into(o.Port(n))
	}
	var mu sync.Mutex
	err = each(ctx, names, func(ctx context.Context, port string) error {
		var c counted
		if _, err := d.get(ctx, query(at("interface", port, "counters", "qos"), "rev", "operational"), &c); err != nil {
			return err
		}
		var w byID[struct {
			Count  shown  `json:"deadlock-count"`
			Status string `json:"status"`
		}]
		if _, err := d.get(ctx, query(at("interface", port, "qos", "pfc-watchdog", "status"), "rev", "operational"), &w); err != nil {
			return err
		}
		var groups byID[struct {
			Headroom shown  `json:"headroom"`
			Kind     string `json:"lossy-lossless"`
			XON      shown  `json:"xon-threshold"`
			Alpha    string `json:"shared-max"`
		}]
		if buffers {
			if _, err := d.get(ctx, query(at("interface", port, "qos", "buffer", "ingress-priority-group"), "rev", "operational"), &groups); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		p := o.Port(port)
		c.into(p)
		for i, v := range w {
			put(p, drivers.StormsDetected.Of(i), v.Count)
			if strings.EqualFold(v.Status, "deadlock") {
				p.PutStorm(i, drivers.StormStopped)
			}
		}
		for i, g := range groups {
			// The headroom takes the packets that arrive after a pause, above the level at which
			// senders may resume. Skip a group that shows only one of the two values.
			if strings.EqualFold(g.Kind, "lossless") && g.Headroom.n > 0 && g.XON.n > 0 {
				if p.Groups == nil {
					p.Groups = map[int]qos.Headroom{}
				}
				// Without a value that can be read, groups are taken to have ALPHA_1, which NVIDIA's
				// guide gives to lossless traffic.
				alpha, _ := native.Alpha(g.Alpha)
				p.Groups[i] = qos.Headroom{Size: int64(g.Headroom.n + g.XON.n), XON: int64(g.XON.n), XOFF: int64(g.Headroom.n), Threshold: alpha}
			}
		}
		return nil
	})
	return o, err
}

func put(p *drivers.PortState, id drivers.CounterID, v shown) {
	if !v.set {
		return
	}
	if p.Counters == nil {
		p.Counters = drivers.PortCounters{}
	}
	p.Counters[id] = v.n
}

// into sets the state of an interface.
func (f *face) into(p *drivers.PortState) {
	l := f.Link
	p.AdminUp, p.OperUp = drivers.UpOf(l.Admin), drivers.UpOf(l.Oper)
	if l.Oper == "" && len(l.State) == 1 {
		for word := range l.State {
			p.OperUp = drivers.UpOf(word)
		}
	}
	if l.MTU.set {
		p.MTU = qos.Of(int(l.MTU.n))
	}
	if s, err := units.ParseRate(l.Speed); err == nil {
		p.Speed = qos.Of(s)
	}
	p.FEC = drivers.FECOf(l.FEC)
	put(p, drivers.ErrorsRx.Of(0), l.Stats.In)
	put(p, drivers.ErrorsTx.Of(0), l.Stats.Out)
	for _, device := range natural.Keys(f.LLDP.Neighbor) {
		p.Neighbors = append(p.Neighbors, qos.Neighbor{Device: device, Port: f.LLDP.Neighbor[device].Port.Name})
	}
}

// into sets the counters of a port.
func (c *counted) into(p *drivers.PortState) {
	for i, v := range c.PFC {
		put(p, drivers.PFCRx.Of(i), v.Rx)
		put(p, drivers.PFCTx.Of(i), v.Tx)
	}
	for i, v := range c.Egress {
		put(p, drivers.QueuePackets.Of(i), v.Frames)
		put(p, drivers.QueueBytes.Of(i), v.Bytes)
		put(p, drivers.QueueDrops.Of(i), v.Discards)
		put(p, drivers.QueueMarked.Of(i), v.Marked)
	}
	for i, v := range c.Ingress {
		if v.Buffer.set && v.Shared.set {
			put(p, drivers.GroupDrops.Of(i), shown{n: v.Buffer.n + v.Shared.n, set: true})
		}
	}
	put(p, drivers.LinkPauseRx.Of(0), c.Port.Pause.Rx)
	put(p, drivers.LinkPauseTx.Of(0), c.Port.Pause.Tx)
}

// marks holds the active ECN thresholds of a queue.
type marks struct {
	ECN string `json:"ecn"`
	Min shown  `json:"min-threshold"`
	Max shown  `json:"max-threshold"`
}

// Applied compares the port state that the switch shows with desired. The keys of its ECN data
// are not documented, so a difference there is not certain.
func (d *Driver) Applied(ctx context.Context, want drivers.Desired) ([]drivers.Mismatch, error) {
	desired, err := drivers.Want[*qos.Device](want)
	if err != nil {
		return nil, err
	}
	all, err := d.faces(ctx)
	if err != nil {
		return nil, err
	}
	var out []drivers.Mismatch
	var names []string
	for _, name := range natural.Keys(desired.Ports) {
		f, ok := all[name]
		if !ok {
			continue
		}
		names = append(names, name)
		want := desired.Ports[name]
		var have drivers.PortState
		f.into(&have)
		if want.AdminUp.Set && have.AdminUp.Set && want.AdminUp.V != have.AdminUp.V {
			out = append(out, drivers.Mismatch{Port: name, Field: qos.KindAdminUp.Attr(), Want: strconv.FormatBool(want.AdminUp.V), Have: strconv.FormatBool(have.AdminUp.V)})
		}
		if want.MTU.Set && have.MTU.Set && want.MTU.V != have.MTU.V {
			out = append(out, drivers.Mismatch{Port: name, Field: qos.KindMTU.Attr(), Want: strconv.Itoa(want.MTU.V), Have: strconv.Itoa(have.MTU.V)})
		}
	}
	found := make(map[string][]drivers.Mismatch, len(names))
	var mu sync.Mutex
	err = each(ctx, names, func(ctx context.Context, port string) error {
		var m byID[marks]
		if ok, err := d.get(ctx, query(at("interface", port, "qos", "congestion-control", "traffic-class"), "rev", "operational"), &m); err != nil || !ok {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		found[port] = ecnMismatches(port, desired.Ports[port], m)
		return nil
	})
	for _, n := range names {
		out = append(out, found[n]...)
	}
	return out, err
}

// ecnMismatches returns a mismatch for each queue of a port that does not mark as desired.
func ecnMismatches(port string, want *qos.Port, have byID[marks]) (out []drivers.Mismatch) {
	for i := range want.Queues {
		e := want.Queues[i].ECN
		if !e.Set {
			continue
		}
		is, listed := have[i]
		on := listed && (is.ECN == "enable" || is.ECN == "enabled" || is.ECN == "on")
		text := "off"
		if on {
			text = fmt.Sprintf("on, %d to %d bytes", is.Min.n, is.Max.n)
		}
		bytes := e.V.Unit == qos.UnitBytes && is.Min.set && is.Max.set
		if on != e.V.Enabled || on && bytes && !(native.SameThreshold(e.V.Min, int64(is.Min.n)) && native.SameThreshold(e.V.Max, int64(is.Max.n))) {
			out = append(out, drivers.Mismatch{Port: port, Field: qos.KindECN.At(i), Want: e.V.String(), Have: text, Unsure: true})
		}
	}
	return out
}
