package inside

import (
	"strings"
	"testing"
)

func TestPFCBouncesOnceAChange(t *testing.T) {
	begin(t)
	equal(t, "the delay after loading", show(t, "pfc").Delay, 7)
	equal(t, "pfc after loading", show(t, "pfc").on(), []int{})
	bounced(t, 1, func() { dcbSet(t, "pfc", "set", "dev", "roce0", "prio-pfc", "all:off", "3:on", "delay", "20") })
	equal(t, "pfc", show(t, "pfc").on(), []int{3})
	equal(t, "the delay", show(t, "pfc").Delay, 20)
	bounced(t, 0, func() {
		dcbSet(t, "pfc", "set", "dev", "roce0", "prio-pfc", "all:off", "3:on", "delay", "30")
		dcbSet(t, "pfc", "set", "dev", "roce0", "delay", "1000")
	})
	equal(t, "the delay", show(t, "pfc").Delay, 30)
}

func TestPFCOfALinkThatIsDown(t *testing.T) {
	begin(t)
	must(t, "ip", "link", "set", "roce0", "down")
	before := bounces(t)
	dcbSet(t, "pfc", "set", "dev", "roce0", "prio-pfc", "3:on")
	equal(t, "pfc", show(t, "pfc").on(), []int{3})
	equal(t, "the number of carrier changes", bounces(t), before)
	must(t, "ip", "link", "set", "roce0", "up")
	waitCarrier(t)
}

func TestTrustFollowsTheAPPTable(t *testing.T) {
	begin(t)
	equal(t, "the table after loading", show(t, "app").apps(), "")
	must(t, "dcb", "app", "add", "dev", "roce0", "dscp-prio", "26:3", "48:6")
	equal(t, "the table", show(t, "app").apps(), "26:3 48:6")
	must(t, "dcb", "app", "add", "dev", "roce0", "dscp-prio", "26:4")
	equal(t, "the table after another priority", show(t, "app").apps(), "26:4 48:6")
	must(t, "dcb", "app", "add", "dev", "roce0", "dscp-prio", "26:4")
	refused(t, "No such file", "dcb", "app", "del", "dev", "roce0", "dscp-prio", "26:3")
	refused(t, "No such file", "dcb", "app", "del", "dev", "roce0", "dscp-prio", "10:1")
	refused(t, "Invalid argument", "dcb", "app", "add", "dev", "roce0", "dgram-port-prio", "4791:3")
	equal(t, "the table", show(t, "app").apps(), "26:4 48:6")
	must(t, "dcb", "app", "del", "dev", "roce0", "dscp-prio", "26:4")
	equal(t, "the table", show(t, "app").apps(), "48:6")
}

func TestETS(t *testing.T) {
	begin(t)
	s := show(t, "ets")
	equal(t, "prio-tc after loading", s.PrioTC, []int{1, 0, 2, 3, 4, 5, 6, 7})
	equal(t, "tsa after loading", s.TCTSA, strings.Fields("vendor vendor vendor vendor vendor vendor vendor vendor"))
	bounced(t, 0, func() {
		dcbSet(t, "ets", "set", "dev", "roce0", "tc-tsa", "all:ets", "6:strict", "7:strict",
			"tc-bw", "all:0", "0:50", "3:50", "prio-tc", "0:0", "1:1")
	})
	want := show(t, "ets")
	equal(t, "prio-tc", want.PrioTC, []int{0, 1, 2, 3, 4, 5, 6, 7})
	equal(t, "tsa", want.TCTSA, strings.Fields("ets ets ets ets ets ets strict strict"))
	equal(t, "bandwidth", want.TCBw, []int{50, 0, 0, 50, 0, 0, 0, 0})
	dcbSet(t, "ets", "set", "dev", "roce0", "tc-tsa", "5:cbs")
	equal(t, "ets after a refusal", show(t, "ets"), want)
}

// The example for the formula in mlx5/core/en/port_buffer.c: 100 Gbit/s, 7 m and MTU 9000 require
// 56080 bytes, the largest packet and a cell.
func TestBuffers(t *testing.T) {
	begin(t)
	const enough = 56080 + 9978 + 128
	must(t, "ip", "link", "set", "roce0", "mtu", "9000")
	must(t, "ethtool", "-A", "roce0", "rx", "off", "tx", "off")
	dcbSet(t, "pfc", "set", "dev", "roce0", "prio-pfc", "3:on")
	waitCarrier(t)
	set := func(lossless, rest string) shown {
		dcbSet(t, "buffer", "set", "dev", "roce0", "prio-buffer", "all:0", "3:1", "buffer-size", "all:0", "0:"+rest, "1:"+lossless)
		return show(t, "buffer")
	}
	before := show(t, "buffer")
	equal(t, "the buffers after loading", before.BufferSize, []int{262016, 0, 0, 0, 0, 0, 0, 0})
	equal(t, "the buffers with too little for lossless", set("66000", "131072"), before)
	equal(t, "the buffers with more than there is", set("131072", "131072"), before)
	got := set("66200", "131072")
	equal(t, "the mapping", got.PrioBuffer, []int{0, 0, 0, 1, 0, 0, 0, 0})
	equal(t, "the buffers", got.BufferSize, []int{131072, 66200 / 128 * 128, 0, 0, 0, 0, 0, 0})
	if 66200 < enough || 66000 >= enough {
		t.Errorf("the sizes tried do not lie about %d", enough)
	}
	// A longer cable no longer fits the buffers that were set by hand.
	dcbSet(t, "pfc", "set", "dev", "roce0", "delay", "300")
	equal(t, "the delay", show(t, "pfc").Delay, 7)
}

// dcb reads and shows bytes per second where the kernel uses kbit/s (include/uapi/linux/dcbnl.h),
// and does not convert: 80 Mbit/s are 10 Gbit/s.
func TestMaxRateIsRounded(t *testing.T) {
	begin(t)
	dcbSet(t, "maxrate", "set", "dev", "roce0", "tc-maxrate", "0:80Mbit", "1:1200kbit", "2:2400Mbit")
	equal(t, "rates in kbit/s", show(t, "maxrate").MaxRate, []int{10_000_000, 200_000, 0, 0, 0, 0, 0, 0})
}

func TestDCBXOwner(t *testing.T) {
	begin(t)
	equal(t, "dcbx after loading", show(t, "dcbx"), shown{Host: true, CEE: true, IEEE: true})
	must(t, "dcb", "dcbx", "set", "dev", "roce0", "host", "ieee")
	equal(t, "dcbx", show(t, "dcbx"), shown{Host: true, IEEE: true})
	refused(t, "Unknown error -1", "dcb", "dcbx", "set", "dev", "roce0", "ieee")
	turn(t, "dcbx", "14")
	refused(t, "Unknown error -1", "dcb", "dcbx", "set", "dev", "roce0", "host", "ieee")
	equal(t, "dcbx", show(t, "dcbx").Host, false)
}

func TestADriverThatIgnoresWrites(t *testing.T) {
	begin(t)
	turn(t, "ignore", "1")
	bounced(t, 0, func() { must(t, "dcb", "pfc", "set", "dev", "roce0", "prio-pfc", "3:on") })
	must(t, "dcb", "app", "add", "dev", "roce0", "dscp-prio", "26:3")
	equal(t, "pfc", show(t, "pfc").on(), []int{})
	equal(t, "the table", show(t, "app").apps(), "")
}

func TestEthtool(t *testing.T) {
	begin(t)
	pause := func() string { return strings.Join(strings.Fields(must(t, "ethtool", "-a", "roce0")), " ") }
	equal(t, "pause after loading", pause(), "Pause parameters for roce0: Autonegotiate: off RX: on TX: on")
	refused(t, "Invalid argument", "ethtool", "-A", "roce0", "autoneg", "on")
	must(t, "ethtool", "-A", "roce0", "rx", "off", "tx", "off")
	equal(t, "pause", pause(), "Pause parameters for roce0: Autonegotiate: off RX: off TX: off")

	turn(t, "rx_prio3_pause", "7")
	turn(t, "rx_prio3_buf_discard", "2")
	if out := must(t, "ethtool", "-S", "roce0"); strings.Contains(out, "_pause") || !strings.Contains(out, "rx_prio3_buf_discard: 2") {
		t.Errorf("statistics without pfc: %s", out)
	}
	dcbSet(t, "pfc", "set", "dev", "roce0", "prio-pfc", "3:on")
	out := must(t, "ethtool", "-S", "roce0")
	if !strings.Contains(out, "rx_prio3_pause: 7") || strings.Contains(out, "rx_prio4_pause") {
		t.Errorf("statistics with pfc on priority 3: %s", out)
	}
	equal(t, "indications", show(t, "pfc", "-s").Indications, []int{0, 0, 0, 7, 0, 0, 0, 0})

	must(t, "ethtool", "-G", "roce0", "rx", "8192")
	refused(t, "Invalid argument", "ethtool", "-G", "roce0", "rx", "8193")
	if out := must(t, "ethtool", "-g", "roce0"); strings.Count(out, "8192") != 3 {
		t.Errorf("rings: %s", out)
	}
	waitCarrier(t)
	equal(t, "the speed", read(t, "/sys/class/net/roce0/speed"), "100000")
}

func TestReloadForgets(t *testing.T) {
	begin(t)
	dcbSet(t, "pfc", "set", "dev", "roce0", "prio-pfc", "3:on")
	must(t, "dcb", "app", "add", "dev", "roce0", "dscp-prio", "26:3")
	begin(t, "ndev=3")
	equal(t, "pfc", show(t, "pfc").on(), []int{})
	equal(t, "the table", show(t, "app").apps(), "")
	must(t, "dcb", "pfc", "show", "dev", "roce2")
}
