// Package clabfile reads the nodes and links of a containerlab topology
// (containerlab.dev/manual/topo-def-file): links in short and extended form, and kinds from the
// node, its group or the defaults.
//
// It does not read the settings that containerlab itself applies to a node, and it writes nothing.
package clabfile

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// MaxLinks is the maximum number of links in one file.
const MaxLinks = 500_000

const maxName = 255 // longest node or interface name, in bytes

// Topology is the content of one topology file.
type Topology struct {
	Name  string
	Nodes []Node // in file order
	Links []Link // only links with two ends
}

// Node is a node of the topology. Kind and Address are "" if the file does not state them.
type Node struct {
	Name, Kind, Address string
	Line                int
}

// Link joins two interfaces.
type Link struct {
	A, B End
	Line int
}

// End is one interface of a node.
type End struct{ Node, Interface string }

// Parse reads a topology file. Its errors are of type [yaml.Error].
func Parse(name string, data []byte) (*Topology, error) {
	root, errs := yaml.Parse(name, data)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	if root.Kind != yaml.Map || root.Get("topology") == nil || root.Get("topology").Kind != yaml.Map {
		return nil, fault(root, "not a containerlab topology: the file has no map named topology")
	}
	top := root.Get("topology")
	t := &Topology{Name: value(root, "name")}
	if nodes := top.Get("nodes"); nodes != nil && nodes.Kind == yaml.Map {
		for _, p := range nodes.Pairs {
			n := Node{Name: p.Key.Value, Line: p.Key.Line}
			if !plausible(n.Name) {
				return nil, fault(p.Key, "a node has a name that is empty, too long or not printable")
			}
			if p.Value.Kind == yaml.Map {
				n.Kind, n.Address = value(p.Value, "kind"), value(p.Value, "mgmt-ipv4")
				if groups := top.Get("groups"); n.Kind == "" && groups != nil {
					n.Kind = value(groups.Get(value(p.Value, "group")), "kind")
				}
			}
			if n.Kind == "" {
				n.Kind = value(top.Get("defaults"), "kind")
			}
			t.Nodes = append(t.Nodes, n)
		}
	}
	return t, t.links(top.Get("links"))
}

// value returns the text of a key, or "" if the key is missing.
func value(n *yaml.Node, key string) string {
	if n == nil || n.Get(key) == nil {
		return ""
	}
	return n.Get(key).Value
}

func fault(n *yaml.Node, msg string) error {
	return &yaml.Error{File: n.File, Line: n.Line, Column: n.Column, Msg: msg}
}

func (t *Topology) links(links *yaml.Node) error {
	if links == nil || links.Kind == yaml.Null {
		return nil
	}
	if links.Kind != yaml.List {
		return fault(links, "links must be a list, not "+links.Kind.String())
	}
	if len(links.Items) > MaxLinks {
		return fault(links, "more than 500000 links")
	}
	for _, l := range links.Items {
		if l.Kind != yaml.Map {
			return fault(l, "a link must be a map, not "+l.Kind.String())
		}
		ends := l.Get("endpoints")
		if ends == nil { // a link with one end, e.g. to the host's bridge
			continue
		}
		if ends.Kind != yaml.List || len(ends.Items) != 2 {
			return fault(ends, "a link needs a list of two endpoints")
		}
		link := Link{Line: l.Line}
		for i, e := range ends.Items {
			end, msg := endOf(e)
			if msg != "" {
				return fault(e, msg)
			}
			*[2]*End{&link.A, &link.B}[i] = end
		}
		t.Links = append(t.Links, link)
	}
	return nil
}

func endOf(n *yaml.Node) (End, string) {
	var e End
	switch n.Kind {
	case yaml.Text:
		var ok bool
		if e.Node, e.Interface, ok = strings.Cut(n.Value, ":"); !ok {
			return e, "an endpoint must be node:interface"
		}
	case yaml.Map:
		e.Node, e.Interface = value(n, "node"), value(n, "interface")
		if e.Node == "" || e.Interface == "" {
			return e, "an endpoint needs node and interface"
		}
	default:
		return e, "an endpoint must be text or a map, not " + n.Kind.String()
	}
	if !plausible(e.Node) || !plausible(e.Interface) {
		return e, "an endpoint holds a name that is empty, too long or not printable"
	}
	return e, ""
}

// plausible reports whether s can be the name of a node or an interface.
func plausible(s string) bool {
	return s != "" && len(s) <= maxName && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}
