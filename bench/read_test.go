package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmic/pkg/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"github.com/roce-fabric/roce-fabric/drivers"
	driver "github.com/roce-fabric/roce-fabric/drivers/sonic"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	client "github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/secret"
	"github.com/roce-fabric/roce-fabric/internal/trace"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	simsonic "github.com/roce-fabric/roce-fabric/testlab/sim/sonic"
)

const (
	readSwitches = 500
	readWorkers  = 64
	user, pass   = "admin", "bench"
)

// BenchmarkRead plans 500 simulated switches over gNMI, 64 at a time: dial, capabilities, probe,
// read, decode, compare, plan. The floors are a gRPC client and gnmic's client, which request the
// same data from the same switches and discard it. The switches run in this process, so their
// work is part of all times.
//
// Switches that match the intent have nothing to plan; on switches in factory state everything
// must change.
func BenchmarkRead(b *testing.B) {
	c := load(b, save(b, ranges(model32, readSwitches, 32)))
	for _, state := range []string{"as-intended", "factory"} {
		b.Run(state, func(b *testing.B) {
			l := startLab(b, c, state == "as-intended", false)
			l.sameCalls(b, c)
			var r race
			changed := 0
			var bytes, gnmic int
			for b.Loop() {
				r.run("plan", func() { changed = l.plan(b, c, c.Fabric().Switches, nil) })
				r.run("bare", func() { bytes = l.bare(b, c.Fabric().Switches, bareGRPC, false) })
				r.run("parsed", func() { l.bare(b, c.Fabric().Switches, bareGRPC, true) })
				r.run("gnmic", func() { gnmic = l.bare(b, c.Fabric().Switches, gnmicTarget, false) })
			}
			if want := map[string]int{"as-intended": 0, "factory": readSwitches}[state]; changed != want {
				b.Fatalf("%d switches have changes, not %d", changed, want)
			}
			if gnmic != bytes {
				b.Fatalf("gnmic reads %d bytes, and the bare client %d", gnmic, bytes)
			}
			report(b, map[string]float64{
				"x-gnmic":               r.ratio("plan", "gnmic"),
				"x-bare-grpc":           r.ratio("plan", "bare"),
				"x-bare-grpc+unmarshal": r.ratio("plan", "parsed"),
				"ms/switch":             r.median("plan").Seconds() * 1000 / readSwitches,
				"bare-ms/switch":        r.median("bare").Seconds() * 1000 / readSwitches,
				"KiB/switch":            float64(bytes) / 1024 / readSwitches,
			})
		})
	}
}

// farm is a set of running switches.
type farm struct {
	addr   map[string]string
	caFile string
	caPEM  []byte
	boxes  map[string]*simsonic.Switch
}

// startLab starts the fabric's switches in factory state, or as the intent wants them. They serve
// either gNMI or SSH.
func startLab(b testing.TB, c *render.Compiler, asIntended, overSSH bool) *farm {
	b.Helper()
	conf, ca, err := sim.NewTLS()
	if err != nil {
		b.Fatal(err)
	}
	l := &farm{addr: map[string]string{}, boxes: map[string]*simsonic.Switch{}, caPEM: ca, caFile: filepath.Join(b.TempDir(), "ca.pem")}
	if err := os.WriteFile(l.caFile, ca, 0o600); err != nil {
		b.Fatal(err)
	}
	for _, sw := range c.Fabric().Switches {
		d := c.Device(sw)
		o := simsonic.ForModel(sw.Name, d.Model)
		o.Release, o.Username, o.Password, o.TLS, o.NoGNMI, o.NoSSH = sw.Release.V, user, pass, conf, overSSH, !overSSH
		o.Config = simsonic.FactoryConfig(d.Model, simsonic.WithHostname(sw.Name))
		if asIntended {
			intended(o.Config, d)
		}
		s, err := simsonic.New(o)
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		l.addr[sw.Name], l.boxes[sw.Name] = s.GNMIAddr(), s
	}
	return l
}

// intended merges the desired state into a factory configuration.
func intended(cfg map[string]map[string]map[string]string, d *render.Device) {
	target := sonic.Target(d.Desired)
	for _, table := range []string{sonic.TQueue, sonic.TBufferQueue, sonic.TGroup} {
		// Remove keys for several queues, which would be mixed with keys for one.
		delete(cfg, table)
	}
	for table, rows := range target {
		if cfg[table] == nil {
			cfg[table] = map[string]map[string]string{}
		}
		for key, want := range rows {
			if want == nil {
				delete(cfg[table], key)
				continue
			}
			row := map[string]string{}
			if strings.HasPrefix(table, "PORT") || table == sonic.TCable {
				maps.Copy(row, cfg[table][key])
			}
			for f, v := range want {
				if v == sonic.Absent {
					delete(row, f)
				} else {
					row[f] = v
				}
			}
			cfg[table][key] = row
		}
	}
}

// plan runs the tool on switches and returns how many need changes. log may be nil.
func (l *farm) plan(b testing.TB, c *render.Compiler, switches []*intent.Switch, log *trace.Log) (changed int) {
	open := func(_ context.Context, sw *intent.Switch) (drivers.Driver, error) {
		return driver.Open(drivers.Target{
			Name: sw.Name, OS: sw.OS, Release: sw.Release.V, Model: sw.Model.V,
			GNMI: client.Config{Address: l.addr[sw.Name], Username: user, Password: secret.Secret(pass), TLS: client.TLS{CAFile: l.caFile}, Log: log},
		})
	}
	err := fleet.Plan(b.Context(), fleet.Switches(c, switches, open), fleet.PlanOptions{Workers: readWorkers}, func(d *fleet.DevicePlan) error {
		if len(d.Changes) > 0 {
			changed++
		}
		if d.Error != nil {
			return d.Error
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return changed
}

// gets lists the paths that the tool reads, by call: the identity of the switch, its
// configuration, and the memory settings that the configuration leaves to the switch.
var gets = [][][]string{
	{{"CONFIG_DB", "localhost", sonic.TMetadata, "localhost"}},
	{{"CONFIG_DB", "localhost"}},
	{{"APPL_DB", "localhost", "BUFFER_POOL_TABLE"}, {"APPL_DB", "localhost", "BUFFER_PROFILE_TABLE"}, {"APPL_DB", "localhost", "BUFFER_PG_TABLE"}},
	{{"STATE_DB", "localhost", "BUFFER_MAX_PARAM_TABLE"}, {"STATE_DB", "localhost", "ASIC_TABLE"}},
}

// sameCalls fails if the tool makes other calls to a switch than the floors.
func (l *farm) sameCalls(b testing.TB, c *render.Compiler) {
	b.Helper()
	calls := &commands{of: "gnmi get"}
	l.plan(b, c, c.Fabric().Switches[:1], trace.New(calls))
	same := len(calls.lines) == len(gets)
	for i := 0; same && i < len(gets); i++ {
		for _, path := range gets[i] {
			same = same && strings.Contains(calls.lines[i], strconv.Quote(path[len(path)-1]))
		}
	}
	if !same {
		b.Fatalf("the tool reads %d times:\n%s\nand the floors read %v", len(calls.lines), strings.Join(calls.lines, "\n"), gets)
	}
}

// gnmiClient is a connection of one of the clients.
type gnmiClient struct {
	capabilities func(context.Context) error
	get          func(context.Context, *gnmi.GetRequest) (*gnmi.GetResponse, error)
	close        func() error
}

// bareGRPC connects using only the gRPC module.
func bareGRPC(_ context.Context, addr string, conf *tls.Config) (*gnmiClient, error) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(credentials.NewTLS(conf)))
	if err != nil {
		return nil, err
	}
	cli := gnmi.NewGNMIClient(conn)
	login := func(ctx context.Context) context.Context {
		return metadata.AppendToOutgoingContext(ctx, "username", user, "password", pass)
	}
	return &gnmiClient{
		func(ctx context.Context) error {
			_, err := cli.Capabilities(login(ctx), &gnmi.CapabilityRequest{})
			return err
		},
		func(ctx context.Context, req *gnmi.GetRequest) (*gnmi.GetResponse, error) {
			return cli.Get(login(ctx), req)
		},
		conn.Close,
	}, nil
}

// gnmicTarget connects like gnmic.
func gnmicTarget(ctx context.Context, addr string, conf *tls.Config) (*gnmiClient, error) {
	t, err := api.NewTarget(api.Address(addr), api.Timeout(time.Minute), api.TLSConfig(conf), api.Username(user), api.Password(pass))
	if err != nil {
		return nil, err
	}
	if err := t.CreateGNMIClient(ctx); err != nil {
		return nil, err
	}
	return &gnmiClient{
		func(ctx context.Context) error {
			_, err := t.Capabilities(ctx)
			return err
		},
		t.Get, t.Close,
	}, nil
}

// bare requests the same data as the driver and returns the size of the responses.
func (l *farm) bare(b *testing.B, switches []*intent.Switch, dial func(context.Context, string, *tls.Config) (*gnmiClient, error), parse bool) (bytes int) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(l.caPEM)
	type answer struct {
		bytes int
		err   error
	}
	err := pool.Ordered(b.Context(), readWorkers, switches, func(ctx context.Context, sw *intent.Switch) answer {
		cli, err := dial(ctx, l.addr[sw.Name], &tls.Config{RootCAs: roots})
		if err != nil {
			return answer{err: err}
		}
		n, err := ask(ctx, cli, parse)
		return answer{n, errors.Join(err, cli.close())}
	}, func(a answer) error {
		bytes += a.bytes
		return a.err
	})
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

func ask(ctx context.Context, cli *gnmiClient, parse bool) (n int, err error) {
	if err := cli.capabilities(ctx); err != nil {
		return 0, err
	}
	for _, paths := range gets {
		req := &gnmi.GetRequest{Prefix: &gnmi.Path{Origin: "sonic-db"}, Encoding: gnmi.Encoding_JSON_IETF}
		for _, path := range paths {
			p := &gnmi.Path{}
			for _, e := range path {
				p.Elem = append(p.Elem, &gnmi.PathElem{Name: e})
			}
			req.Path = append(req.Path, p)
		}
		resp, err := cli.get(ctx, req)
		if err != nil {
			return n, err
		}
		for _, note := range resp.GetNotification() {
			for _, u := range note.GetUpdate() {
				val := u.GetVal().GetJsonIetfVal()
				n += len(val)
				if !parse {
					continue
				}
				var v map[string]any
				if err := json.Unmarshal(val, &v); err != nil {
					return n, fmt.Errorf("%s: %w", u.GetPath(), err)
				}
			}
		}
	}
	return n, nil
}
