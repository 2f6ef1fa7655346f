package local

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mdlayher/netlink"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/nic"
)

// Namespaces accesses other network namespaces.
type Namespaces interface {
	// Links lists the interfaces of PCI devices in a namespace, given by its file in /proc.
	Links(ctx context.Context, file string) ([]nic.Elsewhere, error)
}

// maxNamespaces limits how many network namespaces are searched.
const maxNamespaces = 256

// inOtherNamespace is what userOf says of a function whose interface is not in this namespace.
const inOtherNamespace = "in another network namespace"

// locate finds the interfaces of RDMA devices and VFs that are in other network namespaces of the
// machine, if there are any to look for. It enters the namespaces of the machine's processes; their
// files are not touched, because a container decides what its own file system shows.
func (m *Machine) locate(ctx context.Context, h *nic.Host, names []string, all []process) {
	missing := map[string]bool{}
	for _, name := range names {
		missing[name] = h.Ports[name] == nil
	}
	rdma, vfs := m.sought(h)
	if len(rdma)+len(vfs) == 0 || m.Namespaces == nil {
		return
	}
	own, err := m.fs().Readlink(m.proc("self", "ns", "net"))
	seen := map[string]bool{own: true}
	for _, p := range all {
		link, lerr := m.fs().Readlink(m.proc(p.id, "ns", "net"))
		if err != nil || lerr != nil || seen[link] || len(seen) > maxNamespaces || ctx.Err() != nil {
			continue
		}
		seen[link] = true
		links, lerr := m.Namespaces.Links(ctx, m.proc(p.id, "ns", "net"))
		if lerr != nil {
			continue
		}
		owner := m.ownerOf(p)
		for _, e := range links {
			e.Owner, e.RDMA = owner, rdma[e.PCI]
			if v := vfs[e.PCI]; v != nil {
				v.Interface, v.MTU, v.Up, v.User = e.Interface, e.MTU, e.Up, "in the network namespace of "+owner
			}
			if e.RDMA != "" || missing[e.Interface] {
				h.Elsewhere = append(h.Elsewhere, e)
			}
		}
	}
	ordered.Sort(h.Elsewhere, func(a, b nic.Elsewhere) int { return natural.Compare(a.PCI, b.PCI) })
}

// sought returns, by PCI address, the RDMA devices and the VFs whose interface is in another
// namespace.
func (m *Machine) sought(h *nic.Host) (rdma map[string]string, vfs map[string]*nic.VF) {
	rdma, vfs = map[string]string{}, map[string]*nic.VF{}
	for _, d := range h.Away {
		if target, err := m.fs().Readlink(m.infiniband(d, "device")); err == nil {
			rdma[filepath.Base(target)] = d
		}
	}
	for _, p := range h.Ports {
		for i := range p.Each {
			if p.Each[i].User != inOtherNamespace {
				continue
			}
			if target, err := m.fs().Readlink(m.sysNet(p.Name, "device", fmt.Sprintf("virtfn%d", p.Each[i].Number))); err == nil {
				vfs[filepath.Base(target)] = &p.Each[i]
			}
		}
	}
	return rdma, vfs
}

// podID matches the UID of a pod in the path of a control group, containerID the ID of a container
// (kubelet, pkg/kubelet/cm; container runtimes).
var (
	podID       = lazyre.New(`pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})`)
	containerID = lazyre.New(`([0-9a-f]{12})[0-9a-f]{52}`)
)

// ownerOf names the pod, container or process that a network namespace belongs to, given one of its
// processes.
func (m *Machine) ownerOf(p process) string {
	groups, _ := m.fs().ReadFile(m.proc(p.id, "cgroup"))
	if is := podID.FindStringSubmatch(string(groups)); is != nil {
		return "pod " + strings.ReplaceAll(is[1], "_", "-")
	}
	if is := containerID.FindStringSubmatch(string(groups)); is != nil {
		return "container " + is[1]
	}
	return fmt.Sprintf("process %s (%s)", p.id, clip(p.comm))
}

// Constants of include/uapi/linux/if_link.h, since Linux 5.14, and if.h.
const (
	iflaMTU       = 4
	iflaParentDev = 56
	iffUp         = 1
)

// namespaceWait limits the wait for the interfaces of one namespace.
const namespaceWait = 2 * time.Second

// Links implements Namespaces. It needs root.
func (rtnetlink) Links(ctx context.Context, file string) ([]nic.Elsewhere, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	conn, err := netlink.Dial(0, &netlink.Config{NetNS: int(f.Fd())}) // NETLINK_ROUTE
	if err != nil {
		return nil, err
	}
	defer conn.Close() // an error here loses nothing
	if err := conn.SetDeadline(time.Now().Add(namespaceWait)); err != nil {
		return nil, err
	}
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(iflaExtMask, skipStats)
	attrs, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	replies, err := conn.Execute(netlink.Message{Header: netlink.Header{Type: rtmGetLink, Flags: netlink.Request | netlink.Dump}, Data: append(make([]byte, ifinfomsg), attrs...)})
	if err != nil {
		return nil, fmt.Errorf("list the interfaces of %s: %w", file, err)
	}
	var out []nic.Elsewhere
	for _, r := range replies {
		if e, ok := parseLink(r.Data); ok {
			out = append(out, e)
		}
	}
	return out, nil
}

// parseLink decodes an RTM_NEWLINK message; false if it is not about the interface of a PCI device.
func parseLink(b []byte) (e nic.Elsewhere, ok bool) {
	if len(b) < ifinfomsg {
		return e, false
	}
	e.Up = binary.NativeEndian.Uint32(b[8:])&iffUp != 0 // ifi_flags
	ad, err := netlink.NewAttributeDecoder(b[ifinfomsg:])
	if err != nil {
		return e, false
	}
	for ad.Next() {
		switch ad.Type() {
		case iflaIfname:
			e.Interface = clip(ad.String())
		case iflaMTU:
			e.MTU = int(min(ad.Uint32(), 1<<16))
		case iflaParentDev:
			e.PCI = ad.String()
		}
	}
	return e, ad.Err() == nil && pciAddress.MatchString(e.PCI)
}
