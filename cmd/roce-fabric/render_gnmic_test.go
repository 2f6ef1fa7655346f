package main

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmic/pkg/api"
	"github.com/openconfig/gnmic/pkg/api/types"
	"google.golang.org/grpc/metadata"
	"gopkg.in/yaml.v3"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

const threeSystems = `apiVersion: roce-fabric/v1
kind: Fabric
name: three
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB}}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
switches:
  leaf1: {os: sonic, role: leaf, address: "192.0.2.11:8080", model: DellEMC-Z9332f-O32, release: 202511}
  spine1: {os: eos, role: spine, address: "192.0.2.21:6030", model: DCS-7060DX5-64S, release: 4.34.2F}
  leaf2: {os: nxos, role: leaf, address: "192.0.2.13:50051", model: N9K-C9332D-GX2B, release: 10.4(3)}
links:
  - {a: leaf1/Ethernet0, b: spine1/Ethernet1/1, cable: 40m, speed: 400G}
  - {a: leaf2/Ethernet1/29, b: spine1/Ethernet2/1, cable: 40m, speed: 400G}
credentials:
  switches: {username: env:FABRIC_USER, password: "file:/run/secret", tls: {ca: /etc/ca.pem}, ssh: {}}
`

// gnmicFile is the part of a gnmic configuration that defines subscriptions.
type gnmicFile struct {
	Targets       map[string]map[string]any
	Subscriptions map[string]map[string]any
	Outputs       map[string]map[string]any
}

// fits fails for a key that gnmic's own type does not have.
func fits(t *testing.T, where string, keys map[string]any, of any) {
	t.Helper()
	known := map[string]bool{}
	for f := range reflect.TypeOf(of).Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("mapstructure"), ",")
		known[name] = true
	}
	for k := range keys {
		if !known[k] {
			t.Errorf("%s: gnmic has no key %s", where, k)
		}
	}
}

// The configuration that render writes for gnmic is valid for gnmic's API and contains no
// secret, and a switch of each system answers every path with counters.
func TestRenderGnmic(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "fabric.yaml"), filepath.Join(dir, "gnmic.yaml")
	if err := os.WriteFile(file, []byte(threeSystems), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, errOut := runHere(t, "render", "-f", file, "--for", "gnmic", "--out", out); status != exitOK || !strings.Contains(errOut, "wrote 3 targets to "+out) {
		t.Fatalf("status %d: %s", status, errOut)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "# gnmic does not read file:/run/secret: export GNMIC_PASSWORD with its value.\n") {
		t.Errorf("nothing is said of the password:\n%s", text)
	}
	var f gnmicFile
	if err := yaml.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	if f.Outputs["prometheus"]["type"] != "prometheus" || len(f.Targets) != 3 {
		t.Errorf("%d targets, outputs %v", len(f.Targets), f.Outputs)
	}

	if status, _, errOut := runHere(t, "render", "-f", file, "--for", "telegraf"); status != exitUsage || !strings.Contains(errOut, `--for: unknown value "telegraf"`) {
		t.Errorf("status %d: %s", status, errOut)
	}

	fab, err := intent.Load(file, intent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(fab, filepath.Join(dir, "lab"), lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if status, o, errOut := runHere(t, "apply", "-f", file, "--lab", lab.Path(filepath.Join(dir, "lab")), "--yes", "--gate", "off", "--allow", "traffic-loss", "--state", filepath.Join(dir, "state")); status != exitOK {
		t.Fatalf("apply: status %d\n%s%s", status, o, errOut)
	}
	for name, want := range map[string][]string{
		"leaf1":  {"/COUNTERS/Ethernet0/SAI_PORT_STAT_PFC_3_RX_PKTS", `"etp1:3":{`, "SAI_QUEUE_STAT_DROPPED_PACKETS", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED"},
		"spine1": {"/interfaces/interface/ethernet/pfc/priorities/priority/state", "in-frames", "out-frames", "transmit-pkts", "dropped-pkts", "stuck-count"},
		"leaf2":  {"randEcnMarkedPackets", "pfcRxPpp", "dropPackets"},
	} {
		target := f.Targets[name]
		fits(t, name, target, types.TargetConfig{})
		if target["username"] != "${FABRIC_USER}" || target["password"] != "${GNMIC_PASSWORD}" || target["tls-ca"] != "/etc/ca.pem" {
			t.Errorf("%s is logged in to with %v", name, target)
		}
		seen := ""
		for _, s := range target["subscriptions"].([]any) {
			fits(t, s.(string), f.Subscriptions[s.(string)], types.SubscriptionConfig{})
			seen += subscribed(t, l, name, target["encoding"].(string), f.Subscriptions[s.(string)])
		}
		for _, w := range want {
			if !strings.Contains(seen, w) {
				t.Errorf("%s sends no %s:\n%.3000s", name, w, seen)
			}
		}
	}
}

// subscribed subscribes as gnmic does, and returns all updates before the switch's sync
// response.
func subscribed(t *testing.T, l *lab.Lab, name, encoding string, s map[string]any) string {
	t.Helper()
	interval, err := time.ParseDuration(s["sample-interval"].(string))
	if err != nil || s["mode"] != "stream" || s["stream-mode"] != "sample" {
		t.Fatalf("%v: %v", s, err)
	}
	options := []api.GNMIOption{api.Encoding(encoding), api.SubscriptionListModeSTREAM()}
	if db, ok := s["target"].(string); ok {
		options = append(options, api.Target(db))
	}
	for _, p := range s["paths"].([]any) {
		options = append(options, api.Subscription(api.Path(p.(string)), api.SubscriptionModeSAMPLE(), api.SampleInterval(interval)))
	}
	req, err := api.NewSubscribeRequest(options...)
	if err != nil {
		t.Fatal(err)
	}
	tg, err := api.NewTarget(api.Name(name), api.Address(l.Devices[name].GNMI), api.Username(l.Username), api.Password(l.Password), api.TLSCA(l.CA), api.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := tg.CreateGNMIClient(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tg.Close() }()
	ctx = metadata.AppendToOutgoingContext(ctx, "username", l.Username, "password", l.Password)
	stream, err := tg.Client.Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(req); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for {
		r, err := stream.Recv()
		if err != nil {
			t.Fatalf("%s: %v: %v", name, s["paths"], err)
		}
		if r.GetSyncResponse() {
			return b.String()
		}
		for _, u := range r.GetUpdate().GetUpdate() {
			for _, e := range u.GetPath().GetElem() {
				b.WriteString("/" + e.GetName())
			}
			v := u.GetVal()
			b.WriteString(" " + string(v.GetJsonVal()) + string(v.GetJsonIetfVal()) + v.GetStringVal() + "\n")
		}
	}
}
