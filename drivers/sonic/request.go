package sonic

import (
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// setRequest turns ops into a Set for a switch that holds cfg. A table that does not exist is
// written whole, because before release 202511 a row cannot create its table. A table that would
// become empty is removed whole.
func setRequest(ops []native.Op, cfg native.Config) gnmi.SetRequest {
	want := cfg.After(ops)
	touched := map[string]bool{}
	for _, o := range ops {
		touched[o.Table] = true
	}
	req := gnmi.SetRequest{Origin: origin}
	entire := map[string]bool{}
	for _, tn := range slices.Sorted(maps.Keys(touched)) {
		switch {
		case len(cfg[tn]) == 0 && len(want[tn]) > 0:
			entire[tn] = true
			req.Updates = append(req.Updates, gnmi.Update{Path: path(tn), JSON: want[tn].JSON()})
		case len(want[tn]) == 0:
			entire[tn] = true
			req.Deletes = append(req.Deletes, path(tn))
		}
	}
	for _, o := range ops {
		switch {
		case entire[o.Table]:
		case o.Del && o.Field != "":
			req.Deletes = append(req.Deletes, path(o.Table, o.Key, o.Field))
		case o.Del:
			req.Deletes = append(req.Deletes, path(o.Table, o.Key))
		case o.Field != "":
			req.Updates = append(req.Updates, gnmi.Update{Path: path(o.Table, o.Key, o.Field), JSON: native.JSONString(o.Value)})
		default:
			req.Updates = append(req.Updates, gnmi.Update{Path: path(o.Table, o.Key), JSON: o.Row.JSON()})
		}
	}
	return req
}

// path returns a path for Set, in which a slash in a key is written ~1.
func path(names ...string) gnmi.Path {
	p := slices.Clone(configDB)
	for _, n := range names {
		p = append(p, strings.ReplaceAll(n, "/", "~1"))
	}
	return p
}
