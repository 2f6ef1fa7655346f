package containerlab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// rig is an environment in which a lab runs.
type rig interface {
	// start starts the nodes of the lab whose files are in the working folder, and returns the
	// access to its switches.
	start(ctx context.Context, f *fleet.Fabric) (*fleet.Access, error)
	// ssh returns the settings with which someone other than the product logs in to a switch.
	ssh(sw *intent.Switch) (ssh.Config, error)
	// image names the image that a switch runs.
	image(sw *intent.Switch) string
	// collect writes logs and other information about the nodes into a folder.
	collect(ctx context.Context, dir string) error
	// stop stops the nodes.
	stop(ctx context.Context) error
}

// bounds says how long a rig may take.
type bounds struct {
	every, start time.Duration
	// work limits everything that is done once the switches answer.
	work time.Duration
	// all injects each fault into each system; otherwise each system gets only one of them.
	all bool
}

// suite is one run of the product against a lab, from the start of its nodes to their end.
type suite struct {
	t       *testing.T
	rig     rig
	b       bounds
	f       *fleet.Fabric
	at      *fleet.Access
	devices []fleet.Device
	state   store.Store
	// sound holds the switches whose image accepts all lines that the intent needs.
	sound map[string]bool
	// found holds the findings of the fabric when it is as intended.
	found map[string]bool
}

// runSuite runs the product against the lab of an intent. Logs and what is learned about the
// images are written to the folder results.
func runSuite(t *testing.T, r rig, l *Lab, b bounds, results string) {
	t.Chdir(t.TempDir())
	if err := l.Write("."); err != nil {
		t.Fatal(err)
	}
	f, err := fleet.Load(t.Context(), IntentFile, fleet.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{t: t, rig: r, b: b, f: f, state: store.Dir(t.TempDir()), sound: map[string]bool{}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), b.start)
		defer cancel()
		if err := errors.Join(r.collect(ctx, filepath.Join(results, "logs")), r.stop(ctx)); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), b.start+b.work)
	defer cancel()
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"deploy", s.deploy},
		{"probe", func(ctx context.Context) error { return s.probe(ctx, filepath.Join(results, "accepted")) }},
		{"apply", s.apply},
		{"rollback", s.rollback},
		{"apply again", s.apply},
		{"validate", s.validate},
		{"faults", s.faults},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			s.t = t
			begun := time.Now()
			if err := step.run(ctx); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s", time.Since(begun).Round(time.Millisecond))
		}) {
			return
		}
	}
}

// deploy starts the nodes and waits until every switch can be planned.
func (s *suite) deploy(ctx context.Context) (err error) {
	if s.at, err = s.rig.start(ctx, s.f); err != nil {
		return err
	}
	s.devices, _ = s.f.Devices(s.at)
	ok, err := drivers.Poll(ctx, s.b.every, s.b.start, func() (bool, error) {
		_, err := s.plans(ctx)
		return err == nil, err
	})
	if !ok {
		return fmt.Errorf("the switches did not come up within %s: %w", s.b.start, err)
	}
	return nil
}

// plans plans all switches.
func (s *suite) plans(ctx context.Context) (out []*fleet.DevicePlan, err error) {
	var failed []error
	err = fleet.Plan(ctx, s.devices, fleet.PlanOptions{Fabric: s.f.Fabric(), Workers: len(s.devices)}, func(d *fleet.DevicePlan) error {
		if d.Error != nil {
			failed = append(failed, d.Error)
		}
		out = append(out, d)
		return nil
	})
	return out, errors.Join(append(failed, err)...)
}

// accepted records which of the lines needed by an intent an image accepts.
type accepted struct {
	Image   string    `json:"image"`
	Kind    string    `json:"kind"`
	Version string    `json:"version"`
	Model   string    `json:"model"`
	Lines   int       `json:"lines"`
	Refused []refused `json:"refused"`
}

type refused struct {
	Line  string `json:"line"`
	Words string `json:"words"` // the switch's message
}

// probe determines which lines each image accepts, and stores the result by image and version. A
// switch that rejects lines is planned but not changed.
func (s *suite) probe(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	plans, err := s.plans(ctx)
	if err != nil {
		return err
	}
	kept, tried := map[string]*accepted{}, map[string]map[string]bool{}
	top := topologyIn(s.t, ".")
	for i, sw := range s.f.Switches {
		kind := top.Get("nodes").Get(sw.Name).Get("kind").Value
		a := accepted{Image: s.rig.image(sw), Kind: kind, Version: plans[i].Facts.Version, Model: plans[i].Facts.Model, Refused: []refused{}}
		var no []refused
		for _, c := range plans[i].Changes {
			if c.Blocked != "" {
				no = append(no, refused{fmt.Sprintf("%s: %s -> %s", c.Path(), c.Old, c.New), c.Blocked})
			}
		}
		lines, more, err := s.lines(ctx, sw)
		if err != nil {
			return fmt.Errorf("%s: %w", sw.Name, err)
		}
		no = append(no, more...)
		s.sound[sw.Name] = len(no) == 0
		for _, r := range no {
			s.t.Logf("%s (%s) refuses %q: %s", sw.Name, a.Image, r.Line, r.Words)
		}
		// Switches with the same image have some lines in common but not all.
		file := acceptedFile(a)
		if kept[file] == nil {
			kept[file], tried[file] = &a, map[string]bool{}
		}
		for _, l := range lines {
			tried[file][l] = true
		}
		for _, r := range no {
			if !slices.Contains(kept[file].Refused, r) {
				kept[file].Refused = append(kept[file].Refused, r)
			}
		}
		kept[file].Lines = len(tried[file])
	}
	for file, a := range kept {
		text, err := json.MarshalIndent(a, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if !slices.Contains(slices.Collect(maps.Values(s.sound)), true) {
		s.t.Skip("skipped: no image takes all lines; what they refuse is kept")
	}
	return nil
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9.()-]+`)

// acceptedFile returns the name of the file that stores what an image accepts.
func acceptedFile(a accepted) string {
	return notInNames.ReplaceAllString(a.Kind+" "+a.Image+" "+a.Version, "_") + ".json"
}

// shell describes the command lines of EOS and NX-OS, as far as is necessary to type lines.
var shell = &ssh.Platform{
	Levels: []ssh.Level{
		{Name: "exec", Prompt: `[\w.\-]{1,63}>`},
		{Name: "privileged", Prompt: `[\w.\-]{1,63}#`, Below: "exec", Enter: "enable", Leave: "disable"},
		{Name: "configuration", Prompt: `[\w.\-]{1,63}\(conf[^()\n]{0,100}\)#`, Below: "privileged", Enter: "configure terminal", Leave: "end"},
	},
	Home:     "privileged",
	Failed:   []string{"% ", "%Error", "ERROR:", "Error:"},
	Marker:   "^",
	Password: "Password:",
	Pager:    "--More--",
	OnOpen:   []string{"terminal width 511", "terminal length 0"},
}

// otherUser is a login to a switch other than the product's.
type otherUser struct {
	*ssh.Client
	net *ssh.Network // nil if the switch has a Linux shell
}

func (s *suite) asOtherUser(ctx context.Context, sw *intent.Switch) (*otherUser, error) {
	cfg, err := s.rig.ssh(sw)
	if err != nil {
		return nil, err
	}
	c, err := ssh.Dial(ctx, cfg)
	if err != nil {
		return nil, err
	}
	out := &otherUser{Client: c}
	if sw.OS != intent.SONiC.Name {
		if out.net, err = c.Network(ctx, shell, cfg.Password); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return out, nil
}

// types types lines and returns the rejected ones.
func (p *otherUser) types(ctx context.Context, lines ...string) (out []refused, err error) {
	for _, line := range lines {
		if p.net == nil {
			r, err := p.Run(ctx, line, nil)
			if err != nil {
				return out, err
			}
			if r.Status != 0 {
				out = append(out, refused{line, strings.TrimSpace(string(r.Stderr))})
			}
			continue
		}
		_, err := p.net.Type(ctx, line)
		if no := (*ssh.LineError)(nil); errors.As(err, &no) {
			out = append(out, refused{line, no.Words})
		} else if err != nil {
			return out, err
		}
	}
	return out, nil
}

// must types lines and returns an error if one is rejected.
func (p *otherUser) must(ctx context.Context, lines ...string) error {
	no, err := p.types(ctx, lines...)
	if err == nil && len(no) > 0 {
		err = fmt.Errorf("%q is refused: %s", no[0].Line, no[0].Words)
	}
	return err
}

// lines types the lines that a switch would get, and removes them again.
func (s *suite) lines(ctx context.Context, sw *intent.Switch) (lines []string, no []refused, err error) {
	var before, after []string
	switch sw.OS {
	case intent.EOS.Name:
		before, after = []string{"configure session probe"}, []string{"abort"}
	case intent.NXOS.Name:
		before = []string{"checkpoint probe", "configure terminal"}
		after = []string{"end", "rollback running-config checkpoint probe", "no checkpoint probe"}
	default:
		return nil, nil, nil // the plan has already checked them against the image's YANG models
	}
	p, err := s.asOtherUser(ctx, sw)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	d := s.f.Device(sw)
	_, text := fleet.SystemOf(d).Encode(d)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "!") {
			lines = append(lines, line)
		}
	}
	if err := p.must(ctx, before...); err != nil {
		return nil, nil, err
	}
	no, err = p.types(ctx, lines...)
	if err != nil {
		return nil, nil, err
	}
	return lines, no, p.must(ctx, after...)
}

// chosen returns the switches that are changed.
func (s *suite) chosen() (out []fleet.Device) {
	return slices.DeleteFunc(slices.Clone(s.devices), func(d fleet.Device) bool { return !s.sound[d.Name] })
}

// options returns the options of every run.
func (s *suite) options() fleet.RunOptions {
	return fleet.RunOptions{Fabric: s.f.Fabric(), Store: s.state, Workers: len(s.devices), Writers: len(s.devices)}
}

// apply applies the intent and checks that a second plan is empty.
func (s *suite) apply(ctx context.Context) (err error) {
	plan, err := fleet.Prepare(ctx, s.chosen(), fleet.PlanOptions{Fabric: s.f.Fabric(), Workers: len(s.devices)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	r, err := fleet.Apply(ctx, s.chosen(), plan, fleet.ApplyOptions{RunOptions: s.options(), Allow: qos.ImpactLoss})
	if err != nil {
		return err
	}
	if err := ended(r, fleet.Applied, fleet.Unchanged); err != nil {
		return err
	}
	return s.differs(ctx, nil)
}

// ended returns an error if a device is in none of the given states.
func ended(r *fleet.Result, states ...fleet.State) error {
	for _, o := range r.Outcomes {
		if o.Error != nil {
			return o.Error
		}
		if !slices.Contains(states, o.State) {
			return fmt.Errorf("%s is %s, and not %v", o.Device, o.State, states)
		}
	}
	return nil
}

// differs returns an error unless exactly the devices in want, among the switches that are
// changed, differ from the intent.
func (s *suite) differs(ctx context.Context, want []string) error {
	plans, err := s.plans(ctx)
	if err != nil {
		return err
	}
	var have []string
	for _, d := range plans {
		if s.sound[d.Name] && slices.ContainsFunc(d.Changes, func(g fleet.Group) bool { return !g.Open }) {
			have = append(have, d.Name)
		}
	}
	if !slices.Equal(have, want) {
		return fmt.Errorf("%v differ from the intent, and %v should", have, want)
	}
	return nil
}

// rollback rolls back the apply and checks that the switches are planned as before it.
func (s *suite) rollback(ctx context.Context) error {
	run, err := fleet.Find(ctx, s.chosen(), fleet.FindOptions{Store: s.state})
	if err != nil {
		return err
	}
	r, err := fleet.Rollback(ctx, s.chosen(), run, fleet.RollbackOptions{RunOptions: s.options(), Allow: qos.ImpactLoss})
	if err != nil {
		return err
	}
	if err := ended(r, fleet.Restored); err != nil {
		return err
	}
	var all []string
	for _, d := range s.chosen() {
		all = append(all, d.Name)
	}
	return s.differs(ctx, all)
}

// findings returns the findings of a validation, by check and device.
func (s *suite) findings(ctx context.Context) (map[string]bool, error) {
	v, err := fleet.Validate(ctx, s.f, s.at, fleet.ValidateOptions{ReadOptions: fleet.ReadOptions{Workers: len(s.devices)}})
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, f := range v.Findings {
		for _, id := range append([]string{f.ID}, f.Covers...) {
			out[id+" "+f.Device] = true
		}
		if f.ID == fleet.Unread || f.ID == "DRIFT" && s.sound[f.Device] && f.Severity == checks.Error {
			return nil, fmt.Errorf("%s %s: %s", f.ID, f.Place(), f.What)
		}
		s.t.Logf("%s %s %s: %s", f.Severity, f.ID, f.Place(), f.What)
	}
	return out, nil
}

// validate records the findings while everything is as intended: a virtual switch has some
// findings of its own.
func (s *suite) validate(ctx context.Context) (err error) {
	s.found, err = s.findings(ctx)
	return err
}

// fault is a change that someone else makes to a switch.
type fault struct {
	name  string
	finds []string
	// on holds the lines by system, with {port}.
	on map[string][]string
}

var faults = []fault{
	{"another MTU", []string{"MTU-02", "MTU-03", "MTU-04"}, map[string][]string{
		intent.SONiC.Name: {"sudo sonic-db-cli CONFIG_DB hset 'PORT|{port}' mtu 1500"},
		intent.EOS.Name:   {"configure terminal", "interface {port}", "mtu 1500", "end"},
		intent.NXOS.Name:  {"configure terminal", "interface {port}", "mtu 1500", "end"},
	}},
	{"no PFC watchdog", []string{"WD-01", "WD-02"}, map[string][]string{
		intent.SONiC.Name: {"sudo sonic-db-cli CONFIG_DB del 'PFC_WD|{port}'"},
		intent.EOS.Name:   {"configure terminal", "interface {port}", "no priority-flow-control pause watchdog", "end"},
		intent.NXOS.Name:  {"configure terminal", "interface {port}", "no priority-flow-control watch-dog-interval on", "end"},
	}},
	{"no DSCP", []string{"CLS-02", "CLS-04"}, map[string][]string{
		// A port without a map of its own has that of the switch.
		intent.SONiC.Name: {"sudo sonic-db-cli CONFIG_DB hdel 'PORT_QOS_MAP|{port}' dscp_to_tc_map", "sudo sonic-db-cli CONFIG_DB hdel 'PORT_QOS_MAP|global' dscp_to_tc_map"},
		intent.EOS.Name:   {"configure terminal", "interface {port}", "no qos trust", "end"},
		intent.NXOS.Name:  {"configure terminal", "interface {port}", "no service-policy type qos input ROCE-FABRIC-IN", "end"},
	}},
}

// faults injects each fault into a switch of each system, checks that it is found, and repairs it.
func (s *suite) faults(ctx context.Context) error {
	for i, f := range faults {
		done := map[string]bool{}
		for _, sw := range s.f.Switches {
			if !s.sound[sw.Name] || done[sw.OS] || len(sw.Ports) == 0 {
				continue
			}
			done[sw.OS] = true
			if !s.b.all && i != slices.Index(intent.Systems(), sw.OS)%len(faults) {
				continue
			}
			if err := s.fault(ctx, f, sw); err != nil {
				return fmt.Errorf("%s on %s: %w", f.name, sw.Name, err)
			}
		}
	}
	return nil
}

func (s *suite) fault(ctx context.Context, f fault, sw *intent.Switch) error {
	p, err := s.asOtherUser(ctx, sw)
	if err != nil {
		return err
	}
	var lines []string
	for _, l := range f.on[sw.OS] {
		lines = append(lines, strings.ReplaceAll(l, "{port}", sw.Ports[0].Name))
	}
	if err := errors.Join(p.must(ctx, lines...), p.Close()); err != nil {
		return err
	}
	if err := s.differs(ctx, []string{sw.Name}); err != nil {
		return err
	}
	found, err := fleet.Validate(ctx, s.f, s.at, fleet.ValidateOptions{ReadOptions: fleet.ReadOptions{Workers: len(s.devices)}})
	if err != nil {
		return err
	}
	var ids []string
	for _, v := range found.Findings {
		if v.Device != sw.Name {
			continue
		}
		for _, id := range append([]string{v.ID}, v.Covers...) {
			if !s.found[id+" "+v.Device] {
				ids = append(ids, id)
			}
		}
	}
	if !slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(f.finds, id) }) {
		return fmt.Errorf("validate finds %v, and not one of %v", ids, f.finds)
	}
	return s.apply(ctx)
}
