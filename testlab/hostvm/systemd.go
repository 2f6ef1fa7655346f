package hostvm

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// packaged is a file of a Debian package.
type packaged struct{ path, deb string }

// executor starts the services since systemd 254.
var executor = packaged{"/lib/systemd/systemd-executor", "systemd"}

// systemdFiles are the files that [Options.Systemd] takes from Debian's packages systemd and udev:
// the programs, the targets that a service waits for, udevd, and its rules for network and RDMA
// devices. The other services that the packages start at boot (the journal, mounts, logins) are
// left out, because they are slow on an emulated processor.
var systemdFiles = []packaged{
	{"/lib/systemd/systemd", "systemd"},
	{"/bin/systemctl", "systemd"},
	{"/bin/udevadm", "udev"},
	{"/lib/systemd/system/sysinit.target", "systemd"},
	{"/lib/systemd/system/basic.target", "systemd"},
	{"/lib/systemd/system/sockets.target", "systemd"},
	{"/lib/systemd/system/shutdown.target", "systemd"},
	{"/lib/systemd/system/systemd-udevd.service", "udev"},
	{"/lib/systemd/system/systemd-udevd-control.socket", "udev"},
	{"/lib/systemd/system/systemd-udevd-kernel.socket", "udev"},
	{"/lib/systemd/system/systemd-udev-trigger.service", "udev"},
	{"/lib/systemd/network/99-default.link", "udev"},
	{"/lib/udev/rules.d/50-udev-default.rules", "udev"},
	{"/lib/udev/rules.d/60-infiniband.rules", "udev"},
	{"/lib/udev/rules.d/75-net-description.rules", "udev"},
	{"/lib/udev/rules.d/80-net-setup-link.rules", "udev"},
	{"/lib/udev/rules.d/99-systemd.rules", "systemd"},
}

// bootUnits are the VM's own units. There is no journal: systemd's messages go to the kernel log,
// and the output of units goes to the console.
var bootUnits = map[string]string{
	"/usr/lib/systemd/system.conf.d/hostvm.conf": `[Manager]
LogTarget=kmsg
DefaultStandardOutput=tty
DefaultStandardError=tty
`,
	"/usr/lib/systemd/system/default.target": `[Unit]
Description=The script of the machine
Requires=basic.target
Wants=systemd-udevd.service systemd-udev-trigger.service hostvm.service
`,
	"/usr/lib/systemd/system/hostvm.service": `[Unit]
Description=The script of the machine
Requires=basic.target
After=basic.target systemd-udev-trigger.service

[Service]
ExecStart=/bin/sh /usr/lib/hostvm/run
`,
}

// udevGroups are the groups used in udev's rules.
var udevGroups = []string{"audio", "cdrom", "dialout", "disk", "input", "kmem", "kvm", "lp", "render", "sgx", "tape", "tty", "video"}

// MissingSystemd is like [Missing], for a VM with [Options.Systemd].
func MissingSystemd() string {
	if lack := Missing(); lack != "" {
		return lack
	}
	var lacks, debs []string
	for _, f := range systemdFiles {
		if _, err := os.Stat(f.path); err != nil {
			lacks, debs = append(lacks, f.path), append(debs, f.deb)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	slices.Sort(debs)
	return fmt.Sprintf("the host VM lacks %s (Debian: apt-get install %s)", strings.Join(lacks, ", "), strings.Join(slices.Compact(debs), " "))
}

// putSystemd adds what is needed to boot the VM with systemd.
func (t tree) putSystemd(ctx context.Context) error {
	files := slices.Clone(systemdFiles)
	if _, err := os.Stat(executor.path); err == nil {
		files = append(files, executor)
	}
	for _, f := range files {
		src, err := filepath.EvalSymlinks(f.path)
		if err != nil {
			return err
		}
		if err := t.putLibraries(ctx, src); err != nil {
			return err
		}
		if err := t.putHost(f.path, src); err != nil {
			return err
		}
	}
	t.put("/usr/lib/systemd/systemd-udevd", node{mode: fs.ModeSymlink | 0o777, link: "/bin/udevadm"})
	for name, text := range bootUnits {
		t.put(name, node{mode: 0o644, data: []byte(text)})
	}
	for _, dir := range []string{"/var/tmp", "/etc/systemd/system", "/etc/udev/rules.d"} {
		t.put(dir, node{mode: fs.ModeDir | 0o755})
	}
	group := "root:x:0:\nnogroup:x:65534:\n"
	for i, name := range udevGroups {
		group += fmt.Sprintf("%s:x:%d:\n", name, 101+i)
	}
	t.put("/etc/group", node{mode: 0o644, data: []byte(group)})
	// Without a machine ID this would be the first boot of the VM.
	t.put("/etc/machine-id", node{mode: 0o444, data: []byte(strings.Repeat("5", 32) + "\n")})
	return nil
}
