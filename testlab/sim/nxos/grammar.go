package nxos

import (
	"slices"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// grammar holds the commands of all modes.
type grammar struct{ cli.Grammar[*exec] }

// action executes a matched command. It returns "" or the refusal, in which case it has changed
// nothing.
type action = cli.Action[*exec]

// Modes with their own commands.
const (
	modeGlobal      = "global"
	modeClassQoS    = "class-map qos"
	modeClassQue    = "class-map queuing"
	modeClassNQ     = "class-map network-qos"
	modePolicyQoS   = "policy-map qos"
	modePolicyQue   = "policy-map queuing"
	modePolicyNQ    = "policy-map network-qos"
	modeActionQoS   = "policy-map qos class"
	modeActionQue   = "policy-map queuing class"
	modeActionNQ    = "policy-map network-qos class"
	modeSystemQoS   = "system qos"
	modeEthernet    = "ethernet"
	modePortChannel = "port-channel"
	modeSub         = "subinterface"
	modeVlanIf      = "vlan interface"
	modeLogical     = "logical" // loopback, mgmt, nve, Tunnel
	modeACL         = "access-list"
	modeProfile     = "port-profile"
)

var interfaceModes = map[string]bool{modeEthernet: true, modePortChannel: true, modeSub: true, modeVlanIf: true, modeLogical: true}

// Ranks order things in their block. At the top level the hundreds are the section; an empty
// line separates sections.
const (
	rankHostname  = 1000
	rankVDC       = 1030
	rankFeature   = 1100
	rankACL       = 2500
	rankPFC       = 3000
	rankClassQoS  = 4000
	rankClassQue  = 4001
	rankPolicyQoS = 4002
	rankPolicyQue = 4003
	rankClassNQ   = 4004
	rankPolicyNQ  = 4005
	rankSystemQoS = 4006
	rankControl   = 4010
	rankCoPP      = 4020
	rankProfile   = 5000
	rankInterface = 6000 // plus a hundred per interface type
	rankBanner    = 1700
)

// oldRank holds the ranks that differ under OldOrder: network-qos class-maps and policy-maps
// follow the hostname (napalm-automation/napalm, checkpoint of 7.0(3)I2).
var oldRank = map[int]int{rankClassNQ: rankHostname + 10, rankPolicyNQ: rankHostname + 11}

// commands returns the grammar of all modes. A command that a model does not support is refused
// when it is used.
var commands = sync.OnceValue(func() grammar {
	g := grammar{cli.NewGrammar[*exec](params)}
	g.classMaps()
	g.policyMaps()
	g.queuing()
	g.systemQoS()
	g.flowControl()
	g.ports()
	g.texts()
	g.features()
	g.routing()
	return g
})

// setLine returns an action that stores the line under a key. A line that equals one of the
// defaults removes the key, so that it is not printed.
func setLine(key string, rank int, defaults ...string) action {
	return func(x *exec) string {
		v := cli.Value{Line: x.Line, Plain: x.Line, Rank: rank}
		if slices.Contains(defaults, x.Line) {
			x.Drop(key)
			return ""
		}
		x.Put(key, v)
		return ""
	}
}

func (g grammar) line(modes []string, rank, keyWords int, patterns ...string) {
	cli.AddLines(g.Grammar, modes, rank, keyWords, patterns...)
}

func (g grammar) flag(modes []string, rank int, patterns ...string) {
	cli.AddFlags(g.Grammar, modes, rank, patterns...)
}

// block adds a command that opens a block.
func (g grammar) block(modes []string, pattern, mode string, rank int, prompt string) {
	g.Set(modes, pattern, func(x *exec) string {
		x.enter(cli.Frame{Mode: mode, Places: []cli.Place{cli.At(x.Line, rank)}, Prompt: prompt})
		return ""
	})
	g.Neg(modes, pattern, cli.DropBlock)
}

// params holds the parameter types that only NX-OS has.
var params = map[string]cli.Param{
	"qname":      objectName,
	"eights":     numbers(7),
	"dscps":      dscps,
	"interfaces": interfacesParam,
	"blurb":      blurb,
}

// objectNames matches names of class-maps and policy-maps: 1 to 40 characters (batfish/batfish,
// CiscoNxos_policy_map.g4).
var objectNames = lazyre.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}$`)

func objectName(w cli.Words, i int) (int, string, bool) {
	name := w.Word[i]
	return 1, name, objectNames.MatchString(name) && !slices.Contains([]string{"type", "match-any", "match-all"}, name)
}

// blurb parses the description of a QoS object: 1 to 200 characters.
func blurb(w cli.Words, i int) (int, string, bool) {
	text := strings.TrimRight(w.Line[w.At[i]:], " \t")
	return len(w.Word) - i, text, len(text) <= 200
}

// numbers parses one word of numbers, commas and ranges. The canonical form is ascending, with
// commas only.
func numbers(highest int) cli.Param {
	return func(w cli.Words, i int) (int, string, bool) {
		have, ok := cli.Numbers(w.Word[i], highest)
		return 1, cli.JoinNumbers(have, ","), ok
	}
}

// dscpNames maps the names of DSCPs to their numbers.
var dscpNames = map[string]string{
	"default": "0", "cs1": "8", "af11": "10", "af12": "12", "af13": "14", "cs2": "16", "af21": "18", "af22": "20", "af23": "22", "cs3": "24",
	"af31": "26", "af32": "28", "af33": "30", "cs4": "32", "af41": "34", "af42": "36", "af43": "38", "cs5": "40", "ef": "46", "cs6": "48", "cs7": "56",
}

func dscps(w cli.Words, i int) (int, string, bool) {
	parts := strings.Split(strings.ToLower(w.Word[i]), ",")
	for j, p := range parts {
		if n := dscpNames[p]; n != "" {
			parts[j] = n
		}
	}
	have, ok := cli.Numbers(strings.Join(parts, ","), 63)
	return 1, cli.JoinNumbers(have, ","), ok
}

// Interface types, in the order in which NX-OS prints them.
var interfaceTypes = []struct{ name, mode, short string }{
	{"Vlan", modeVlanIf, "vlan"},
	{"port-channel", modePortChannel, "po"},
	{"nve", modeLogical, "nve"},
	{"Ethernet", modeEthernet, "eth"},
	{"mgmt", modeLogical, "mgmt"},
	{"loopback", modeLogical, "lo"},
	{"Tunnel", modeLogical, "tunnel"},
}

var (
	interfaceHead = lazyre.New(`^([A-Za-z-]*?)(\d.*)$`)
	interfacePart = lazyre.New(`^(\d{1,4}(?:/\d{1,3}){0,2}(?:\.\d{1,4})?)(?:-(\d{1,4}(?:/\d{1,3}){0,2}))?$`)
	ethernetID    = lazyre.New(`^\d{1,3}(/\d{1,3}){1,2}(\.\d{1,4})?$`)
	plainID       = lazyre.New(`^\d{1,4}$`)
	subID         = lazyre.New(`^\d{1,4}(\.\d{1,4})?$`)
)

func interfacesParam(w cli.Words, i int) (int, string, bool) {
	// "Ethernet 1/1" and "eth1/1 , eth1/3" are read like a single word.
	names, ok := parseInterfaces(strings.Join(w.Word[i:], ""))
	return len(w.Word) - i, strings.Join(names, ","), ok
}

// parseInterfaces returns the full names for "Ethernet1/1", "eth1/1-4" or "e1/1-4,po3,1/7".
func parseInterfaces(s string) ([]string, bool) {
	var out []string
	kind := ""
	for _, part := range strings.Split(s, ",") {
		m := interfaceHead.FindStringSubmatch(part)
		if m == nil {
			return nil, false
		}
		if m[1] != "" {
			var ok bool
			if kind, ok = interfaceType(m[1]); !ok {
				return nil, false
			}
		}
		p := interfacePart.FindStringSubmatch(m[2])
		if p == nil || kind == "" {
			return nil, false
		}
		ids := []string{p[1]}
		if p[2] != "" {
			var ok bool
			if ids, ok = cli.InterfaceRange(p[1], p[2]); !ok {
				return nil, false
			}
		}
		for _, id := range ids {
			name := kind + id
			if !validInterface(kind, id) || len(out) == cli.MaxInterfaces {
				return nil, false
			}
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out, true
}

func validInterface(kind, id string) bool {
	switch kind {
	case "Ethernet":
		return ethernetID.MatchString(id)
	case "port-channel":
		return subID.MatchString(id)
	case "mgmt":
		return id == "0"
	}
	return plainID.MatchString(id)
}

// interfaceType expands the name of an interface type: "e" and "eth" to Ethernet, "po" to
// port-channel.
func interfaceType(s string) (string, bool) {
	found := ""
	for _, t := range interfaceTypes {
		if strings.HasPrefix(strings.ToLower(t.name), strings.ToLower(s)) {
			if found != "" {
				return "", false
			}
			found = t.name
		}
	}
	return found, found != ""
}

// interfacePlace returns the mode and the place of an interface.
func interfacePlace(name string) (string, cli.Place) {
	for i, t := range interfaceTypes {
		if strings.HasPrefix(name, t.name) {
			mode := t.mode
			if strings.Contains(name, ".") {
				mode = modeSub
			}
			return mode, cli.At("interface "+name, rankInterface+100*i)
		}
	}
	return modeLogical, cli.At("interface "+name, rankInterface+900)
}
