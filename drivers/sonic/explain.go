package sonic

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// explain asks the switch over SSH why it would reject the ops, because the gNMI server passes on
// only the first line of the updater's answer. It returns "" if there is no explanation.
func (d *driver) explain(ctx context.Context, ops []native.Op, cfg native.Config) string {
	if d.t.SSH == nil || len(ops) == 0 {
		return ""
	}
	patch, err := jsonPatch(ops, cfg)
	if err != nil {
		return ""
	}
	file, err := d.upload(ctx, patch)
	if err != nil {
		return ""
	}
	out, err := d.exec(ctx, "sudo config apply-patch -d "+quote(file)+"; rm -f "+quote(file), nil)
	if err != nil {
		return ""
	}
	said := strings.TrimSpace(string(out.Stderr))
	if said == "" || out.Status == 0 && !strings.Contains(said, "Error") {
		return ""
	}
	return " (the switch says: " + firstLines(said) + ")"
}

// jsonPatch returns the patch that the gNMI server makes of a Set.
func jsonPatch(ops []native.Op, cfg native.Config) ([]byte, error) {
	type patch struct {
		Op    string          `json:"op"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value,omitempty"`
	}
	var ps []patch
	req := setRequest(ops, cfg)
	ptr := func(p gnmi.Path) string { return "/" + strings.Join(p[len(configDB):], "/") }
	for _, p := range req.Deletes {
		ps = append(ps, patch{Op: "remove", Path: ptr(p)})
	}
	for _, u := range req.Updates {
		ps = append(ps, patch{Op: "add", Path: ptr(u.Path), Value: u.JSON})
	}
	return json.Marshal(ps)
}
