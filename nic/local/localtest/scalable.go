package localtest

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// sf is a scalable function of a port.
type sf struct {
	index, number, device int // device is its number on the auxiliary bus
	active                bool
}

// firstSF is the index of the first devlink port that belongs to an SF.
const firstSF = 32768

// devlink simulates the part of iproute2's devlink that handles scalable functions of mlx5
// (drivers/net/ethernet/mellanox/mlx5/core/sf/devlink.c).
func (h *Host) devlink(_ context.Context, args []string) (runner.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	line := strings.Join(args, " ")
	switch {
	case line == "-j port show":
		return h.showPorts(), nil
	case strings.HasPrefix(line, "-j resource show pci/"):
		return h.showResources(args[3]), nil
	}
	var rest string
	var number, pf int
	p, index := h.ofHandle(args)
	switch {
	case p == nil:
		return refused("devlink answers: No such device"), nil
	case h.faults.NotRoot:
		return refused("kernel answers: Operation not permitted"), nil
	case !h.has(h.sys("class", "net", p.Name, "phys_switch_id")) || p.Driver != nic.DriverMLX5 || p.Restricted:
		return refused("Error: mlx5_core: Port add is only supported in eswitch switchdev mode or SF ports are disabled."), nil
	}
	h.wrote("devlink %s", line)
	at := -1
	for i, s := range p.sfs {
		if s.index == index {
			at = i
		}
	}
	switch {
	case h.faults.Ignore:
	case scan(line, "port add pci/%s flavour pcisf pfnum %d sfnum %d", &rest, &pf, &number):
		return h.addSF(p, pf, number), nil
	case at < 0:
		return refused("kernel answers: No such device"), nil
	case line == "port function set "+p.handle(index)+" state active":
		h.activate(p, p.sfs[at])
	case line == "port del "+p.handle(index):
		h.tree.removeAll(h.sfDir(p, p.sfs[at]))
		p.sfs = append(p.sfs[:at:at], p.sfs[at+1:]...)
	default:
		return refused(`Command "` + line + `" not found`), nil
	}
	return runner.Result{}, nil
}

func refused(why string) runner.Result { return runner.Result{Stderr: []byte(why + "\n"), Code: 1} }

// scan parses a whole line according to a format.
func scan(line, format string, into ...any) bool {
	n, err := fmt.Sscanf(line, format, into...)
	return err == nil && n == len(into)
}

// handle returns the handle of a devlink port.
func (p *port) handle(index int) string { return fmt.Sprintf("pci/%s/%d", p.PCI, index) }

// ofHandle finds the port that the arguments name; index is -1 if they name only the card.
func (h *Host) ofHandle(args []string) (of *port, index int) {
	for _, a := range args {
		parts := strings.Split(a, "/")
		if parts[0] != "pci" || len(parts) < 2 {
			continue
		}
		index = -1
		if len(parts) == 3 {
			index, _ = strconv.Atoi(parts[2])
		}
		for _, p := range h.ports {
			if p.PCI == parts[1] {
				return p, index
			}
		}
	}
	return nil, -1
}

// addSF adds an SF, and rejects what mlx5 rejects.
func (h *Host) addSF(p *port, pf, number int) runner.Result {
	if !strings.HasSuffix(p.PCI, "."+strconv.Itoa(pf)) {
		return refused("Error: mlx5_core: Invalid pfnum supplied.")
	}
	index := firstSF
	for _, s := range p.sfs {
		if s.number == number {
			return refused("Error: mlx5_core: SF already exist. Choose different sfnum.")
		}
		index = max(index, s.index+1)
	}
	if len(p.sfs) >= p.MaxSFs {
		return refused("kernel answers: No space left on device")
	}
	p.sfs = append(p.sfs, &sf{index: index, number: number})
	return runner.Result{}
}

func (h *Host) sfDir(p *port, s *sf) string {
	return h.sys("devices", "pci0000:00", p.PCI, fmt.Sprintf("mlx5_core.sf.%d", s.device))
}

// activate makes the driver bind the function and create its interface.
func (h *Host) activate(p *port, s *sf) {
	if s.active {
		return
	}
	s.active = true
	h.auxiliary++
	s.device = h.auxiliary
	dir := h.sfDir(p, s)
	h.put(filepath.Join(dir, "sfnum"), strconv.Itoa(s.number)+"\n")
	h.put(filepath.Join(dir, "net", fmt.Sprintf("%ss%d", p.Name, s.number), "flags"), "0x1002\n")
	h.link("../../../../bus/auxiliary/drivers/mlx5_core.sf", filepath.Join(dir, "driver"))
}

func (h *Host) showPorts() runner.Result {
	out := map[string]any{}
	for _, p := range h.ports {
		if p.Driver != nic.DriverMLX5 {
			continue
		}
		out[p.handle(65535)] = map[string]any{"type": "eth", "netdev": p.Name, "flavour": "physical", "port": 0, "splittable": false}
		for _, s := range p.sfs {
			state, attached := "inactive", "detached"
			if s.active {
				state, attached = "active", "attached"
			}
			_, function, _ := strings.Cut(p.PCI, ".")
			pf, _ := strconv.Atoi(function)
			out[p.handle(s.index)] = map[string]any{
				"type": "eth", "netdev": fmt.Sprintf("%spf%dsf%d", p.Name, pf, s.number), "flavour": "pcisf", "controller": 0, "pfnum": pf, "sfnum": s.number,
				"external": false, "splittable": false, "function": map[string]string{"hw_addr": "00:00:00:00:00:00", "state": state, "opstate": attached},
			}
		}
	}
	return prints(map[string]any{"port": out})
}

func (h *Host) showResources(card string) runner.Result {
	p, _ := h.ofHandle([]string{card})
	if p == nil || p.Driver != nic.DriverMLX5 {
		return refused("kernel answers: Operation not supported")
	}
	list := []map[string]any{}
	for i, name := range []string{"max_local_SFs", "max_external_SFs"} {
		list = append(list, map[string]any{"name": name, "size": p.MaxSFs * (1 - i), "unit": "entry", "dpipe_tables": []any{}})
	}
	return prints(map[string]any{"resources": map[string]any{card: list}})
}

func prints(v any) runner.Result {
	b, err := json.Marshal(v)
	must(err)
	return runner.Result{Stdout: append(b, '\n')}
}

// UseSF brings the interface of an SF up.
func (h *Host) UseSF(name string, number int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.ports[name]
	for _, s := range p.sfs {
		if s.number == number {
			h.put(filepath.Join(h.sfDir(p, s), "net", fmt.Sprintf("%ss%d", name, number), "flags"), "0x1003\n")
		}
	}
}
