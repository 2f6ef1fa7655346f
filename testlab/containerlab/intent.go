package containerlab

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// renumber maps the ports of each switch with a fixed set of ports in the lab to their names there.
// Ports keep their names if the virtual switch has all of them; otherwise its ports are used in
// order. If possible all switches of a system are renumbered alike, and otherwise all switches of a
// model, so that ranges in the intent stay valid.
func renumber(f *intent.Fabric) (map[string]map[string]string, error) {
	used := func(k *kind, in func(*intent.Switch) bool) (ports []string) {
		for _, sw := range f.Switches {
			for _, p := range sw.Ports {
				if _, numbered := k.number(p.Name); sw.OS == k.system && in(sw) && numbered {
					ports = append(ports, p.Name)
				}
			}
		}
		ordered.Sort(ports, natural.Compare)
		return slices.Compact(ports)
	}
	out := map[string]map[string]string{}
	for _, sw := range f.Switches {
		k := fixed(sw.OS)
		if k == nil {
			continue
		}
		names := k.Fixed()
		ports := used(k, func(*intent.Switch) bool { return true })
		if len(ports) > len(names) {
			ports = used(k, func(o *intent.Switch) bool { return o.Model.V == sw.Model.V })
		}
		if len(ports) > len(names) {
			return nil, fmt.Errorf("%s: the intent has %d ports of switches like it, and the virtual switch of %s has %d", sw.Name, len(ports), sw.OS, len(names))
		}
		same := !slices.ContainsFunc(ports, func(p string) bool { return !slices.Contains(names, p) })
		out[sw.Name] = map[string]string{}
		for i, p := range ports {
			if out[sw.Name][p] = names[i]; same {
				out[sw.Name][p] = p
			}
		}
	}
	return out, nil
}

// number returns the number of a port; ok is false for other interfaces, e.g. a port channel.
func (k *kind) number(port string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(port, k.prefix())
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0
}

// labIntent returns the intent of the lab: doc with the addresses, logins, models and ports of the
// lab's nodes. Hosts have no address, because their containers have neither an RDMA device nor an
// SSH server.
func (l *Lab) labIntent(doc *yaml.Node) (*yaml.Node, error) {
	doc = doc.Clone()
	doc.Set("name", yaml.NewText("clab-"+l.name))
	for _, p := range pairs(doc.Get("switches")) {
		if err := l.switches(p.Key.Value, p.Value); err != nil {
			return nil, err
		}
	}
	for _, p := range pairs(doc.Get("hosts")) {
		p.Value.Delete("address", "access")
	}
	for _, link := range items(doc.Get("links")) {
		speed := ""
		for _, end := range []string{"a", "b"} {
			at := link.Get(end)
			device, ports, _ := strings.Cut(at.Value, "/")
			names, err := intent.Expand(device)
			if err != nil {
				return nil, err
			}
			k := l.fixedOf(names)
			if k == nil {
				continue
			}
			speed = k.PortSpeed
			renamed, err := l.renamed(names, ports)
			if err != nil {
				return nil, err
			}
			link.Set(end, yaml.NewText(device+"/"+renamed))
		}
		if speed != "" {
			link.Set("speed", yaml.NewText(speed))
		}
	}
	if l.renames() {
		// A suppressed finding may refer to a port that has another name here.
		if list := doc.Get("suppress"); list != nil {
			list.Items = slices.DeleteFunc(list.Items, func(n *yaml.Node) bool { on := n.Get("on"); return on != nil && strings.Contains(on.Value, "/") })
		}
	}
	// Windows, approvals and resets apply only to the real fabric.
	if r := doc.Get("rollout"); r != nil {
		if r.Delete("windows", "approval", "reset", "trustKeys"); len(r.Pairs) == 0 {
			doc.Delete("rollout")
		}
	}
	doc.Set("credentials", credentials())
	return doc, nil
}

func pairs(n *yaml.Node) []yaml.Pair {
	if n == nil {
		return nil
	}
	return n.Pairs
}

func items(n *yaml.Node) []*yaml.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// renames reports whether any port has another name in the lab.
func (l *Lab) renames() bool {
	for _, ports := range l.ports {
		for was, is := range ports {
			if was != is {
				return true
			}
		}
	}
	return false
}

// switches adapts one entry of switches to the lab.
func (l *Lab) switches(key string, entry *yaml.Node) error {
	names, err := intent.Expand(key)
	if err != nil {
		return err
	}
	k := l.images.of(entry.Get("os").Value)
	sw := l.fabric.Switch(names[0])
	_, release := l.images.image(k, sw.Release.V)
	entry.Set("address", yaml.NewText("clab-"+l.name+"-"+key+":"+intent.SystemOf(sw.OS).Port))
	if entry.Delete("release", "access"); release != "" {
		entry.Set("release", yaml.NewText(release))
	}
	if k.Intent != nil {
		k.Intent(entry, l.name)
	}
	ports := entry.Get("ports")
	if l.ports[sw.Name] == nil || ports == nil {
		return nil
	}
	renamed := &yaml.Node{Kind: yaml.Map}
	for _, p := range ports.Pairs {
		name, err := l.renamed(names, p.Key.Value)
		if err != nil {
			return err
		}
		p.Value.Delete("fec", "breakout")
		if p.Value.Get("speed") != nil {
			p.Value.Set("speed", yaml.NewText(k.PortSpeed))
		}
		renamed.Set(name, p.Value)
	}
	entry.Set("ports", renamed)
	return nil
}

// fixedOf returns the node of the first switch whose ports are renumbered; nil if there is none.
func (l *Lab) fixedOf(devices []string) *kind {
	for _, name := range devices {
		if l.ports[name] != nil {
			return fixed(l.fabric.Switch(name).OS)
		}
	}
	return nil
}

// renamed returns a pattern of ports with their names in the lab.
func (l *Lab) renamed(switches []string, ports string) (string, error) {
	names, err := intent.Expand(ports)
	if err != nil {
		return "", err
	}
	of := func(sw, port string) string {
		if l.ports[sw] == nil {
			return port
		}
		return l.ports[sw][port]
	}
	k := l.fixedOf(switches)
	var numbers []int
	for _, name := range names {
		is := of(switches[0], name)
		for _, sw := range switches[1:] {
			if of(sw, name) != is {
				return "", hint.With(fmt.Errorf("%s of %s and of %s have different names in the lab", ports, switches[0], sw), "write an entry for each model of a switch")
			}
		}
		n, ok := k.number(is)
		if !ok {
			if len(names) > 1 {
				return "", fmt.Errorf("%s holds ports that the virtual switch of %s does not have", ports, k.system)
			}
			return name, nil
		}
		numbers = append(numbers, n)
	}
	return pattern(k.prefix(), numbers), nil
}

// pattern writes numbered ports as a pattern, in their order.
func pattern(prefix string, numbers []int) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("%s%d", prefix, numbers[0])
	}
	step := numbers[1] - numbers[0]
	even := len(numbers) > 2 && step > 0
	var list []string
	for i, n := range numbers {
		even = even && n == numbers[0]+i*step
		list = append(list, strconv.Itoa(n))
	}
	if even {
		return fmt.Sprintf("%s[%d-%d:%d]", prefix, numbers[0], numbers[len(numbers)-1], step)
	}
	return prefix + "[" + strings.Join(list, ",") + "]"
}

// knownHosts is the file with the nodes' SSH keys.
const knownHosts = "known_hosts"

// credentials returns the credentials that containerlab documents: user and password are admin.
func credentials() *yaml.Node {
	n, errs := yaml.Parse("credentials", []byte("switches: {username: admin, password: env:FABRIC_PASSWORD, ssh: {knownHosts: "+knownHosts+"}}"))
	if len(errs) > 0 {
		panic(errs[0])
	}
	return n
}

// read loads the intent of the lab as its user will.
func read(text []byte) (*intent.Fabric, error) {
	return intent.Load("-", intent.Options{Stdin: bytes.NewReader(text), Name: IntentFile})
}
