package hostvm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/hostvm"
)

// wireIntent is the intent for two VMs connected by a cable, each with an RDMA device.
const wireIntent = `apiVersion: roce-fabric/v1
kind: Fabric
name: wire
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
mtu: {fabric: 9100, host: 9000, rdma: 4096}
hosts:
  vm[1-2]: {address: "192.0.2.[1-2]", nics: {eth0: {rdma: rxe0}}}
`

// rdmaFiles are the files that perftest loads besides its libraries.
var rdmaFiles = []string{"/etc/libibverbs.d/rxe.driver", "/usr/lib/x86_64-linux-gnu/libibverbs"}

// missingPerftest is like [hostvm.Missing], for VMs that send RDMA.
func missingPerftest() string {
	if lack := hostvm.Missing(); lack != "" {
		return lack
	}
	for _, f := range append([]string{"/usr/bin/ib_write_bw"}, rdmaFiles...) {
		if _, err := os.Stat(f); err != nil {
			return "the host VM lacks " + f + " (Debian: apt-get install perftest rdma-core ibverbs-providers)"
		}
	}
	return ""
}

// TestWireClass makes two VMs write to each other by RDMA, over an rdma_cm connection whose program
// sets no traffic class: the packets carry the DSCP that the sending VM is configured with, before
// and after the intent is applied.
func TestWireClass(t *testing.T) {
	if !sharedtest.Nightly() {
		t.Skip("skipped: starts two virtual machines; make nightly runs it")
	}
	if lack := missingPerftest(); lack != "" {
		t.Skip("skipped: " + lack)
	}
	t.Parallel()
	img, err := hostvm.Build(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for pkg, name := range map[string]string{"github.com/roce-fabric/roce-fabric/cmd/roce-fabric": "roce-fabric", "./internal/sniff": "sniff"} {
		files["/usr/local/bin/"+name] = filepath.Join(t.TempDir(), name)
		if err := hostvm.GoBuild(t.Context(), pkg, files["/usr/local/bin/"+name]); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range rdmaFiles {
		files[f] = f
	}
	const setUp = vmSetUp + `
rf() { roce-fabric "$@" --host vm%d --local -f /fabric.yaml; }
modprobe virtio_net
await test -e /sys/class/net/eth0
ip link set eth0 up
ip addr add 10.0.0.%[1]d/24 dev eth0
rdma link add rxe0 type rxe netdev eth0
`
	// The server accepts one connection per run, and ends if a client gives up on a slow machine.
	const server = `
await ib_write_bw -d rxe0 -R -s 4096 -n 50 --report_gbits
echo "served %d"
`
	const client = `
sniff eth0 40 >/sniffed 2>&1 & sniffer=$!
await grep -q sniffing /sniffed
await ib_write_bw -d rxe0 -R -s 4096 -n 50 --report_gbits 10.0.0.1
wait $sniffer || { cat /sniffed; exit 1; }
echo "== %s"; cat /sniffed
`
	scripts := []string{
		fmt.Sprintf(setUp, 1) + fmt.Sprintf(server, 1) + fmt.Sprintf(server, 2),
		fmt.Sprintf(setUp, 2) + fmt.Sprintf(client, "unset") + `
rf nic apply --yes --allow traffic-loss || :
cat /sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos
` + fmt.Sprintf(client, "applied"),
	}
	a, b, err := hostvm.Cable()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	defer b.Close()
	var results [2]*hostvm.Result
	g, ctx := errgroup.WithContext(t.Context())
	for i, end := range []*hostvm.End{a, b} {
		g.Go(func() (err error) {
			results[i], err = hostvm.Boot(ctx, img, hostvm.Options{
				Files: files, Tree: map[string]hostvm.File{"/fabric.yaml": {Mode: 0o644, Data: []byte(wireIntent)}},
				Programs: []string{"ib_write_bw"}, Cable: end, Script: scripts[i],
			})
			if err == nil && results[i].Status != 0 {
				err = fmt.Errorf("status %d", results[i].Status)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Errorf("machines: %v", err)
	}
	out := string(results[1].Output)
	_, unset, _ := strings.Cut(out, "== unset")
	unset, applied, _ := strings.Cut(unset, "== applied")
	for _, c := range []struct{ of, text, want string }{
		{"before the apply", unset, "write from 10.0.0.2 dscp 0: 40 packets"}, {"after it", applied, "write from 10.0.0.2 dscp 26: 40 packets"},
	} {
		if !strings.Contains(c.text, c.want) || strings.Count(c.text, "write from") != 1 {
			t.Errorf("%s, not %q alone is on the wire: %q", c.of, c.want, c.text)
		}
	}
	if t.Failed() {
		for _, r := range results {
			t.Logf("%s\n%s", r.Output, r.Console)
		}
	}
}
