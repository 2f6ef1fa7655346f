package sonic

import (
	"context"
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// Pauses reads only the counters of ports, because counters of queues and priority groups make up
// most of COUNTERS_DB.
func (d *driver) Pauses(ctx context.Context, ports []string) (*drivers.Counters, error) {
	names, err := d.hashes(ctx, "COUNTERS_DB", "COUNTERS_PORT_NAME_MAP")
	if err != nil {
		return nil, err
	}
	var oids []string
	for _, p := range ports {
		if oid := names[0][p]; oid != "" {
			oids = append(oids, oid)
		}
	}
	if len(oids) == 0 {
		return nil, fmt.Errorf("%w: COUNTERS_DB names no ports", drivers.ErrUnsupported)
	}
	taken := time.Now()
	rows, err := d.from.rows(ctx, "COUNTERS_DB", "COUNTERS", oids)
	if err != nil {
		return nil, err
	}
	r := counterReader{rows: rows, out: &drivers.Counters{Taken: taken, Ports: make(map[string]drivers.PortCounters, len(ports))}}
	for _, name := range ports {
		r.port(name, names[0], nil, nil)
	}
	return r.out, nil
}

func (g viaGNMI) rows(ctx context.Context, db, table string, keys []string) (native.Table, error) {
	at := make([]gnmi.Path, len(keys))
	for i, k := range keys {
		at[i] = gnmi.Path{table, k}
	}
	rows, err := nodes(ctx, g.d, native.ParseRow, db, at...)
	if err != nil {
		return nil, err
	}
	out := make(native.Table, len(keys))
	for i, k := range keys {
		if rows[i] != nil {
			out[k] = rows[i]
		}
	}
	return out, nil
}

// rows reads all rows with the common prefix of the keys, because each pattern takes a process on
// the switch.
func (s viaSSH) rows(ctx context.Context, db, table string, keys []string) (native.Table, error) {
	prefix := keys[0]
	for _, k := range keys {
		n := 0
		for n < len(prefix) && n < len(k) && prefix[n] == k[n] {
			n++
		}
		prefix = prefix[:n]
	}
	at := table + separator(db)
	rows, err := s.dump(ctx, db, at+prefix+"*")
	if err != nil {
		return nil, err
	}
	out := make(native.Table, len(keys))
	for _, k := range keys {
		if row := rows[at+k]; row != nil {
			out[k] = row
		}
	}
	return out, nil
}
