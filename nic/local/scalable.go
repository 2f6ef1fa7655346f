package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// maxSFs is the highest SF number that mlx5 can express (Linux, include/linux/mlx5/mlx5_ifc.h,
// max_num_sf).
const maxSFs = 1<<16 - 1

// sfDriver is the driver of a scalable function, and the prefix of its device name below the card's
// device (Linux, drivers/net/ethernet/mellanox/mlx5/core/sf/dev).
const sfDriver = nic.DriverMLX5 + ".sf"

// sfPort is a port of a card's switch, as devlink prints it.
type sfPort struct {
	Flavour  string `json:"flavour"`
	Number   int    `json:"sfnum"`
	External bool   `json:"external"` // belongs to another host, as on the Arm cores of a BlueField
	Function struct {
		State string `json:"state"`
	} `json:"function"`
}

func (p sfPort) active() bool { return p.Function.State == "active" }

// scalable reads the scalable functions of a physical function.
func (r reader) scalable() {
	if r.p.Driver != nic.DriverMLX5 {
		return
	}
	get(r, nic.FieldSFs, &r.p.SFs, func() (int, error) { return r.sfs(r.ctx, r.device) })
	if r.p.SFs.Set && r.p.Representors.V {
		r.p.MaxSFs = r.mostSFs()
	}
}

// mostSFs returns how many SFs a card offers; unset if the kernel does not show it.
func (r reader) mostSFs() (most qos.Opt[int]) {
	var out struct {
		Resources map[string][]struct {
			Name string `json:"name"`
			Size int    `json:"size"`
		} `json:"resources"`
	}
	if b, err := r.devlink(r.ctx, "-j", "resource", "show", "pci/"+r.pci); err != nil || json.Unmarshal(b, &out) != nil {
		return most
	}
	for _, res := range out.Resources["pci/"+r.pci] {
		if res.Name == "max_local_SFs" {
			most = qos.Of(res.Size)
		}
	}
	return most
}

// sfs counts the active SFs. Outside switchdev mode there are none (mlx5/core/sf/devlink.c), so
// devlink is not run.
func (m *Machine) sfs(ctx context.Context, d *device) (n int, err error) {
	if on, err := m.switchdev(d); err != nil || !on {
		return 0, err
	}
	ports, err := m.sfPorts(ctx, d)
	for _, p := range ports {
		if p.active() {
			n++
		}
	}
	return n, err
}

// sfPorts returns the ports, by handle, of the card's scalable functions that belong to this host.
func (m *Machine) sfPorts(ctx context.Context, d *device) (map[string]sfPort, error) {
	b, err := m.devlink(ctx, "-j", "port", "show")
	if err != nil {
		return nil, err
	}
	var out struct {
		Port map[string]sfPort `json:"port"`
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("devlink port show: %w", err)
	}
	maps.DeleteFunc(out.Port, func(handle string, p sfPort) bool {
		return !strings.HasPrefix(handle, "pci/"+d.pci+"/") || p.Flavour != "pcisf" || p.External
	})
	return out.Port, nil
}

// devlink runs iproute2's devlink.
func (m *Machine) devlink(ctx context.Context, args ...string) ([]byte, error) {
	if m.Tools == nil {
		return nil, ErrUnsupported
	}
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	res, err := m.Tools.Run(ctx, "devlink", args...)
	switch {
	case errors.Is(err, runner.ErrNotFound):
		return nil, hint.With(err, "install iproute2 on the host")
	case err != nil:
		return nil, err
	case res.Code != 0:
		return nil, fmt.Errorf("devlink %s: exit status %d: %s", strings.Join(args, " "), res.Code, clip(string(res.Stderr)))
	}
	return res.Stdout, nil
}

var sfsOp = op{
	read: func(m *Machine, ctx context.Context, d *device) (Value, error) {
		n, err := m.sfs(ctx, d)
		return Value{Number: &n}, err
	},
	write: func(m *Machine, ctx context.Context, d *device, want, have Value) error {
		switch {
		case *have.Number == 0:
			return m.makeSFs(ctx, d, *want.Number)
		case *want.Number > 0:
			return fmt.Errorf("%d SFs exist, and the number can be changed only from 0: %w", *have.Number, ErrInUse)
		}
		if used := m.usedSFs(d); len(used) > 0 {
			return fmt.Errorf("not removed: %w: %s", ErrInUse, words.Some(used, maxShownFunctions))
		}
		ports, err := m.sfPorts(ctx, d)
		if err != nil {
			return err
		}
		maps.DeleteFunc(ports, func(_ string, p sfPort) bool { return !p.active() })
		return m.deleteSFs(ctx, slices.Collect(maps.Keys(ports)))
	},
}

// makeSFs creates the SFs 1 to n and activates them. An inactive SF that already exists is left
// from an interrupted run. If makeSFs fails, it deletes the SFs that it created.
func (m *Machine) makeSFs(ctx context.Context, d *device, n int) (err error) {
	_, function, _ := strings.Cut(d.pci, ".")
	before, err := m.sfPorts(ctx, d)
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepTimeout)
		defer cancel()
		now, rerr := m.sfPorts(ctx, d)
		maps.DeleteFunc(now, func(handle string, _ sfPort) bool { _, was := before[handle]; return was })
		err = errors.Join(err, rerr, m.deleteSFs(ctx, slices.Collect(maps.Keys(now))))
	}()
	there := map[int]bool{}
	for _, p := range before {
		there[p.Number] = true
	}
	for i := 1; i <= n; i++ {
		if there[i] {
			continue
		}
		// The driver accepts only the number of its own PCI function.
		if _, err := m.devlink(ctx, "port", "add", "pci/"+d.pci, "flavour", "pcisf", "pfnum", function, "sfnum", strconv.Itoa(i)); err != nil {
			return hint.With(err, "a card without SFs needs PER_PF_NUM_SF=1 and PF_TOTAL_SF with mlxconfig, and a reset; the kernel needs CONFIG_MLX5_SF")
		}
	}
	ports, err := m.sfPorts(ctx, d)
	if err != nil {
		return err
	}
	for _, handle := range natural.Keys(ports) {
		if p := ports[handle]; p.Number >= 1 && p.Number <= n && !p.active() {
			if _, err := m.devlink(ctx, "port", "function", "set", handle, "state", "active"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *Machine) deleteSFs(ctx context.Context, handles []string) error {
	for _, handle := range natural.Sorted(handles) {
		if _, err := m.devlink(ctx, "port", "del", handle); err != nil {
			return err
		}
	}
	return nil
}

// usedSFs returns the SFs of a port that may be in use, like [Machine.usedVFs].
func (m *Machine) usedSFs(d *device) (used []string) {
	dir := m.sysNet(d.name, "device")
	entries, _ := m.list(dir)
	for _, e := range natural.Sorted(entries) {
		if !strings.HasPrefix(e, sfDriver+".") {
			continue
		}
		if why := m.userOf(filepath.Join(dir, e), sfDriver); why != "" {
			number, _ := m.text(filepath.Join(dir, e, "sfnum"))
			used = append(used, fmt.Sprintf("SF %s (%s)", clip(number), why))
		}
	}
	return used
}
