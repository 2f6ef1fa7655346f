package operator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/kubernetes/internal/rig"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// nicDeviceCRD returns a CRD with the fields of NVIDIA's NicDevice that are used here, with
// their types and limits; the API server drops other fields.
func nicDeviceCRD() *unstructured.Unstructured {
	type m = map[string]any
	kind := func(name string) m { return m{"type": name} }
	object := func(properties m, required ...any) m {
		return m{"type": "object", "properties": properties, "required": required}
	}
	list := func(of m) m { return m{"type": "array", "items": of} }
	number := func(low, high int64) m { return m{"type": "integer", "minimum": low, "maximum": high} }
	text, flag, count := kind("string"), kind("boolean"), kind("integer")
	quality := object(m{
		"trust": text, "pfc": m{"type": "string", "pattern": "^([01],){7}[01]$"}, "tos": count, "cableLen": count,
		"ecn": object(m{"enabled": flag, "priority": number(0, 7)}, "enabled", "priority"), "pauseFrames": object(m{"enabled": flag}, "enabled"),
	}, "trust", "pfc")
	template := object(m{
		"numVfs": count, "linkType": m{"type": "string", "enum": []any{"Ethernet", "Infiniband"}},
		"roceOptimized": object(m{"enabled": flag, "qos": quality, "roceMode": m{"type": "integer", "enum": []any{int64(1), int64(2)}}}, "enabled"),
		"rawNvConfig":   list(object(m{"name": text, "value": text}, "name", "value")),
	}, "numVfs")
	status := object(m{"node": text, "type": text, "ports": list(object(m{"pci": text, "networkInterface": text, "rdmaInterface": text}, "pci"))}, "node", "type", "ports")
	schema := object(m{"spec": object(m{"configuration": object(m{"resetToDefault": flag, "template": template})}), "status": status})
	return &unstructured.Unstructured{Object: m{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": m{"name": "nicdevices.configuration.net.nvidia.com"},
		"spec": m{
			"group": "configuration.net.nvidia.com", "scope": "Namespaced", "names": m{"kind": "NicDevice", "plural": "nicdevices", "singular": "nicdevice", "listKind": "NicDeviceList"},
			"versions": []any{m{"name": "v1alpha1", "served": true, "storage": true, "subresources": m{"status": m{}}, "schema": m{"openAPIV3Schema": schema}}},
		},
	}}
}

const withHost = `apiVersion: roce-fabric/v1
kind: Fabric
name: pod1
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%, ecn: {min: 150KB, max: 1500KB, probability: 10%}}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%}
switches:
  leaf1: {os: sonic, role: leaf, address: "192.0.2.1:8080", model: ACS-MSN4700, release: 202511}
hosts:
  gpu1: {address: 192.0.2.101, nics: {"ens[1-2]f0np0": {rdma: "mlx5_[0-1]"}}}
links:
  - {a: "leaf1/Ethernet[0-8:8]", b: "gpu1/ens[1-2]f0np0", cable: 5m, speed: 400G}
`

// A setting of NVIDIA's NIC configuration operator that contradicts the intent is a finding of
// the host. If the cards cannot be listed, that is a finding of the fabric.
func TestRivals(t *testing.T) {
	r := rig.Start(t)
	ns := r.Namespace(t)
	f, err := intent.Load("-", intent.Options{Stdin: strings.NewReader(withHost)})
	if err != nil {
		t.Fatal(err)
	}
	rivals := func(c client.Client) []checks.Finding {
		return (&deps{direct: c, o: &Options{NICDevices: ns}}).rivals(t.Context(), f)
	}
	if found := rivals(r.Client); len(found) > 0 {
		t.Errorf("without its CRD: %+v", found)
	}
	if err := r.Client.Create(t.Context(), nicDeviceCRD()); err != nil {
		t.Fatal(err)
	}
	device := func(name, node string, configuration map[string]any) {
		t.Helper()
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "configuration.net.nvidia.com/v1alpha1", "kind": "NicDevice", "metadata": map[string]any{"name": name, "namespace": ns},
			"spec": map[string]any{"configuration": configuration},
		}}
		for end := time.Now().Add(time.Minute); ; { // the API server needs some time to serve a new CRD
			made := o.DeepCopy()
			err := r.Client.Create(t.Context(), made)
			if err == nil {
				o = made
				break
			}
			if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) || time.Now().After(end) {
				t.Fatal(err)
			}
			select {
			case <-t.Context().Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
		o.Object["status"] = map[string]any{"node": node, "type": "1021", "ports": []any{
			map[string]any{"pci": "0000:31:00.0", "networkInterface": "ens1f0np0", "rdmaInterface": "mlx5_0"}, map[string]any{"pci": "0000:31:00.1", "networkInterface": "ens2f0np0"}, map[string]any{"pci": "0000:31:00.2", "networkInterface": "eth0"},
		}}
		if err := r.Client.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	roce := func(qos map[string]any, raw ...any) map[string]any {
		on := map[string]any{"enabled": true}
		if qos != nil {
			on["qos"] = qos
		}
		return map[string]any{"template": map[string]any{"numVfs": int64(0), "linkType": "Ethernet", "roceOptimized": on, "rawNvConfig": raw}}
	}
	nv := func(name, value string) any { return map[string]any{"name": name, "value": value} }
	good := []any{nv("CNP_DSCP_P1", "48"), nv("CNP_DSCP_P2", "0x30"), nv("ROCE_CC_PRIO_MASK_P1", "8")}
	device("same", "gpu1", roce(nil, good...))
	device("same-said", "gpu1", roce(map[string]any{"trust": "trust-dscp", "pfc": "0,0,0,1,0,0,0,0", "cableLen": int64(5), "ecn": map[string]any{"enabled": true, "priority": int64(4)}, "pauseFrames": map[string]any{"enabled": false}}, good...))
	device("off", "gpu1", map[string]any{"template": map[string]any{"numVfs": int64(4), "linkType": "Ethernet", "roceOptimized": map[string]any{"enabled": false, "qos": map[string]any{"trust": "pfc", "pfc": "1,1,1,1,1,1,1,1"}}}})
	device("none", "gpu1", map[string]any{})
	device("other-node", "gpu9", roce(map[string]any{"trust": "pfc", "pfc": "0,0,0,0,1,0,0,0"}))
	if found := rivals(r.Client); len(found) > 0 {
		t.Errorf("the same as the intent: %+v", found)
	}
	other := roce(map[string]any{"trust": "pfc", "pfc": "0,0,0,0,1,0,0,0", "tos": int64(184), "cableLen": int64(40), "ecn": map[string]any{"enabled": false, "priority": int64(3)}, "pauseFrames": map[string]any{"enabled": true}}, good...)
	if err := unstructured.SetNestedField(other, int64(1), "template", "roceOptimized", "roceMode"); err != nil {
		t.Fatal(err)
	}
	device("other", "gpu1", other)
	device("plain", "gpu1", roce(nil))
	device("raw", "gpu1", map[string]any{"template": map[string]any{"numVfs": int64(0), "linkType": "Ethernet", "rawNvConfig": []any{nv("ROCE_CC_PRIO_MASK_P2", "0x7"), nv("CNP_802P_PRIO_P1", "5"), nv("CNP_DSCP_P2", "unset")}}})
	device("reset", "gpu1", map[string]any{"resetToDefault": true})
	device("ib", "gpu1", map[string]any{"template": map[string]any{"numVfs": int64(0), "linkType": "Infiniband"}})
	var got []string
	for _, f := range rivals(r.Client) {
		if f.ID != "NIC-12" || f.Severity != checks.Warning || f.Device != "gpu1" || len(f.Ports) == 0 || f.Where == "" {
			t.Errorf("%+v", f)
		}
		got = append(got, fmt.Sprint(strings.TrimPrefix(f.What, "NVIDIA's NIC configuration operator (NicDevice "), " ", f.Ports))
	}
	const both = " [ens1f0np0 ens2f0np0]"
	want := []string{
		"ib) sets the link type to InfiniBand, the intent needs Ethernet" + both,
		"other) sets pfc to 0x10 {4}, the intent says 0x08 {3}" + both,
		"other) sets tos to 184 (DSCP 46), the intent says 106 (DSCP 26)" + both,
		"other) sets cable to 40m, the intent says 5m" + both,
		"other) sets link_pause to on, the intent says off" + both,
		"other) sets mode to IB/RoCE v1, the intent says RoCE v2" + both,
		"other) sets trust to pfc, the intent says dscp" + both,
		"other) turns congestion control off for priority 3, which the intent has on" + both,
		"plain) sets CNP_DSCP_P1 to 4, the intent says 48 [ens1f0np0]",
		"plain) sets CNP_DSCP_P2 to 4, the intent says 48 [ens2f0np0]",
		"raw) sets CNP_802P_PRIO_P1 to 5, the intent says 6 [ens1f0np0]",
		"raw) sets ROCE_CC_PRIO_MASK_P2 to 7, which leaves out priorities {3} of the intent [ens2f0np0]",
		"reset) resets the card to its firmware defaults (resetToDefault)" + both,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// Without the permission to list the cards, a finding says that they are unknown.
	c, err := client.New(r.As(t, "roce-fabric-operator", ns), client.Options{Scheme: r.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	if found := rivals(c); len(found) != 1 || found[0].ID != fleet.Unread || found[0].Severity != checks.Info || !strings.Contains(found[0].What, "forbidden") {
		t.Errorf("%+v", found)
	}
}
