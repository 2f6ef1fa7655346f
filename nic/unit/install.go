package unit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// controlTimeout limits one run of systemctl or udevadm: a service that is asked to stop finishes
// its current step, and waits for the link first.
const controlTimeout = 2 * time.Minute

// instances matches the services of all devices in systemctl.
const instances = "roce-fabric-nic@*.service"

// HostFile returns the path of the settings that the installed unit applies.
func HostFile(r local.Roots) string { return etc(r, hostPath) }

// Load reads the settings that the installed unit applies. It returns fs.ErrNotExist if no unit is
// installed, and ErrDamaged if the host file was changed.
func Load(r local.Roots) (Settings, error) {
	b, err := readFile(etc(r, hostPath))
	if err != nil {
		return Settings{}, fmt.Errorf("read the host file: %w", err)
	}
	f, err := parse(b)
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", etc(r, hostPath), err)
	}
	return f.Settings, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxHostFile+1))
}

// Read returns the state of the installed unit. It is Present if at least one file of the unit
// exists. It has a Digest if all files are as they were written and the program is in the expected
// place and replaceable only by root; otherwise it is Stale. Masked is set if systemd or udev is
// kept from starting the unit. Read returns an error only if it cannot read the files.
func Read(r local.Roots, of Interface) (state nic.UnitState, err error) {
	have := map[string][]byte{}
	for _, p := range paths {
		b, err := readFile(etc(r, p))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return state, fmt.Errorf("read the boot unit: %w", err)
		}
		have[p] = b
	}
	if len(have) == 0 {
		return state, nil
	}
	stale := func(why string) (nic.UnitState, error) {
		return nic.UnitState{Present: true, Stale: term.CleanLine(why)}, nil
	}
	if l := masked(r, nil, of); l != "" {
		return nic.UnitState{Present: true, Masked: l}, nil
	}
	for _, p := range paths {
		if have[p] == nil {
			return stale(etc(r, p) + " is missing")
		}
	}
	f, err := parse(have[hostPath])
	if err != nil {
		return stale(err.Error())
	}
	want, err := Files(f.Settings)
	if err != nil {
		return stale(err.Error())
	}
	for _, w := range want {
		if !bytes.Equal(have[w.Path], w.Content) {
			return stale(etc(r, w.Path) + " differs from what this program writes")
		}
	}
	switch err := usable(r, f.Binary); {
	case errors.Is(err, fs.ErrPermission):
		return nic.UnitState{Present: true}, fmt.Errorf("read the boot unit: %w", err)
	case err != nil:
		return stale(err.Error())
	}
	return nic.UnitState{Present: true, Digest: f.Digest, Masked: masked(r, f.Host, of)}, nil
}

// Install installs the unit and its program, and returns the paths that it wrote: none if
// everything is in place already. A Binary that is stated stays where it is, and must be
// replaceable only by root (ErrProgram). Without one, the running program is copied to
// [DefaultBinary].
//
// Install always makes systemd and udev reload their files, since an earlier call may have failed
// before that. It does not start the unit, because at installation the settings are applied by
// other means. If it fails midway, it may be called again.
func Install(ctx context.Context, r local.Roots, run runner.Runner, s Settings) (written []string, err error) {
	defer func() { err = permitted(err) }()
	files, err := Files(s)
	if err != nil {
		return nil, err
	}
	if err := booted(r); err != nil {
		return nil, err
	}
	if s.Binary == "" || s.Binary == DefaultBinary {
		fresh, err := putProgram(r)
		if err != nil {
			return nil, fmt.Errorf("install the boot unit: %w", err)
		}
		if fresh {
			written = append(written, r.Inside(DefaultBinary))
		}
	} else if err := usable(r, s.Binary); err != nil {
		return nil, fmt.Errorf("install the boot unit: %w", err)
	}
	for _, f := range files {
		name := etc(r, f.Path)
		fresh, err := putFile(ctx, name, f.Content)
		if err != nil {
			return written, fmt.Errorf("install the boot unit: %w", err)
		}
		if fresh {
			written = append(written, name)
		}
	}
	if err := errors.Join(control(ctx, run, "udevadm", "control", "--reload"), control(ctx, run, "systemctl", "daemon-reload")); err != nil {
		return written, fmt.Errorf("the boot unit is installed but not active: %w", err)
	}
	return written, nil
}

// putFile writes a file unless it already has the content, and reports whether it wrote it.
func putFile(ctx context.Context, name string, content []byte) (written bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	have, err := readFile(name)
	if err == nil && bytes.Equal(have, content) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return false, err
	}
	return true, atomicfile.Write(name, content, 0o644)
}

// Remove removes the unit, even an incomplete one, and the copy of the program, and returns the
// paths that it removed: none if there was no unit. It stops the unit's running services; settings
// that the unit has applied stay in effect.
func Remove(ctx context.Context, r local.Roots, run runner.Runner) (removed []string, err error) {
	defer func() { err = permitted(err) }()
	systemd := booted(r) == nil
	var errs []error
	tell := func(program string, args ...string) {
		if systemd {
			errs = append(errs, control(ctx, run, program, args...))
		}
	}
	remove := func(name string) error {
		err := ctx.Err()
		if err == nil {
			err = os.Remove(name)
		}
		switch {
		case err == nil:
			removed = append(removed, name)
		case !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("remove the boot unit: %w", err)
		}
		return nil
	}
	// Remove the rules that start the service first, so that none starts while the others stop.
	if err := remove(etc(r, rulesPath)); err != nil {
		return removed, err
	}
	if len(removed) > 0 {
		tell("udevadm", "control", "--reload")
	}
	if _, err := os.Lstat(etc(r, servicePath)); err == nil {
		tell("systemctl", "stop", instances)
		tell("systemctl", "reset-failed", instances)
	}
	for _, name := range []string{etc(r, servicePath), etc(r, hostPath), r.Inside(DefaultBinary)} {
		if err := remove(name); err != nil {
			return removed, errors.Join(append(errs, err)...)
		}
	}
	if len(removed) == 0 {
		return nil, nil
	}
	// The directory belongs to the unit, unless someone put other files there.
	dir := filepath.Dir(etc(r, hostPath))
	if l, err := os.ReadDir(dir); err == nil && len(l) == 0 {
		if err := os.Remove(dir); err != nil {
			return removed, errors.Join(append(errs, fmt.Errorf("remove the boot unit: %w", err))...)
		}
	}
	tell("systemctl", "daemon-reload")
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("the files of the boot unit are removed, but a service may still run: %w", err)
	}
	return removed, nil
}

// booted returns an error unless systemd runs the machine, checked like sd_booted(3).
func booted(r local.Roots) error {
	_, err := os.Lstat(filepath.Join(cmp.Or(r.Run, "/run"), "systemd", "system"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: apply the settings from its init system", ErrNoSystemd)
	}
	if err != nil {
		return fmt.Errorf("look for systemd: %w", err)
	}
	return nil
}

// control runs systemctl or udevadm.
func control(ctx context.Context, run runner.Runner, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	res, err := run.Run(ctx, program, args...)
	if err == nil && res.Code != 0 {
		err = fmt.Errorf("exit status %d: %s", res.Code, term.CleanLine(string(res.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return nil
}
