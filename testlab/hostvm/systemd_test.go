package hostvm

import (
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
)

// A VM with systemd runs units from its /etc for devices that udev announces: those that exist at
// boot, and those that appear later.
func TestSystemd(t *testing.T) {
	if !sharedtest.Nightly() {
		t.Skip("skipped: starts a virtual machine; .ci/run boot and make nightly run it")
	}
	t.Parallel()
	img := image(t)
	if lack := MissingSystemd(); lack != "" {
		t.Skip("skipped: " + lack)
	}
	text := func(s string) File { return File{Mode: 0o644, Data: []byte(s)} }
	res, err := Boot(t.Context(), img, Options{
		Systemd: true,
		FakeDCB: "ndev=1",
		Tree: map[string]File{
			"/etc/udev/rules.d/99-seen.rules":   text(`ACTION!="remove", SUBSYSTEM=="net", KERNEL=="roce*", TAG+="systemd", ENV{SYSTEMD_WANTS}+="seen@%k.service"` + "\n"),
			"/etc/systemd/system/seen@.service": text("[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo %i >>/run/seen'\n"),
		},
		Script: `
			cat /proc/1/comm
			seen() {
				for try in $(seq 300); do
					[ "$(wc -l </run/seen)" = $1 ] && return
					sleep 0.1
				done 2>/dev/null
				exit 9
			}
			seen 1
			modprobe -r fakedcb
			modprobe fakedcb
			seen 2
			cat /run/seen
			systemctl list-units --failed --no-legend
			exit 3`,
	})
	if err != nil || res.Status != 3 || string(res.Output) != "systemd\nroce0\nroce0\n" {
		t.Fatalf("%v, status %d\n%s\n%s", err, res.Status, res.Output, res.Console)
	}
}
