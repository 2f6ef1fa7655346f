package hostvm_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/testlab/hostvm"
)

// rival is a daemon that sets the MTU of a NIC from its own profile.
type rival struct {
	// command is the program with its arguments; deb is its package.
	command, deb string
	// profile is the daemon's file, which sets the MTU of roce0 to 1500 in the given line.
	profile, text string
	mode          fs.FileMode
	line          int
	// programs and files are its further programs and files of this machine; needs holds lines of
	// the script.
	programs, files []string
	needs           string
}

var rivals = map[string]rival{
	"systemd-networkd": {
		command: "/lib/systemd/systemd-networkd", deb: "systemd", profile: "/etc/systemd/network/10-roce.network", mode: 0o644, line: 5,
		text: "[Match]\nName=roce0\n\n[Link]\nMTUBytes=1500\n\n[Network]\nLinkLocalAddressing=no\n",
	},
	"NetworkManager": {
		command: "/usr/sbin/NetworkManager --debug", deb: "network-manager", profile: "/etc/NetworkManager/system-connections/roce.nmconnection", mode: 0o600, line: 8,
		text:     "[connection]\nid=roce\nuuid=6d5a53b0-4a5f-4b3c-9f5e-111111111111\ntype=ethernet\ninterface-name=roce0\n\n[ethernet]\nmtu=1500\n\n[ipv4]\nmethod=disabled\n\n[ipv6]\nmethod=disabled\n",
		programs: []string{"dbus-daemon"},
		files:    []string{"/usr/share/dbus-1/system.conf", "/usr/share/dbus-1/system.d/org.freedesktop.NetworkManager.conf"},
		needs:    "mkdir -p /run/dbus /var/lib/NetworkManager; ln -s /run /var/run; dbus-daemon --system --fork",
	},
}

// TestRivalsInAKernel runs a daemon in a VM with a real kernel, with a profile that sets a small
// MTU on a NIC of the intent. That MTU is in force after the daemon has started, and again after it
// has restarted following an apply. validate names the daemon, its file and line, and says if the
// daemon does not run.
func TestRivalsInAKernel(t *testing.T) {
	if !sharedtest.Nightly() {
		t.Skip("skipped: starts virtual machines; make nightly runs it")
	}
	for name, r := range rivals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.test(t, name)
		})
	}
}

func (r rival) test(t *testing.T, name string) {
	text := func(mode fs.FileMode, s string) hostvm.File { return hostvm.File{Mode: mode, Data: []byte(s)} }
	program, _, _ := strings.Cut(r.command, " ")
	lack := hostvm.MissingSystemd()
	tree := map[string]hostvm.File{
		"/etc/passwd": text(0o644, "root:x:0:0:root:/root:/bin/sh\nmessagebus:x:198:65534::/:/bin/false\nsystemd-network:x:199:65534::/:/bin/false\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
		"/profile":    text(r.mode, r.text),
		"/etc/NetworkManager/NetworkManager.conf": text(0o644, "[main]\nplugins=keyfile\ndhcp=internal\nno-auto-default=*\n"),
	}
	for _, f := range append([]string{program}, r.files...) {
		b, err := os.ReadFile(f)
		if err != nil {
			lack = fmt.Sprintf("the host VM lacks %s (Debian: apt-get install %s dbus-daemon)", f, r.deb)
		}
		if f != program {
			tree[f] = text(0o644, string(b))
		}
	}
	res := bootVM(t, lack)(vmLinks+r.needs+`
look() { rf nic validate >/found || test $? = 3; echo "== $1"; grep -A4 NIC-12 /found || :; echo "== end"; }
mtu() { ( await grep -qx $1 /sys/class/net/roce0/mtu ) || { cat /log; exit 1; }; }
daemon() { `+strings.TrimPrefix(r.command, program[:strings.LastIndexByte(program, '/')+1])+` >/log 2>&1 & daemon=$!; }
profile=`+r.profile+`
rf nic apply --yes --allow traffic-loss
mkdir -p ${profile%/*}
cp -p /profile $profile
look idle
daemon
mtu 1500
look started
rf nic apply --yes --allow traffic-loss || :
mtu 9000
kill $daemon
wait $daemon || :
daemon
mtu 1500
look again
rm $profile
look gone
`, hostvm.Options{Systemd: true, Tree: tree, Programs: append([]string{program}, r.programs...)})
	seen := map[string]string{}
	for part := range strings.SplitSeq(string(res.Output), "== end") {
		_, rest, _ := strings.Cut(part, "== ")
		when, found, _ := strings.Cut(rest, "\n")
		seen[when] = strings.Join(strings.Fields(found), " ")
	}
	sets := fmt.Sprintf("NIC-12 vm roce0: %s (%s:%d) sets mtu to 1500, the intent says 9000", name, r.profile, r.line)
	for when, want := range map[string]string{
		"idle": "info " + sets + "; " + name + " does not run", "started": "warning " + sets + " (layer driver)", "again": "warning " + sets + " (layer driver)",
	} {
		if !strings.Contains(seen[when], want) {
			t.Errorf("%s: no %q in %q", when, want, seen[when])
		}
	}
	if found, ok := seen["gone"]; !ok || found != "" {
		t.Errorf("gone: %q", found)
	}
	said(t, res)
}
