package unit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// reloadTimeout bounds one run of systemctl or udevadm.
const reloadTimeout = 30 * time.Second

// Load reads the settings that the installed unit applies. fs.ErrNotExist is a
// machine without, ErrDamaged one whose host file is not as it was written.
func Load(r local.Roots) (Settings, error) {
	b, err := readFile(etc(r, hostPath))
	if err != nil {
		return Settings{}, fmt.Errorf("read the host file: %w", err)
	}
	f, err := parse(b)
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", etc(r, hostPath), err)
	}
	return Settings{Binary: f.Binary, Host: f.Host}, nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxHostFile+1))
}

// Read says what is installed. It is Present where any file of the unit is, and
// has a Digest where all of them are as they were written and the program is
// where they expect it: everything else is stale, and why says what is wrong
// with it. The error is one of reading.
func Read(r local.Roots) (state nic.UnitState, why string, err error) {
	have := map[string][]byte{}
	for _, p := range paths {
		b, err := readFile(etc(r, p))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return state, "", fmt.Errorf("read the boot unit: %w", err)
		}
		have[p] = b
	}
	if len(have) == 0 {
		return state, "", nil
	}
	state.Present = true
	for _, p := range paths {
		if have[p] == nil {
			return state, etc(r, p) + " is missing", nil
		}
	}
	f, err := parse(have[hostPath])
	if err != nil {
		return state, term.CleanLine(err.Error()), nil
	}
	want, err := Files(Settings{Binary: f.Binary, Host: f.Host})
	if err != nil {
		return state, term.CleanLine(err.Error()), nil
	}
	for _, w := range want {
		if !bytes.Equal(have[w.Path], w.Content) {
			return state, etc(r, w.Path) + " is not as this program writes it", nil
		}
	}
	if st, err := os.Stat(f.Binary); err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		return state, f.Binary + " is not there or is no program", nil
	}
	state.Digest = f.Digest
	return state, "", nil
}

// Install puts the unit in place, and returns the paths that it wrote: none
// where all is so already. systemd and udev are told in any case, since an earlier
// call may have failed to; nothing is started, since the settings are applied by
// other means when it is installed. Where it fails midway it may be called again.
func Install(ctx context.Context, r local.Roots, run runner.Runner, s Settings) (written []string, err error) {
	files, err := Files(s)
	if err != nil {
		return nil, err
	}
	if err := booted(r); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return written, fmt.Errorf("install the boot unit: %w", err)
		}
		name := etc(r, f.Path)
		have, err := readFile(name)
		if err == nil && bytes.Equal(have, f.Content) {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return written, fmt.Errorf("install the boot unit: %w", err)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return written, fmt.Errorf("install the boot unit: %w", err)
		}
		if err := atomicfile.Write(name, f.Content, 0o644); err != nil {
			return written, fmt.Errorf("install the boot unit: %w", err)
		}
		written = append(written, name)
	}
	return written, reload(ctx, run)
}

// Remove takes the unit away, a part of one too, and returns the paths that it
// removed: none where there was none. What the unit has applied stays in force.
func Remove(ctx context.Context, r local.Roots, run runner.Runner) (removed []string, err error) {
	for _, p := range slices.Backward(paths) {
		if err := ctx.Err(); err != nil {
			return removed, fmt.Errorf("remove the boot unit: %w", err)
		}
		name := etc(r, p)
		switch err := os.Remove(name); {
		case err == nil:
			removed = append(removed, name)
		case !errors.Is(err, fs.ErrNotExist):
			return removed, fmt.Errorf("remove the boot unit: %w", err)
		}
	}
	if len(removed) == 0 {
		return nil, nil
	}
	// The folder is the unit's own, unless somebody put something else there.
	dir := filepath.Dir(etc(r, hostPath))
	if l, err := os.ReadDir(dir); err == nil && len(l) == 0 {
		if err := os.Remove(dir); err != nil {
			return removed, fmt.Errorf("remove the boot unit: %w", err)
		}
	}
	if booted(r) != nil {
		return removed, nil
	}
	return removed, reload(ctx, run)
}

// booted asks as sd_booted(3) does.
func booted(r local.Roots) error {
	root := r.Run
	if root == "" {
		root = "/run"
	}
	_, err := os.Lstat(filepath.Join(root, "systemd", "system"))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: apply the settings from its own init", ErrNoSystemd)
	}
	if err != nil {
		return fmt.Errorf("look for systemd: %w", err)
	}
	return nil
}

// reload has systemd and udev read their files again.
func reload(ctx context.Context, run runner.Runner) error {
	for _, c := range [][]string{{"systemctl", "daemon-reload"}, {"udevadm", "control", "--reload"}} {
		rctx, cancel := context.WithTimeout(ctx, reloadTimeout)
		res, err := run.Run(rctx, c[0], c[1:]...)
		cancel()
		if err == nil && res.Code != 0 {
			err = fmt.Errorf("exit status %d: %s", res.Code, term.CleanLine(string(res.Stderr)))
		}
		if err != nil {
			return fmt.Errorf("the files of the boot unit are in place and %s was not told: %w", c[0], err)
		}
	}
	return nil
}
