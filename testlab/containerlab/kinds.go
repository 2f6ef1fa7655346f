package containerlab

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// kind is a kind of containerlab node: a system's software in a container, or in a virtual machine
// inside a container.
type kind struct {
	name   string // name of the kind in containerlab
	system string // name of the system in the intent; "" for hosts
	// image returns the usual image for a release; "" means any release.
	image func(release string) string
	// release returns the release of an image from its tag; "" if the tag does not tell.
	release func(tag string) string
	// port returns containerlab's name for a port; "" if the kind has no such port.
	port func(port string) string
	// ports describes the available ports for people.
	ports string
	// startup is the file with which a node starts. node returns the setting that passes it to the
	// node.
	startup string
	node    func(startup string) (key string, value *yaml.Node)
	// intent changes the model and the access settings in an entry of the intent; lab is the name
	// of the lab.
	intent func(entry *yaml.Node, lab string)
}

// kinds lists, for each system, the usual kind first.
// Sources: srl-labs/containerlab docs/manual/kinds and nodes, srl-labs/vrnetlab sonic and
// cisco/n9kv, sonic-net/sonic-buildimage platform/vs/docker-sonic-vs.
var kinds = []kind{
	{
		name: "sonic-vm", system: intent.SONiC.Name, startup: "sonic-vm.sh",
		image:   func(release string) string { return "vrnetlab/sonic_sonic-vs:" + cmp.Or(release, sonicRelease) },
		release: match(sonicTag), port: sonicPort, ports: sonicPorts,
		// exec runs in the container around the virtual machine, and the script logs in to the
		// machine over SSH.
		node:   script,
		intent: func(entry *yaml.Node, _ string) { asVirtual(entry) },
	},
	{
		name: "sonic-vs", system: intent.SONiC.Name, startup: "sonic-vs.sh",
		image:   func(release string) string { return "docker-sonic-vs:" + cmp.Or(release, sonicRelease) },
		release: match(sonicTag), port: sonicPort, ports: sonicPorts,
		node: script,
		intent: func(entry *yaml.Node, _ string) {
			asVirtual(entry)
			entry.Set("write", yaml.NewText("direct")) // the image has no gNMI server
		},
	},
	{
		name: "arista_ceos", system: intent.EOS.Name, startup: "eos.cfg",
		image:   func(release string) string { return "ceos:" + cmp.Or(release, "4.34.2F") },
		release: match(eosTag), port: eosPort, ports: "Ethernet1, Ethernet1/1, Ethernet1/1/1 and so on",
		node: config,
		intent: func(entry *yaml.Node, lab string) {
			entry.Set("access", tls("ca", yaml.NewText("clab-"+lab+"/.tls/ca/ca.pem")))
		},
	},
	{
		name: "cisco_n9kv", system: intent.NXOS.Name, startup: "nxos.cfg",
		image: func(release string) string {
			return "vrnetlab/cisco_n9kv:9300-" + cmp.Or(strings.TrimSuffix(strings.NewReplacer("(", ".", ")", ".").Replace(release), "."), "10.5.2")
		},
		release: nxosRelease, port: nxosPort, ports: "Ethernet1/1 to Ethernet1/128",
		node:   config,
		intent: func(*yaml.Node, string) {},
	},
	{
		name: hosts, image: func(string) string { return "alpine:3.20" }, release: func(string) string { return "" },
		port: hostPort, ports: "any name of an interface but eth0, without a colon or @",
	},
}

// hosts is the kind of hosts, and their name for --image.
const hosts = "linux"

// sonicRelease is the default release of SONiC.
const sonicRelease = "202511"

// config makes a node start with a configuration file.
func config(file string) (string, *yaml.Node) { return "startup-config", yaml.NewText(file) }

// inside is the path of a node's script inside the node.
const inside = "/roce-fabric.sh"

// script makes a node run a script after deployment. The caller adds the bind that mounts the
// script.
func script(string) (string, *yaml.Node) { return "exec", yaml.NewList("bash " + inside) }

func tls(key string, value *yaml.Node) *yaml.Node {
	settings, access := &yaml.Node{Kind: yaml.Map}, &yaml.Node{Kind: yaml.Map}
	settings.Set(key, value)
	access.Set("tls", settings)
	return access
}

// virtual is the model that SONiC's virtual switch reports.
const virtual = "Force10-S6000"

// asVirtual changes an entry of the intent to the virtual switch.
func asVirtual(entry *yaml.Node) {
	entry.Set("model", yaml.NewText(virtual))
	entry.Delete("bufferModel") // the virtual switch uses the table of headroom
}

// virtualPorts returns the ports of the virtual switch; the first is eth1.
func virtualPorts() []string {
	m, _ := catalog.Lookup(virtual)
	var out []string
	for _, p := range m.Ports {
		out = append(out, p.Name)
	}
	return out
}

const sonicPorts = "Ethernet0, Ethernet4 and so on to Ethernet124"

func sonicPort(port string) string {
	if i := slices.Index(virtualPorts(), port); i >= 0 {
		return fmt.Sprintf("eth%d", i+1)
	}
	return ""
}

var eosName = lazyre.New(`^Ethernet([1-9][0-9]{0,3}(/[1-9][0-9]{0,2}){0,2})$`)

// eosPort returns the name of a port in cEOS, which uses eth1_1 for Ethernet1/1.
func eosPort(port string) string {
	m := eosName.FindStringSubmatch(port)
	if m == nil {
		return ""
	}
	return "eth" + strings.ReplaceAll(m[1], "/", "_")
}

// nxosPort returns the name of a port in NX-OS, whose virtual machine has a single module.
func nxosPort(port string) string {
	s, ok := strings.CutPrefix(port, "Ethernet1/")
	if n, err := strconv.Atoi(s); !ok || err != nil || n < 1 || n > 128 || s != strconv.Itoa(n) {
		return ""
	}
	return "eth" + s
}

var hostName = lazyre.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// hostPort returns the name of a port of a host. eth0 is reserved for the management network that
// containerlab creates.
func hostPort(port string) string {
	if port == "eth0" || !hostName.MatchString(port) {
		return ""
	}
	return port
}

var (
	sonicTag = lazyre.New(`^20\d{4}`)
	eosTag   = lazyre.New(`^4\.\d+\.\d+[A-Z.0-9]*$`)
)

// match returns a function that extracts the part of a tag matching an expression.
func match(re *lazyre.Regexp) func(tag string) string {
	return func(tag string) string {
		if m := re.FindStringSubmatch(tag); m != nil {
			return m[0]
		}
		return ""
	}
}

var nxosTag = lazyre.New(`^(?:9[35]00v?-)?(\d+\.\d+)\.(\d+)(?:\.([A-Z]))?(?:-lite)?$`)

// nxosRelease returns the release for a tag: 9300-10.5.2 means 10.5(2).
func nxosRelease(tag string) string {
	m := nxosTag.FindStringSubmatch(tag)
	if m == nil {
		return ""
	}
	return m[1] + "(" + m[2] + ")" + m[3]
}

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
			return nil, fmt.Errorf("%s: the switches of a system, and the hosts, have one image", arg)
		}
		out.named[k.name], out.chosen[k.system] = image, k.name
	}
	return out, nil
}

// Names returns the valid names before the equals sign of --image: systems and kinds.
func Names() []string {
	out := slices.DeleteFunc(intent.Systems(), func(system string) bool { return !runs(system) })
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}

// kindOf returns the kind with a name, or the kind of a system that fits an image.
func kindOf(name, image string) *kind {
	for i := range kinds {
		k := &kinds[i]
		if k.name == name {
			return k
		}
		if k.system == name && name != "" {
			// The container image of SONiC itself is named docker-sonic-vs.
			if strings.Contains(path.Base(image), "docker-sonic-vs") {
				return kindOf("sonic-vs", image)
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
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.system == system && k.name == cmp.Or(im.chosen[system], k.name) })
	return &kinds[i]
}

// image returns the image for a node of a kind, and the release of its software. The release is
// the intent's if no image was given.
func (im *Images) image(k *kind, release string) (image, runs string) {
	image = im.named[k.name]
	if image == "" {
		return k.image(release), release
	}
	if i := strings.LastIndex(image, ":"); i >= 0 && !strings.Contains(image[i:], "/") {
		runs = k.release(image[i+1:])
	}
	return image, runs
}
