package unit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// askTimeout limits a query to systemctl.
const askTimeout = 10 * time.Second

// Interface returns the interface of a NIC with a selector; "" if there is none.
type Interface func(name string) string

// services returns the unit's instances for the devices of a host.
func services(h *nic.Host, of Interface) []string {
	devices := map[string]bool{}
	for name, p := range h.Ports {
		if p.Select.Set && of != nil {
			name = of(name)
		}
		if name != "" {
			devices[name] = true
		}
		if p.RDMA != "" {
			devices[p.RDMA] = true
		}
	}
	for name := range h.Uppers {
		devices[name] = true
	}
	var out []string
	for _, d := range natural.Keys(devices) {
		out = append(out, "roce-fabric-nic@"+d+".service")
	}
	return out
}

// masked returns the files that keep systemd or udev from starting the unit for a device of a host:
// links to /dev/null in place of files (systemctl(1), udev(7)).
func masked(r local.Roots, h *nic.Host, of Interface) string {
	var out []string
	null := func(name string) {
		if to, err := os.Readlink(name); err == nil && to == os.DevNull {
			out = append(out, name)
		}
	}
	null(etc(r, servicePath))
	null(etc(r, rulesPath))
	if h != nil {
		for _, s := range services(h, of) {
			for _, dir := range []string{etc(r, "systemd/system"), filepath.Join(cmp.Or(r.Run, "/run"), "systemd", "system")} {
				null(filepath.Join(dir, s))
			}
		}
	}
	return words.Some(out, maxNamed)
}

// maxNamed is how many files or services a state lists.
const maxNamed = 3

// Failed returns, in one string, the services of the installed unit whose last run failed according
// to systemd. It is "" on a machine without systemd or without the unit.
func Failed(ctx context.Context, r local.Roots, run runner.Runner, of Interface) (string, error) {
	if booted(r) != nil {
		return "", nil
	}
	s, err := Load(r)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDamaged) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	names := services(s.Host, of)
	if len(names) == 0 {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	// systemctl prints the state of each service; its exit status says whether one has failed.
	res, err := run.Run(ctx, "systemctl", append([]string{"is-failed"}, names...)...)
	if errors.Is(err, runner.ErrNotFound) {
		return "", nil
	}
	states := bytes.Fields(res.Stdout)
	if err == nil && len(states) != len(names) {
		err = fmt.Errorf("exit status %d: %s", res.Code, term.Clip(string(res.Stderr), 200))
	}
	if err != nil {
		return "", fmt.Errorf("systemctl is-failed: %w", err)
	}
	var out []string
	for i, state := range states {
		if string(state) == "failed" {
			out = append(out, names[i])
		}
	}
	return words.Some(out, maxNamed), nil
}
