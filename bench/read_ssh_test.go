package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	xssh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/internal/trace"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

// Modes of the bare SSH client: it discards the output, or decodes it.
const (
	bareAlone   = "run"
	bareDecoded = "unmarshal"
)

// readCommands lists the commands that read a SONiC switch without gNMI.
var readCommands = []string{
	"sonic-db-dump -n CONFIG_DB -y -k 'DEVICE_METADATA|localhost'",
	"show version",
	"sonic-cfggen -d --print-data",
	"sonic-db-dump -n APPL_DB -y -k 'BUFFER_POOL_TABLE:*' && sonic-db-dump -n APPL_DB -y -k 'BUFFER_PROFILE_TABLE:*' && sonic-db-dump -n APPL_DB -y -k 'BUFFER_PG_TABLE:*' && sonic-db-dump -n APPL_DB -y -k 'PORT_TABLE:*' && sonic-db-dump -n APPL_DB -y -k 'LLDP_ENTRY_TABLE:*'",
	"sonic-db-dump -n STATE_DB -y -k 'BUFFER_MAX_PARAM_TABLE|*' && sonic-db-dump -n STATE_DB -y -k 'ASIC_TABLE|*' && sonic-db-dump -n STATE_DB -y -k 'PORT_TABLE|*'",
	"sonic-db-dump -n ASIC_DB -y -k 'ASIC_STATE:SAI_OBJECT_TYPE_[PQWSIB]*'",
	"sonic-db-dump -n COUNTERS_DB -y -k 'COUNTERS_PORT_NAME_MAP' && sonic-db-dump -n COUNTERS_DB -y -k 'COUNTERS_QUEUE_NAME_MAP' && sonic-db-dump -n COUNTERS_DB -y -k 'COUNTERS_PG_NAME_MAP'",
	"sonic-db-dump -n CONFIG_DB -y -k 'FLEX_COUNTER_TABLE|*'",
	"sonic-db-dump -n APPL_DB -y -k 'BUFFER_POOL_TABLE:*' && sonic-db-dump -n APPL_DB -y -k 'BUFFER_PROFILE_TABLE:*' && sonic-db-dump -n APPL_DB -y -k 'BUFFER_PG_TABLE:*'",
	"sudo cat /etc/sonic/config_db.json",
	"sonic-db-dump -n COUNTERS_DB -y -k 'COUNTERS_PORT_NAME_MAP'",
	"sonic-db-dump -n COUNTERS_DB -y -k 'COUNTERS:oid:0x1*'",
}

// TestFloors checks that the floors of the benchmarks request the same data as the tool.
// Benchmarks do not run with every change, so the floors could become outdated.
func TestFloors(t *testing.T) {
	path := save(t, ranges(model32, 2, 32))
	c := load(t, path)
	sameRead(t, c, startLab(t, c, true, true).file(t))
	for _, asIntended := range []bool{true, false} {
		startLab(t, c, asIntended, false).sameCalls(t, c)
	}
}

// Five hundred switches take minutes on two cores.
var readAloneSwitches = flag.Int("read.switches", readSwitches, "switches of BenchmarkReadSSHAlone, an even number")

// BenchmarkReadSSHAlone reads 500 simulated SONiC switches without gNMI, 64 at a time, as
// validate does. The floor is a bare SSH client that runs the same commands, each in its own
// session on one connection. Both run in separate processes, so that their CPU time is theirs
// alone; the switches run in this process, and their work is part of both times.
func BenchmarkReadSSHAlone(b *testing.B) {
	n := float64(*readAloneSwitches)
	path := save(b, ranges(model32, *readAloneSwitches, 32))
	c := load(b, path)
	l := startLab(b, c, true, true)
	file := l.file(b)
	var r race
	of := map[string]used{}
	read := func(way, bare string) {
		r.run(way, func() {
			u := spend(b, 0, []string{readAlone + "=" + file, readIntent + "=" + path, readBare + "=" + bare}, os.Args[0])
			of[way] = used{max(of[way].mib, u.mib), of[way].cpu + u.cpu}
		})
	}
	for b.Loop() {
		read("tool", "")
		read("bare", bareAlone)
		read("decoded", bareDecoded)
	}
	for name, box := range l.boxes {
		if _, most := box.MostSessions(); most != 1 {
			b.Fatalf("%s: %d SSH connections at once", name, most)
		}
	}
	sameRead(b, c, file)
	report(b, map[string]float64{
		"x-bare-ssh":               r.ratio("tool", "bare"),
		"x-bare-ssh-cpu":           of["tool"].cpu / of["bare"].cpu,
		"x-bare-ssh-mem":           of["tool"].mib / of["bare"].mib,
		"x-bare-ssh+unmarshal":     r.ratio("tool", "decoded"),
		"x-bare-ssh+unmarshal-cpu": of["tool"].cpu / of["decoded"].cpu,
		"ms/switch":                r.median("tool").Seconds() * 1000 / n,
		"bare-ms/switch":           r.median("bare").Seconds() * 1000 / n,
		"cpu-ms/switch":            of["tool"].cpu * 1000 / n / float64(b.N),
		"bare-cpu-ms/switch":       of["bare"].cpu * 1000 / n / float64(b.N),
	})
}

// sameRead fails if the tool runs other commands than the bare client, or decodes the output
// differently.
func sameRead(b testing.TB, c *render.Compiler, labFile string) {
	b.Helper()
	l, err := lab.Read(labFile)
	if err != nil {
		b.Fatal(err)
	}
	hosts, err := ssh.LoadKnownHosts(l.KnownHosts)
	if err != nil {
		b.Fatal(err)
	}
	first := c.Fabric().Switches[0]
	err = pool.Ordered(b.Context(), runtime.GOMAXPROCS(0), c.Fabric().Switches, func(ctx context.Context, sw *intent.Switch) error {
		// Read the log of one switch only, because it takes longer than all other commands.
		if err := sameOn(ctx, l, hosts, c.Device(sw), sw == first); err != nil {
			return fmt.Errorf("%s: %w", sw.Name, err)
		}
		return nil
	}, func(err error) error { return err })
	if err != nil {
		b.Fatal(err)
	}
}

func sameOn(ctx context.Context, l *lab.File, hosts *ssh.KnownHosts, d *render.Device, logged bool) error {
	bare, err := runBare(l, d.Switch, true)
	if err != nil {
		return err
	}
	typed, log := &commands{of: "ssh run"}, (*trace.Log)(nil)
	if logged {
		log = trace.New(typed)
	}
	tool, err := callAll(ctx, l, hosts, d, log)
	if err != nil {
		return err
	}
	if logged && !slices.Equal(typed.lines, readCommands) {
		return fmt.Errorf("the tool runs\n%s\nand not\n%s", strings.Join(typed.lines, "\n"), strings.Join(readCommands, "\n"))
	}
	if cfg := bare.config(); !maps.EqualFunc(tool.cfg, cfg, func(a, b sonic.Table) bool {
		return maps.EqualFunc(a, b, func(a, b sonic.Row) bool { return maps.Equal(a, b) })
	}) {
		return fmt.Errorf("the tool reads %d tables of CONFIG_DB, and they are not the %d that there are", len(tool.cfg), len(cfg))
	}
	ports := bare.links()
	for name, p := range tool.seen.Ports {
		seen := link{p.AdminUp.V, p.OperUp.V, p.MTU.V, int64(p.Speed.V / 1e6)}
		if ports[name] != seen || len(ports) != len(tool.seen.Ports) || len(tool.running.Ports) != len(ports) {
			return fmt.Errorf("%s: the tool reads %v of %d ports, and there is %v of %d", name, seen, len(tool.seen.Ports), ports[name], len(ports))
		}
	}
	if len(ports) == 0 || len(tool.wrong) > 0 || len(tool.unsaved) > 0 {
		return fmt.Errorf("%d ports, not as intended: %v, not saved: %v", len(ports), tool.wrong, tool.unsaved)
	}
	return nil
}

// commands is a log handler that records the requests of one kind of call.
type commands struct {
	of    string // such as "ssh run"
	lines []string
}

func (c *commands) Enabled(context.Context, slog.Level) bool { return true }
func (c *commands) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c *commands) WithGroup(string) slog.Handler            { return c }
func (c *commands) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if r.Message == c.of && a.Key == "request" {
			c.lines = append(c.lines, a.Value.String())
		}
		return true
	})
	return nil
}

// answers holds the JSON documents that each of readCommands prints; nil for other output.
type answers [][]map[string]any

// runBare runs the commands, and decodes their output if requested.
func runBare(l *lab.File, sw *intent.Switch, decode bool) (answers, error) {
	check, err := knownhosts.New(l.KnownHosts)
	if err != nil {
		return nil, err
	}
	c, err := xssh.Dial("tcp", l.Devices[sw.Name].SSH, &xssh.ClientConfig{User: l.Username, Auth: []xssh.AuthMethod{xssh.Password(l.Password)}, HostKeyCallback: check})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	out := make(answers, len(readCommands))
	for i, cmd := range readCommands {
		s, err := c.NewSession()
		if err != nil {
			return nil, err
		}
		text, err := s.Output(cmd)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cmd, err)
		}
		if _ = s.Close(); !decode || !bytes.HasPrefix(text, []byte("{")) {
			continue
		}
		for d := json.NewDecoder(bytes.NewReader(text)); ; {
			var doc map[string]any
			if err := d.Decode(&doc); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("%s: %w", cmd, err)
			}
			out[i] = append(out[i], doc)
		}
	}
	return out, nil
}

// of returns the documents of the first command with this prefix.
func (a answers) of(cmd string) []map[string]any {
	return a[slices.IndexFunc(readCommands, func(c string) bool { return strings.HasPrefix(c, cmd) })]
}

// config returns the CONFIG_DB tables that the tool reads.
func (a answers) config() sonic.Config {
	out := sonic.Config{}
	for name, rows := range a.of("sonic-cfggen")[0] {
		if !sonic.WantTable(name) {
			continue
		}
		out[name] = sonic.Table{}
		for key, fields := range rows.(map[string]any) {
			row := sonic.Row{}
			for field, v := range fields.(map[string]any) {
				if list, ok := v.([]any); ok {
					var texts []string
					for _, m := range list {
						texts = append(texts, m.(string))
					}
					row[field+"@"] = strings.Join(texts, ",")
				} else {
					row[field] = v.(string)
				}
			}
			out[name][key] = row
		}
	}
	return out
}

// link is the state of a port in APPL_DB.
type link struct {
	admin, up bool
	mtu       int
	mbps      int64
}

func (a answers) links() map[string]link {
	out := map[string]link{}
	for _, doc := range a.of("sonic-db-dump -n APPL_DB") {
		for key, dumped := range doc {
			name, ok := strings.CutPrefix(key, "PORT_TABLE:Ethernet")
			if !ok {
				continue
			}
			row := dumped.(map[string]any)["value"].(map[string]any)
			mtu, _ := strconv.Atoi(row["mtu"].(string))
			mbps, _ := strconv.ParseInt(row["speed"].(string), 10, 64)
			out["Ethernet"+name] = link{row["admin_status"] == "up", row["oper_status"] == "up", mtu, mbps}
		}
	}
	return out
}
