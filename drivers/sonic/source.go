package sonic

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// source reads the databases of the switch. A missing table or row is nil and not an error.
type source interface {
	// config reads the tables of CONFIG_DB that this tool knows.
	config(ctx context.Context) (native.Config, error)
	tables(ctx context.Context, db string, names ...string) ([]native.Table, error)
	// hashes reads tables that consist of one hash without keys.
	hashes(ctx context.Context, db string, names ...string) ([]native.Row, error)
	row(ctx context.Context, db, table, key string) (native.Row, error)
	// rows reads the rows of a table with the given keys, which must not be empty. Missing rows are
	// left out.
	rows(ctx context.Context, db, table string, keys []string) (native.Table, error)
}

// source returns the transport for reading the databases: gNMI if the switch serves its databases
// over it, else SSH. It stays the same for the life of the driver.
func (d *driver) source(ctx context.Context) (source, error) {
	if d.from != nil {
		return d.from, nil
	}
	if d.t.GNMI.Address != "" && d.t.Write != intent.WriteDirect {
		if _, d.gnmiDown = d.client(ctx); d.gnmiDown == nil {
			d.from = viaGNMI{d}
			return d.from, nil
		}
		absent := errors.Is(d.gnmiDown, drivers.ErrUnreachable) || errors.Is(d.gnmiDown, drivers.ErrUnsupported)
		if d.t.SSH == nil || d.t.Write == intent.WriteGNMI || ctx.Err() != nil || !absent {
			return nil, d.gnmiDown
		}
	}
	if _, err := d.shell(ctx); err != nil {
		return nil, errors.Join(d.gnmiDown, err)
	}
	d.from = viaSSH{d}
	return d.from, nil
}

// overSSH reports whether the databases are read over SSH.
func (d *driver) overSSH() bool {
	_, ok := d.from.(viaSSH)
	return ok
}

// row reads a row, nil if there is none.
func (d *driver) row(ctx context.Context, db, table, key string) (native.Row, error) {
	from, err := d.source(ctx)
	if err != nil {
		return nil, err
	}
	return from.row(ctx, db, table, key)
}

func (d *driver) hashes(ctx context.Context, db string, names ...string) ([]native.Row, error) {
	from, err := d.source(ctx)
	if err != nil {
		return nil, err
	}
	return from.hashes(ctx, db, names...)
}

func (d *driver) tables(ctx context.Context, db string, names ...string) ([]native.Table, error) {
	from, err := d.source(ctx)
	if err != nil {
		return nil, err
	}
	return from.tables(ctx, db, names...)
}

func (d *driver) table(ctx context.Context, db, name string) (native.Table, error) {
	t, err := d.tables(ctx, db, name)
	if err != nil {
		return nil, err
	}
	return t[0], nil
}

// viaGNMI reads native paths.
type viaGNMI struct{ d *driver }

func (g viaGNMI) config(ctx context.Context) (native.Config, error) {
	c, err := g.d.client(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := c.GetOne(ctx, origin, configDB)
	if err != nil {
		return nil, drivers.TransportError(err)
	}
	return shown(raw)
}

// parse parses the tables of CONFIG_DB that this tool knows, from a switch or from a saved file.
func parse(raw []byte) (native.Config, error) {
	cfg, err := native.Parse(raw, native.InAccount)
	if err != nil {
		return nil, err
	}
	return cfg, cfg.Modernize()
}

// shown is [parse] for the output of a switch.
func shown(raw []byte) (native.Config, error) {
	cfg, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", configDB[0], err)
	}
	return cfg, nil
}

func (g viaGNMI) tables(ctx context.Context, db string, names ...string) ([]native.Table, error) {
	return nodes(ctx, g.d, native.ParseTable, db, at(names)...)
}

func (g viaGNMI) hashes(ctx context.Context, db string, names ...string) ([]native.Row, error) {
	return nodes(ctx, g.d, native.ParseRow, db, at(names)...)
}

func (g viaGNMI) row(ctx context.Context, db, table, key string) (native.Row, error) {
	rows, err := nodes(ctx, g.d, native.ParseRow, db, gnmi.Path{table, key})
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

func at(names []string) []gnmi.Path {
	out := make([]gnmi.Path, len(names))
	for i, n := range names {
		out[i] = gnmi.Path{n}
	}
	return out
}

// nodes reads nodes of one database.
func nodes[T any](ctx context.Context, d *driver, parse func(where string, data []byte) (T, error), db string, at ...gnmi.Path) ([]T, error) {
	c, err := d.client(ctx)
	if err != nil {
		return nil, err
	}
	paths := make([]gnmi.Path, len(at))
	for i, p := range at {
		paths[i] = append(gnmi.Path{db, "localhost"}, p...)
	}
	raw, err := c.GetPresent(ctx, origin, paths...)
	if err != nil {
		return nil, drivers.TransportError(err)
	}
	out := make([]T, len(at))
	for i := range raw {
		if raw[i] == nil {
			continue
		}
		if out[i], err = parse(strings.Join(at[i], "|"), raw[i]); err != nil {
			return nil, fmt.Errorf("read %s: %w", db, err)
		}
	}
	return out, nil
}

// viaSSH reads the output of sonic-cfggen and of sonic-db-dump or redis-dump, each in one round
// trip.
type viaSSH struct{ d *driver }

func (s viaSSH) config(ctx context.Context) (native.Config, error) {
	out, err := s.d.output(ctx, "sonic-cfggen -d --print-data", nil)
	if err != nil {
		return nil, err
	}
	return shown(out)
}

// asicKinds is a pattern for the object types that this tool needs. It matches few others, because
// a switch may have a hundred thousand routes.
const asicKinds = "SAI_OBJECT_TYPE_[PQWSIB]*"

// separator returns the text between table and key (sonic-swss-common common/database_config.json).
func separator(db string) string {
	if db == "CONFIG_DB" || db == "STATE_DB" {
		return "|"
	}
	return ":"
}

func (s viaSSH) tables(ctx context.Context, db string, names ...string) ([]native.Table, error) {
	sep := separator(db)
	patterns := make([]string, len(names))
	index := make(map[string]int, len(names))
	for i, n := range names {
		patterns[i], index[n] = n+sep+"*", i
		if n == asicState {
			patterns[i] = asicPrefix + asicKinds
		}
	}
	rows, err := s.dump(ctx, db, patterns...)
	if err != nil {
		return nil, err
	}
	out := make([]native.Table, len(names))
	for at, row := range rows {
		table, key, _ := strings.Cut(at, sep)
		i, asked := index[table]
		if !asked {
			continue
		}
		if out[i] == nil {
			out[i] = make(native.Table, len(rows)/len(names))
		}
		out[i][key] = row
	}
	return out, nil
}

func (s viaSSH) hashes(ctx context.Context, db string, names ...string) ([]native.Row, error) {
	rows, err := s.dump(ctx, db, names...)
	if err != nil {
		return nil, err
	}
	out := make([]native.Row, len(names))
	for i, n := range names {
		out[i] = rows[n]
	}
	return out, nil
}

func (s viaSSH) row(ctx context.Context, db, table, key string) (native.Row, error) {
	at := table + separator(db) + key
	rows, err := s.hashes(ctx, db, at)
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// numbers gives the number of each database (sonic-swss-common common/database_config.json).
var numbers = map[string]int{"APPL_DB": 0, "ASIC_DB": 1, "COUNTERS_DB": 2, "CONFIG_DB": 4, "STATE_DB": 6}

// notFound is the exit status of a shell that does not find the program.
const notFound = 127

// dump reads the hashes whose keys match one of the patterns. Community images have sonic-db-dump
// since 2020 (sonic-py-swsssdk PR 62), with the output format of redis-dump; without it, the first
// read of a driver switches to redis-dump.
func (s viaSSH) dump(ctx context.Context, db string, patterns ...string) (map[string]native.Row, error) {
	cmd := s.d.dumps(db, patterns)
	out, err := s.d.exec(ctx, cmd, nil)
	if err == nil && out.Status == notFound && !s.d.byNumber {
		s.d.byNumber = true
		cmd = s.d.dumps(db, patterns)
		out, err = s.d.exec(ctx, cmd, nil)
	}
	if err == nil {
		err = failure(cmd, out)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", db, err)
	}
	rows, err := native.ParseDumps(out.Stdout)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", db, err)
	}
	return rows, nil
}

// dumps returns the command that prints the hashes of a database.
func (d *driver) dumps(db string, patterns []string) string {
	program := "sonic-db-dump -n " + db
	if d.byNumber {
		program = fmt.Sprintf("sudo redis-dump -d %d", numbers[db])
	}
	var cmd []string
	for _, p := range patterns {
		cmd = append(cmd, program+" -y -k "+quote(p))
	}
	return strings.Join(cmd, " && ")
}
