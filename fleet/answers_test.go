package fleet_test

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/testlab/lab"
)

// The maximum size of a device's answer depends on how many devices are asked at a time, so
// that together they do not take all memory.
func TestLargeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(8 << 30))
		f := load(t, `
apiVersion: roce-fabric/v1
kind: Fabric
name: one
classes: {rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 50%, ecn: auto}, default: {priority: 0, dscp: rest, bandwidth: 50%}}
switches: {leaf1: {os: sonic, release: 202511, model: DellEMC-Z9332f-O32, role: leaf, address: "192.0.2.1:8080"}}
hosts: {gpu1: {nics: {eth0: {}}}}
links: [{a: leaf1/Ethernet0, b: gpu1/eth0, speed: 400G, cable: 5m}]
`)
		row := fmt.Sprintf(`{"policy_desc": %q}`, strings.Repeat("x", 9<<20))
		config := fmt.Sprintf(`{
"DEVICE_METADATA": {"localhost": {"hwsku": "DellEMC-Z9332f-O32", "platform": "x86_64-dellemc_z9332f_d1508-r0", "type": "ToRRouter"}},
"PORT": {"Ethernet0": {"lanes": "33,34,35,36,37,38,39,40", "speed": "400000", "admin_status": "up"}},
"ACL_TABLE": {"LONG": %s}}`, row)
		_, at := startLab(t, f.Fabric(), lab.Options{Running: map[string][]byte{"leaf1": []byte(config)}})
		for workers, large := range map[int]bool{1: false, 512: true} {
			r := fleet.Reader{Fabric: f, Access: &fleet.Access{At: at.At, Dial: at.Dial, Workers: workers}}
			err := r.Read(t.Context(), "leaf1", nil).Err
			switch {
			case !large && err != nil:
				t.Errorf("%d at a time: %v", workers, err)
			case large && (err == nil || err.Kind != fleet.KindTooLarge || !strings.Contains(err.Hint, "--parallel")):
				t.Errorf("%d at a time: %v", workers, err)
			case large:
				t.Log(err, err.Hint)
			}
		}
	})
}
