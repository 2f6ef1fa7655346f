// Package containerlab writes a containerlab topology for an intent: the switches' software in
// containers and virtual machines, cabled as in the intent. It also writes the nodes' startup
// files and an intent for the lab, with the addresses, logins, models and ports of the nodes.
//
// Its tests run the product against such a lab, or against simulators of one.
package containerlab

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// IntentFile is the file name of the lab's intent.
const IntentFile = "fabric.clab.yaml"

// maxNodes is the number of nodes that fit into containerlab's default network, 172.20.20.0/24.
const maxNodes = 250

// Lab is a lab for containerlab.
type Lab struct {
	name   string
	fabric *intent.Fabric // fabric of the input intent
	images *Images
	ports  map[string]map[string]string // lab names of ports by switch, see renumber
	files  map[string][]byte
}

// New creates the lab for an intent f with the text doc. file is the name of the topology file.
func New(f *intent.Fabric, doc *yaml.Node, images *Images, file string) (*Lab, error) {
	l := &Lab{name: f.Name, fabric: f, images: images, files: map[string][]byte{}}
	if file == IntentFile {
		return nil, fmt.Errorf("%s is reserved for the lab's intent", file)
	}
	var err error
	if l.ports, err = renumber(f); err != nil {
		return nil, err
	}
	top, err := l.topology()
	if err != nil {
		return nil, err
	}
	changed, err := l.labIntent(doc)
	if err != nil {
		return nil, err
	}
	text := append([]byte("# The intent of "+f.Name+" for its lab, "+file+". Run roce-fabric in this folder.\n"+l.renumbered()), changed.Bytes()...)
	if _, err := read(text); err != nil {
		return nil, fmt.Errorf("the intent of the lab: %w", err)
	}
	l.files[IntentFile] = text
	l.files[file] = append([]byte(usage(file, l.name)), top.Bytes()...)
	return l, nil
}

// usage returns the comment at the top of the topology file.
func usage(file, name string) string {
	return strings.NewReplacer("FILE", file, "NAME", name, "INTENT", IntentFile).Replace(`# The lab of NAME, written by 'roce-fabric lab containerlab'. In this folder:
#
#   sudo containerlab deploy -t FILE
#   containerlab inspect -t FILE      # wait until it calls no node starting
#   ssh-keyscan $(awk '/clab-NAME-/ {print $2}' /etc/hosts | sort -u) >known_hosts
#   export FABRIC_PASSWORD=admin
#   roce-fabric plan -f INTENT
#   roce-fabric apply -f INTENT --allow traffic-loss
#   sudo containerlab destroy -t FILE --cleanup
`)
}

// renumbered lists the ports that have other names in the lab.
func (l *Lab) renumbered() string {
	type group struct{ prefix, names string }
	var by ordered.Groups[group, string]
	for _, sw := range natural.Keys(l.ports) {
		var b strings.Builder
		prefix := fixed(l.fabric.Switch(sw).OS).prefix()
		for _, was := range natural.Keys(l.ports[sw]) {
			if is := l.ports[sw][was]; was != is && l.fabric.Switch(sw).Port(was) != nil {
				fmt.Fprintf(&b, " %s=%s", strings.TrimPrefix(was, prefix), strings.TrimPrefix(is, prefix))
			}
		}
		if b.Len() > 0 {
			by.Add(group{prefix, b.String()}, sw)
		}
	}
	var b strings.Builder
	for g, switches := range by.All() {
		fmt.Fprintf(&b, "# Ports %s of %s, in the fabric=in the lab:%s\n", g.prefix, natural.Fold(switches), g.names)
	}
	return b.String()
}

// topology returns the content of the topology file.
func (l *Lab) topology() (*yaml.Node, error) {
	nodes, used := &yaml.Node{Kind: yaml.Map}, &yaml.Node{Kind: yaml.Map}
	add := func(name, system, release string) {
		k := l.images.of(system)
		image, _ := l.images.image(k, release)
		common := used.Get(k.Kind)
		if common == nil {
			common = l.common(k, image)
			used.Set(k.Kind, common)
		}
		node := &yaml.Node{Kind: yaml.Map}
		node.Set("kind", yaml.NewText(k.Kind))
		if common.Get("image").Value != image {
			node.Set("image", yaml.NewText(image))
		}
		nodes.Set(name, node)
	}
	for _, sw := range l.fabric.Switches {
		if !runs(sw.OS) {
			return nil, fmt.Errorf("%s: containerlab has no kind of node with a free image for os %s; roce-fabric lab up simulates it", sw.Name, sw.OS)
		}
		add(sw.Name, sw.OS, sw.Release.V)
	}
	for _, h := range l.fabric.Hosts {
		add(h.Name, "", "")
	}
	links := &yaml.Node{Kind: yaml.List}
	for _, link := range l.fabric.Links {
		a, err := l.end(link.A)
		if err != nil {
			return nil, err
		}
		b, err := l.end(link.B)
		if err != nil {
			return nil, err
		}
		ends := &yaml.Node{Kind: yaml.Map}
		ends.Set("endpoints", yaml.NewList(a, b))
		links.Items = append(links.Items, ends)
	}
	top, out := &yaml.Node{Kind: yaml.Map}, &yaml.Node{Kind: yaml.Map}
	top.Set("kinds", used)
	top.Set("nodes", nodes)
	if len(links.Items) > 0 {
		top.Set("links", links)
	}
	out.Set("name", yaml.NewText(l.name))
	if len(nodes.Pairs) > maxNodes {
		mgmt := &yaml.Node{Kind: yaml.Map}
		mgmt.Set("network", yaml.NewText(l.name))
		mgmt.Set("ipv4-subnet", yaml.NewText("172.30.0.0/16"))
		out.Set("mgmt", mgmt)
	}
	out.Set("topology", top)
	return out, nil
}

// common returns the settings shared by the nodes of a kind.
func (l *Lab) common(k *kind, image string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.Map}
	n.Set("image", yaml.NewText(image))
	if k.StartupName == "" {
		return n
	}
	l.files[k.StartupName] = k.Startup
	if strings.HasSuffix(k.StartupName, ".sh") {
		n.Set("binds", yaml.NewList(k.StartupName+":"+inside+":ro"))
		n.Set("exec", yaml.NewList("bash "+inside))
		return n
	}
	n.Set("startup-config", yaml.NewText(k.StartupName))
	return n
}

// end returns the end of a link in containerlab's notation.
func (l *Lab) end(e intent.Endpoint) (string, error) {
	system := ""
	if sw := l.fabric.Switch(e.Device); sw != nil {
		system = sw.OS
	}
	k := l.images.of(system)
	port := e.Port
	if is := l.ports[e.Device][port]; is != "" {
		port = is
	}
	name := k.Interface(port)
	if name == "" {
		return "", fmt.Errorf("%s cannot be cabled: nodes of kind %s only have the ports %s", e, k.Kind, k.Ports)
	}
	return e.Device + ":" + name, nil
}

// Files returns the names of the lab's files, sorted.
func (l *Lab) Files() []string { return slices.Sorted(maps.Keys(l.files)) }

// Size returns the number of nodes and links of the lab.
func (l *Lab) Size() (nodes, links int) {
	return len(l.fabric.Switches) + len(l.fabric.Hosts), len(l.fabric.Links)
}

// Taken returns those of the lab's files that exist in a folder with different content.
func (l *Lab) Taken(dir string) (out []string, err error) {
	for _, name := range l.Files() {
		have, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case !bytes.Equal(have, l.files[name]):
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out, nil
}

// Write writes the lab's files into a folder, each file atomically.
func (l *Lab) Write(dir string) error {
	for _, name := range l.Files() {
		perm := fs.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			perm = 0o755
		}
		if err := atomicfile.WriteOutput(filepath.Join(dir, name), l.files[name], perm); err != nil {
			return err
		}
	}
	return nil
}
