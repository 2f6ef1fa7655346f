package containerlab

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/testlab/sim"
	"github.com/roce-fabric/roce-fabric/testlab/sim/systems"
)

// kind is a kind of containerlab node.
type kind struct {
	sim.Node
	system string // name of the system in the intent; "" for hosts
}

// kinds lists, for each system, the usual kind first, and the kind of hosts last.
// Sources: srl-labs/containerlab docs/manual/kinds and nodes, srl-labs/vrnetlab sonic and
// cisco/n9kv, sonic-net/sonic-buildimage platform/vs/docker-sonic-vs.
var kinds = func() (out []kind) {
	for _, s := range systems.All {
		for _, n := range s.Nodes {
			out = append(out, kind{n, s.Name})
		}
	}
	return append(out, kind{Node: sim.Node{
		Kind: hosts, Image: func(string) string { return "alpine:3.20" }, Release: func(string) string { return "" },
		Interface: hostPort, Ports: "any name of an interface but eth0, without a colon or @",
	}})
}()

// hosts is the kind of hosts, and their name for --image.
const hosts = "linux"

// inside is the path of a node's script inside the node.
const inside = "/roce-fabric.sh"

var hostName = lazyre.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// hostPort returns the name of a port of a host. eth0 is reserved for the management network that
// containerlab creates.
func hostPort(port string) string {
	if port == "eth0" || !hostName.MatchString(port) {
		return ""
	}
	return port
}

// fixed returns the usual node of a system whose ports are always the same; nil for a system whose
// nodes have the ports of the intent.
func fixed(system string) *kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.system == system && system != "" && k.Fixed != nil })
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

// prefix returns the part of a port name before its number.
func (k *kind) prefix() string { return strings.TrimRight(k.Fixed()[0], "0123456789") }

// Images says which images the nodes run, by the name of their kind.
type Images struct {
	named map[string]string
	// chosen holds the kind of each system for which an image was given.
	chosen map[string]string
}

// ParseImages parses the arguments of --image: SYSTEM=IMAGE, KIND=IMAGE, or linux=IMAGE for hosts.
func ParseImages(args []string) (*Images, error) {
	out := &Images{named: map[string]string{}, chosen: map[string]string{}}
	for _, arg := range args {
		name, image, ok := strings.Cut(arg, "=")
		if !ok || image == "" {
			return nil, fmt.Errorf("%q is not NAME=IMAGE", arg)
		}
		k := kindOf(name, image)
		if k == nil {
			return nil, fmt.Errorf("there is no system and no kind %q; there are %s", name, strings.Join(Names(), ", "))
		}
		if _, twice := out.chosen[k.system]; twice {
			return nil, fmt.Errorf("%s: only one image is allowed per system, and one for the hosts", arg)
		}
		out.named[k.Kind], out.chosen[k.system] = image, k.Kind
	}
	return out, nil
}

// Names returns the valid names before the equals sign of --image: systems and kinds.
func Names() []string {
	out := slices.DeleteFunc(intent.Systems(), func(system string) bool { return !runs(system) })
	for _, k := range kinds {
		out = append(out, k.Kind)
	}
	return out
}

// kindOf returns the kind with a name, or the kind of a system that fits an image.
func kindOf(name, image string) *kind {
	for i := range kinds {
		k := &kinds[i]
		if k.Kind == name {
			return k
		}
		if k.system == name && name != "" {
			named := slices.IndexFunc(kinds, func(o kind) bool {
				return o.system == name && o.ImageName != "" && strings.Contains(path.Base(image), o.ImageName)
			})
			if named >= 0 {
				return &kinds[named]
			}
			return k
		}
	}
	return nil
}

// runs reports whether a kind of node exists for the switches of a system.
func runs(system string) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return k.system == system })
}

// of returns the kind used for a system's switches in the lab; "" means hosts. The system must
// satisfy [runs].
func (im *Images) of(system string) *kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.system == system && k.Kind == cmp.Or(im.chosen[system], k.Kind) })
	return &kinds[i]
}

// image returns the image for a node of a kind, and the release of its software. The release is
// the intent's if no image was given.
func (im *Images) image(k *kind, release string) (image, runs string) {
	image = im.named[k.Kind]
	if image == "" {
		return k.Image(release), release
	}
	if i := strings.LastIndex(image, ":"); i >= 0 && !strings.Contains(image[i:], "/") {
		runs = k.Release(image[i+1:])
	}
	return image, runs
}
