package sonic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// flexGroup is a group of counters that are polled together, a row of flexTable.
type flexGroup struct {
	name    string
	enable  string        // command that turns polling on
	every   time.Duration // default, unless POLL_INTERVAL is set
	metrics []drivers.Metric
}

// flexGroups lists the groups, their commands and their default intervals (sonic-swss
// orchagent/portsorch.cpp, flexcounterorch.cpp; sonic-utilities counterpoll/main.py, pfcwd/main.py;
// sonic-buildimage init_cfg.json.j2).
var flexGroups = []flexGroup{
	{"PORT", "counterpoll port enable", time.Second, []drivers.Metric{drivers.PFCRx, drivers.PFCTx, drivers.LinkPauseRx, drivers.LinkPauseTx, drivers.ErrorsRx, drivers.ErrorsTx,
		drivers.FECCorrected, drivers.FECUncorrected, drivers.SymbolErrors, drivers.PacketsRx}},
	{"QUEUE", "counterpoll queue enable", 10 * time.Second, []drivers.Metric{drivers.QueuePackets, drivers.QueueBytes, drivers.QueueDrops}},
	{"WRED_ECN_QUEUE", "counterpoll wredqueue enable", 10 * time.Second, []drivers.Metric{drivers.QueueMarked}},
	{"PG_DROP", "counterpoll pg-drop enable", 10 * time.Second, []drivers.Metric{drivers.GroupDrops}},
	{"QUEUE_WATERMARK", "counterpoll watermark enable", time.Minute, []drivers.Metric{drivers.QueuePeak}},
	{"PG_WATERMARK", "counterpoll watermark enable", time.Minute, []drivers.Metric{drivers.GroupPeak, drivers.HeadroomPeak, drivers.GroupPeakKept, drivers.HeadroomPeakKept}},
	{poolGroup, "counterpoll watermark enable", time.Minute, nil},
	{watchdogGroup, pollWatchdog, time.Second, []drivers.Metric{drivers.StormsDetected, drivers.StormsRestored, drivers.PauseRxTime, drivers.PauseTxTime}},
}

// watchdogGroup is polled at the interval of PFC_WD|GLOBAL, at most a second (sonic-utilities
// pfcwd/main.py). poolGroup holds the counters of the pools.
const (
	flexTable     = "FLEX_COUNTER_TABLE"
	watchdogGroup = "PFCWD"
	pollWatchdog  = "pfcwd counter_poll enable"
	poolGroup     = "BUFFER_POOL_WATERMARK"
)

// field is a counter under its SAI name.
type field struct {
	name   string
	metric drivers.Metric
}

// The counters of queues, groups and ports (opencomputeproject/SAI saiqueue.h,
// saibuffer.h, saiport.h; sonic-swss orchagent/pfc_detect_*.lua).
var (
	queueFields = []field{
		{"SAI_QUEUE_STAT_PACKETS", drivers.QueuePackets}, {"SAI_QUEUE_STAT_BYTES", drivers.QueueBytes},
		{"SAI_QUEUE_STAT_DROPPED_PACKETS", drivers.QueueDrops}, {"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", drivers.QueueMarked},
		{"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", drivers.QueuePeak},
		{"PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", drivers.StormsDetected}, {"PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", drivers.StormsRestored},
	}
	groupFields = []field{
		{"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", drivers.GroupDrops},
		{"SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES", drivers.GroupPeak},
		{"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", drivers.HeadroomPeak},
	}
	// keptFields are in keptTable.
	keptFields = []field{
		{"SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES", drivers.GroupPeakKept},
		{"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", drivers.HeadroomPeakKept},
	}
	portFields = []field{
		{"SAI_PORT_STAT_PAUSE_RX_PKTS", drivers.LinkPauseRx}, {"SAI_PORT_STAT_PAUSE_TX_PKTS", drivers.LinkPauseTx},
		{"SAI_PORT_STAT_IF_IN_ERRORS", drivers.ErrorsRx}, {"SAI_PORT_STAT_IF_OUT_ERRORS", drivers.ErrorsTx},
		{"SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES", drivers.FECCorrected}, {"SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", drivers.FECUncorrected},
		{"SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS", drivers.SymbolErrors}, {"SAI_PORT_STAT_IF_IN_UCAST_PKTS", drivers.PacketsRx},
	}
	priorityFields = []field{
		{"SAI_PORT_STAT_PFC_%d_RX_PKTS", drivers.PFCRx}, {"SAI_PORT_STAT_PFC_%d_TX_PKTS", drivers.PFCTx},
		{"SAI_PORT_STAT_PFC_%d_RX_PAUSE_DURATION_US", drivers.PauseRxTime}, {"SAI_PORT_STAT_PFC_%d_TX_PAUSE_DURATION_US", drivers.PauseTxTime},
	}
)

// keptTable holds the highest values since an operator cleared them. The switch clears those of the
// table COUNTERS each time it polls them (sonic-swss orchagent/watermark_pg.lua, watermarkorch.cpp;
// SONiC doc/watermarks_HLD.md).
const keptTable = "PERSISTENT_WATERMARKS"

// poolPeak is the highest fill level of a buffer pool.
const poolPeak = "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES"

// Counters reads COUNTERS_DB, which the switch itself fills at intervals. Counters that it does not
// poll stand still; they are left out and listed in Off.
func (d *driver) Counters(ctx context.Context, ports []string) (*drivers.Counters, error) {
	// A map exists only if something of its kind is counted.
	names, err := d.hashes(ctx, "COUNTERS_DB", "COUNTERS_PORT_NAME_MAP", "COUNTERS_QUEUE_NAME_MAP", "COUNTERS_PG_NAME_MAP", "COUNTERS_BUFFER_POOL_NAME_MAP")
	if err != nil {
		return nil, err
	}
	polls, err := d.tables(ctx, "CONFIG_DB", flexTable, native.TWatchdog)
	if err != nil {
		return nil, err
	}
	flex, guard := polls[0], polls[1]
	taken := time.Now()
	counted, err := d.tables(ctx, "COUNTERS_DB", "COUNTERS", keptTable)
	if err != nil {
		return nil, err
	}
	rows := counted[0]
	if rows == nil {
		return nil, fmt.Errorf("%w: COUNTERS_DB has no counters: the switch polls none", drivers.ErrUnsupported)
	}
	if ports == nil {
		ports = natural.Keys(names[0])
	}
	r := counterReader{rows: rows, kept: counted[1], still: map[drivers.Metric]bool{}, out: &drivers.Counters{
		Taken: taken, Ports: make(map[string]drivers.PortCounters, len(ports)), Pools: map[string]uint64{}, Poll: map[drivers.Metric]time.Duration{}, Off: map[drivers.Metric]string{}}}
	polled := r.intervals(flex, guard)
	for _, name := range ports {
		r.port(name, names[0], names[1], names[2])
	}
	r.off(flex)
	if polled[poolGroup] {
		for name, oid := range names[3] {
			if v := number(r.row(oid)[poolPeak]); v.Set {
				r.out.Pools[name] = v.V
			}
		}
	}
	return r.out, nil
}

type counterReader struct {
	rows  native.Table
	kept  native.Table            // of keptTable
	still map[drivers.Metric]bool // not polled
	out   *drivers.Counters
}

// intervals records the polling interval of each counter, and returns which groups are polled.
func (r *counterReader) intervals(flex, guard native.Table) map[string]bool {
	polled := map[string]bool{}
	for _, g := range flexGroups {
		row := flex[g.name]
		every := milliseconds(row["POLL_INTERVAL"], g.every)
		if g.name == watchdogGroup {
			every = milliseconds(guard["GLOBAL"]["POLL_INTERVAL"], g.every)
		}
		polled[g.name] = row["FLEX_COUNTER_STATUS"] != "disable"
		for _, m := range g.metrics {
			if !polled[g.name] {
				r.still[m] = true
				continue
			}
			r.out.Poll[m] = every
		}
	}
	return polled
}

// off lists the metrics that are not polled, because their group is disabled or has no row, so that
// orchagent never started it (sonic-swss orchagent/flexcounterorch.cpp). A metric that some port
// has nevertheless is counted by another group.
func (r *counterReader) off(flex native.Table) {
	shown := map[drivers.Metric]bool{}
	for _, p := range r.out.Ports {
		for id := range p {
			shown[id.Metric] = true
		}
	}
	for _, g := range flexGroups {
		if row := flex[g.name]; row != nil && row["FLEX_COUNTER_STATUS"] != "disable" {
			continue
		}
		for _, m := range g.metrics {
			if !shown[m] {
				r.out.Off[m] = flexTable + "|" + g.name + " is not enabled (sudo " + g.enable + ")"
			}
		}
	}
}

// milliseconds parses an interval of up to a day.
func milliseconds(s string, otherwise time.Duration) time.Duration {
	const day = 24 * 60 * 60 * 1000
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 && n <= day {
		return time.Duration(n) * time.Millisecond
	}
	return otherwise
}

func (r *counterReader) row(oid string) native.Row { return rowOf(r.rows, "COUNTERS", oid) }

// rowOf returns the row of an object; some sources repeat the name of the table in its key.
func rowOf(t native.Table, name, oid string) native.Row {
	if row, ok := t[oid]; ok {
		return row
	}
	return t[name+":"+oid]
}

func number(s string) qos.Opt[uint64] {
	n, err := strconv.ParseUint(s, 10, 64)
	return qos.Opt[uint64]{V: n, Set: err == nil}
}

func (r *counterReader) port(name string, ports, queues, groups native.Row) {
	p := drivers.PortCounters{}
	put := func(row native.Row, fields []field, index int) {
		for _, f := range fields {
			if r.still[f.metric] {
				continue
			}
			key := f.name
			if strings.Contains(key, "%d") {
				key = fmt.Sprintf(key, index)
			}
			p.Put(f.metric.Of(index), number(row[key]))
		}
	}
	own := r.row(ports[name])
	put(own, portFields, 0)
	for i := range qos.NumPriorities {
		at := name + ":" + strconv.Itoa(i)
		put(own, priorityFields, i)
		put(r.row(queues[at]), queueFields, i)
		put(r.row(groups[at]), groupFields, i)
		put(rowOf(r.kept, keptTable, groups[at]), keptFields, i)
	}
	if len(p) > 0 {
		r.out.Ports[name] = p
	}
}

// startupFile is loaded by the switch at boot.
const startupFile = "/etc/sonic/config_db.json"

// Unsaved compares CONFIG_DB with the startup file, which can only be read over SSH, in the tables
// that this tool knows. Rows that the buffer manager derives are ignored.
func (d *driver) Unsaved(ctx context.Context) ([]string, error) {
	saved, err := d.saved(ctx)
	if errors.Is(err, errCut) {
		return []string{err.Error()}, nil
	} else if err != nil {
		return nil, err
	}
	if d.kept != nil {
		return unsaved(d.kept, saved), nil
	}
	running, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	return unsaved(running, saved), nil
}

// saved reads the startup file. The error wraps ErrUnsupported if the file cannot be read.
func (d *driver) saved(ctx context.Context) (native.Config, error) {
	if d.t.SSH == nil || d.sshDown != nil {
		return nil, fmt.Errorf("%w: the startup file is read over ssh", drivers.ErrUnsupported)
	}
	out, err := d.exec(ctx, "sudo cat "+startupFile, nil)
	if err != nil {
		return nil, err
	}
	if out.Status != 0 {
		return nil, fmt.Errorf("%w: %s cannot be read: %s", drivers.ErrUnsupported, startupFile, firstLines(strings.TrimSpace(string(out.Stderr))))
	}
	saved, err := parse(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("%s %w after %d bytes: the next boot has no configuration", startupFile, errCut, len(out.Stdout))
	}
	return saved, nil
}

// errCut means that the startup file is not a complete configuration.
var errCut = errors.New("is cut off")

// unsaved lists the tables that differ, with their rows if they are few.
func unsaved(running, saved native.Config) []string {
	const few = 3
	tables := map[string]bool{}
	for _, c := range []native.Config{running, saved} {
		for t := range c {
			tables[t] = true
		}
	}
	var out []string
	for _, t := range natural.Keys(tables) {
		if !native.WantTable(t) {
			continue
		}
		differ := map[string]bool{}
		for _, c := range []native.Config{running, saved} {
			for key := range c[t] {
				have, kept := running.Row(t, key), saved.Row(t, key)
				// A row without fields differs from a missing row.
				if ((have == nil) != (kept == nil) || !maps.Equal(have, kept)) && !derived(running, saved, t, key) {
					differ[key] = true
				}
			}
		}
		keys := natural.Keys(differ)
		switch n := len(keys); {
		case n == 0:
		case n <= few:
			for _, k := range keys {
				out = append(out, t+"|"+k)
			}
		default:
			out = append(out, fmt.Sprintf("%s (%d rows)", t, n))
		}
	}
	return slices.Clip(out)
}

// derived reports whether the buffer manager derives a row from speed and cable.
func derived(running, saved native.Config, table, key string) bool {
	switch table {
	case native.TProfile:
		return native.Derived(key)
	case native.TGroup:
		for _, c := range []native.Config{running, saved} {
			if row := c.Row(table, key); row != nil && !native.Derived(row["profile"]) {
				return false
			}
		}
		return true
	}
	return false
}
