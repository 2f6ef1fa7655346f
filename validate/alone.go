package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/pfc"
)

// Config is the saved configuration of a switch that is checked without an intent.
type Config struct {
	Name, File string
	Text       []byte // content of the file
	Running    *qos.Device
	Account    []render.Line // what is known about its lines
}

// Alone checks configurations without an intent, each by itself and then against each other.
// The place of a finding is "file:line", or "file TABLE|key" for configurations with rows.
// Findings are sorted.
//
// Without an intent, only a contradiction within the file is an error: PFC that pauses nothing,
// thresholds upside down. Anything that may be on purpose is a warning.
func Alone(cs []Config) []checks.Finding {
	var out []checks.Finding
	for i := range cs {
		r := &soloRun{c: &cs[i], text: readText(&cs[i]), seen: map[aloneCause]int{}, half: map[string]bool{}, unpaused: map[string]bool{}, lineSaid: map[aloneCause]int{}}
		r.lines()
		r.values()
		r.account()
		out = append(out, r.findings()...)
	}
	return checks.Sort(append(out, compareConfigs(cs)...))
}

// MadeAlone reports whether [Alone] makes a check.
func MadeAlone(id string) bool {
	c := Lookup(id)
	return c != nil && c.MadeAlone()
}

// soloRun checks one configuration.
type soloRun struct {
	c    *Config
	text *configText
	list []aloneFinding
	seen map[aloneCause]int
	half map[string]bool // ports with half of a watchdog configuration, which get no WD-01
	// lineSaid holds the findings of lines by check, block and reason, as indexes of list.
	lineSaid map[aloneCause]int
	// unpaused holds ports that have PFC lines but pause nothing.
	unpaused map[string]bool
}

// aloneFinding is a finding, with the data to look up its place.
type aloneFinding struct {
	checks.Finding
	attr qos.Attr
	line int    // 0 to find the line by attr
	row  string // row of a configuration without lines
}

type aloneCause struct {
	id, what string
	line     int
}

// values makes the checks of the values of the configuration.
func (r *soloRun) values() {
	view := &checks.File{Config: r.c.Running, Rows: r.text.rows, Everywhere: ^qos.PrioritySet(0), Add: func(f checks.Finding, port string, attr qos.Attr) {
		if r.text.doubt(port, attr) != nil {
			return // the line is among those that make the result inconclusive
		}
		r.add(aloneFinding{Finding: f, attr: attr}, port)
	}}
	for _, name := range natural.Keys(r.c.Running.Ports) {
		q := r.c.Running.Ports[name]
		if q.PFC.Or(0) != 0 {
			view.Everywhere &= q.PFC.V
		}
		r.halfWatchdog(name, q.Watchdog)
	}
	for _, c := range registry {
		view.Perform(c)
	}
}

// halfWatchdog finds a watchdog of which only one of two rows is there.
func (r *soloRun) halfWatchdog(name string, w qos.Opt[qos.Watchdog]) {
	f := aloneFinding{Finding: checks.Finding{ID: "WD-06", Severity: checks.Warning}}
	switch {
	case !w.Set || !r.text.rows || !pfc.HalfWatchdog(w.V):
		return
	case w.V.Enabled:
		f.attr, f.What = qos.KindWatchdog.Attr(), "the row of the watchdog guards no priority: pfcwd_sw_enable names none"
	default:
		f.attr, f.What = qos.KindPFC.Attr(), fmt.Sprintf("pfcwd_sw_enable names priorities %s, and the watchdog has no row for the port", w.V.Priorities)
	}
	r.add(f, name)
}

// foundAt adds a finding about a line.
func (r *soloRun) foundAt(id string, s checks.Severity, port string, line int, what string, args ...any) {
	r.add(aloneFinding{Finding: checks.Finding{ID: id, Severity: s, What: fmt.Sprintf(what, args...)}, line: line}, port)
}

// addPorts adds the ports that the finding lacks.
func (f *aloneFinding) addPorts(ports []string) {
	for _, p := range ports {
		if p != "" && !slices.Contains(f.Ports, p) {
			f.Ports = append(f.Ports, p)
		}
	}
}

// add adds a finding, or the port to the same finding of another port, and returns its index in the
// list.
func (r *soloRun) add(f aloneFinding, port string) int {
	check := Lookup(f.ID)
	check.MayFind(f.Severity)
	key := aloneCause{f.ID, f.What, f.line}
	if port != "" && f.line > 0 {
		key.line = -1 // equal lines of several ports make one finding
	}
	i, ok := r.seen[key]
	if !ok {
		i = len(r.list)
		r.seen[key] = i
		f.Device, f.Fix = r.c.Name, cmp.Or(f.Fix, check.FixAlone())
		r.list = append(r.list, f)
	}
	if port != "" {
		r.list[i].Ports = append(r.list[i].Ports, port)
	}
	return i
}

// findings returns the findings, each with the place of its first port.
func (r *soloRun) findings() []checks.Finding {
	out := make([]checks.Finding, 0, len(r.list))
	for _, f := range r.list {
		port := ""
		if len(f.Ports) > 0 {
			port = f.Ports[0]
		}
		if f.Where = r.where(f.line, port, f.attr); r.text.rows && f.row != "" {
			f.Where = r.c.File + " " + term.CleanLine(f.row)
		}
		out = append(out, f.Finding)
	}
	return out
}

// account adds findings for lines that fail a check by themselves, and counts the lines that
// are not understood.
func (r *soloRun) account() {
	unknown, at := 0, ""
	var rest []*render.Line
	for i := range r.c.Account {
		l := &r.c.Account[i]
		switch id := failed(l); {
		case unpausing[id]:
			r.fails(Lookup(id), l)
		case Lookup(id) != nil:
			rest = append(rest, l)
		case l.Fate == render.Unknown:
			if unknown++; at == "" {
				at = strings.Trim(l.Place()+": "+l.Text, ": ")
			}
		}
	}
	for _, l := range rest {
		r.fails(Lookup(failed(l)), l)
	}
	if unknown > 0 {
		what := fmt.Sprintf("%d lines are not understood, the first is %s", unknown, term.CleanLine(at))
		if unknown == 1 {
			what = "1 line is not understood: " + term.CleanLine(at)
		}
		r.add(aloneFinding{Finding: checks.Finding{ID: "UNKNOWN", Severity: checks.Info, What: what, Unchecked: "some QoS lines", Because: "this tool does not understand them"}}, "")
	}
	r.list = slices.DeleteFunc(r.list, func(f aloneFinding) bool {
		if f.ID == "WD-01" {
			f.Ports = slices.DeleteFunc(f.Ports, func(p string) bool { return r.half[p] })
		}
		return f.ID == "WD-01" && len(f.Ports) == 0
	})
}

// failed returns the ID of the check that a line fails by itself; "" for none.
func failed(l *render.Line) string {
	whole := halves[l.Check]
	switch {
	case whole != "" && l.Fate == render.Inert:
		return whole
	case l.Check == "" && halfOfWatchdog(l):
		return "WD-06"
	}
	return l.Check
}

// unpausing holds the checks that a line fails because the port pauses nothing by it.
var unpausing = map[string]bool{"PFC-15": true, "CLS-19": true}

// halfOfWatchdog reports whether a line is half of a watchdog configuration and does nothing.
func halfOfWatchdog(l *render.Line) bool {
	return (l.Fate == render.Inert || l.Fate == render.Unknown) && watchdogLine.MatchString(l.Where+" "+l.Text) && halfOf.MatchString(l.Why)
}

// halves maps a check to the check that a line without effect fails: that only half of the
// setting is configured.
var halves = map[string]string{"PFC-03": "PFC-15", "PFC-04": "CFG-01", "PFC-07": "PFC-15", "WD-01": "WD-06", "WD-03": "WD-06"}

// fails adds a finding for a line that fails a check by itself, unless there is one already.
func (r *soloRun) fails(check *checks.Check, l *render.Line) {
	port := strings.TrimPrefix(l.Where, "interface ")
	if l.No == 0 {
		_, port, _ = strings.Cut(l.Where, "|")
		port, _, _ = strings.Cut(port, "|")
	}
	ports := l.Ports
	if r.c.Running.Ports[port] != nil {
		ports = []string{port}
	}
	if len(ports) == 0 {
		ports = []string{""}
	}
	again := aloneCause{check.ID, l.Where + "\n" + l.Why, 0}
	if i, is := r.lineSaid[again]; is {
		r.list[i].addPorts(ports)
		return
	}
	said := slices.ContainsFunc(r.list, func(f aloneFinding) bool {
		if f.ID != check.ID {
			return false
		}
		return ports[0] != "" && slices.Contains(f.Ports, ports[0]) || f.row == "" && (f.line == 0 || ports[0] == "")
	})
	if said || (check.ID == "WD-06" || check.ID == "PFC-15") && r.unpaused[ports[0]] {
		return // a port that pauses nothing has nothing to watch
	}
	f := aloneFinding{line: l.No, row: cmp.Or(l.Where, l.Text), Finding: checks.Finding{ID: check.ID, Severity: check.Rules[len(check.Rules)-1].Severity, What: cmp.Or(l.Why, check.Title)}}
	if unpausing[check.ID] && !l.Doubt || l.Sure {
		f.Severity = check.Worst()
	}
	if text := strings.Trim(l.Text, ": "); text != "" {
		f.What = term.CleanLine(text) + ": " + f.What
	}
	if ports[0] == "" && l.No == 0 {
		f.What = term.CleanLine(l.Where) + " " + f.What
	}
	for _, p := range ports {
		r.half[p] = r.half[p] || check.ID == "WD-06"
		r.unpaused[p] = r.unpaused[p] || p != "" && unpausing[check.ID]
		r.lineSaid[again] = r.add(f, p)
	}
}
