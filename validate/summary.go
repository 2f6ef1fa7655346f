package validate

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/identity"
)

// summaryVersion is the version of the summary format. Every change of the format changes it,
// so that releases that work together do not misread each other.
const summaryVersion = 6

// summary is a [Result] in transit from the process that read the switch to the one that
// compares switches. It leaves out data that only the checks of the switch itself need.
type summary struct {
	Version   int
	Switch    string
	Source    checks.Source
	Identity  drivers.Identity
	Findings  []foundSummary          `json:",omitempty"`
	Ends      map[string]endSummary   `json:",omitempty"`
	Neighbors map[string]qos.Neighbor `json:",omitempty"`
	Names     *nameSummary            `json:",omitempty"`
	Undoes    string                  `json:",omitempty"`
	Drift     []driftSummary          `json:",omitempty"`
	Traits    []traitSummary          `json:",omitempty"`
}

// foundSummary is a finding, with what decides which findings have one cause.
type foundSummary struct {
	checks.Finding
	Roots   []string         `json:",omitempty"`
	Covered []checks.Covered `json:",omitempty"`
}

// driftSummary is a change, and whether a check of the switch reported it.
type driftSummary struct {
	Change    qos.Change
	Explained bool `json:",omitempty"`
}

type nameSummary struct {
	Ports, Aliases []string
	All            bool `json:",omitempty"`
}

type endSummary struct {
	PFC        qos.PrioritySet `json:",omitempty"`
	MTU        int             `json:",omitempty"`
	Trust      qos.Trust       `json:",omitempty"`
	Asymmetric *bool           `json:",omitempty"`
	Known      bool            `json:",omitempty"`
	Intended   bool            `json:",omitempty"`
	PFCSaid    string          `json:",omitempty"`
	MTUSaid    bool            `json:",omitempty"`
	PFCRead    bool            `json:",omitempty"`
	NotKnown   checks.Kinds    `json:",omitempty"`
	Bare       bool            `json:",omitempty"`
	HashSeed   string          `json:",omitempty"`
	Wire       *wireSummary    `json:",omitempty"`
}

type wireSummary struct {
	Up, Autoneg   bool       `json:",omitempty"`
	Speed         units.Rate `json:",omitempty"`
	FEC, AdminFEC string     `json:",omitempty"`
	Said          bool       `json:",omitempty"`
}

type traitSummary struct {
	Check        string
	Group, Value string
	Assumed      string `json:",omitempty"`
	Port         string `json:",omitempty"`
	Where        string `json:",omitempty"`
	Layer        int    `json:",omitempty"`
	Sound        bool   `json:",omitempty"`
}

// Summary encodes a result for [ReadSummary], so that another process can compare it with other
// switches. The result must not have been passed to [Run.Add].
func (s *Result) Summary() ([]byte, error) {
	out := summary{Version: summaryVersion, Switch: s.sw.Name, Source: s.source, Identity: s.identity, Neighbors: s.neighbors, Undoes: s.undoes, Ends: map[string]endSummary{}}
	for _, f := range s.outcome.Findings.List {
		out.Findings = append(out.Findings, foundSummary{f, f.Roots, f.Covered})
	}
	for port, e := range s.ends {
		out.Ends[port] = summarize(e)
	}
	if n := s.names; n != nil {
		out.Names = &nameSummary{n.Ports, n.Aliases, n.All}
	}
	for i, ch := range s.outcome.Drift.Changes {
		out.Drift = append(out.Drift, driftSummary{ch, s.outcome.Reported[i]})
	}
	for _, t := range s.outcome.Traits {
		out.Traits = append(out.Traits, traitSummary{t.Check.ID, t.Group, t.Value, t.Assumed, t.Port, t.Where, t.Layer, t.Sound})
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("summary of %s: %w", s.sw.Name, err)
	}
	return b, nil
}

// ReadSummary decodes the output of [Result.Summary] for a switch of the same intent.
func ReadSummary(f *intent.Fabric, b []byte) (*Result, error) {
	var in summary
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, fmt.Errorf("summary of a switch: %w", err)
	}
	if in.Version != summaryVersion {
		return nil, fmt.Errorf("the summary has the version %d, this release reads %d", in.Version, summaryVersion)
	}
	sw := f.Switch(in.Switch)
	if sw == nil {
		return nil, fmt.Errorf("the summary is for %q, which is not a switch of the intent", in.Switch)
	}
	s := &Result{undoes: in.Undoes, sw: sw, source: in.Source, identity: in.Identity, ends: map[string]checks.End{}, neighbors: in.Neighbors,
		outcome: &checks.Outcome{}}
	for _, f := range in.Findings {
		f.Finding.Roots, f.Finding.Covered = f.Roots, f.Covered
		s.outcome.Findings.List = append(s.outcome.Findings.List, f.Finding)
	}
	for port, e := range in.Ends {
		s.ends[port] = e.end()
	}
	maps.DeleteFunc(s.neighbors, func(port string, _ qos.Neighbor) bool { _, linked := s.ends[port]; return !linked })
	if n := in.Names; n != nil {
		if len(n.Aliases) != len(n.Ports) {
			return nil, fmt.Errorf("the summary of %s has %d ports and %d aliases", in.Switch, len(n.Ports), len(n.Aliases))
		}
		s.names = &identity.Names{OS: sw.OS, Model: sw.Model.V, Ports: n.Ports, Aliases: n.Aliases, All: n.All}
	}
	var changes []qos.Change
	for _, d := range in.Drift {
		changes = append(changes, d.Change)
		s.outcome.Reported = append(s.outcome.Reported, d.Explained)
	}
	s.outcome.Drift = checks.DriftOf(changes)
	for _, t := range in.Traits {
		c := Lookup(t.Check)
		if c == nil || c.Outliers == nil {
			return nil, fmt.Errorf("the summary of %s names check %q, which does not compare switches", in.Switch, t.Check)
		}
		s.outcome.Traits = append(s.outcome.Traits, checks.Trait{Check: c, Group: t.Group, Value: t.Value, Assumed: t.Assumed, Port: t.Port, Where: t.Where, Layer: t.Layer, Sound: t.Sound})
	}
	return s, nil
}

// summarize leaves out the fields that [Run.Add] sets.
func summarize(e checks.End) endSummary {
	out := endSummary{PFC: e.PFC, MTU: e.MTU, Trust: e.Trust, Known: e.Known, Intended: e.Intended,
		PFCSaid: e.PFCSaid, MTUSaid: e.MTUSaid, PFCRead: e.PFCRead, NotKnown: e.NotKnown, Bare: e.Bare, HashSeed: e.HashSeed}
	if e.Asymmetric.Set {
		out.Asymmetric = &e.Asymmetric.V
	}
	if w := e.Wire; w.Known {
		out.Wire = &wireSummary{w.Up, w.Autoneg, w.Speed, w.FEC, w.AdminFEC, w.Said}
	}
	return out
}

func (s endSummary) end() checks.End {
	out := checks.End{PFC: s.PFC, MTU: s.MTU, Trust: s.Trust, Known: s.Known, Intended: s.Intended,
		PFCSaid: s.PFCSaid, MTUSaid: s.MTUSaid, PFCRead: s.PFCRead, NotKnown: s.NotKnown, Bare: s.Bare, HashSeed: s.HashSeed}
	if s.Asymmetric != nil {
		out.Asymmetric = qos.Of(*s.Asymmetric)
	}
	if w := s.Wire; w != nil {
		out.Wire = checks.Wire{Known: true, Up: w.Up, Autoneg: w.Autoneg, Speed: w.Speed, FEC: w.FEC, AdminFEC: w.AdminFEC, Said: w.Said}
	}
	return out
}
