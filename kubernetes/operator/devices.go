package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/kubernetes/api/v1alpha1"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// labelFabric is the label of every object that belongs to a Fabric.
const labelFabric = "roce-fabric.io/fabric"

// Limits of a status.
const (
	maxFindings = 50
	maxPorts    = 64
	maxText     = 1024
)

// deviceName returns the name of a device's object; the device's own name may not be valid in
// Kubernetes.
func deviceName(fabric, device string) string {
	name := fabric + "." + strings.ToLower(device)
	if name == fabric+"."+device && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	h := sha256.Sum256([]byte(device))
	return fabric + ".x" + hex.EncodeToString(h[:8])
}

func shorten(text string) string {
	if r := []rune(text); len(r) > maxText {
		return string(r[:maxText-3]) + "..."
	}
	return text
}

// judge writes the findings of a device, alone and compared with others, and its conditions to
// its status.
func judge(l *loaded, o deviceObject, fs []checks.Finding) {
	s := o.status
	s.Verdict, s.Counts, s.Findings = verdict(fs), counts(fs), nil
	if s.Message != "" {
		s.Verdict = v1alpha1.Unreachable
	}
	for _, f := range fs[:min(len(fs), maxFindings)] {
		s.Findings = append(s.Findings, finding(l, f))
	}
	setDeviceConditions(o)
}

func finding(l *loaded, f checks.Finding) v1alpha1.Finding {
	out := v1alpha1.Finding{
		ID: f.ID, Severity: string(f.Severity), Ports: f.Ports[:min(len(f.Ports), maxPorts)],
		What: shorten(l.withoutFolder(f.What)), Fix: shorten(l.withoutFolder(f.Fix)), Where: shorten(l.withoutFolder(f.Where)), Unchecked: shorten(f.Unchecked),
	}
	if f.Suppressed != nil {
		out.Suppressed = shorten(f.Suppressed.Reason)
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

// statusOf returns the object of a device, creating it if necessary.
func (d *deps) statusOf(ctx context.Context, f *v1alpha1.Fabric, device string, host bool) (deviceObject, error) {
	o := newDeviceObject(host)
	key := client.ObjectKey{Namespace: f.Namespace, Name: deviceName(f.Name, device)}
	err := d.direct.Get(ctx, key, o.Object)
	if apierrors.IsNotFound(err) {
		o.SetNamespace(key.Namespace)
		o.SetName(key.Name)
		o.SetLabels(map[string]string{labelFabric: f.Name})
		*o.spec = v1alpha1.DeviceSpec{Fabric: f.Name, Device: device}
		if err = controllerutil.SetControllerReference(f, o.Object, d.Scheme()); err == nil {
			err = d.direct.Create(ctx, o.Object)
		}
	}
	if err == nil && (o.spec.Fabric != f.Name || o.spec.Device != device) {
		err = fmt.Errorf("%s is the status of %s of Fabric %s", key.Name, o.spec.Device, o.spec.Fabric)
	}
	return o, err
}

// tellStatus writes a reading to the status of a device.
func (r *reader) tellStatus(ctx context.Context, in *inUse, o deviceObject, begun time.Time, got *fleet.Reading, lacks string) error {
	packed, err := summaryOf(in.loaded, got)
	if err != nil {
		got = &fleet.Reading{Device: got.Device, Where: got.Where, Err: fleet.NewError(got.Device, fleet.OpRead, err)}
		if packed, err = summaryOf(in.loaded, got); err != nil {
			return err
		}
	}
	before := o.DeepCopyObject().(client.Object)
	s, at := o.status, metav1.NewTime(begun)
	s.LastTry, s.Replica, s.Intent, s.Summary, s.Message = &at, r.group.Name(), in.Fabric.Fabric().Hash, packed, ""
	switch {
	case got.Err != nil:
		s.Message = shorten(in.withoutFolder(got.Err.Text))
	case lacks != "":
		s.Message = "no " + lacks + " is stated"
	default:
		s.LastSeen, s.Drift = &at, 0
		if got.Switch != nil {
			s.Drift = int32(got.Switch.Drift())
		}
	}
	return r.direct.Status().Patch(ctx, o.Object, client.MergeFrom(before))
}

// statuses returns the objects of a fabric's devices, by name.
func (r *fabricReconciler) statuses(ctx context.Context, f *v1alpha1.Fabric) (map[string]deviceObject, error) {
	match := []client.ListOption{client.InNamespace(f.Namespace), client.MatchingLabels{labelFabric: f.Name}}
	var switches v1alpha1.SwitchStatusList
	var hosts v1alpha1.HostStatusList
	if err := errors.Join(r.List(ctx, &switches, match...), r.List(ctx, &hosts, match...)); err != nil {
		return nil, err
	}
	out := map[string]deviceObject{}
	for i := range switches.Items {
		o := &switches.Items[i]
		out[o.Name] = deviceObject{o, &o.Spec, &o.Status}
	}
	for i := range hosts.Items {
		o := &hosts.Items[i]
		out[o.Name] = deviceObject{o, &o.Spec, &o.Status}
	}
	return out, nil
}

// report writes the findings and the conditions of each device to its status, if they have
// changed, and deletes the objects of devices that are no longer in the intent.
func (r *fabricReconciler) report(ctx context.Context, f *v1alpha1.Fabric, l *loaded, s *seen) error {
	var errs []error
	for _, o := range s.gone {
		if metav1.IsControlledBy(o, f) {
			errs = append(errs, client.IgnoreNotFound(r.Delete(ctx, o.Object)))
		}
	}
	for _, name := range natural.Keys(s.devices) {
		o := s.devices[name].object
		before := o.DeepCopyObject().(client.Object)
		judge(l, o, s.devices[name].findings)
		if equality.Semantic.DeepEqual(stateOf(before), *o.status) {
			continue
		}
		if err := client.IgnoreNotFound(r.Status().Patch(ctx, o.Object, client.MergeFrom(before))); err != nil {
			errs = append(errs, fmt.Errorf("status of %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
