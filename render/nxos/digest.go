package nxos

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// Digest returns a digest of the configuration that desired manages: the lines on its ports that
// this package writes, the policies in force there, the global PFC lines, and every object of
// this package. The order of lines and lines that state a default do not count. The order of the
// classes of a policy of type qos counts, as the first match wins.
func Digest(c *Config, desired *qos.Device, m ClassModel) string {
	v := newView(c, m)
	g := digester{v: v, named: map[string]bool{}}
	g.out = append(g.out, m.String())
	for _, l := range v.global.Sub {
		if belongs(inGlobal, l.Text) && !isDefault(inGlobal, l.Text) || strings.HasPrefix(l.Text, "system default switchport") {
			g.out = append(g.out, l.Text)
		}
	}
	slices.Sort(g.out)
	for _, name := range natural.Keys(desired.Ports) {
		g.port(name)
	}
	if v.system != nil {
		if rest, _, ok := last(v.system, keyNetwork); ok {
			g.policy(typeNetwork, firstWord(rest))
		}
	}
	for _, typ := range []string{typeNetwork, typeQoS, typeQueuing} {
		for _, name := range natural.Keys(v.policies[typ]) {
			if strings.HasPrefix(name, prefix) {
				g.policy(typ, name)
			}
		}
	}
	for _, name := range natural.Keys(v.classMaps) {
		if strings.HasPrefix(name, prefix) {
			g.classMap(name)
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(g.out, "\n")))
	return hex.EncodeToString(sum[:16])
}

type digester struct {
	v     *view
	out   []string
	named map[string]bool // blocks already in out
}

func (g *digester) port(name string) {
	own := g.v.ports[name]
	if own == nil {
		g.out = append(g.out, "no interface "+name)
		return
	}
	g.out = append(g.out, own.Text)
	var text []string
	for _, l := range own.Sub {
		f, ok := grammar.Lookup(inInterface, l)
		if ok && (f.Written || f.Key == keyChannel) && !isDefault(inInterface, l.Text) || l.Text == "no switchport" {
			text = append(text, l.Text)
		}
	}
	slices.Sort(text)
	g.out = append(g.out, text...)
	for _, key := range inherited {
		rest, _ := g.v.line(name, key)
		g.out = append(g.out, fmt.Sprintf("%s: %s", key, rest))
	}
	g.policy(typeQoS, g.v.attached(name, keyInput))
	g.policy(typeQueuing, g.v.attached(name, keyOutput))
}

func (g *digester) policy(typ, name string) {
	g.out = append(g.out, typ+" "+name)
	l := g.v.policies[typ][name]
	if l == nil || !g.first(l) {
		return
	}
	list := classes(l)
	if typ != typeQoS {
		ordered.Sort(list, func(a, b *Line) int { return strings.Compare(a.Text, b.Text) })
	}
	for _, c := range list {
		g.body(c, classPlace(typ))
		if _, class, _ := classOf(c.Text); typ == typeQoS && g.v.classMaps[class] != nil {
			g.classMap(class)
		}
	}
}

func (g *digester) classMap(name string) {
	if l := g.v.classMaps[name]; g.first(l) {
		g.body(l, inClassMap)
	}
}

func (g *digester) first(l *Line) bool {
	seen := g.named[l.Text]
	g.named[l.Text] = true
	return !seen
}

func (g *digester) body(l *Line, at place) {
	g.out = append(g.out, l.Text)
	_, text := linesOf(at, l)
	var ls []string
	for _, t := range text {
		if !isDefault(at, t) && !isComment(t) {
			ls = append(ls, t)
		}
	}
	slices.Sort(ls)
	g.out = append(g.out, ls...)
}
