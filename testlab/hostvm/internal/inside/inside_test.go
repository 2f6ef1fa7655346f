package inside

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/testlab/hostvm"
)

// begin skips the test outside the VM. Inside, it reloads fakedcb with the given parameters and
// brings roce0 up.
func begin(t *testing.T, params ...string) {
	t.Helper()
	if os.Getenv(hostvm.InMachine) != "1" {
		t.Skip("skipped: runs in the machine of testlab/hostvm, started by the test there")
	}
	must(t, "modprobe", "-r", "fakedcb")
	must(t, "modprobe", append([]string{"fakedcb", "bounce_ms=50"}, params...)...)
	must(t, "ip", "link", "set", "roce0", "up")
	waitCarrier(t)
}

// tool runs a program and returns its standard output and standard error together. It runs dcb
// again if that failed by itself: dcb numbers its messages by the second of the clock
// (mnlu_msg_prepare of iproute2) and leaves the acknowledgement of its first message unread. If
// the second changes before its next message, the numbers differ and it says "Protocol error",
// although the kernel did what it was told.
func tool(t *testing.T, name string, args ...string) (out string, err error) {
	t.Helper()
	for range 3 {
		var b []byte
		b, err = exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		out = strings.TrimSpace(string(b))
		if name != "dcb" || !strings.HasSuffix(out, "Protocol error") {
			break
		}
	}
	return out, err
}

func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := tool(t, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// refused runs a program that must fail with a message that contains want.
func refused(t *testing.T, want, name string, args ...string) {
	t.Helper()
	out, err := tool(t, name, args...)
	if err == nil || !strings.Contains(out, want) {
		t.Errorf("%s %s: error %v, output %q; want a failure with %q", name, strings.Join(args, " "), err, out, want)
	}
}

// dcbSet runs a dcb command that writes. It ignores the exit status, because dcb of iproute2 6.1
// exits with 0 even if the kernel refused.
func dcbSet(t *testing.T, args ...string) {
	t.Helper()
	_, _ = tool(t, "dcb", args...)
}

// shown is the state of roce0 as shown by dcb.
type shown struct {
	Delay       int    `json:"delay"`
	PrioPFC     []bool `json:"prio_pfc"`
	Indications []int  `json:"indications"`

	TCBw   []int    `json:"tc_bw"`
	TCTSA  []string `json:"tc_tsa"`
	PrioTC []int    `json:"prio_tc"`

	// Since iproute2 6.5, an entry has a third, empty element.
	DSCPPrio [][]any `json:"dscp_prio"`

	PrioBuffer []int `json:"prio_buffer"`
	BufferSize []int `json:"buffer_size"`
	TotalSize  int   `json:"total_size"`

	Host bool `json:"host"`
	CEE  bool `json:"cee"`
	IEEE bool `json:"ieee"`

	MaxRate []int `json:"tc_maxrate"`
}

func show(t *testing.T, object string, flags ...string) shown {
	t.Helper()
	args := append([]string{"-j", "-N"}, flags...)
	out := must(t, "dcb", append(args, object, "show", "dev", "roce0")...)
	var s shown
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("dcb %s: %v: %s", object, err, out)
	}
	return s
}

// on returns the priorities for which PFC is on.
func (s shown) on() []int {
	l := []int{}
	for p, on := range s.PrioPFC {
		if on {
			l = append(l, p)
		}
	}
	return l
}

// apps returns the DSCP entries as "26:3 48:6".
func (s shown) apps() string {
	var l []string
	for _, e := range s.DSCPPrio {
		if len(e) >= 2 {
			l = append(l, fmt.Sprintf("%v:%v", e[0], e[1]))
		}
	}
	return strings.Join(l, " ")
}

// equal compares printed values, so that it also works for slices.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s is %s, want %s", what, g, w)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func write(t *testing.T, name, value string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(value), 0o644); err != nil {
		t.Fatal(err)
	}
}

// turn sets a value that a test can change in fakedcb at run time.
func turn(t *testing.T, name, value string) {
	t.Helper()
	write(t, filepath.Join("/sys/kernel/debug/fakedcb/roce0", name), value)
}

// bounces returns how often the carrier of roce0 changed.
func bounces(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(read(t, "/sys/class/net/roce0/carrier_changes"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func waitCarrier(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if read(t, "/sys/class/net/roce0/carrier") == "1" {
			return
		}
	}
	t.Fatal("roce0 has no carrier after 30 s")
}

// bounced runs f and checks how often the link went down and came back.
func bounced(t *testing.T, want int, f func()) {
	t.Helper()
	before := bounces(t)
	f()
	waitCarrier(t)
	equal(t, "the number of carrier changes", bounces(t)-before, 2*want)
}
