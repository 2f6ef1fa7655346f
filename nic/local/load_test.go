//go:build linux

package local_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/local/localtest"
	"github.com/roce-fabric/roce-fabric/nic/perftest"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// loaded returns a machine with one NIC whose ib_write_bw is a shell script, and the folder in which
// the script leaves notes.
func loaded(t *testing.T, script string) (*local.Machine, string) {
	t.Helper()
	h := localtest.New(t.TempDir())
	h.Add(localtest.Port{Name: "eth2", RDMA: "mlx5_0", PCI: "0000:3b:00.0", Driver: nic.DriverMLX5})
	m := h.Machine()
	dir := t.TempDir()
	text := "#!/bin/sh\nNOTES=" + dir + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "ib_write_bw"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	m.Tools = runner.Local{Path: dir + ":/usr/bin:/bin"}
	return m, dir
}

func bandwidth(server string) local.Load {
	return local.Load{Port: "eth2", Run: "run-1", Limit: 60, Test: perftest.Options{Test: perftest.WriteBW, TClass: 106, Size: 65536, QPs: 1, Seconds: 10, Port: perftest.FirstPort, Server: server}}
}

const printed = `printf ' #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      20000            111.72             111.71             0.213070\n'`

// The program gets the device and a routed RoCE v2 GID of the NIC, and the mark of the run is in the
// environment of its process.
func TestLoad(t *testing.T) {
	m, dir := loaded(t, `echo "$ROCE_FABRIC_PROVE $@" >$NOTES/args; `+printed)
	got, err := m.Load(t.Context(), []local.Load{bandwidth("192.0.2.1")})
	if err != nil || len(got) != 1 || got[0].Error != "" || got[0].Result.Gbps != 111.71 {
		t.Fatalf("%+v, %v", got, err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	if want := "run-1 -d mlx5_0 -x 3 --tclass=106 -s 65536 -p 18515 -F -q 1 -D 10 --report_gbits 192.0.2.1\n"; err != nil || string(args) != want {
		t.Errorf("started with %q, want %q", args, want)
	}
}

// A client that finds no server starts again; other failures end it, with what the program said.
func TestLoadErrors(t *testing.T) {
	m, _ := loaded(t, `if [ ! -e $NOTES/once ]; then touch $NOTES/once; echo "Couldn't connect to 192.0.2.1:18515" >&2; exit 1; fi; `+printed)
	if got, err := m.Load(t.Context(), []local.Load{bandwidth("192.0.2.1")}); err != nil || got[0].Error != "" {
		t.Errorf("a late server: %+v, %v", got, err)
	}
	m, _ = loaded(t, `echo " Failed to modify QP 1 to RTR" >&2; exit 1`)
	if got, err := m.Load(t.Context(), []local.Load{bandwidth("192.0.2.1")}); err != nil || !strings.Contains(got[0].Error, "exit status 1: Failed to modify QP 1 to RTR") {
		t.Errorf("a failure: %+v, %v", got, err)
	}
	m, _ = loaded(t, "exec sleep 60")
	late := bandwidth("")
	late.Limit = 1
	if got, err := m.Load(t.Context(), []local.Load{late}); err != nil || got[0].Error != "ib_write_bw did not end within 1 s" {
		t.Errorf("no end: %+v, %v", got, err)
	}
	for name, edit := range map[string]func(*local.Load){
		"program": func(l *local.Load) { l.Test.Test = "sh" }, "NIC": func(l *local.Load) { l.Port = "eth9" }, "address": func(l *local.Load) { l.Test.Server = "-R" },
	} {
		l := bandwidth("192.0.2.1")
		edit(&l)
		if got, err := m.Load(t.Context(), []local.Load{l}); err != nil || got[0].Error == "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, edit := range map[string]func(*local.Load){"run": func(l *local.Load) { l.Run = "a b" }, "limit": func(l *local.Load) { l.Limit = 0 }} {
		l := bandwidth("192.0.2.1")
		edit(&l)
		if _, err := m.Load(t.Context(), []local.Load{l}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// When the caller leaves, no program stays behind.
func TestLoadEnds(t *testing.T) {
	m, dir := loaded(t, `echo $$ >$NOTES/pid.new; mv $NOTES/pid.new $NOTES/pid; exec sleep 60`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := m.Load(ctx, []local.Load{bandwidth("")})
		done <- err
	}()
	pid := ""
	for deadline := time.Now().Add(time.Minute); pid == ""; {
		if b, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
			pid = strings.TrimSpace(string(b))
		} else if time.Now().After(deadline) {
			t.Fatal("the program does not start")
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if b, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && strings.Contains(string(b), "sleep") {
		t.Errorf("process %s is still there: %q", pid, b)
	}
}
