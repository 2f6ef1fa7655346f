package fleet

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/fleet/planfile"
	"github.com/roce-fabric/roce-fabric/fleet/store"
)

// RunNames returns the names of the runs kept in a folder, newest first. If where is "", the
// folder is [StateDir] of the fabric. RunNames reads no journal, takes no lock and contacts
// no server: if where is a URL, it returns nil.
func RunNames(ctx context.Context, where, fabric string) ([]string, error) {
	if where == "" {
		dir, err := StateDir(fabric)
		if err != nil {
			return nil, err
		}
		where = dir
	}
	if strings.Contains(where, "://") {
		return nil, nil
	}
	ids, err := store.Dir(where).Journals(ctx)
	if err != nil {
		return nil, err
	}
	slices.Reverse(ids)
	var names []string
	for _, id := range ids {
		names = append(names, id.Run)
	}
	return names, nil
}

// maxEntries is the maximum number of folder entries that PlanNames examines.
const maxEntries = 10_000

// PlanNames returns the plan files whose path begins with typed, with their headers, and
// the folders, whose name ends in a slash and whose header is nil.
func PlanNames(typed string) map[string]*PlanHeader {
	dir, base := filepath.Split(typed)
	d, err := os.Open(filepath.Clean("./" + dir))
	if filepath.IsAbs(dir) {
		d, err = os.Open(dir)
	}
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }() // opened only for reading
	entries, _ := d.ReadDir(maxEntries)
	found := map[string]*PlanHeader{}
	for _, e := range entries {
		name := dir + e.Name()
		if !strings.HasPrefix(e.Name(), base) || base == "" && strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := os.Stat(name)
		switch {
		case err != nil:
		case info.IsDir():
			found[name+"/"] = nil
		case info.Mode().IsRegular():
			if h := planfile.ReadHeader(name); h != nil {
				found[name] = h
			}
		}
	}
	return found
}
