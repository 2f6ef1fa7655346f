package nxos

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// Pause buffers apply to the groups that a port pauses, from a policy on the port, on its
// port-channel or on the switch.
func TestPauseBuffers(t *testing.T) {
	const base = `policy-map type network-qos NQ
  class type network-qos c-8q-nq3
    pause pfc-cos 3
class-map type qos match-any ROCE
  match dscp 26
policy-map type qos IN
  class ROCE
    set qos-group 3
class-map type queuing match-any Q3
  match qos-group 3
policy-map type queuing BUFFERS
  class type queuing c-in-q3
    pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320
  class type queuing c-in-q4
    pause buffer-size 30000 pause-threshold 20000 resume-threshold 20000
system qos
  service-policy type network-qos NQ
  service-policy type queuing input BUFFERS
interface Ethernet1/1
  priority-flow-control mode on
  service-policy type qos input IN
interface Ethernet1/2
  priority-flow-control mode off
  service-policy type qos input IN
`
	ofPort := "  service-policy type queuing input BUFFERS\n"
	h := qos.Headroom{Size: 101920, XON: 34320, XOFF: 55120, Threshold: 46800, Static: true}
	above := h
	above.XON = 46801
	for name, c := range map[string]struct {
		old, new string
		want     qos.Headroom
	}{
		"of the switch":             {"", "", h},
		"not attached":              {ofPort, "", qos.Headroom{}},
		"of the port":               {ofPort + "interface Ethernet1/1\n", "interface Ethernet1/1\n" + ofPort, h},
		"of the port-channel":       {ofPort + "interface Ethernet1/1\n", "interface port-channel1\n" + ofPort + "interface Ethernet1/1\n  channel-group 1 mode active\n", h},
		"a class of the user":       {"c-in-q3", "Q3", h},
		"a class nobody made":       {"c-in-q3", "Q5", qos.Headroom{}},
		"no room after the pause":   {"pause-threshold 46800", "pause-threshold 101920", qos.Headroom{}},
		"resume above the pause":    {"resume-threshold 34320", "resume-threshold 46801", above},
		"a buffer without a number": {"buffer-size 101920", "buffer-size x", qos.Headroom{}},
	} {
		cfg, err := Parse([]byte(strings.Replace(base, c.old, c.new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		d, _ := Decode(cfg, EightQueue)
		if diff := cmp.Diff(c.want, d.Ports["Ethernet1/1"].Groups[3].Headroom.V); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if d.Ports["Ethernet1/1"].Groups[4].Headroom.Set || d.Ports["Ethernet1/2"].Groups[3].Headroom.Set {
			t.Errorf("%s: a group that is not paused has a buffer", name)
		}
	}
}
