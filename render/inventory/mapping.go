package inventory

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// Mapping translates words of an inventory that this package does not know.
type Mapping struct {
	roles, platforms, models map[string]string
	// ports translates port names, by device or model.
	ports map[string]map[string]string
}

// Words of a mapping for devices that are not switches.
const (
	roleHost = "host"
	roleSkip = "skip"
)

// ReadMapping reads a mapping file:
//
//	roles:     {gpu-server: host, tor: leaf, pdu: skip}
//	platforms: {my-nos: sonic}
//	models:    {PowerSwitch Z9332F-ON: DellEMC-Z9332f-O32}
//	ports:     {PowerSwitch Z9332F-ON: {port1: Ethernet0}}
func ReadMapping(name string, data []byte) (*Mapping, error) {
	root, errs := yaml.Parse(name, data)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	m := &Mapping{map[string]string{}, map[string]string{}, map[string]string{}, map[string]map[string]string{}}
	if root.Kind != yaml.Map {
		return nil, faultAt(root, "", "a mapping must be a map, not "+root.Kind.String())
	}
	flat := map[string]map[string]string{"roles": m.roles, "platforms": m.platforms, "models": m.models}
	keys := []string{"roles", "platforms", "models", "ports"}
	for _, p := range root.Pairs {
		key := p.Key.Value
		switch {
		case !slices.Contains(keys, key):
			tip := "it has " + strings.Join(keys, ", ")
			if near := closest(key, keys); near != "" {
				tip = "did you mean " + near + "?"
			}
			return nil, faultAt(p.Key, tip, "unknown key "+yaml.Quote(key))
		case key == "ports":
			if p.Value.Kind != yaml.Map {
				return nil, faultAt(p.Value, "", "ports must be a map of devices or models, not "+p.Value.Kind.String())
			}
			for _, of := range p.Value.Pairs {
				to := map[string]string{}
				if err := pairs(of.Value, to); err != nil {
					return nil, err
				}
				m.ports[fold(of.Key.Value)] = to
			}
		default:
			if err := pairs(p.Value, flat[key]); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range m.platforms {
		if p != roleSkip && p != roleHost && !slices.Contains(intent.Systems(), p) {
			return nil, faultAt(root.Get("platforms"), "systems are "+strings.Join(intent.Systems(), ", "), "no system "+yaml.Quote(p))
		}
	}
	return m, nil
}

// pairs reads a map of words into to.
func pairs(n *yaml.Node, to map[string]string) error {
	if n.Kind != yaml.Map {
		return faultAt(n, "", "a map is expected, not "+n.Kind.String())
	}
	for _, p := range n.Pairs {
		if p.Value.Kind == yaml.Map || p.Value.Kind == yaml.List || p.Value.Value == "" {
			return faultAt(p.Value, "", "a word is expected, not "+p.Value.Kind.String())
		}
		to[fold(p.Key.Value)] = p.Value.Value
	}
	return nil
}

func faultAt(n *yaml.Node, tip, msg string) error {
	return &yaml.Error{File: n.File, Line: n.Line, Column: n.Column, Msg: msg, Hint: tip}
}

// fold maps different spellings of a word to one: GPU Server, gpu-server, gpu_server.
func fold(s string) string {
	return dashes.Replace(strings.ToLower(strings.TrimSpace(s)))
}

// translate returns the translation of the first word that the mapping contains.
func translate(m map[string]string, words ...string) (string, bool) {
	for _, w := range words {
		if to, ok := m[fold(w)]; ok && w != "" {
			return to, true
		}
	}
	return "", false
}

// port returns the translated name of a port of a device.
func (m *Mapping) port(d *device, name string) string {
	for _, of := range []string{d.name, d.typ.Model, d.typ.Slug, d.model} {
		if to := m.ports[fold(of)]; to != nil {
			if n := to[fold(name)]; n != "" {
				return n
			}
		}
	}
	return name
}

// closest returns the word that was probably meant; "" if none is similar.
func closest(word string, of []string) string {
	best, cost := "", len(word)/3+1
	for _, o := range of {
		if c := words.Distance(strings.ToLower(word), strings.ToLower(o), cost); c < cost {
			best, cost = o, c
		}
	}
	return best
}
