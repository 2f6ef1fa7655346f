package perftest

import (
	"errors"
	"strings"
	"testing"
)

// table puts a head and rows into the frame of perftest's output.
func table(head string, rows ...string) string {
	const line = "---------------------------------------------------------------------------------------\n"
	return "\n************************************\n* Waiting for client to connect... *\n************************************\n" + line +
		"                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n Mtu             : 4096[B]\n GID index       : 3\n" + line +
		" local address: LID 0000 QPN 0x01ac PSN 0xc76db1 RKey 0x23beb2 VAddr 0x007f26a2c8b000\n GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:02:226\n" + line +
		head + "\n" + strings.Join(rows, "\n") + "\n" + line
}

const (
	gbits   = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
	latency = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
)

// The rows are published results of real runs: a 400G NIC, a DGX Spark, mlx4 at QDR, and rxe, whose
// numbers are so long that two columns touch.
func TestParse(t *testing.T) {
	tests := []struct {
		test Test
		out  string
		want Result
		err  error
	}{
		{WriteBW, table(gbits, " 65536      4159603          0.00               363.47             0.693268"), Result{Size: 65536, Iterations: 4159603, Gbps: 363.47}, nil},
		{WriteBW, table(gbits, " 65536      20000            111.72             111.71             0.213070"), Result{Size: 65536, Iterations: 20000, Gbps: 111.71}, nil},
		{WriteLat, table(latency, " 2       1000          1.42           1.93         1.47                1.47             0.00            1.57                    1.93"), Result{Size: 2, Iterations: 1000, Typical: 1.47, Average: 1.47, Least: 1.42, Most: 1.93}, nil},
		{WriteLat, table(latency, " 2       1000          453.06         37330.73     692.41            928.05           2465.901216.65                 37330.73"), Result{Size: 2, Iterations: 1000, Typical: 692.41, Average: 928.05, Least: 453.06, Most: 37330.73}, nil},
		{WriteBW, table(gbits, "Warning: measured timestamp frequency 2994.4 differs from nominal 3000 MHz", " 65536      20000            111.72             111.71             0.213070"), Result{Size: 65536, Iterations: 20000, Gbps: 111.71}, nil},
		{WriteBW, table(gbits), Result{}, ErrNoResult},
		{WriteBW, " Couldn't connect to 10.0.0.1:18515\n", Result{}, ErrNoResult},
		{WriteBW, table(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]", " 65536      1000           11000.1            11000.0            0.17"), Result{}, ErrFormat},
		{WriteLat, table(gbits, " 65536      20000            111.72             111.71             0.213070"), Result{}, ErrFormat},
		{WriteBW, table(gbits, " 2          5000             0.11               0.11               6.897101", " 4          5000             0.22               0.22               6.995646"), Result{}, ErrFormat},
		{WriteBW, table(gbits, " 65536      5000             nan                NaN               0"), Result{}, ErrNoResult},
	}
	for _, tt := range tests {
		got, err := Parse(tt.test, tt.out)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s:\n%s\ngot %+v, %v; want %+v, %v", tt.test, tt.out, got, err, tt.want, tt.err)
		}
	}
}

func TestVersions(t *testing.T) {
	if v, ok := ParseVersion("Version: 6.06\n"); v != "6.06" || !ok {
		t.Errorf("got %q, %v", v, ok)
	}
	if v, ok := ParseVersion("ib_write_bw: command not found\n"); ok {
		t.Errorf("got %q", v)
	}
}

func TestArgs(t *testing.T) {
	server := Options{Test: WriteBW, Device: "mlx5_0", GID: 3, TClass: 106, Size: 65536, QPs: 8, Seconds: 10, Port: FirstPort}
	client := server
	client.Server = "192.0.2.101"
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{server, "ib_write_bw -d mlx5_0 -x 3 --tclass=106 -s 65536 -p 18515 -F -q 8 -D 10 --report_gbits"},
		{client, "ib_write_bw -d mlx5_0 -x 3 --tclass=106 -s 65536 -p 18515 -F -q 8 -D 10 --report_gbits 192.0.2.101"},
		{Options{Test: WriteLat, Device: "bnxt_re0", TClass: 2, Size: 2, Iterations: 1000, Port: 2000}, "ib_write_lat -d bnxt_re0 -x 0 --tclass=2 -s 2 -p 2000 -F -n 1000"},
	} {
		if err := tt.o.Check(); err != nil || tt.o.String() != tt.want {
			t.Errorf("got %s, %v; want %s", tt.o, err, tt.want)
		}
	}
}

// No option that a request could carry becomes anything but its own argument.
func TestCheck(t *testing.T) {
	good := Options{Test: WriteBW, Device: "mlx5_0", GID: 3, TClass: 106, Size: 65536, QPs: 8, Seconds: 10, Port: FirstPort, Server: "2001:db8::1"}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*Options){
		"program": func(o *Options) { o.Test = "sh" }, "device": func(o *Options) { o.Device = "--run_infinitely" }, "no device": func(o *Options) { o.Device = "" },
		"server": func(o *Options) { o.Server = "-R" }, "server with a blank": func(o *Options) { o.Server = "a b" }, "class": func(o *Options) { o.TClass = 256 },
		"time": func(o *Options) { o.Seconds = 0 }, "size": func(o *Options) { o.Size = 0 }, "port": func(o *Options) { o.Port = 22 }, "queue pairs": func(o *Options) { o.QPs = 0 },
		"iterations": func(o *Options) { o.Test = WriteLat }, "GID": func(o *Options) { o.GID = -1 },
	} {
		bad := good
		edit(&bad)
		if bad.Check() == nil {
			t.Errorf("%s: %s is accepted", name, bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(table(gbits, " 65536      20000            111.72             111.71             0.213070"))
	f.Add(table(latency, " 2       1000          453.06         37330.73     692.41            928.05           2465.901216.65                 37330.73"))
	f.Fuzz(func(t *testing.T, out string) {
		for _, test := range []Test{WriteBW, WriteLat} {
			r, err := Parse(test, out)
			if err == nil && (r.Size <= 0 || r.Gbps < 0 || r.Typical < 0) || err != nil && r != (Result{}) {
				t.Errorf("%q: %+v, %v", out, r, err)
			}
		}
	})
}
