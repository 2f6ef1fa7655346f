package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/writers"
)

// Limits for the files that are searched for other writers.
const (
	maxWriterFiles = 1000
	maxWriterFile  = 256 << 10 // bytes
)

// daemons maps programs that write NIC settings on their own to what they are, and to the fields
// that their configuration has (NicConfigurationTemplate of the NIC configuration operator,
// SriovNetworkNodePolicy of the SR-IOV network operator; none is known for dmsd). The keys are
// process names, which the kernel truncates to 15 bytes (TASK_COMM_LEN). lldpad is in Agents of
// [nic.Host] instead.
var daemons = map[string]nic.Writer{
	"nic-configurati": {Who: "nic-configuration-daemon of NVIDIA's NIC configuration operator", May: []string{
		nic.FieldTrust, nic.FieldDSCP, nic.FieldPFC, nic.FieldToS, nic.FieldMode, nic.FieldCable, nic.FieldECN, nic.FieldLinkPause, nic.FieldRings, nic.FieldMaxReadRequest}},
	"dmsd":            {Who: "dmsd of NVIDIA's DOCA management service"},
	"sriov-network-c": {Who: "sriov-network-config-daemon of the SR-IOV network operator", May: []string{nic.FieldMTU, nic.FieldVFs, nic.FieldRepresentors}},
}

// Daemons that write the settings in their profiles.
const (
	commNM       = "NetworkManager"
	commNetworkd = "systemd-network" // truncated systemd-networkd
)

// process is a process of the machine.
type process struct{ id, comm string }

func (m *Machine) processes() ([]process, error) {
	ids, err := m.fs().ReadDir(m.proc())
	if err != nil {
		return nil, err
	}
	var out []process
	for _, id := range ids {
		if _, ok := decimal(id); !ok {
			continue
		}
		// A process may exit between the two reads.
		if comm, err := m.text(m.proc(id, "comm")); err == nil {
			out = append(out, process{id, comm})
		}
	}
	return out, nil
}

// agentsOf returns the running daemons that write DCB settings on their own.
func agentsOf(all []process) []string {
	if slices.ContainsFunc(all, func(p process) bool { return p.comm == "lldpad" }) {
		return []string{"lldpad"}
	}
	return nil
}

// search looks for other writers.
type search struct {
	*Machine
	*writers.Finder
	files int
	// denied and full report that something was not searched.
	denied, full bool
}

// writers returns what else writes the settings of a host's ports, according to the machine's
// processes and files. The error says what was not searched.
func (m *Machine) writers(h *nic.Host, all []process) ([]nic.Writer, error) {
	s := &search{Machine: m, Finder: &writers.Finder{}}
	for _, name := range natural.Keys(h.Ports) {
		p := h.Ports[name]
		mac, _ := m.text(m.sysNet(p.Name, "address"))
		n := writers.NIC{Name: p.Name, RDMA: p.RDMA, Bond: m.master(p.Name), PCI: p.PCI, MAC: mac, Driver: p.Driver}
		for _, u := range h.Above(name) {
			if u.Kind == nic.UpperVLAN {
				n.VLANs = append(n.VLANs, u.Name)
			}
		}
		s.NICs = append(s.NICs, n)
	}
	if len(s.NICs) == 0 {
		return nil, nil
	}
	s.Follow = func(name string) ([]byte, bool) {
		return s.read(s.Inside(name))
	}
	runs := func(comm string) bool {
		return slices.ContainsFunc(all, func(p process) bool { return p.comm == comm })
	}
	for _, p := range all {
		if w, is := daemons[p.comm]; is {
			w.Place, w.Daemon = "process "+p.id, true
			s.Found = append(s.Found, w)
		}
	}
	s.profiles(runs)
	s.commands()
	s.searchRunningScripts(all)
	for i := range s.Found {
		s.Found[i].Ports = m.choice.named(s.Found[i].Ports)
	}
	switch {
	case s.full || s.More:
		return s.Found, fmt.Errorf("too many files or writers to search (limit: %d files)", maxWriterFiles)
	case s.denied:
		return s.Found, fs.ErrPermission
	}
	return s.Found, nil
}

// pathOnHost returns the path of a file as it appears on its machine.
func (s *search) pathOnHost(name string) string {
	for _, r := range [][2]string{{s.Etc, "/etc"}, {s.Run, "/run"}} {
		if rest, ok := strings.CutPrefix(name, r[0]+"/"); ok && r[0] != "" {
			return r[1] + "/" + filepath.ToSlash(rest)
		}
	}
	if s.Etc != "" {
		if rest, ok := strings.CutPrefix(name, filepath.Dir(s.Etc)); ok {
			return filepath.ToSlash(rest)
		}
	}
	return name
}

func (s *search) etc(elem ...string) string { return under(s.Etc, "/etc", elem...) }
func (s *search) run(elem ...string) string { return under(s.Run, "/run", elem...) }

// noteError records that something could not be searched.
func (s *search) noteError(err error) { s.denied = s.denied || denied(err) }

// read reads a regular file that is not too large.
func (s *search) read(name string) ([]byte, bool) {
	if s.files++; s.files > maxWriterFiles {
		s.full = true
		return nil, false
	}
	st, err := os.Stat(name)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxWriterFile {
		s.noteError(err)
		return nil, false
	}
	// The file's owner may have replaced it with a pipe meanwhile.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		s.noteError(err)
		return nil, false
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, false
	}
	b, err := io.ReadAll(io.LimitReader(f, maxWriterFile))
	if err != nil {
		s.noteError(err)
		return nil, false
	}
	return b, true
}

// list returns the sorted paths of the files in a directory that match a pattern; none if the
// directory does not exist.
func (s *search) list(dir, pattern string) (out []string) {
	names, err := OS{}.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.noteError(err)
	}
	for _, n := range names {
		if ok, err := path.Match(pattern, n); ok && err == nil {
			out = append(out, filepath.Join(dir, n))
		}
	}
	return out
}

// each calls f for the files in the directories that match a pattern.
func (s *search) each(pattern string, f func(name string, text []byte), dirs ...string) {
	for _, dir := range dirs {
		for _, name := range s.list(dir, pattern) {
			if b, ok := s.read(name); ok {
				f(s.pathOnHost(name), b)
			}
		}
	}
}

// profiles searches the files that configure interfaces.
func (s *search) profiles(runs func(comm string) bool) {
	idle := func(comm, name string) string {
		if runs(comm) {
			return ""
		}
		return name + " does not run"
	}
	var plans, links []writers.File
	keep := func(into *[]writers.File) func(string, []byte) {
		return func(name string, text []byte) { *into = append(*into, writers.File{Path: name, Text: text}) }
	}
	s.each("*.yaml", keep(&plans), s.etc("netplan"), s.run("netplan"))
	netplan := s.Netplan(plans)
	s.each("*", func(name string, text []byte) {
		s.NetworkManager(writers.File{Path: name, Text: text}, idle(commNM, commNM))
	}, s.etc("NetworkManager", "system-connections"), s.run("NetworkManager", "system-connections"))
	for _, ext := range []string{"*.network", "*.link", "*.netdev"} {
		s.each(ext, keep(&links), s.etc("systemd", "network"), s.run("systemd", "network"))
	}
	s.Networkd(links, idle(commNetworkd, "systemd-networkd"))
	s.Without(netplan)
	s.each("*", s.Interfaces, s.etc("network", "interfaces.d"))
	s.each("interfaces", s.Interfaces, s.etc("network"))
	s.each("ifcfg-*", s.IfCfg, s.etc("sysconfig", "network-scripts"))
}

// commands searches the scripts and commands run by systemd, cron and udev, and when an interface
// comes up.
func (s *search) commands() {
	s.units()
	s.each("*.rules", s.Udev, s.etc("udev", "rules.d"), s.run("udev", "rules.d"))
	s.each("crontab", s.Cron, s.etc())
	spool := s.Inside("/var/spool/cron")
	s.each("*", s.Cron, s.etc("cron.d"), spool, filepath.Join(spool, "crontabs"))
	script := func(name string, text []byte) { s.Script(name, text, "") }
	s.each("rc.local", script, s.etc(), s.etc("rc.d"))
	for _, d := range []string{"hourly", "daily", "weekly", "monthly"} {
		s.each("*", script, s.etc("cron."+d))
	}
	nm, dispatcher := s.etc("NetworkManager", "dispatcher.d"), s.etc("networkd-dispatcher")
	s.each("*", script, nm, filepath.Join(nm, "pre-up.d"), s.etc("network", "if-up.d"), s.etc("network", "if-pre-up.d"))
	for _, dir := range s.list(dispatcher, "*.d") {
		s.each("*", script, dir)
	}
}

// units searches the operator's services. A service that no other unit wants is assumed to be
// started by hand.
func (s *search) units() {
	dirs := []string{s.etc("systemd", "system"), s.run("systemd", "system")}
	wanted := map[string]bool{}
	for _, dir := range dirs {
		for _, kind := range []string{"*.wants", "*.requires"} {
			for _, d := range s.list(dir, kind) {
				for _, name := range s.list(d, "*") {
					wanted[template(path.Base(name))] = true
				}
			}
		}
	}
	for i, dir := range dirs {
		service := func(name string, text []byte) {
			base := path.Base(name)
			if strings.HasSuffix(path.Dir(name), ".service.d") {
				base = strings.TrimSuffix(path.Base(path.Dir(name)), ".d")
			}
			idle := ""
			if timer := strings.TrimSuffix(base, ".service") + ".timer"; i == 0 && !wanted[template(base)] && !wanted[template(timer)] {
				idle = "the unit is not enabled"
			}
			s.Unit(name, text, idle)
		}
		s.each("*.service", service, dir)
		for _, d := range s.list(dir, "*.service.d") {
			s.each("*.conf", service, d)
		}
	}
}

// template returns the name of a unit without its instance: "roce@.service".
func template(unit string) string {
	name, rest, ok := strings.Cut(unit, "@")
	if !ok {
		return unit
	}
	return name + "@" + path.Ext(rest)
}

// searchRunningScripts searches the shell scripts that are currently running.
func (s *search) searchRunningScripts(all []process) {
	for _, p := range all {
		if !writers.IsShell(p.comm) {
			continue
		}
		b, err := s.fs().ReadFile(s.proc(p.id, "cmdline"))
		if err != nil {
			continue
		}
		if args := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00"); len(args) > 1 {
			s.Process("process "+p.id, args)
		}
	}
}
