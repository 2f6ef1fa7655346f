// Package unit makes a host's RoCE settings persistent. The settings of a driver or the RDMA stack
// are lost at a reboot, when the driver is reloaded and when the RDMA device is recreated. A
// systemd service, which udev starts for the device, writes them again each time.
//
// This requires three files, all below the Etc of [local.Roots]: a small host file with the
// settings, a service template, and udev rules that name the devices. The files are readable text.
// [Files] renders them, [Install] and [Remove] install and remove them, and [Read] says whether the
// installed files are intact, and which settings they hold. The package itself applies no settings
// and restarts nothing.
//
// The service runs as root, so it runs a program that only root can replace: Install copies the
// running program to [DefaultBinary].
//
// Sources: systemd.device(5) on SYSTEMD_WANTS, systemd.service(5), udev(7).
package unit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// Errors of the package, wrapped; test with errors.Is.
var (
	// ErrName: a device name or the program's path cannot be used in a unit or rule.
	ErrName = errors.New("name not usable in a unit")
	// ErrDamaged: the file is not a valid host file, or was changed by hand.
	ErrDamaged = errors.New("host file damaged")
	// ErrProgram: the unit's program is missing, or users other than root can replace it.
	ErrProgram = errors.New("program not usable by a unit")
	// ErrNoSystemd: the machine was not started by systemd.
	ErrNoSystemd = errors.New("no systemd on this machine")
)

// format is the format version of the host file. A program rejects any other version.
const format = 1

// maxHostFile is the maximum size of the host file in bytes.
const maxHostFile = 1 << 20

// DefaultBinary is the copy of the program that the unit runs unless another program is stated. Its
// name is used only by the unit, and it is in a program directory, from which SELinux lets systemd
// run it.
const DefaultBinary = "/usr/local/sbin/roce-fabric-nic"

// Settings are the settings that the unit applies.
type Settings struct {
	// Binary is the absolute path of the program on the host; "" stands for DefaultBinary. It is
	// run as "nic boot DEVICE", with the name of a network or RDMA device of Host.
	Binary string `json:"binary"`
	// Host is the desired host.
	Host *nic.Host `json:"host"`
}

// hostFile is the content of the host file.
type hostFile struct {
	Format int    `json:"format"`
	Digest string `json:"digest"`
	Settings
}

// Paths of the files below Etc.
const (
	hostPath    = "roce-fabric/host.json"
	servicePath = "systemd/system/roce-fabric-nic@.service"
	rulesPath   = "udev/rules.d/99-roce-fabric-nic.rules"
)

// paths lists all files of the unit in the order in which they are installed, so that nothing
// starts before the files that it needs exist.
var paths = []string{hostPath, servicePath, rulesPath}

// File is one file of the unit.
type File struct {
	// Path is relative to Etc, with slashes.
	Path    string
	Content []byte
}

var (
	// deviceName excludes characters that are patterns in udev or escapes in systemd.
	deviceName = lazyre.New(`^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,62}$`)
	binaryPath = lazyre.New(`^(/[A-Za-z0-9_.+-]+)+$`)
)

// Files renders the files of the unit. The same settings always yield the same bytes. It returns
// ErrName for a device name or path that the files cannot contain.
func Files(s Settings) ([]File, error) {
	s.Binary = cmp.Or(s.Binary, DefaultBinary)
	if !binaryPath.MatchString(s.Binary) || filepath.Clean(s.Binary) != s.Binary {
		return nil, fmt.Errorf("%q: %w", term.CleanLine(s.Binary), ErrName)
	}
	if s.Host == nil || len(s.Host.Ports) == 0 {
		return nil, errors.New("the host has no ports to apply settings to")
	}
	rules, err := rules(s.Host)
	if err != nil {
		return nil, err
	}
	// The settings of a host do not depend on whether the unit is installed.
	bare := *s.Host
	bare.Unit = nic.UnitState{}
	var host bytes.Buffer
	enc := json.NewEncoder(&host)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(hostFile{format, nic.Digest(s.Host), Settings{s.Binary, &bare}}); err != nil {
		return nil, fmt.Errorf("host file: %w", err)
	}
	return []File{{hostPath, host.Bytes()}, {servicePath, service(s.Binary)}, {rulesPath, rules}}, nil
}

// service returns the service template, whose instance is the name of the device that appeared. The
// service does not remain active after it has run, so that it runs again whenever the device
// appears. /etc is read-only for it, and /sys must stay writable.
func service(binary string) []byte {
	return []byte(`# Written by roce-fabric; "roce-fabric nic unit" renews and removes it.
[Unit]
Description=RoCE settings of %i
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart=` + binary + ` nic boot %i
TimeoutStartSec=5min
NoNewPrivileges=yes
PrivateTmp=yes
ProtectHome=yes
ProtectSystem=full
`)
}

// rules returns the rules that start the service when a device appears. A network device is renamed
// after it appears, and is matched by its final name. Its RDMA device appears later and starts
// another run.
func rules(h *nic.Host) ([]byte, error) {
	var b strings.Builder
	b.WriteString("# Written by roce-fabric; \"roce-fabric nic unit\" renews and removes it.\nACTION==\"remove\", GOTO=\"roce_fabric_nic_end\"\n")
	line := func(subsystem, name string) error {
		if !deviceName.MatchString(name) {
			return fmt.Errorf("%q: %w", term.CleanLine(name), ErrName)
		}
		fmt.Fprintf(&b, "SUBSYSTEM==%q, KERNEL==%q, TAG+=\"systemd\", ENV{SYSTEMD_WANTS}+=%q\n", subsystem, name, "roce-fabric-nic@"+name+".service")
		return nil
	}
	rdma := map[string]bool{}
	for _, name := range natural.Keys(h.Ports) {
		if p := h.Ports[name]; p != nil && p.Select.Set {
			selecting(&b, p.Select.V)
			continue
		}
		if err := line("net", name); err != nil {
			return nil, err
		}
		if p := h.Ports[name]; p != nil && p.RDMA != "" {
			rdma[p.RDMA] = true
		}
	}
	for _, name := range natural.Keys(h.Uppers) {
		if err := line("net", name); err != nil {
			return nil, err
		}
	}
	for _, name := range natural.Keys(rdma) {
		if err := line("infiniband", name); err != nil {
			return nil, err
		}
	}
	b.WriteString("LABEL=\"roce_fabric_nic_end\"\n")
	return []byte(b.String()), nil
}

// selecting adds rules that start the service for all devices that a selector may choose, with the
// names given by udev; the service then finds out whether the device is chosen.
func selecting(b *strings.Builder, s intent.Selector) {
	match := ""
	if s.PCI != "" {
		match += fmt.Sprintf(", KERNELS==%q", s.PCI)
	}
	if v := nic.VendorNumber(s.Vendor); v != "" {
		match += fmt.Sprintf(", ATTRS{vendor}==%q", "0x"+v)
	}
	for _, subsystem := range []string{"net", "infiniband"} {
		rule := fmt.Sprintf("SUBSYSTEM==%q, SUBSYSTEMS==\"pci\"%s, TAG+=\"systemd\", ENV{SYSTEMD_WANTS}+=\"roce-fabric-nic@$name.service\"\n", subsystem, match)
		if !strings.Contains(b.String(), rule) {
			b.WriteString(rule)
		}
	}
}

// PartOf returns the part of a host that is applied when a device appears: the port of that name;
// the ports of the RDMA device of that name; or the bond or VLAN of that name, with the MTUs of the
// devices below, which limit its own. It returns nil if the device does not belong to the host.
func PartOf(h *nic.Host, device string) *nic.Host {
	out := &nic.Host{Name: h.Name, Ports: map[string]*nic.Port{}}
	if u := h.Uppers[device]; u != nil {
		out.Uppers = map[string]*nic.Upper{device: u}
		for _, below := range u.On {
			if b := h.Uppers[below]; b != nil && below != device {
				out.Uppers[below] = b
			}
			for name, p := range h.Ports {
				if p != nil && (name == below || slices.Contains(h.Above(name), h.Uppers[below])) {
					out.Ports[name] = &nic.Port{Name: name, MTU: p.MTU, From: p.From}
				}
			}
		}
		return out
	}
	for name, p := range h.Ports {
		if name == device || p != nil && p.RDMA != "" && p.RDMA == device && h.Ports[device] == nil {
			out.Ports[name] = p
		}
	}
	if len(out.Ports) == 0 {
		return nil
	}
	return out
}

// parse decodes a host file. It returns ErrDamaged if the file is not as it was written.
func parse(b []byte) (*hostFile, error) {
	if len(b) > maxHostFile {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrDamaged, maxHostFile)
	}
	var f hostFile
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it is followed by other data", ErrDamaged)
	}
	if f.Format != format {
		return nil, fmt.Errorf("%w: its format is %d, and this program's %d", ErrDamaged, f.Format, format)
	}
	if f.Host == nil {
		return nil, fmt.Errorf("%w: it contains no host", ErrDamaged)
	}
	for name, p := range f.Host.Ports {
		if p == nil {
			return nil, fmt.Errorf("%w: port %q is empty", ErrDamaged, term.CleanLine(name))
		}
	}
	for name, u := range f.Host.Uppers {
		if u == nil {
			return nil, fmt.Errorf("%w: device %q is empty", ErrDamaged, term.CleanLine(name))
		}
	}
	if f.Digest != nic.Digest(f.Host) {
		return nil, fmt.Errorf("%w: the settings do not match its digest", ErrDamaged)
	}
	return &f, nil
}

func etc(r local.Roots, path string) string {
	return filepath.Join(cmp.Or(r.Etc, "/etc"), filepath.FromSlash(path))
}
