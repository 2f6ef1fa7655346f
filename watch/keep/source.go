package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/unit"
)

// HostFile is the wanted state stored for the boot unit by 'nic unit install'.
type HostFile struct{ local.Roots }

// Load implements [Source].
func (f HostFile) Load(context.Context) (Wanted, error) {
	s, err := unit.Load(f.Roots)
	if errors.Is(err, fs.ErrNotExist) {
		return Wanted{}, fleet.Wrong("", "install it with 'roce-fabric nic unit install', or name an intent with -f", "%w", err)
	}
	if err != nil {
		return Wanted{}, err
	}
	return Wanted{s.Host, written(unit.HostFile(f.Roots))}, nil
}

// Stamp implements [Source].
func (f HostFile) Stamp() string { return stamp(unit.HostFile(f.Roots)) }

func (f HostFile) String() string { return unit.HostFile(f.Roots) }

// Intent is a wanted state taken from an intent file or folder.
type Intent struct {
	Path string
	// Host is the name of this machine in the intent; "" means its host name.
	Host string
	// Roots are the machine's file system roots. Warn is called if its boot unit has other
	// settings, and for what the intent leaves open.
	Roots local.Roots
	Warn  func(text string)
}

// Load implements [Source].
func (i Intent) Load(ctx context.Context) (Wanted, error) {
	when := written(i.Path)
	f, err := fleet.Load(ctx, i.Path, fleet.LoadOptions{Take: fleet.TakeHosts})
	if err != nil {
		return Wanted{}, err
	}
	if err := f.OneHost(&fleet.Access{Local: true}, i.Host); err != nil {
		return Wanted{}, err
	}
	h, open := nic.Desired(f.Fabric(), f.Hosts[0])
	if h.Empty() {
		return Wanted{}, fleet.Wrong("", "", "%s has no NIC in the intent with an RDMA device or a link", h.Name)
	}
	for _, p := range open {
		i.Warn(strings.TrimSpace(p.Port + ": " + p.What))
	}
	if s, err := unit.Load(i.Roots); err == nil && nic.Digest(s.Host) != nic.Digest(h) {
		i.Warn("the boot unit has other settings than the intent: 'roce-fabric nic unit install' brings it up to date")
	}
	return Wanted{h, when}, nil
}

// Stamp implements [Source].
func (i Intent) Stamp() string { return stamp(i.Path) }

func (i Intent) String() string { return i.Path }

// stats returns the file info of a file, or of a folder and its direct entries.
func stats(path string) []fs.FileInfo {
	st, err := os.Stat(path)
	if err != nil {
		return nil
	}
	out := []fs.FileInfo{st}
	entries, _ := os.ReadDir(path) // fails and returns nothing for a file
	for _, e := range entries {
		if st, err := os.Stat(filepath.Join(path, e.Name())); err == nil {
			out = append(out, st)
		}
	}
	return out
}

func stamp(path string) string {
	var b strings.Builder
	for _, st := range stats(path) {
		fmt.Fprintln(&b, st.Name(), st.Size(), st.ModTime().UnixNano())
	}
	return b.String()
}

// written returns when a file or a folder's entry was last modified.
func written(path string) (last time.Time) {
	for _, st := range stats(path) {
		if st.ModTime().After(last) {
			last = st.ModTime()
		}
	}
	return last
}
