package local

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/mlxconfig"
)

// CardReset describes how one card is reset.
type CardReset struct {
	Card   string `json:"card"`   // "0000:3b:00"
	Device string `json:"device"` // function passed to the tools: "0000:3b:00.0"
	// Ports are the interfaces of the card, all of which go down.
	Ports []string      `json:"ports"`
	Way   mlxconfig.Way `json:"way"`
	Does  string        `json:"does"` // the command, for display
	// Blocked says why this tool cannot reset the card; "" if it can.
	Blocked string `json:"blocked,omitempty"`
}

// Resets returns how the cards of the ports are reset, in natural order.
func (m *Machine) Resets(ctx context.Context, ports []string, o Options) ([]CardReset, error) {
	functions := map[string]string{} // by card: the first function named
	broadcom := map[string]bool{}
	for _, name := range natural.Sorted(ports) {
		d, err := m.device(name)
		if err != nil {
			return nil, err
		}
		if d.driver != nic.DriverMLX5 && d.driver != nic.DriverBNXT || d.pci == "" || d.virtual {
			return nil, fmt.Errorf("%s: %w: this tool does not reset such a card", name, ErrUnsupported)
		}
		broadcom[nic.Card(d.pci)] = d.driver == nic.DriverBNXT
		if card := nic.Card(d.pci); functions[card] == "" {
			functions[card] = d.pci
		}
	}
	var out []CardReset
	for _, card := range natural.Keys(functions) {
		r, err := m.cardReset(ctx, card, functions[card], broadcom[card], o)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (m *Machine) cardReset(ctx context.Context, card, pci string, broadcom bool, o Options) (CardReset, error) {
	r := CardReset{Card: card, Device: pci}
	names, err := m.list(m.sysNet())
	if err != nil {
		return r, m.explained(err, "list the network devices")
	}
	for _, name := range natural.Sorted(names) {
		if d, err := m.device(name); err == nil && nic.Card(d.pci) == card {
			r.Ports = append(r.Ports, name)
		}
	}
	if m.Tools == nil {
		return r, mlxconfig.ErrNoTool
	}
	if broadcom { // a reboot loads the options of the card's NVM
		r.Does = rebootCommand
		return r, nil
	}
	tool, err := mlxconfig.Find(ctx, m.Tools)
	if err != nil {
		return r, err
	}
	cfg, err := m.queryCard(ctx, tool, pci)
	if err != nil {
		return r, err
	}
	if r.Way, err = tool.Way(ctx, pci, cfg, m.lockedDown()); err != nil {
		if ctx.Err() != nil {
			return r, err
		}
		r.Blocked = clip(err.Error())
		return r, nil
	}
	r.Does = tool.Command(pci, r.Way)
	if !r.Way.Reboots() && !o.CutOff {
		r.Blocked = m.management(o.Peer).cutByAll(r.Ports)
	}
	return r, nil
}

// cutByAll says why taking down all the ports together is refused; "" if another path remains.
func (g management) cutByAll(ports []string) string {
	switch {
	case g.err != nil:
		return g.cutBy("")
	case len(g.live) == 0 || slices.ContainsFunc(g.live, func(live string) bool { return !slices.Contains(ports, live) }):
		return ""
	}
	return "it carries the machine's only path " + g.what + " (by " + strings.Join(g.live, ", ") + ")"
}

// Reset resets a card, or reboots the machine if the card requires it. It refuses a reset that
// [Machine.Resets] would no longer return. For a reboot, Reset returns while the machine is still
// up.
func (m *Machine) Reset(ctx context.Context, want CardReset, o Options) error {
	if len(want.Ports) == 0 {
		return fmt.Errorf("no port of a card: %w", ErrUnsupported)
	}
	now, err := m.Resets(ctx, want.Ports[:1], o)
	if err != nil {
		return err
	}
	r := now[0]
	switch {
	case r.Card != want.Card || r.Way != want.Way || !slices.Equal(r.Ports, want.Ports):
		return fmt.Errorf("%s: %w: it would now be reset by %q", want.Card, mlxconfig.ErrStale, r.Does)
	case r.Blocked != "":
		return fmt.Errorf("%s: %w: %s", r.Card, ErrUnsupported, r.Blocked)
	}
	if r.Way.Level == 0 {
		return m.reboot(ctx)
	}
	tool, err := mlxconfig.Find(ctx, m.Tools)
	if err != nil {
		return err
	}
	return tool.Reset(ctx, r.Device, r.Way)
}

// rebootCommand is the command for a reset by reboot, for display.
const rebootCommand = "systemctl reboot"

// reboot makes systemd reboot the machine. It returns once the job is queued (systemctl(1)).
func (m *Machine) reboot(ctx context.Context) error {
	res, err := m.Tools.Run(ctx, "systemctl", "reboot")
	if err != nil {
		return fmt.Errorf("systemctl reboot: %w", err)
	}
	if res.Code != 0 {
		return fmt.Errorf("systemctl reboot: exit status %d: %s", res.Code, clip(strings.Join(res.LastWords(), "; ")))
	}
	return nil
}
