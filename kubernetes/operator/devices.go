package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/validate"
)

// labelFabric is on each object of a Fabric.
const labelFabric = "roce-fabric.io/fabric"

// The bounds of a status.
const (
	maxFindings = 50
	maxPorts    = 64
	maxText     = 1024
)

// deviceName is the name of the object of a device, whose own may be none for Kubernetes.
func deviceName(fabric, device string) string {
	name := fabric + "." + strings.ToLower(device)
	if name == fabric+"."+device && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	h := sha256.Sum256([]byte(device))
	return fabric + ".x" + hex.EncodeToString(h[:8])
}

func brief(text string) string {
	if r := []rune(text); len(r) > maxText {
		return string(r[:maxText-3]) + "..."
	}
	return text
}

// deviceState is the status of a device. last is the one before.
func deviceState(l *loaded, d *device, last v1alpha1.DeviceState) v1alpha1.DeviceState {
	out := v1alpha1.DeviceState{Verdict: verdict(d.findings), Counts: counts(d.findings), LastSeen: last.LastSeen, Message: brief(l.said(d.err))}
	if d.read.IsZero() {
		out.Verdict = v1alpha1.Unreachable
		out.Drift = last.Drift
	} else {
		at := metav1.NewTime(d.read)
		out.LastSeen, out.Drift = &at, int32(d.drift)
	}
	for _, f := range d.findings[:min(len(d.findings), maxFindings)] {
		out.Findings = append(out.Findings, finding(l, f))
	}
	return out
}

func finding(l *loaded, f validate.Finding) v1alpha1.Finding {
	out := v1alpha1.Finding{
		ID: f.ID, Severity: string(f.Severity), Ports: f.Ports[:min(len(f.Ports), maxPorts)],
		What: brief(l.said(f.What)), Fix: brief(l.said(f.Fix)), Where: brief(l.said(f.Where)), Unchecked: brief(f.Unchecked),
	}
	if f.Suppressed != nil {
		out.Suppressed = brief(f.Suppressed.Reason)
	}
	return out
}

// deviceObject is a SwitchStatus or a HostStatus.
type deviceObject struct {
	client.Object
	spec   *v1alpha1.DeviceSpec
	status *v1alpha1.DeviceState
}

func newDeviceObject(host bool) deviceObject {
	if host {
		o := &v1alpha1.HostStatus{}
		return deviceObject{o, &o.Spec, &o.Status}
	}
	o := &v1alpha1.SwitchStatus{}
	return deviceObject{o, &o.Spec, &o.Status}
}

// report writes what was seen of each device, and removes the objects of devices that the
// intent has no more. It returns the devices that have begun to differ from the intent.
func (r *fabricReconciler) report(ctx context.Context, f *v1alpha1.Fabric, l *loaded, s *seen) (drifted []string, _ error) {
	var errs []error
	known := map[string]bool{}
	for _, name := range natural.Keys(s.devices) {
		d := s.devices[name]
		known[deviceName(f.Name, name)] = true
		began, err := r.reportOne(ctx, f, l, name, d)
		if err != nil {
			errs = append(errs, fmt.Errorf("status of %s: %w", name, err))
		} else if began {
			drifted = append(drifted, name)
		}
	}
	return drifted, errors.Join(append(errs, r.prune(ctx, f, known))...)
}

func (r *fabricReconciler) reportOne(ctx context.Context, f *v1alpha1.Fabric, l *loaded, name string, d *device) (began bool, _ error) {
	o := newDeviceObject(d.host)
	key := client.ObjectKey{Namespace: f.Namespace, Name: deviceName(f.Name, name)}
	err := r.Get(ctx, key, o.Object)
	fresh := apierrors.IsNotFound(err)
	if err != nil && !fresh {
		return false, err
	}
	if fresh {
		o.SetNamespace(key.Namespace)
		o.SetName(key.Name)
		o.SetLabels(map[string]string{labelFabric: f.Name})
		*o.spec = v1alpha1.DeviceSpec{Fabric: f.Name, Device: name}
		if err := controllerutil.SetControllerReference(f, o.Object, r.Scheme()); err != nil {
			return false, err
		}
		if err := r.Create(ctx, o.Object); err != nil {
			return false, err
		}
	} else if o.spec.Fabric != f.Name || o.spec.Device != name {
		return false, fmt.Errorf("%s is the status of %s of Fabric %s", key.Name, o.spec.Device, o.spec.Fabric)
	}
	before := o.DeepCopyObject().(client.Object)
	was := o.status.Drift
	*o.status = deviceState(l, d, *o.status)
	return was == 0 && o.status.Drift > 0, r.Status().Patch(ctx, o.Object, client.MergeFrom(before))
}

// prune removes the objects of devices that are not known.
func (r *fabricReconciler) prune(ctx context.Context, f *v1alpha1.Fabric, known map[string]bool) error {
	var all []client.Object
	match := []client.ListOption{client.InNamespace(f.Namespace), client.MatchingLabels{labelFabric: f.Name}}
	var switches v1alpha1.SwitchStatusList
	var hosts v1alpha1.HostStatusList
	if err := errors.Join(r.List(ctx, &switches, match...), r.List(ctx, &hosts, match...)); err != nil {
		return err
	}
	for i := range switches.Items {
		all = append(all, &switches.Items[i])
	}
	for i := range hosts.Items {
		all = append(all, &hosts.Items[i])
	}
	var errs []error
	for _, o := range all {
		if !known[o.GetName()] && metav1.IsControlledBy(o, f) {
			errs = append(errs, client.IgnoreNotFound(r.Delete(ctx, o)))
		}
	}
	return errors.Join(errs...)
}
